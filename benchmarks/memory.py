"""Memory of processes, as the kernel shares it out between them."""

from __future__ import annotations

from collections.abc import Sequence
from contextlib import suppress
from pathlib import Path


def tree(pid: int) -> list[int]:
    """The children of a process and theirs."""
    parents: dict[int, int] = {}
    for path in Path("/proc").glob("[0-9]*/stat"):
        with suppress(OSError):
            parents[int(path.parent.name)] = int(path.read_text().rpartition(")")[2].split()[1])
    found, edge = [], [pid]
    while edge:
        here = edge.pop()
        children = [child for child, parent in parents.items() if parent == here]
        found += children
        edge += children
    return found


def proportional_mb(pids: Sequence[int]) -> float:
    """Their proportional set size in MB (1e6 bytes)."""
    total = 0
    for pid in pids:
        with suppress(OSError):
            lines = Path(f"/proc/{pid}/smaps_rollup").read_text().splitlines()
            total += next(int(line.split()[1]) for line in lines if line.startswith("Pss:"))
    return total * 1024 / 1e6
