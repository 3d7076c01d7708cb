"""The shortest way from any state to any other.

Invariant: what is returned is the first move of a shortest way, and its length. On a shortest way the largest disk that has
to move moves once or twice (Hinz, L'Enseignement Mathématique 35, 1989): straight to its peg, or by way of the third one.
Every smaller disk has to be out of the way before each of those moves, so all of them stand on one peg then.
"""

from __future__ import annotations

from agentrl.envs.games.hanoi.rules import PEGS, Peg, State


def third(one: Peg, other: Peg) -> Peg:
    """The peg that is neither."""
    return next(peg for peg in PEGS if peg not in (one, other))


def to_one_peg(state: State, count: int, peg: Peg) -> int:
    """How many moves bring the `count` smallest disks onto one peg."""
    total = 0
    for disk in range(count - 1, -1, -1):
        if state[disk] != peg:
            total += 2**disk  # this disk, and the smaller ones onto it: 2^disk - 1
            peg = third(peg, state[disk])  # the smaller ones wait there
    return total


def first_to_one_peg(state: State, count: int, peg: Peg) -> tuple[Peg, Peg] | None:
    """The first of those moves; None where all are there."""
    move = None
    for disk in range(count - 1, -1, -1):
        if state[disk] != peg:
            move = (state[disk], peg)
            peg = third(peg, state[disk])
    return move


def largest_misplaced(state: State, goal: State) -> int:
    """Its place in the state; -1 where the goal is reached."""
    return max((disk for disk, peg in enumerate(state) if peg != goal[disk]), default=-1)


def lengths(state: State, goal: State) -> tuple[int, int]:
    """How many moves it takes if the largest misplaced disk moves once, and if it moves twice.

    The state is not the goal.
    """
    disk = largest_misplaced(state, goal)
    here, there = state[disk], goal[disk]
    aside = third(here, there)
    once = to_one_peg(state, disk, aside) + 1 + to_one_peg(goal, disk, aside)
    twice = to_one_peg(state, disk, there) + 1 + (2**disk - 1) + 1 + to_one_peg(goal, disk, here)
    return once, twice


def distance(state: State, goal: State) -> int:
    """How many moves a shortest way has."""
    return min(lengths(state, goal)) if state != goal else 0


def next_move(state: State, goal: State) -> tuple[Peg, Peg]:
    """The first move of a shortest way, from a state that is not the goal."""
    disk = largest_misplaced(state, goal)
    here, there = state[disk], goal[disk]
    aside = third(here, there)
    once, twice = lengths(state, goal)
    target, smaller = (there, aside) if once <= twice else (aside, there)
    return first_to_one_peg(state, disk, smaller) or (here, target)
