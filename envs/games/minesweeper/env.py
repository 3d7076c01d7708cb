"""`Minesweeper-v0`: find the mines of a board that needs no guess.

Invariant: what the policy sees is the text `board`; where the mines are is only in `truth`, which is never shown.
"""

from __future__ import annotations

from random import Random
from typing import ClassVar

from agentrl.core.env import Safety, ToolEnv
from agentrl.core.failures import InfrastructureFailure, UserError
from agentrl.core.messages import Action, call
from agentrl.core.tool import tool
from agentrl.envs.games.board import index_of, place_of
from agentrl.envs.games.drawing import TRIES, TaskKey, check_between, remembered
from agentrl.envs.games.minesweeper.deduction import deduce
from agentrl.envs.games.minesweeper.drawing import Layout, random_layout, solvable
from agentrl.envs.games.minesweeper.rules import FLAG, HIDDEN, flagged, revealed
from agentrl.envs.generated import in_split


class MinesweeperEnv(ToolEnv):
    """Reveal every cell that is no mine; no board needs a guess.

    Args:
        rows, columns: 4 to 10.
        mines: 2 to a fifth of the cells; by default one cell in seven.
        split: `train`, `validation` or `test`: no arrangement of mines and no first view is in two.
        max_turns: by default 2 for every cell.
    """

    safety: ClassVar[Safety] = "inline"

    def __init__(
        self,
        *,
        rows: int = 6,
        columns: int = 6,
        mines: int | None = None,
        split: str = "train",
        max_turns: int | None = None,
    ) -> None:
        check_between("rows", rows, 4, 10)
        check_between("columns", columns, 4, 10)
        mines = rows * columns // 7 if mines is None else mines
        check_between("mines", mines, 2, rows * columns // 5)
        super().__init__(split=split, max_turns=2 * rows * columns if max_turns is None else max_turns)
        self.rows, self.columns, self.mines = rows, columns, mines
        self.instructions = (
            f"Reveal every cell of the board that is no mine; {mines} cells are mines, and revealing one ends the "
            "game. A digit says how many of a cell's up to 8 neighbours are mines, a dot is a hidden cell, F a flag. "
            "No guess is needed. Rows and columns are counted from 1."
        )
        self.board = self.truth = ""

    def task(self) -> str:
        key = TaskKey("minesweeper", self.split, self.task_seed, (self.rows, self.columns, self.mines))
        self.board, self.truth = remembered(key, self._layout)
        return self.board

    def _layout(self, rng: Random) -> Layout:
        size = self.rows, self.columns, self.mines
        for _ in range(TRIES):
            layout = random_layout(rng, *size)
            if (
                layout is None or layout[0].count(HIDDEN) < 2 * self.mines
            ):  # a first region that shows nearly all
                continue
            if in_split(layout[0], self.split) and solvable(layout, *size):
                return layout
        raise UserError(f"no board of these settings needs no guess: use fewer mines than {self.mines}")

    @tool
    def reveal(self, row: int, column: int) -> str:
        """Reveal a hidden cell; of a cell without mines around it, the neighbours too.

        Args:
            row: counted from 1, from the top.
            column: counted from 1, from the left.
        """
        index = index_of(row, column, self.rows, self.columns)
        board = revealed(self.board, self.truth, index, self.rows, self.columns)
        if board is None:
            self.finish(0.0, success=False)
            return "That was a mine."
        self.board = board
        if board.count(HIDDEN) + board.count(FLAG) > self.mines:
            return board
        self.finish(1.0, success=True)
        return f"{board}\nEvery safe cell is revealed."

    @tool
    def flag(self, row: int, column: int) -> str:
        """Put a flag on a hidden cell, or take it away; a flagged cell cannot be revealed.

        Args:
            row: counted from 1, from the top.
            column: counted from 1, from the left.
        """
        self.board = flagged(self.board, index_of(row, column, self.rows, self.columns))
        return self.board

    def state_key(self) -> str:
        return self.board

    def expert(self) -> Action:
        """Reveal a cell that is surely safe, from what is seen alone; take a flag away that stands on one."""
        safe, _ = deduce(self.board, self.mines, self.rows, self.columns)
        if not safe:
            raise InfrastructureFailure("expert", type(self).__name__, "this board needs a guess")
        index = 2 * ((safe & -safe).bit_length() - 1)
        row, column = place_of(index, self.columns)
        return call("flag" if self.board[index] == FLAG else "reveal", row=row, column=column)
