"""Control groups for processes that no container engine looks after: memory, processes and time of a whole sandbox.

Used where this process may write the hierarchy (root outside of a container, or a delegated group); elsewhere the
supervisor counts for itself. A group carries the name of its sandbox, so that the reaper finds it.
"""

from __future__ import annotations

import functools
import os
import shlex
import time
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path

ROOT = Path("/sys/fs/cgroup")
PARENT = "agentrl"
PERIOD = 100_000  # microseconds


@functools.cache
def hierarchy() -> tuple[Path, ...]:
    """Folders in which groups are made: one for each controller (version 1), or one (version 2); empty for none."""
    if (ROOT / "cgroup.controllers").is_file():
        folders: tuple[Path, ...] = (ROOT / PARENT,)
    else:
        folders = tuple(ROOT / name / PARENT for name in ("memory", "pids", "cpu"))
    try:
        for folder in folders:
            folder.mkdir(exist_ok=True)
        if len(folders) == 1:
            for where in (ROOT, folders[0]):
                (where / "cgroup.subtree_control").write_text("+memory +pids +cpu")
    except OSError:
        return ()
    return folders


@dataclass(frozen=True, slots=True)
class Group:
    """The group of one sandbox."""

    name: str
    folders: tuple[Path, ...]

    @classmethod
    def make(cls, name: str, *, memory: int, processes: int, cpus: float) -> Group | None:
        """A group with its limits; None where none can be made."""
        group = cls(name, tuple(folder / name for folder in hierarchy()))
        if not group.folders:
            return None
        quota = max(1000, int(cpus * PERIOD))
        settings = {
            "memory.max": memory,
            "memory.swap.max": 0,
            "pids.max": processes,
            "cpu.max": f"{quota} {PERIOD}",
            "memory.limit_in_bytes": memory,
            "memory.memsw.limit_in_bytes": memory,
            "cpu.cfs_period_us": PERIOD,
            "cpu.cfs_quota_us": quota,
        }
        try:
            for folder in group.folders:
                folder.mkdir()
                for key, value in settings.items():
                    if (folder / key).exists():
                        (folder / key).write_text(str(value))
        except OSError:
            group.remove()
            return None
        return group

    def join_script(self) -> str:
        """Shell commands with which a process puts itself into the group."""
        return "; ".join(f"echo 0 > {shlex.quote(str(folder / 'cgroup.procs'))}" for folder in self.folders)

    def pids(self) -> set[int]:
        found: set[int] = set()
        for folder in self.folders:
            with suppress(OSError):
                found.update(int(line) for line in (folder / "cgroup.procs").read_text().split())
        return found

    def oom_kills(self) -> int:
        """How many processes the kernel has killed in it for want of memory."""
        for name in ("memory.events", "memory.oom_control"):
            for folder in self.folders:
                with suppress(OSError, ValueError):
                    for line in (folder / name).read_text().splitlines():
                        if line.startswith("oom_kill "):
                            return int(line.split()[1])
        return 0

    def kill(self) -> None:
        """Kill whatever is in it."""
        for pid in self.pids():
            with suppress(ProcessLookupError):
                os.kill(pid, 9)

    def remove(self, seconds: float = 5.0) -> bool:
        """Kill what is in it and remove it; False if something would not go."""
        deadline = time.monotonic() + seconds
        left = [folder for folder in self.folders if folder.is_dir()]
        while left and time.monotonic() < deadline:
            self.kill()
            for folder in list(left):
                try:
                    folder.rmdir()
                    left.remove(folder)
                except FileNotFoundError:
                    left.remove(folder)
                except OSError:
                    time.sleep(0.002)
        return not left


def groups() -> list[Group]:
    """Every group that is there."""
    names = {path.name for folder in hierarchy() for path in folder.iterdir() if path.is_dir()}
    return [Group(name, tuple(folder / name for folder in hierarchy())) for name in sorted(names)]
