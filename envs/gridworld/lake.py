"""FrozenLake and CliffWalking: walk over a grid to the goal."""

from __future__ import annotations

import functools
from typing import Any, Literal

import gymnasium
import numpy as np
from gymnasium.envs.toy_text.frozen_lake import generate_random_map

from agentrl.core.env import digest
from agentrl.core.failures import UserError
from agentrl.core.messages import Action, call
from agentrl.core.tool import tool
from agentrl.envs.gridworld.adapter import DiscreteEnv, best_actions

Direction = Literal["left", "down", "right", "up"]
LAKE: tuple[Direction, ...] = ("left", "down", "right", "up")
CLIFF: tuple[Direction, ...] = ("up", "right", "down", "left")


class FrozenLakeEnv(DiscreteEnv):
    """Cross a frozen lake to the goal without falling into a hole; every task is another lake.

    Args:
        size: cells along a side, 4 to 8.
        slippery: a step goes sideways two times out of three (Gymnasium's original).
    """

    max_turns = 60
    new_inner_each_episode = True  # every task has a lake of its own
    question = "Walk from where you are (@) to the goal (G) over the ice (.) and avoid the holes (O)."

    def __init__(
        self, *, size: int = 4, slippery: bool = False, split: str = "train", max_turns: int | None = None
    ) -> None:
        if not 3 <= size <= 12:
            raise UserError(f"size must be 3 to 12, got {size}")
        super().__init__(split=split, max_turns=max_turns)
        self.size, self.slippery = size, slippery
        self.lake: list[str] = []

    def make_inner(self, seed: int) -> gymnasium.Env[Any, Any]:
        # A lake belongs to one split by its own shape: equal lakes of different seeds never cross splits.
        draw = seed
        self.lake = generate_random_map(self.size, 0.8, seed=draw)
        while bucket("".join(self.lake)) not in BLOCKS[self.split]:
            draw += 1_000_003
            self.lake = generate_random_map(self.size, 0.8, seed=draw)
        return gymnasium.make(
            "FrozenLake-v1", desc=self.lake, is_slippery=self.slippery, max_episode_steps=-1
        )

    def describe(self) -> str:
        here = divmod(int(self.seen), self.size)
        marks = {"S": ".", "F": ".", "H": "O", "G": "G"}
        rows = [[marks[cell] for cell in row] for row in self.lake]
        rows[here[0]][here[1]] = "@"
        return "\n".join(" ".join(row) for row in rows)

    @tool
    def move(self, direction: Direction) -> str:
        """Take one step.

        Args:
            direction: where to.
        """
        return self.act(LAKE.index(direction))

    def expert(self) -> Action:
        plan = lake_plan(tuple(self.lake), self.slippery)
        return call("move", direction=LAKE[plan[int(self.seen)]])


@functools.lru_cache(maxsize=512)
def lake_plan(lake: tuple[str, ...], slippery: bool) -> tuple[int, ...]:
    """The best move in every cell of a lake."""
    inner = gymnasium.make("FrozenLake-v1", desc=list(lake), is_slippery=slippery)
    plan = best_actions(inner.unwrapped.P, len(lake) ** 2, 4)  # type: ignore[attr-defined]
    inner.close()
    return tuple(int(action) for action in plan)


class CliffWalkingEnv(DiscreteEnv):
    """Walk along a cliff to the goal; a step over the edge costs 100 and leads back to the start."""

    max_turns = 60
    question = "Walk from where you are (@) to the goal (G); a step into the cliff (C) costs 100 and leads back to S."
    shape = (4, 12)

    def make_inner(self, seed: int) -> gymnasium.Env[Any, Any]:
        return gymnasium.make("CliffWalking-v1", max_episode_steps=-1)

    def place(self) -> None:
        """Any cell above the cliff may be the beginning: those of one split are not those of another."""
        cells = [cell for cell in range(36) if cell % 10 in BLOCKS[self.split]]
        self.seen = cells[self.task_seed % len(cells)]
        self.inner.unwrapped.s = self.seen  # type: ignore[union-attr]

    def solved(self, reward: float) -> bool:
        return True  # the only end is the goal

    def describe(self) -> str:
        row, column = divmod(int(self.seen), 12)
        cells = np.full(self.shape, ".")
        cells[3, 1:11], cells[3, 0], cells[3, 11] = "C", "S", "G"
        cells[row, column] = "@"
        return "\n".join(" ".join(line) for line in cells)

    @tool
    def move(self, direction: Direction) -> str:
        """Take one step.

        Args:
            direction: where to.
        """
        return self.act(CLIFF.index(direction))

    def expert(self) -> Action:
        return call("move", direction=CLIFF[cliff_plan()[int(self.seen)]])


@functools.cache
def cliff_plan() -> tuple[int, ...]:
    inner = gymnasium.make("CliffWalking-v1")
    plan = best_actions(inner.unwrapped.P, 48, 4)  # type: ignore[attr-defined]
    inner.close()
    return tuple(int(action) for action in plan)


def bucket(text: str) -> int:
    """A number from 0 to 9 that belongs to a text, the same in every process."""
    return int(digest(text)[:8], 16) % 10


BLOCKS = {"train": range(6), "validation": range(6, 7), "test": range(7, 10)}
"""Which tenths of the tasks belong to which split."""
