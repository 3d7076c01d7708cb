"""`Nim-v0`: take objects from heaps in turn with an opponent who plays well but not perfectly.

Invariant: the first player can win every task; the opponent's replies depend on the seed and the position alone, so a
fork meets the same opponent.
"""

from __future__ import annotations

from math import comb
from random import Random
from typing import ClassVar

from agentrl.core.env import Safety, ToolEnv
from agentrl.core.failures import UserError
from agentrl.core.messages import Action, call
from agentrl.core.tool import tool
from agentrl.envs.games.drawing import TaskKey, check_between, drawn
from agentrl.envs.games.nim.rules import Heaps, Take, described, moves, taken, winning_moves, wins
from agentrl.envs.generated import stable

FEWEST_STARTS = 120


class NimEnv(ToolEnv):
    """Take objects from heaps in turn; whoever takes the last object wins.

    Args:
        heaps: how many, 2 to 6.
        largest: the largest heap that a task may begin with, 3 to 20. Few small heaps are refused: there have to be
            120 ways to choose them, e.g. 2 heaps of at most 15, 3 of 8, 4 of 6.
        skill: how often the opponent plays a winning move where there is one, 0 to 1.
        misere: whoever takes the last object loses.
        split: `train`, `validation` or `test`: no start position is in two.
        max_turns: by default, as many as the task may have objects.
    """

    safety: ClassVar[Safety] = "inline"

    def __init__(
        self,
        *,
        heaps: int = 4,
        largest: int = 9,
        skill: float = 0.9,
        misere: bool = False,
        split: str = "train",
        max_turns: int | None = None,
    ) -> None:
        check_between("heaps", heaps, 2, 6)
        check_between("largest", largest, 3, 20)
        if comb(heaps + largest - 1, heaps) < FEWEST_STARTS:
            raise UserError(
                f"{heaps} heaps of at most {largest} make too few start positions for three splits: choose larger ones"
            )
        if isinstance(skill, bool) or not isinstance(skill, int | float) or not 0 <= skill <= 1:
            raise UserError(f"skill must be a number from 0 to 1, got {skill!r:.40}")
        if not isinstance(misere, bool):
            raise UserError(f"misere must be true or false, got {misere!r:.40}")
        super().__init__(split=split, max_turns=heaps * largest if max_turns is None else max_turns)
        self.number, self.largest, self.skill, self.misere = heaps, largest, float(skill), misere
        self.instructions = (
            "You and an opponent take turns; you begin. Each turn takes one or more objects from one heap. "
            f"Whoever takes the last object {'loses' if misere else 'wins'}."
        )
        self.heaps: Heaps = (0,)

    def task(self) -> str:
        key = TaskKey("nim", self.split, self.task_seed, (self.number, self.largest, self.misere))
        self.heaps = drawn(key, self._start, lambda heaps: f"{self.misere} {sorted(heaps)}")
        return described(self.heaps)

    def _start(self, rng: Random) -> Heaps | None:
        heaps = tuple(int(rng.random() * self.largest) + 1 for _ in range(self.number))
        return heaps if wins(heaps, self.misere) else None

    @tool
    def take(self, heap: int, count: int) -> str:
        """Take objects from one heap; the opponent answers.

        Args:
            heap: its number, counted from 1.
            count: how many objects.
        """
        heaps = taken(self.heaps, heap - 1, count)
        if not any(heaps):
            return self._end(heaps, mine=True)
        theirs, number = self._reply(heaps)
        heaps = taken(heaps, theirs, number)
        said = f"The opponent takes {number} from heap {theirs + 1}."
        return f"{said}\n{self._end(heaps, mine=False) if not any(heaps) else self._go_on(heaps)}"

    def _reply(self, heaps: Heaps) -> Take:
        """The opponent's move: a winning one as often as `skill` says, else any."""
        chance = stable(f"{self.task_seed} {self.split} {heaps}")
        good = winning_moves(heaps, self.misere) if chance % 10**6 < self.skill * 10**6 else []
        among = good or moves(heaps)
        return among[chance // 10**6 % len(among)]

    def _go_on(self, heaps: Heaps) -> str:
        self.heaps = heaps
        return described(heaps)

    def _end(self, heaps: Heaps, mine: bool) -> str:
        self.heaps = heaps
        won = mine != self.misere
        self.finish(1.0 if won else 0.0, success=won)
        return "You win." if won else "You lose."

    def state_key(self) -> str:
        return described(self.heaps)

    def expert(self) -> Action:
        """A winning move; where there is none, one object from the largest heap, in the hope of a mistake."""
        good = winning_moves(self.heaps, self.misere)
        heap, count = good[0] if good else (self.heaps.index(max(self.heaps)), 1)
        return call("take", heap=heap + 1, count=count)
