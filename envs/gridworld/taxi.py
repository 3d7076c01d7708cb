"""Taxi: fetch a passenger and bring them to their destination."""

from __future__ import annotations

import functools
from typing import Literal, TypeAlias

from gymnasium.envs.toy_text.taxi import MAP

from agentrl.core.messages import Action, call
from agentrl.core.tool import tool
from agentrl.envs.gridworld.adapter import DiscreteEnv, bare_inner
from agentrl.envs.gridworld.planning import best_actions
from agentrl.envs.gridworld.splits import share_out

Direction: TypeAlias = Literal["south", "north", "east", "west"]
MOVES: tuple[Direction, ...] = ("south", "north", "east", "west")
PICK_UP, DROP_OFF = 4, 5
STOPS = ("R", "G", "Y", "B")
ABOARD = 4  # where a passenger is who is at no stop
DELIVERED, REFUSED = 20.0, -10.0
STREETS = tuple(row[1:-1].replace(" ", ".").replace(":", " ") for row in MAP[1:-1])
"""The map from above: cells at even places, and between two of them a wall or a way."""


class TaxiEnv(DiscreteEnv):
    """Drive a taxi: pick a passenger up and drop them at their destination; every move costs 1."""

    max_turns = 60
    question = (
        "You drive a taxi (@) between the stops R, G, Y and B; | is a wall. Pick the passenger up, then drop them off at "
        "their destination."
    )

    def begin(self, seed: int) -> int:
        if self.inner is None:
            self.inner = bare_inner("Taxi-v4")
        self.inner.reset(seed=seed)
        begins = begins_of(self.split)
        self.inner.s = begins[int(self.np_random.integers(len(begins)))]
        return self.inner.s

    def solved(self, reward: float) -> bool:
        return reward == DELIVERED

    def remark(self, reward: float, terminated: bool) -> str:
        if reward == REFUSED:
            return "That is not possible here and costs 10."
        return "The passenger is where they wanted to be." if terminated else ""

    def describe(self) -> str:
        row, column, passenger, destination = decode(self.seen)
        streets = list(STREETS)
        streets[row] = streets[row][: 2 * column] + "@" + streets[row][2 * column + 1 :]
        where = "in the taxi" if passenger == ABOARD else f"at {STOPS[passenger]}"
        under = STREETS[row][2 * column]
        at = f" (at {under})" if under in STOPS else ""
        sentence = (
            f"taxi: row {row}, column {column}{at}; passenger: {where}; destination: {STOPS[destination]}"
        )
        return "\n".join((*streets, sentence))

    @tool
    def move(self, direction: Direction) -> str:
        """Drive one cell; a wall stops the taxi.

        Args:
            direction: where to; north is up.
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
        action = taxi_plan()[self.seen]
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
def begins_of(split: str) -> tuple[int, ...]:
    """States in which an episode of a split may begin: the passenger waits at a stop, not at the destination."""
    waiting = [state for state in range(500) if decode(state)[2] not in (ABOARD, decode(state)[3])]
    return share_out(waiting, split)


@functools.cache
def taxi_plan() -> tuple[int, ...]:
    return best_actions(bare_inner("Taxi-v4").P)
