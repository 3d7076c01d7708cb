"""The exact solver: whether a table can still reach a target, and by which steps.

Invariant: `solve` finds steps if and only if there are any. Operations that lead nowhere new are left out (a times 1,
a difference equal to its second number); tables are compared as multisets.
"""

from __future__ import annotations

import functools
from typing import TypeAlias

from agentrl.envs.games.countdown.rules import Table

Step: TypeAlias = tuple[int, str, int]


@functools.lru_cache(maxsize=4096)
def solve(table: Table, target: int) -> tuple[Step, ...] | None:
    """Steps (a, operator, b) that put the target on the table; None if there are none.

    Args:
        table: 1 to 6 numbers, sorted.
    """
    return _search(table, target, set())


def _search(table: Table, target: int, lost: set[Table]) -> tuple[Step, ...] | None:
    if target in table:
        return ()
    if len(table) == 1 or table in lost:
        return None
    for step, result, rest in steps(table):
        if result == target:
            return (step,)
        if len(rest) > 0:
            found = _search(tuple(sorted((*rest, result))), target, lost)
            if found is not None:
                return (step, *found)
    lost.add(table)
    return None


def steps(table: Table) -> list[tuple[Step, int, Table]]:
    """Every step that leads to a new number: (step, its result, the numbers that are left)."""
    out: list[tuple[Step, int, Table]] = []
    seen = set()
    for second in range(1, len(table)):
        for first in range(second):
            small, large = table[first], table[second]  # sorted: small <= large
            if (small, large) in seen:
                continue
            seen.add((small, large))
            rest = table[:first] + table[first + 1 : second] + table[second + 1 :]
            out.append(((large, "+", small), large + small, rest))
            if large > small and large - small != small:
                out.append(((large, "-", small), large - small, rest))
            if small > 1:
                out.append(((large, "*", small), large * small, rest))
                if large % small == 0 and large // small != small:
                    out.append(((large, "/", small), large // small, rest))
    return out
