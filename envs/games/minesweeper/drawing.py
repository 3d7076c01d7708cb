"""Boards that need no guess.

Invariant: from the first revealed region on, deduction alone (see `deduction`) reveals every safe cell.
"""

from __future__ import annotations

from random import Random
from typing import TypeAlias

from agentrl.envs.games.minesweeper.deduction import deduce
from agentrl.envs.games.minesweeper.rules import HIDDEN, neighbours_of, revealed, truth_of

Layout: TypeAlias = tuple[str, str]
"""The board as it is first shown, and with everything revealed."""


def random_layout(rng: Random, rows: int, columns: int, mines: int) -> Layout:
    """A random board whose first revealed cell has no mine around it."""
    around = neighbours_of(rows, columns)
    cells = list(around)
    first = cells[int(rng.random() * len(cells))]
    free = [cell for cell in cells if cell != first and cell not in around[first]]
    truth = truth_of(frozenset(rng.sample(free, mines)), rows, columns)
    blank = "".join(mark if mark in " \n" else HIDDEN for mark in truth)
    shown = revealed(blank, truth, first, rows, columns)
    assert shown is not None  # the first cell is no mine
    return shown, truth


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
