"""The exact solver: the solutions of a grid, up to a limit, by search over the cell with the fewest candidates.

Invariant: `solutions(cells, size, 2)` has one entry exactly where the grid has one solution.
"""

from __future__ import annotations

import functools
from random import Random
from typing import TypeAlias

from agentrl.envs.games.sudoku.rules import BOXES, EMPTY

Cells: TypeAlias = tuple[int, ...]
"""A grid row by row; 0 for an empty cell."""


def as_cells(grid: str) -> Cells:
    """The cells of a board text."""
    return tuple(0 if mark == EMPTY else int(mark) for mark in grid[::2])


def solutions(cells: Cells, size: int, limit: int, rng: Random | None = None) -> list[Cells]:
    """Up to `limit` solutions; with `rng`, candidates are tried in random order."""
    high, wide = BOXES[size]
    boxes = [cell // size // high * (size // wide) + cell % size // wide for cell in range(size * size)]
    every = (1 << size) - 1
    rows, columns, squares = [every] * size, [every] * size, [every] * size
    filled = list(cells)

    def flip(cell: int, bit: int) -> None:
        rows[cell // size] ^= bit
        columns[cell % size] ^= bit
        squares[boxes[cell]] ^= bit

    empty = []
    for cell, digit in enumerate(cells):
        if not digit:
            empty.append(cell)
            continue
        bit = 1 << digit - 1
        if not rows[cell // size] & columns[cell % size] & squares[boxes[cell]] & bit:
            return []
        flip(cell, bit)
    found: list[Cells] = []

    def search() -> None:
        if not empty:
            found.append(tuple(filled))
            return
        fewest, best, free = size + 1, -1, 0
        for at, cell in enumerate(empty):
            mask = rows[cell // size] & columns[cell % size] & squares[boxes[cell]]
            count = mask.bit_count()
            if count < fewest:
                fewest, best, free = count, at, mask
                if count <= 1:
                    break
        if not free:
            return
        cell = empty[best]
        empty[best] = empty[-1]
        empty.pop()
        bits = [1 << digit for digit in range(size) if free >> digit & 1]
        if rng is not None:
            rng.shuffle(bits)
        for bit in bits:
            filled[cell] = bit.bit_length()
            flip(cell, bit)
            search()
            flip(cell, bit)
            if len(found) >= limit:
                break
        filled[cell] = 0
        empty.append(cell)
        empty[best], empty[-1] = empty[-1], empty[best]

    search()
    return found


@functools.lru_cache(maxsize=512)
def solution_of(given: str, size: int) -> Cells:
    """The one solution of a task."""
    return solutions(as_cells(given), size, 1)[0]


def candidates(cells: Cells, size: int) -> dict[int, int]:
    """For every empty cell, how many digits its row, column and box leave."""
    high, wide = BOXES[size]
    out = {}
    for cell, digit in enumerate(cells):
        if digit:
            continue
        row, column = divmod(cell, size)
        seen = {
            cells[size * y + x]
            for y in range(size)
            for x in range(size)
            if y == row or x == column or (y // high == row // high and x // wide == column // wide)
        }
        out[cell] = size - len(seen - {0})
    return out
