"""CliffWalking: any cell above the cliff may be the beginning of a task."""

from __future__ import annotations

import functools
from typing import Literal, TypeAlias

from agentrl.core.messages import Action, call
from agentrl.core.tool import tool
from agentrl.envs.gridworld.adapter import DiscreteEnv, bare_inner
from agentrl.envs.gridworld.planning import best_actions
from agentrl.envs.gridworld.splits import share_out

Direction: TypeAlias = Literal["up", "right", "down", "left"]
MOVES: tuple[Direction, ...] = ("up", "right", "down", "left")
ROWS = ("." * 12, "." * 12, "." * 12, "S" + "C" * 10 + "G")
FALL = -100.0


class CliffWalkingEnv(DiscreteEnv):
    """Walk along a cliff to the goal; a step over the edge costs 100 and leads back to the start."""

    max_turns = 60
    question = "Walk from where you are (@) to the goal (G); a step into the cliff (C) costs 100 and leads back to S."

    def begin(self, seed: int) -> int:
        if self.inner is None:
            self.inner = bare_inner("CliffWalking-v1")
        self.inner.reset(seed=seed)
        begins = share_out(range(36), self.split)
        self.inner.s = begins[int(self.np_random.integers(len(begins)))]
        return self.inner.s

    def solved(self, reward: float) -> bool:
        return True  # the only end is the goal

    def remark(self, reward: float, terminated: bool) -> str:
        if reward == FALL:
            return "You fell off the cliff and are back at S."
        return "You reached the goal." if terminated else ""

    def describe(self) -> str:
        here = divmod(self.seen, 12)
        return "\n".join(
            " ".join("@" if (row, column) == here else cell for column, cell in enumerate(cells))
            for row, cells in enumerate(ROWS)
        )

    @tool
    def move(self, direction: Direction) -> str:
        """Take one step.

        Args:
            direction: where to.
        """
        return self.act(MOVES.index(direction))

    def expert(self) -> Action:
        return call("move", direction=MOVES[cliff_plan()[self.seen]])


@functools.cache
def cliff_plan() -> tuple[int, ...]:
    return best_actions(bare_inner("CliffWalking-v1").P)
