"""Boards that need no guess.

Invariant: from the first revealed region on, deduction alone (see `deduction`) reveals every safe cell. Which region that
is depends on the mines alone; what is shown first decides the split, so neither the mines nor a first view are in two.
"""

from __future__ import annotations

from random import Random
from typing import TypeAlias

from agentrl.envs.games.minesweeper.deduction import deduce
from agentrl.envs.games.minesweeper.rules import HIDDEN, neighbours_of, revealed, truth_of

Layout: TypeAlias = tuple[str, str]
"""The board as it is first shown, and with everything revealed."""


def random_layout(rng: Random, rows: int, columns: int, mines: int) -> Layout | None:
    """A random board; None if every cell has a mine around it, so that there is no place to begin."""
    cells = list(neighbours_of(rows, columns))
    truth = truth_of(frozenset(rng.sample(cells, mines)), rows, columns)
    empty = [cell for cell in cells if truth[cell] == "0"]
    if not empty:
        return None
    blank = "".join(mark if mark in " \n" else HIDDEN for mark in truth)
    shown = revealed(blank, truth, empty[len(empty) // 2], rows, columns)
    return (shown, truth) if shown else None


def solvable(layout: Layout, rows: int, columns: int, mines: int) -> bool:
    """Whether deduction reveals every safe cell."""
    board, truth = layout
    marks = list(board)
    while board.count(HIDDEN) > mines:
        safe, _ = deduce(board, mines, rows, columns)
        if not safe:
            return False
        while safe:
            bit = safe & -safe
            safe ^= bit
            index = 2 * (bit.bit_length() - 1)
            marks[index] = truth[index]
        board = "".join(marks)
    return True
