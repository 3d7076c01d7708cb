"""Rooms that can be solved, made by playing backwards.

Boxes stand on their goals; the player walks about and pulls them away. Whoever undoes the pulls, last one first, pushes
the boxes home.

Invariant: every task can be solved, and never by walking in one direction alone: a single box has to be pushed in two
directions; of several at least two are not on a goal, and a straight walk pushes at most one.
"""

from __future__ import annotations

from random import Random
from typing import TypeAlias

from agentrl.envs.games.board import as_board
from agentrl.envs.games.sokoban.rules import FLOOR, GOAL, WALL, State, pushed, reachable, steps_of

Task: TypeAlias = tuple[str, State]
PULLS = 8
"""Pulls that are tried for every box."""


def random_room(rng: Random, size: int, boxes: int) -> str:
    """A room with goals: a random walk digs the floor, so all of it hangs together."""
    inner = size - 2
    wanted = max(2 * boxes + 6, int(inner * inner * (0.55 + 0.35 * rng.random())))
    row, column = int(rng.random() * inner), int(rng.random() * inner)
    dug = {(row, column)}
    while len(dug) < wanted:
        turn = int(rng.random() * 4)
        if turn < 2:
            row = min(max(row + 2 * turn - 1, 0), inner - 1)
        else:
            column = min(max(column + 2 * turn - 5, 0), inner - 1)
        dug.add((row, column))
    goals = rng.sample(sorted(dug), boxes)
    marks = [WALL] * size**2
    for row, column in dug:
        marks[size * (row + 1) + column + 1] = GOAL if (row, column) in goals else FLOOR
    return as_board(marks, size)


def played_backwards(rng: Random, room: str, size: int) -> State | None:
    """A state from which the room can be solved; None where this room and this play give none worth solving."""
    goals = tuple(index for index, mark in enumerate(room) if mark == GOAL)
    floor = [index for index, mark in enumerate(room) if mark == FLOOR]
    steps = tuple(steps_of(size).values())
    boxes, player = goals, floor[int(rng.random() * len(floor))]
    came = dict.fromkeys(goals, 0)  # where each box was last pulled from: it is not pulled straight back
    region = reachable(room, boxes, player, steps)
    for _ in range(PULLS * len(boxes)):
        box, step = boxes[int(rng.random() * len(boxes))], steps[int(rng.random() * 4)]
        at, to = box + step, box + 2 * step
        if at == came[box] or at not in region or room[to] == WALL or to in boxes:
            continue
        came[at] = box
        boxes, player = pushed(boxes, box, at), to
        region = reachable(room, boxes, player, steps)
    away = sum(room[box] != GOAL for box in boxes)
    if (
        away < min(2, len(boxes))
        or away < len(boxes) - 1
        or (len(boxes) == 1 and not turns(boxes[0], goals, size))
    ):
        return None
    where = sorted(region)
    return State(where[int(rng.random() * len(where))], boxes)


def turns(box: int, goals: tuple[int, ...], size: int) -> bool:
    """Whether a box is in another row and another column than every goal."""
    row, column = divmod(box, 2 * size)
    return all(divmod(goal, 2 * size)[0] != row and goal % (2 * size) != column for goal in goals)
