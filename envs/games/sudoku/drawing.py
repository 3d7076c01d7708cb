"""Grids with one solution, at the price of a shuffle.

A pattern (a full grid, and which of its cells are given) is proven once in a process; a task is a pattern whose digits,
rows, columns, bands and stacks have changed places, which changes the number of its solutions not at all.

Invariant: every task has exactly one solution.
"""

from __future__ import annotations

import functools
from random import Random

from agentrl.envs.games.board import as_board
from agentrl.envs.games.sudoku.rules import BOXES, EMPTY
from agentrl.envs.games.sudoku.solving import Cells, solutions

PATTERNS = 64
MOST_HOLES = {4: 11, 6: 24, 9: 54}


@functools.lru_cache(maxsize=1024)
def pattern(size: int, holes: int, number: int) -> tuple[Cells, tuple[bool, ...]]:
    """A full grid, and whether each of its cells is given; the given ones allow no other solution."""
    rng = Random(f"sudoku pattern {size}/{holes}/{number}")
    while True:
        full = solutions((0,) * size**2, size, 1, rng)[0]
        cells, left = list(full), holes
        for cell in rng.sample(range(size**2), size**2):
            if not left:
                break
            cells[cell] = 0
            if len(solutions(tuple(cells), size, 2)) == 1:
                left -= 1
            else:
                cells[cell] = full[cell]
        if not left:
            return full, tuple(digit > 0 for digit in cells)


def shuffled(size: int, holes: int, rng: Random) -> tuple[str, str]:
    """A task and its solution, as board texts."""
    full, given = pattern(size, holes, int(rng.random() * PATTERNS))
    high, wide = BOXES[size]
    rows, columns = lines(size, high, rng), lines(size, wide, rng)
    digits = list("123456789"[:size])
    rng.shuffle(digits)
    order = [size * row + column for row in rows for column in columns]
    marks = [digits[full[cell] - 1] for cell in order]
    shown = [mark if given[cell] else EMPTY for cell, mark in zip(order, marks, strict=True)]
    return as_board(shown, size), as_board(marks, size)


def lines(size: int, thick: int, rng: Random) -> list[int]:
    """An order of rows (or columns) that keeps the boxes whole: `thick` of them make a band."""
    bands = [list(range(at, at + thick)) for at in range(0, size, thick)]
    for band in bands:
        rng.shuffle(band)
    rng.shuffle(bands)
    return [line for band in bands for line in band]
