"""What this process holds: threads, open files, processes that it started, temporary files.

Only what can be counted without guessing: open files and processes are read from /proc, where there is one.
"""

from __future__ import annotations

import gc
import os
import tempfile
import threading
import time
import uuid
from collections.abc import Hashable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import TypeAlias

Holdings: TypeAlias = dict[str, dict[Hashable, str]]
"""By kind: what is held, and how to call it."""
PROC = Path("/proc")
MARK = "AGENTRL_CHECK"


@dataclass(frozen=True, slots=True)
class Watch:
    """A folder for temporary files and a mark that child processes inherit, of one check alone.

    What was held before it began is not looked at: its end must not hide a leak.
    """

    folder: Path
    mark: str
    old: Holdings = field(default_factory=dict)

    def holdings(self) -> Holdings:
        out: Holdings = {
            "threads": {thread.ident: thread.name for thread in threading.enumerate()},
            "temporary files": {path: path.name for path in self.folder.iterdir()},
        }
        if PROC.is_dir():
            out["open files"] = dict(open_files())
            out["processes"] = dict(self.processes())
        return {
            kind: {key: name for key, name in held.items() if key not in self.old.get(kind, {})}
            for kind, held in out.items()
        }

    def more_than(self, before: Holdings, patience: float = 2.0) -> dict[str, list[str]]:
        """By kind, what there is more of than before; what is just ending is waited for, up to `patience` seconds."""
        deadline = time.monotonic() + patience
        while True:
            gc.collect()
            now = self.holdings()
            more = {kind: added(held, before[kind]) for kind, held in now.items()}
            if not any(more.values()) or time.monotonic() > deadline:
                return {kind: names for kind, names in more.items() if names}
            time.sleep(0.05)

    def processes(self) -> Iterator[tuple[int, str]]:
        """Descendants of this process, and those that were set free from it but carry its mark."""
        parents, names = {}, {}
        for folder in PROC.iterdir():
            if folder.name.isdigit():
                try:
                    head, _, rest = (folder / "stat").read_text().rpartition(")")
                    marked = self.mark.encode() in (folder / "environ").read_bytes()
                except OSError:  # it ended meanwhile, or is somebody else's
                    continue
                state, parent = rest.split()[:2]
                pid = int(folder.name)
                parents[pid] = os.getpid() if marked else int(parent)
                names[pid] = head.partition("(")[2] + (" (not waited for)" if state == "Z" else "")
        for pid in parents:
            if pid != os.getpid() and os.getpid() in ancestors(pid, parents):
                yield pid, names[pid]


@contextmanager
def watching() -> Iterator[Watch]:
    """Temporary files go into a folder of this check's own, children carry its mark."""
    mark = f"{MARK}={uuid.uuid4()}"
    old = tempfile.tempdir, os.environ.get("TMPDIR")
    with tempfile.TemporaryDirectory(prefix="agentrl-check-", ignore_cleanup_errors=True) as folder:
        tempfile.tempdir = os.environ["TMPDIR"] = folder
        os.environ[MARK] = mark.partition("=")[2]
        try:
            watch = Watch(Path(folder), mark)
            yield replace(watch, old=watch.holdings())
        finally:
            tempfile.tempdir = old[0]
            del os.environ["TMPDIR"], os.environ[MARK]
            if old[1] is not None:
                os.environ["TMPDIR"] = old[1]


def added(now: Mapping[Hashable, str], before: Mapping[Hashable, str]) -> list[str]:
    """Names of what was added, if there is more than before: a number may be given anew to the same thing."""
    return sorted(name for key, name in now.items() if key not in before) if len(now) > len(before) else []


def open_files() -> Iterator[tuple[Hashable, str]]:
    for link in (PROC / "self/fd").iterdir():
        try:
            target = os.readlink(link)
        except OSError:  # the listing itself
            continue
        yield (link.name, target), target


def ancestors(pid: int, parents: Mapping[int, int]) -> Iterator[int]:
    while pid in parents:
        pid = parents[pid]
        yield pid
