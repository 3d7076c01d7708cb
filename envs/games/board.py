"""Boards as text: one mark a cell, a space between, a line a row.

Invariant: the text is the state and also what the policy is shown, so showing a board costs nothing. Cell (row, column),
counted from 1, stands at `index_of`; the neighbour to the right is 2 further, the one below `2 * columns`.
"""

from __future__ import annotations

from collections.abc import Iterable

from agentrl.core.failures import ToolError


def index_of(row: int, column: int, rows: int, columns: int) -> int:
    """Where a cell stands in the text.

    Raises:
        ToolError: there is no such cell.
    """
    if not (0 < row <= rows and 0 < column <= columns):
        raise ToolError(f"there is no such cell: rows are 1 to {rows}, columns 1 to {columns}")
    return 2 * (columns * (row - 1) + column - 1)


def place_of(index: int, columns: int) -> tuple[int, int]:
    """Row and column, counted from 1, of a cell's place in the text."""
    row, column = divmod(index // 2, columns)
    return row + 1, column + 1


def put(text: str, index: int, mark: str) -> str:
    """The board with another mark in one cell."""
    return f"{text[:index]}{mark}{text[index + 1 :]}"


def as_board(marks: Iterable[str], columns: int) -> str:
    """The text of a board from its marks, row by row."""
    given = list(marks)
    return "\n".join(" ".join(given[at : at + columns]) for at in range(0, len(given), columns))
