"""`Sudoku-v0`: fill a grid of 4, 6 or 9 rows that has one solution.

Invariant: a placement is refused for what anybody can see (an equal digit in its row, column or box) and never because
the solution says otherwise.
"""

from __future__ import annotations

from typing import ClassVar

from agentrl.core.env import Safety, ToolEnv
from agentrl.core.failures import UserError
from agentrl.core.messages import Action, call
from agentrl.core.tool import tool
from agentrl.envs.games.board import index_of, place_of
from agentrl.envs.games.drawing import TaskKey, check_between, drawn
from agentrl.envs.games.sudoku import rules
from agentrl.envs.games.sudoku.drawing import MOST_HOLES, shuffled
from agentrl.envs.games.sudoku.rules import BOXES, EMPTY
from agentrl.envs.games.sudoku.solving import as_cells, candidates, solution_of

HOLES = {4: 8, 6: 18, 9: 40}


class SudokuEnv(ToolEnv):
    """Fill a grid so that every row, column and box has every digit once.

    Args:
        size: rows and columns: 4, 6 or 9.
        holes: empty cells at the start: 4 to 11, 24 or 54, by the size; by default 8, 18 or 40.
        split: `train`, `validation` or `test`: no solved grid is in two.
        max_turns: by default 3 for every hole.
    """

    safety: ClassVar[Safety] = "inline"

    def __init__(
        self, *, size: int = 4, holes: int | None = None, split: str = "train", max_turns: int | None = None
    ) -> None:
        if size not in BOXES:
            raise UserError(f"size must be 4, 6 or 9, got {size!r:.40}")
        holes = HOLES[size] if holes is None else holes
        check_between("holes", holes, 4, MOST_HOLES[size])
        super().__init__(split=split, max_turns=3 * holes if max_turns is None else max_turns)
        self.size, self.holes = size, holes
        high, wide = BOXES[size]
        self.instructions = (
            f"Fill the grid so that every row, every column and every box of {high} rows and {wide} columns has "
            f"the digits 1 to {size} once. A dot is an empty cell; rows and columns are counted from 1."
        )
        self.given = self.grid = ""

    def task(self) -> str:
        key = TaskKey("sudoku", self.split, self.task_seed, (self.size, self.holes))
        self.given, _ = drawn(key, lambda rng: shuffled(self.size, self.holes, rng), lambda pair: pair[1])
        self.grid = self.given
        return self.grid

    @tool
    def place(self, row: int, column: int, digit: int) -> str:
        """Write a digit into an empty cell.

        Args:
            row: counted from 1, from the top.
            column: counted from 1, from the left.
            digit: the digit.
        """
        index = index_of(row, column, self.size, self.size)
        self.grid = rules.place(self.grid, index, digit, self.size)
        if EMPTY in self.grid:
            return self.grid
        self.finish(1.0, success=True)
        return f"{self.grid}\nThe grid is solved."

    @tool
    def erase(self, row: int, column: int) -> str:
        """Empty a cell again that was not given.

        Args:
            row: counted from 1, from the top.
            column: counted from 1, from the left.
        """
        index = index_of(row, column, self.size, self.size)
        self.grid = rules.erase(self.grid, self.given, index, self.size)
        return self.grid

    def state_key(self) -> str:
        return self.grid

    def expert(self) -> Action:
        """Erase a digit that is not the solution's; else fill the empty cell that has the fewest candidates."""
        solution, cells = solution_of(self.given, self.size), as_cells(self.grid)
        for cell, digit in enumerate(cells):
            if digit and digit != solution[cell]:
                row, column = place_of(2 * cell, self.size)
                return call("erase", row=row, column=column)
        counts = candidates(cells, self.size)
        cell = min(counts, key=lambda one: counts[one])
        row, column = place_of(2 * cell, self.size)
        return call("place", row=row, column=column, digit=solution[cell])
