"""The Tower of Hanoi: disks on three pegs, a smaller one never under a larger one.

Invariant: a state is the peg of every disk, the smallest first, so every tuple of pegs is a legal state. Every function is
pure.
"""

from __future__ import annotations

from typing import Literal, TypeAlias

from agentrl.core.failures import ToolError

Peg: TypeAlias = Literal["A", "B", "C"]
State: TypeAlias = tuple[Peg, ...]
"""The peg of every disk, the smallest first."""
PEGS: tuple[Peg, ...] = ("A", "B", "C")


def moved(state: State, source: Peg, target: Peg) -> State:
    """The state after the top disk of one peg goes onto another peg.

    Raises:
        ToolError: the same peg, an empty one, or a smaller disk on the other.
    """
    if source == target:
        raise ToolError("a disk moves from one peg to another one")
    if source not in state:
        raise ToolError(f"peg {source} is empty")
    disk = state.index(source)
    if target in state[:disk]:
        raise ToolError(
            f"disk {disk + 1} is larger than disk {state.index(target) + 1} on top of peg {target}"
        )
    return (*state[:disk], target, *state[disk + 1 :])


def moves(state: State) -> list[tuple[Peg, Peg]]:
    """Every legal move: two or three of them."""
    tops = [(state.index(peg) if peg in state else len(state), peg) for peg in PEGS]
    return [
        (source, target)
        for disk, source in tops
        for other, target in tops
        if disk < other and disk < len(state)
    ]


def described(state: State) -> str:
    """One line a peg, its disks from the bottom to the top; disk 1 is the smallest."""
    lines = []
    for peg in PEGS:
        disks = [str(disk) for disk in range(len(state), 0, -1) if state[disk - 1] == peg]
        lines.append(" ".join((f"{peg}:", *disks)))
    return "\n".join(lines)
