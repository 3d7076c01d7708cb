"""`Countdown-v0`: reach a target from given numbers, by steps or by one expression.

Invariant: only the target itself earns the reward; every task can be solved, and no single operation solves it.
"""

from __future__ import annotations

from random import Random
from typing import ClassVar, TypeAlias

from agentrl.core.env import Safety, ToolEnv
from agentrl.core.failures import ToolError, UserError
from agentrl.core.messages import Action, call
from agentrl.core.tool import tool
from agentrl.envs.games.countdown.expression import value_of
from agentrl.envs.games.countdown.rules import Operator, Table, combined, listed, result_of
from agentrl.envs.games.countdown.solving import solve, steps
from agentrl.envs.games.drawing import TaskKey, check_between, drawn

Problem: TypeAlias = tuple[Table, int]


class CountdownEnv(ToolEnv):
    """Reach a target from given numbers, each used at most once.

    Args:
        numbers: how many are given, 3 to 6.
        largest: the given numbers are 1 to this, 10 to 100.
        target: the lowest and the highest target, from 10 to 1000.
        split: `train`, `validation` or `test`: no numbers with their target are in two.
        max_turns: by default 4 for every number.
    """

    instructions = (
        "Reach the target from the numbers on the table with + - * /. Each number is used at most once, and every "
        "result has to be a whole number of at least 1. Combine two numbers at a time until the target lies on the "
        "table, or answer with one expression; a wrong answer ends the game."
    )
    safety: ClassVar[Safety] = "inline"

    def __init__(
        self,
        *,
        numbers: int = 4,
        largest: int = 50,
        target: tuple[int, int] = (10, 100),
        split: str = "train",
        max_turns: int | None = None,
    ) -> None:
        check_between("numbers", numbers, 3, 6)
        check_between("largest", largest, 10, 100)
        if not isinstance(target, tuple | list) or len(target) != 2:
            raise UserError(f"target must be the lowest and the highest target, got {target!r:.40}")
        check_between("the lowest target", target[0], 10, 1000)
        check_between("the highest target", target[1], target[0] + 10, 1010)
        super().__init__(split=split, max_turns=4 * numbers if max_turns is None else max_turns)
        self.numbers, self.largest, self.targets = numbers, largest, (target[0], target[1])
        self.target = 0
        self.tables: tuple[Table, ...] = ((),)

    @property
    def table(self) -> Table:
        """The numbers that lie on the table; `tables` also has those before, for `undo`."""
        return self.tables[-1]

    def task(self) -> str:
        key = TaskKey("countdown", self.split, self.task_seed, (self.numbers, self.largest, self.targets))
        table, self.target = drawn(key, self._problem, lambda found: f"{sorted(found[0])} {found[1]}")
        self.tables = (table,)
        return f"target: {self.target}\ntable: {listed(table)}"

    def _problem(self, rng: Random) -> Problem | None:
        """Numbers, and a target that some way of combining all of them reaches."""
        table = tuple(int(rng.random() * self.largest) + 1 for _ in range(self.numbers))
        left = list(table)
        low, high = self.targets
        while len(left) > 1:
            a = left.pop(int(rng.random() * len(left)))
            b = left.pop(int(rng.random() * len(left)))
            least, most = (1, 4 * high) if left else (low, high)
            among = [found for op in "+-*/" if least <= (found := result_of(a, op, b) or 0) <= most]
            if not among:
                return None
            left.append(among[int(rng.random() * len(among))])
        target = left[0]
        if target in table or any(result == target for _, result, _ in steps(tuple(sorted(table)))):
            return None
        return table, target

    @tool
    def combine(self, a: int, op: Operator, b: int) -> str:
        """Replace two numbers on the table by the result of a op b.

        Args:
            a: the first number.
            op: the operation.
            b: the second number.
        """
        table = combined(self.table, a, op, b)
        self.tables = (*self.tables, table)
        if table[-1] == self.target:
            self.finish(1.0, success=True)
            return f"{a} {op} {b} = {table[-1]}: that is the target."
        return f"{a} {op} {b} = {table[-1]}\ntable: {listed(table)}"

    @tool
    def undo(self) -> str:
        """Take the last step back."""
        if len(self.tables) == 1:
            raise ToolError("there is no step to take back")
        self.tables = self.tables[:-1]
        return f"table: {listed(self.table)}"

    @tool
    def restart(self) -> str:
        """Put the given numbers on the table again."""
        self.tables = self.tables[:1]
        return f"table: {listed(self.table)}"

    @tool
    def answer(self, expression: str) -> str:
        """Answer with one expression over the numbers on the table; this ends the game if it can be read.

        Args:
            expression: such as (50 - 8) / 6 + 3.
        """
        value = value_of(expression, self.table)
        right = value == self.target
        self.finish(1.0 if right else 0.0, success=right)
        return f"The value is {value}: " + ("that is the target." if right else "that is not the target.")

    def state_key(self) -> str:
        return f"{sorted(self.table)} {len(self.tables)}"

    def expert(self) -> Action:
        """The next step of a solution; where there is none from here, one step back."""
        found = solve(tuple(sorted(self.table)), self.target)
        if not found:
            return call("undo")
        a, op, b = found[0]
        return call("combine", a=a, op=op, b=b)
