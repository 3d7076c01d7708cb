"""Minesweeper: reveal every cell that is no mine; a revealed cell says how many of its neighbours are mines.

Invariant: a board is a text (see `games.board`) of what the policy sees: `.` hidden, `F` flagged, a digit for a revealed
cell. `truth` is the same board with everything revealed, `*` for a mine. Revealing a 0 reveals its neighbours.
"""

from __future__ import annotations

import functools
from collections.abc import Collection

from agentrl.core.failures import ToolError
from agentrl.envs.games.board import as_board, put

HIDDEN, FLAG, MINE = ".", "F", "*"


@functools.cache
def neighbours_of(rows: int, columns: int) -> dict[int, tuple[int, ...]]:
    """From a cell's place in the text to those of its 3, 5 or 8 neighbours. Never change it."""
    out = {}
    for row in range(rows):
        for column in range(columns):
            out[2 * (columns * row + column)] = tuple(
                2 * (columns * y + x)
                for y in range(max(0, row - 1), min(rows, row + 2))
                for x in range(max(0, column - 1), min(columns, column + 2))
                if (y, x) != (row, column)
            )
    return out


def truth_of(mines: Collection[int], rows: int, columns: int) -> str:
    """The board with everything revealed.

    Args:
        mines: their places in the text.
    """
    counts = dict.fromkeys(neighbours_of(rows, columns), 0)
    for mine in mines:
        for other in neighbours_of(rows, columns)[mine]:
            counts[other] += 1
    return as_board((MINE if cell in mines else str(count) for cell, count in counts.items()), columns)


def revealed(board: str, truth: str, index: int, rows: int, columns: int) -> str | None:
    """The board after a cell is revealed; None where it is a mine.

    Raises:
        ToolError: a cell that is revealed or flagged.
    """
    if board[index] == FLAG:
        raise ToolError("that cell has a flag: take it away first")
    if board[index] != HIDDEN:
        raise ToolError("that cell is revealed")
    mark = truth[index]
    if mark == MINE:
        return None
    if mark != "0":
        return put(board, index, mark)
    marks, around = list(board), neighbours_of(rows, columns)
    marks[index] = mark
    edge = [index]
    while edge:
        for other in around[edge.pop()]:
            if marks[other] in (HIDDEN, FLAG):
                marks[other] = truth[other]
                if truth[other] == "0":
                    edge.append(other)
    return "".join(marks)


def flagged(board: str, index: int) -> str:
    """The board with a flag put on a hidden cell, or taken from a flagged one.

    Raises:
        ToolError: a revealed cell.
    """
    if board[index] == FLAG:
        return put(board, index, HIDDEN)
    if board[index] != HIDDEN:
        raise ToolError("that cell is revealed")
    return put(board, index, FLAG)
