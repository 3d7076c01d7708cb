"""Taxi: fetch a passenger and bring them to their destination."""

from __future__ import annotations

import functools
from typing import Any, Literal

import gymnasium

from agentrl.core.messages import Action, call
from agentrl.core.tool import tool
from agentrl.envs.gridworld.adapter import DiscreteEnv, best_actions
from agentrl.envs.gridworld.lake import BLOCKS, bucket

MOVES = ("south", "north", "east", "west")
STOPS = (
    "Red (row 0, column 0)",
    "Green (row 0, column 4)",
    "Yellow (row 4, column 0)",
    "Blue (row 4, column 3)",
)
PICK_UP, DROP_OFF = 4, 5


class TaxiEnv(DiscreteEnv):
    """Drive a taxi: pick a passenger up and drop them at their destination; every move costs 1."""

    max_turns = 60
    question = (
        "You drive a taxi on a grid of 5 rows and 5 columns with some walls. Pick the passenger up, then drop them at "
        "their destination."
    )

    def make_inner(self, seed: int) -> gymnasium.Env[Any, Any]:
        return gymnasium.make("Taxi-v4", max_episode_steps=-1)

    def place(self) -> None:
        """The starting states of one split are not those of another."""
        states = [state for state in starts() if bucket(str(state)) in BLOCKS[self.split]]
        # A step that has no common divisor with the length visits every state before it repeats one.
        self.seen = states[(self.task_seed * 7919) % len(states)]
        self.inner.unwrapped.s = self.seen  # type: ignore[union-attr]

    def solved(self, reward: float) -> bool:
        return reward == 20

    def describe(self) -> str:
        row, column, passenger, destination = decode(int(self.seen))
        where = "in the taxi" if passenger == 4 else f"at {STOPS[passenger]}"
        return f"taxi: row {row}, column {column}; passenger: {where}; destination: {STOPS[destination]}"

    @tool
    def move(self, direction: Literal["south", "north", "east", "west"]) -> str:
        """Drive one cell; a wall stops the taxi.

        Args:
            direction: where to.
        """
        return self.act(MOVES.index(direction))

    @tool
    def pick_up(self) -> str:
        """Let the passenger in; costs 10 where there is none."""
        return self.act(PICK_UP)

    @tool
    def drop_off(self) -> str:
        """Let the passenger out; costs 10 anywhere but at a stop."""
        return self.act(DROP_OFF)

    def expert(self) -> Action:
        action = taxi_plan()[int(self.seen)]
        if action == PICK_UP:
            return call("pick_up")
        return call("drop_off") if action == DROP_OFF else call("move", direction=MOVES[action])


def decode(state: int) -> tuple[int, int, int, int]:
    """(row, column, passenger, destination) of a state's number."""
    state, destination = divmod(state, 4)
    state, passenger = divmod(state, 5)
    row, column = divmod(state, 5)
    return row, column, passenger, destination


@functools.cache
def starts() -> tuple[int, ...]:
    """States in which an episode may begin: the passenger waits, not at the destination."""
    return tuple(s for s in range(500) if decode(s)[2] < 4 and decode(s)[2] != decode(s)[3])


@functools.cache
def taxi_plan() -> tuple[int, ...]:
    inner = gymnasium.make("Taxi-v4")
    plan = best_actions(inner.unwrapped.P, 500, 6)  # type: ignore[attr-defined]
    inner.close()
    return tuple(int(action) for action in plan)
