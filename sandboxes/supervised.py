"""A sandbox with a supervisor inside: what is the same for every backend.

Invariant: a deadline is kept twice, by the supervisor inside and, a little later, by ending the whole sandbox from
outside; after an answer failed to come, nothing of that sandbox is used again.
"""

from __future__ import annotations

import asyncio
import builtins
import json
from collections.abc import Awaitable, Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

from agentrl.core.failures import UserError
from agentrl.sandboxes.base import (
    MIB,
    ExecResult,
    FileInfo,
    Process,
    Sandbox,
    SandboxDied,
    SandboxFailure,
    SandboxRefusal,
    SandboxSnapshot,
    SandboxSpec,
)
from agentrl.sandboxes.link import CHUNK, Frame, Link

GRACE = 15.0  # seconds that an answer may be late before the sandbox counts as dead
FOLDERS = (".", "/tmp")
LONGEST = 24 * 3600.0


@dataclass(frozen=True, slots=True)
class Handle:
    """What a backend holds of one sandbox.

    Attributes:
        destroy: end it; returns when nothing is left. Called once.
        oom_kills: how often memory ran out so far, as seen from outside; None where the supervisor sees it.
        commit: keep the root file system as an image; None where it cannot be written.
        changes: paths of the root file system that are not as the image has them; None where nobody can say.
        folders: what belongs to a snapshot beside that image: the workspace (`.`) and temporary folders.
    """

    destroy: Callable[[], Awaitable[None]]
    oom_kills: Callable[[], int] | None = None
    commit: Callable[[], Awaitable[str]] | None = None
    changes: Callable[[], Awaitable[builtins.list[str]]] | None = None
    folders: tuple[str, ...] = FOLDERS


class SupervisedSandbox(Sandbox):
    """See `Sandbox`.

    Attributes:
        sibling: how a fork gets its sandboxes: from the backend, or from the pool that this one came from.
        ended: called once when it has been closed.
    """

    def __init__(
        self,
        id: str,
        backend: str,
        spec: SandboxSpec,
        link: Link,
        handle: Handle,
        sibling: Callable[[SandboxSpec], Awaitable[Sandbox]],
    ) -> None:
        self.id, self.backend, self.spec, self.link, self.handle = id, backend, spec, link, handle
        self.workspace = spec.workspace or self.workspace
        self.sibling = sibling
        self.ended: Callable[[SupervisedSandbox], None] | None = None
        self.closed = False
        self.closing: asyncio.Future[None] | None = None
        self._oom = 0

    def __repr__(self) -> str:
        return f"<{self.backend} sandbox {self.id}{'' if self.alive else ' (dead)'}>"

    @property
    def alive(self) -> bool:
        return not self.closed and not self.link.dead

    # -- commands ----------------------------------------------------------------------------------

    async def exec(
        self,
        command: str | Sequence[str],
        *,
        timeout: float = 30.0,
        stdin: bytes | str | None = None,
        cwd: str | None = None,
        env: Mapping[str, str] | None = None,
        output_bytes: int | None = None,
    ) -> ExecResult:
        given = stdin.encode("utf-8", "surrogateescape") if isinstance(stdin, str) else stdin or b""
        fields = self._command(command, timeout, cwd, env, output_bytes)
        number, queue = await self.link.post("exec", given, **fields)
        try:
            return await self._final(queue, timeout)
        except asyncio.CancelledError:
            self.link.abandon(number)
            raise
        finally:
            self.link.waiting.pop(number, None)

    async def open(
        self,
        command: Sequence[str],
        *,
        timeout: float,
        cwd: str | None = None,
        env: Mapping[str, str] | None = None,
        output_bytes: int | None = None,
    ) -> SupervisedProcess:
        fields = self._command(command, timeout, cwd, env, output_bytes)
        number, queue = await self.link.post("exec", channel=True, **fields)
        return SupervisedProcess(self, number, queue, timeout)

    def _command(
        self,
        command: str | Sequence[str],
        timeout: float,
        cwd: str | None,
        env: Mapping[str, str] | None,
        output_bytes: int | None,
    ) -> dict[str, Any]:
        if not 0 < timeout <= LONGEST:
            raise UserError(f"the timeout of a command must be between 0 and {LONGEST:g} s, got {timeout!r}")
        if output_bytes is not None and not 1 <= output_bytes <= MIB:
            raise UserError(f"output_bytes must be between 1 and {MIB}, got {output_bytes!r}")
        argv = (
            [self.link.hello.get("shell", "/bin/sh"), "-c", command]
            if isinstance(command, str)
            else list(command)
        )
        if not argv:
            raise SandboxRefusal("exec", "an empty command")
        merged = {**self.spec.env, **(env or {})}
        for text in (*argv, *merged, *merged.values(), cwd or ""):
            if "\0" in text:
                raise SandboxRefusal(
                    "exec", "a command, its folder and its environment hold no NUL character"
                )
        if sum(map(len, argv)) > MIB or any(len(text) > 120_000 for text in argv):
            raise SandboxRefusal("exec", "the command line is too long: put it into a file")
        return {
            "argv": [clean(text) for text in argv],
            "env": {clean(key): clean(value) for key, value in merged.items()},
            "cwd": cwd,
            "timeout": timeout,
            "limit": output_bytes or self.spec.output_bytes,
        }

    async def _final(self, queue: asyncio.Queue[Frame | None], timeout: float) -> ExecResult:
        """The answer to a command, once it has ended.

        Raises:
            SandboxDied: it did not come in time, or cannot come any more.
        """
        try:
            async with asyncio.timeout(timeout + GRACE):
                while True:
                    frame = await self.link.next(queue)
                    if "channel" not in frame[0]:
                        return self._decoded(frame)
        except TimeoutError:
            await self._give_up(f"no answer {GRACE:g} s after the deadline of a command")
            raise SandboxDied(self.id, self.link.dead) from None

    def _decoded(self, frame: Frame) -> ExecResult:
        header, body = frame
        pieces, at = [], 0
        for size in header["sizes"]:
            pieces.append(body[at : at + size])
            at += size
        out, err = (
            joined(head, tail, lost)
            for head, tail, lost in zip(pieces[::2], pieces[1::2], header["omitted"], strict=True)
        )
        oom = bool(header["oom"])
        if self.handle.oom_kills is not None:
            now = self.handle.oom_kills()
            oom, self._oom = oom or now > self._oom, max(now, self._oom)
        return ExecResult(
            out, err, header["code"], header["timed_out"], sum(header["omitted"]), oom, header["seconds"]
        )

    # -- files -------------------------------------------------------------------------------------

    async def read(self, path: str, *, limit: int = 16 * MIB) -> bytes:
        parts, held = [], 0
        async for _, body in self._stream("read", path=clean(path), limit=limit):
            parts.append(body)
            held += len(body)
            if held > limit + CHUNK:
                raise SandboxRefusal("large", f"{path} grows while it is read")
        return b"".join(parts)

    async def write(self, path: str, data: bytes | str, *, mode: int | None = None) -> None:
        raw = data.encode("utf-8", "surrogateescape") if isinstance(data, str) else data
        for start in range(0, max(1, len(raw)), CHUNK):
            piece = raw[start : start + CHUNK]
            await self._call("write", piece, path=clean(path), first=start == 0, mode=mode)

    async def list(self, path: str = ".") -> builtins.list[FileInfo]:
        text = b"".join([body async for _, body in self._stream("list", path=clean(path))])
        return [FileInfo(*entry) for entry in json.loads(text)]

    # -- state -------------------------------------------------------------------------------------

    async def snapshot(self) -> SandboxSnapshot:
        limit = self.spec.workspace_bytes + self.spec.tmp_bytes
        batches = []
        async for header, body in self._stream("pack", folders=list(self.handle.folders), limit=limit):
            if "entries" in header:
                batches.append((header["entries"], body))
        image = await self.handle.commit() if self.handle.commit is not None else ""
        return SandboxSnapshot(self.backend, self.spec, tuple(batches), image)

    async def restore(self, snapshot: SandboxSnapshot) -> None:
        if snapshot.backend != self.backend:
            raise UserError(f"a snapshot of {snapshot.backend} does not fit a {self.backend} sandbox")
        await self.reset()
        await self._fill(snapshot)

    async def _fill(self, snapshot: SandboxSnapshot) -> None:
        folders = []
        for entries, data in snapshot.batches:
            await self._call("unpack", data, entries=entries)
            folders += [entry for entry in entries if entry.get("dir")]
        for start in range(0, len(folders), 2000):
            # From the end, so that a folder is closed only after what is in it.
            stop = len(folders) - start
            await self._call("settle", entries=folders[max(0, stop - 2000) : stop])

    async def fork(self, n: int = 1) -> builtins.list[Sandbox]:
        snapshot = await self.snapshot()
        return await spread(snapshot, n, self.sibling)

    async def reset(self) -> None:
        if self.spec.workspace:
            raise SandboxFailure(
                self.id, "a workspace that is part of the image cannot be emptied: start another"
            )
        await self._call("reset")

    async def changes(self) -> builtins.list[str] | None:
        """Paths of the root file system that were added, changed or deleted since the start, as seen from outside; None
        where nobody can say."""
        return await self.handle.changes() if self.handle.changes is not None else None

    async def calm(self) -> None:
        await self._call("calm")

    async def ping(self, timeout: float = 5.0) -> int:
        header, _ = await self._call("ping", seconds=timeout)
        return int(header["processes"])

    async def close(self) -> None:
        if self.closing is None:
            self.closed = True
            self.closing = asyncio.ensure_future(self._end())
        await asyncio.shield(self.closing)

    async def _end(self) -> None:
        try:
            await self.link.close()
        finally:
            try:
                await self.handle.destroy()
            finally:
                if self.ended is not None:
                    self.ended(self)

    # -- requests ----------------------------------------------------------------------------------

    async def _call(self, op: str, body: bytes = b"", *, seconds: float = 60.0, **fields: Any) -> Frame:
        try:
            return await self.link.call(op, body, timeout=seconds, **fields)
        except TimeoutError:
            await self._give_up(f"no answer to {op} within {seconds:g} s")
            raise SandboxDied(self.id, self.link.dead) from None

    async def _stream(self, op: str, **fields: Any) -> Any:
        try:
            async for frame in self.link.stream(op, timeout=60.0, **fields):
                yield frame
        except TimeoutError:
            await self._give_up(f"no answer to {op} within 60 s")
            raise SandboxDied(self.id, self.link.dead) from None

    async def _give_up(self, why: str) -> None:
        """Nothing that it says from now on counts."""
        self.link.die(why)
        await self.close()


class SupervisedProcess(Process):
    """See `Process`."""

    def __init__(
        self, sandbox: SupervisedSandbox, number: int, queue: asyncio.Queue[Frame | None], timeout: float
    ) -> None:
        self.sandbox, self.number, self.queue, self.timeout = sandbox, number, queue, timeout
        self.result: ExecResult | None = None

    async def send(self, data: bytes) -> None:
        for start in range(0, max(1, len(data)), CHUNK):
            await self.sandbox._call("send", data[start : start + CHUNK], to=self.number)

    async def receive(self, timeout: float) -> bytes:
        if self.result is not None:
            return b""
        async with asyncio.timeout(timeout):
            frame = await self.sandbox.link.next(self.queue)
        if "channel" in frame[0]:
            return frame[1]
        self._ended(self.sandbox._decoded(frame))
        return b""

    async def wait(self) -> ExecResult:
        if self.result is None:
            self._ended(await self.sandbox._final(self.queue, self.timeout))
        assert self.result is not None
        return self.result

    async def kill(self) -> ExecResult:
        if self.result is None:
            await self.sandbox._call("kill", to=self.number)
        return await self.wait()

    def _ended(self, result: ExecResult) -> None:
        self.result = result
        self.sandbox.link.waiting.pop(self.number, None)


async def spread(
    snapshot: SandboxSnapshot, n: int, start: Callable[[SandboxSpec], Awaitable[Sandbox]]
) -> builtins.list[Sandbox]:
    """`n` sandboxes with the files of a snapshot; all or none.

    Raises:
        SandboxFailure: one of them could not be made; the others are closed.
    """
    spec = replace(snapshot.spec, image=snapshot.image) if snapshot.image else snapshot.spec

    async def one() -> Sandbox:
        sandbox = await start(spec)
        try:
            assert isinstance(sandbox, SupervisedSandbox)
            await sandbox._fill(snapshot)
        except BaseException:
            await sandbox.close()
            raise
        return sandbox

    made = await asyncio.gather(*(one() for _ in range(n)), return_exceptions=True)
    broken = [item for item in made if isinstance(item, BaseException)]
    if broken:
        for item in made:
            if isinstance(item, Sandbox):
                await item.close()
        raise (
            broken[0]
            if isinstance(broken[0], UserError | SandboxFailure)
            else SandboxFailure("fork", str(broken[0]))
        )
    return [item for item in made if isinstance(item, Sandbox)]


def joined(head: bytes, tail: bytes, omitted: int) -> str:
    """Head and tail as text, with the number of bytes between them where some are missing."""
    if not omitted:
        return (head + tail).decode("utf-8", "replace")
    start, end = head.decode("utf-8", "replace"), tail.decode("utf-8", "replace")
    return f"{start}\n[... {omitted} bytes omitted ...]\n{end}"


def clean(text: str) -> str:
    """Text that can be a file name or an argument: a lone surrogate becomes a question mark."""
    return text.encode("utf-8", "surrogateescape" if is_escape(text) else "replace").decode(
        "utf-8", "surrogateescape"
    )


def is_escape(text: str) -> bool:
    """Whether every surrogate of a text stands for a byte (as `os.fsdecode` writes it)."""
    return all(not "\ud800" <= letter <= "\udfff" or "\udc80" <= letter <= "\udcff" for letter in text)
