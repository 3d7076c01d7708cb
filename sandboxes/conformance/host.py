"""What a case looks at on the host: its processes, its memory, a server, a secret."""

from __future__ import annotations

import asyncio
import os
import resource
import secrets
import time
from collections.abc import AsyncIterator, Callable, Iterator
from contextlib import asynccontextmanager, contextmanager
from pathlib import Path


def mark() -> str:
    """A number of seconds that only one `sleep` in the world sleeps: it can be found among the host's processes."""
    return f"9{secrets.randbelow(10**6):06d}.{secrets.randbelow(10**9):09d}"


def processes(word: str = "") -> list[int]:
    """Processes of the host, those with a word among their arguments; zombies have no arguments."""
    found = []
    for path in Path("/proc").iterdir():
        if path.name.isdigit() and int(path.name) != os.getpid():
            try:
                words = (path / "cmdline").read_bytes()
            except OSError:
                continue
            if word.encode() in words:
                found.append(int(path.name))
    return found


async def settles(holds: Callable[[], bool], seconds: float = 5.0) -> bool:
    """Whether something becomes true in time."""
    deadline = time.monotonic() + seconds
    while not holds():
        if time.monotonic() > deadline:
            return False
        await asyncio.sleep(0.02)
    return True


def resident() -> int:
    """Bytes that this process holds in memory."""
    return int(Path("/proc/self/statm").read_text().split()[1]) * resource.getpagesize()


class Watched:
    """Attributes: growth: bytes by which this process grew at most."""

    growth = 0


@asynccontextmanager
async def watched() -> AsyncIterator[Watched]:
    """Look at this process's memory every few milliseconds."""
    seen, before = Watched(), resident()

    async def look() -> None:
        while True:
            seen.growth = max(seen.growth, resident() - before)
            await asyncio.sleep(0.005)

    looking = asyncio.ensure_future(look())
    try:
        yield seen
    finally:
        looking.cancel()
        seen.growth = max(seen.growth, resident() - before)


@contextmanager
def variable(name: str, value: str) -> Iterator[None]:
    """An environment variable of this process, for a while."""
    before = os.environ.get(name)
    os.environ[name] = value
    try:
        yield
    finally:
        if before is None:
            del os.environ[name]
        else:
            os.environ[name] = before


@contextmanager
def secret_files() -> Iterator[tuple[str, dict[Path, None]]]:
    """A secret, and files of the host that hold it: among the temporary ones, in the home and beside this package."""
    secret, name = secrets.token_hex(16), f".agentrl-conformance-{secrets.token_hex(6)}"
    written: dict[Path, None] = {}
    try:
        for folder in dict.fromkeys(
            (Path("/tmp"), Path("/var/tmp"), Path("/dev/shm"), Path.home(), Path.cwd())
        ):
            path = folder / name
            if os.access(folder, os.W_OK):
                path.write_text(secret)
                path.chmod(0o644)
                written[path] = None
        yield secret, written
    finally:
        for path in written:
            path.unlink(missing_ok=True)
