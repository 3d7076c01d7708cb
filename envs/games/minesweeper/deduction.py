"""What follows from a board that is seen.

Every revealed digit says how many of its hidden neighbours are mines; so does the number of all mines. Two rules draw
conclusions: a set without mines, or full of them, is known; and where one set holds another, the difference holds the
difference of their mines.

Invariant: what is concluded is true on every board that looks like this one, and seeing more never concludes less.
"""

from __future__ import annotations

from typing import TypeAlias

from agentrl.envs.games.minesweeper.rules import FLAG, HIDDEN, neighbours_of

HIDES = HIDDEN + FLAG
Fact: TypeAlias = tuple[int, int]
"""Cells, as bits (cell `i` of the board is bit `i`), and how many of them are mines."""


def deduce(board: str, mines: int, rows: int, columns: int) -> tuple[int, int]:
    """The hidden cells that are surely safe and those that are surely mines, as bits. Flags are not believed."""
    facts = facts_of(board, mines, rows, columns)
    safe = full = 0
    while True:
        now_safe, now_full = plain(facts)
        if not now_safe and not now_full:
            now_safe, now_full = by_difference(facts)
        if not now_safe and not now_full:
            return safe, full
        safe, full = safe | now_safe, full | now_full
        facts = reduced(facts, now_safe, now_full)


def facts_of(board: str, mines: int, rows: int, columns: int) -> set[Fact]:
    """What is known at first."""
    facts: set[Fact] = set()
    everything = 0
    for index, around in neighbours_of(rows, columns).items():
        mark = board[index]
        if mark in HIDES:
            everything |= 1 << index // 2
            continue
        hidden = 0
        for other in around:
            if board[other] in HIDES:
                hidden |= 1 << other // 2
        if hidden:
            facts.add((hidden, int(mark)))
    facts.add((everything, mines))
    return facts


def plain(facts: set[Fact]) -> tuple[int, int]:
    """Sets without mines and sets full of them."""
    safe = full = 0
    for cells, count in facts:
        if count == 0:
            safe |= cells
        elif count == cells.bit_count():
            full |= cells
    return safe, full


def by_difference(facts: set[Fact]) -> tuple[int, int]:
    """Pairs of sets, one inside the other."""
    safe = full = 0
    for cells, count in facts:
        for more, number in facts:
            if cells & ~more == 0 and cells != more:
                rest = more & ~cells
                if number == count:
                    safe |= rest
                elif number - count == rest.bit_count():
                    full |= rest
    return safe, full


def reduced(facts: set[Fact], safe: int, full: int) -> set[Fact]:
    """The facts about what is still unknown."""
    return {
        (cells & ~safe & ~full, count - (cells & full).bit_count())
        for cells, count in facts
        if cells & ~safe & ~full
    }
