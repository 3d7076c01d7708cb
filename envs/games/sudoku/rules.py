"""Sudoku: every digit once in each row, column and box.

Invariant: a grid is a board text (see `games.board`), `.` for an empty cell; a placement that `place` allows leaves no
two equal digits in a row, a column or a box, so a full grid is a solved one.
"""

from __future__ import annotations

import functools

from agentrl.core.failures import ToolError
from agentrl.envs.games.board import place_of, put

BOXES = {4: (2, 2), 6: (2, 3), 9: (3, 3)}
"""Rows and columns of a box, by the size of the grid."""
EMPTY = "."


@functools.cache
def units_of(size: int) -> tuple[tuple[tuple[str, tuple[int, ...]], ...], ...]:
    """For every cell, in order: its row, column and box, each a name and the places of the other cells in the text."""
    high, wide = BOXES[size]
    cells = [divmod(cell, size) for cell in range(size * size)]

    def unit(name: str, own: int, members: list[tuple[int, int]]) -> tuple[str, tuple[int, ...]]:
        places = tuple(2 * (size * row + column) for row, column in members)
        return name, tuple(place for place in places if place != 2 * own)

    return tuple(
        (
            unit(f"row {row + 1}", cell, [at for at in cells if at[0] == row]),
            unit(f"column {column + 1}", cell, [at for at in cells if at[1] == column]),
            unit(
                "the box",
                cell,
                [at for at in cells if at[0] // high == row // high and at[1] // wide == column // wide],
            ),
        )
        for cell, (row, column) in enumerate(cells)
    )


def place(grid: str, index: int, digit: int, size: int) -> str:
    """The grid with a digit in an empty cell.

    Args:
        index: the cell's place in the text.

    Raises:
        ToolError: no such digit, a cell that is not empty, or a digit that its row, column or box already has.
    """
    if not 0 < digit <= size:
        raise ToolError(f"digits are 1 to {size}")
    row, column = place_of(index, size)
    if grid[index] != EMPTY:
        raise ToolError(f"row {row}, column {column} already holds {grid[index]}")
    mark = str(digit)
    for name, places in units_of(size)[index // 2]:
        for other in places:
            if grid[other] == mark:
                at = place_of(other, size)
                raise ToolError(f"{name} already has a {digit}, at row {at[0]}, column {at[1]}")
    return put(grid, index, mark)


def erase(grid: str, given: str, index: int, size: int) -> str:
    """The grid with a cell empty again.

    Raises:
        ToolError: a given digit, or an empty cell.
    """
    row, column = place_of(index, size)
    if given[index] != EMPTY:
        raise ToolError(f"row {row}, column {column} is given")
    if grid[index] == EMPTY:
        raise ToolError(f"row {row}, column {column} is empty")
    return put(grid, index, EMPTY)
