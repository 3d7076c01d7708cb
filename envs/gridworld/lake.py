"""FrozenLake: every task is another lake, which can be crossed; no lake is in two splits."""

from __future__ import annotations

import functools
from collections.abc import Sequence
from typing import Any, Literal, TypeAlias

import numpy as np

from agentrl.core.failures import UserError
from agentrl.core.messages import Action, call
from agentrl.core.tool import tool
from agentrl.envs.gridworld.adapter import DiscreteEnv, bare_inner
from agentrl.envs.gridworld.planning import best_actions
from agentrl.envs.gridworld.splits import split_of

Direction: TypeAlias = Literal["left", "down", "right", "up"]
MOVES: tuple[Direction, ...] = ("left", "down", "right", "up")
MARKS = {"S": ".", "F": ".", "H": "O", "G": "G"}
ICE = 0.8  # the chance that a cell is no hole, as in Gymnasium's own random maps
SLIPPERY = "The ice is slippery: two times out of three a step goes to one side of where you want to go."


class FrozenLakeEnv(DiscreteEnv):
    """Cross a frozen lake to the goal without falling into a hole; every task is another lake.

    Args:
        size: cells along a side, 3 to 12.
        slippery: a step goes to one side two times out of three (Gymnasium's original). Reaching the goal is partly
            luck then, and the default of `max_turns` is 200 instead of 60.
    """

    max_turns = 60
    question = "Walk from where you are (@) to the goal (G) over the ice (.) and avoid the holes (O)."

    def __init__(
        self, *, size: int = 4, slippery: bool = False, split: str = "train", max_turns: int | None = None
    ) -> None:
        if not 3 <= size <= 12:
            raise UserError(f"size must be 3 to 12, got {size}")
        super().__init__(split=split, max_turns=200 if slippery and max_turns is None else max_turns)
        self.size, self.slippery = size, slippery
        self.lake: tuple[str, ...] = ()
        if slippery:
            self.question = f"{self.question} {SLIPPERY}"
            self.expert_success = 0.3

    def begin(self, seed: int) -> int:
        self.lake = draw_lake(self.size, self.split, self.np_random)
        if self.inner is not None:
            self.inner.close()
        self.inner = inner_lake(self.lake, self.slippery)
        return self.inner.reset(seed=seed)[0]

    def remark(self, reward: float, terminated: bool) -> str:
        if not terminated:
            return ""
        return "You reached the goal." if reward > 0 else "You fell into a hole."

    def describe(self) -> str:
        here = divmod(self.seen, self.size)
        return "\n".join(
            " ".join("@" if (row, column) == here else MARKS[cell] for column, cell in enumerate(cells))
            for row, cells in enumerate(self.lake)
        )

    @tool
    def move(self, direction: Direction) -> str:
        """Take one step.

        Args:
            direction: where to.
        """
        return self.act(MOVES.index(direction))

    def expert(self) -> Action:
        return call("move", direction=MOVES[lake_plan(self.lake, self.slippery)[self.seen]])


def draw_lake(size: int, split: str, rng: np.random.Generator) -> tuple[str, ...]:
    """A random lake of a split whose goal can be reached; rows of S, F, H and G."""
    while True:
        cells = np.where(rng.random(size * size) < ICE, "F", "H")
        cells[0], cells[-1] = "S", "G"
        text = "".join(cells.tolist())
        lake = tuple(text[at : at + size] for at in range(0, size * size, size))
        if split_of(text) == split and crossable(lake):
            return lake


def crossable(lake: Sequence[str]) -> bool:
    """Whether there is a way over the ice from the first cell to the last."""
    size = len(lake)
    found, edge = {(0, 0)}, [(0, 0)]
    while edge:
        row, column = edge.pop()
        for cell in ((row + 1, column), (row, column + 1), (row - 1, column), (row, column - 1)):
            inside = 0 <= cell[0] < size and 0 <= cell[1] < size
            if inside and cell not in found and lake[cell[0]][cell[1]] != "H":
                found.add(cell)
                edge.append(cell)
    return (size - 1, size - 1) in found


def inner_lake(lake: Sequence[str], slippery: bool) -> Any:
    """Gymnasium's environment of a lake."""
    return bare_inner("FrozenLake-v1", desc=list(lake), is_slippery=slippery)


@functools.lru_cache(maxsize=512)
def lake_plan(lake: tuple[str, ...], slippery: bool) -> tuple[int, ...]:
    """The best move in every cell; on slippery ice, that which reaches the goal most surely."""
    return best_actions(inner_lake(lake, slippery).P, gamma=0.999 if slippery else 0.99)
