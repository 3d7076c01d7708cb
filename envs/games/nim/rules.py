"""Nim: whoever moves takes one or more objects from one heap; whoever takes the last object wins (misère: loses).

Invariant: `winning_moves` is empty exactly where the player to move loses against perfect play (Bouton, Annals of
Mathematics 3, 1901). Every function is pure.
"""

from __future__ import annotations

from typing import TypeAlias

from agentrl.core.failures import ToolError

Heaps: TypeAlias = tuple[int, ...]
Take: TypeAlias = tuple[int, int]
"""Which heap, counted from 0, and how many objects."""


def taken(heaps: Heaps, heap: int, count: int) -> Heaps:
    """The heaps after a move.

    Raises:
        ToolError: no such heap, or not so many objects in it.
    """
    if not 0 <= heap < len(heaps):
        raise ToolError(f"there is no such heap: heaps are 1 to {len(heaps)}")
    if not 0 < count <= heaps[heap]:
        here = f"take 1 to {heaps[heap]}" if heaps[heap] else "it is empty"
        raise ToolError(f"you cannot take that many from heap {heap + 1}: {here}")
    return (*heaps[:heap], heaps[heap] - count, *heaps[heap + 1 :])


def nim_sum(heaps: Heaps) -> int:
    total = 0
    for size in heaps:
        total ^= size
    return total


def wins(heaps: Heaps, misere: bool) -> bool:
    """Whether the player to move wins with perfect play."""
    if misere and max(heaps) <= 1:
        return sum(heaps) % 2 == 0
    return nim_sum(heaps) != 0


def moves(heaps: Heaps) -> list[Take]:
    """Every move."""
    return [(heap, count) for heap, size in enumerate(heaps) for count in range(1, size + 1)]


def winning_moves(heaps: Heaps, misere: bool) -> list[Take]:
    """The moves after which the other player loses."""
    out = []
    for heap, count in moves(heaps):
        if not wins((*heaps[:heap], heaps[heap] - count, *heaps[heap + 1 :]), misere):
            out.append((heap, count))
    return out


def described(heaps: Heaps) -> str:
    return "heaps: " + " ".join(map(str, heaps))
