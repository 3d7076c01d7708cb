"""Sokoban: walk, and push one box at a time; a box cannot be pulled.

Invariant: a room is a board text (see `games.board`) whose border is wall: `#` wall, `_` floor, `O` goal. Boxes and player
are places in that text. Every function is pure; `draw` shows `X` a box, `*` a box on a goal, `P` the player, `S` the
player on a goal.
"""

from __future__ import annotations

from typing import Literal, NamedTuple, TypeAlias

from agentrl.core.failures import ToolError

Direction: TypeAlias = Literal["up", "down", "left", "right"]
DIRECTIONS: tuple[Direction, ...] = ("up", "down", "left", "right")
WALL, FLOOR, GOAL = "#", "_", "O"


class State(NamedTuple):
    """What changes.

    Attributes:
        player: where the player is.
        boxes: where the boxes are, sorted.
    """

    player: int
    boxes: tuple[int, ...]


def steps_of(size: int) -> dict[str, int]:
    """How far the place in the text changes in each direction."""
    return {"up": -2 * size, "down": 2 * size, "left": -2, "right": 2}


def moved(room: str, state: State, step: int) -> State:
    """The state after one move.

    Args:
        step: see `steps_of`.

    Raises:
        ToolError: a wall or a box that does not move is in the way.
    """
    player, boxes = state
    to = player + step
    if room[to] == WALL:
        raise ToolError("a wall is in the way")
    if to not in boxes:
        return State(to, boxes)
    beyond = to + step
    if room[beyond] == WALL or beyond in boxes:
        raise ToolError("the box cannot be pushed there")
    return State(to, pushed(boxes, to, beyond))


def pushed(boxes: tuple[int, ...], at: int, to: int) -> tuple[int, ...]:
    """The boxes after one of them has moved."""
    if len(boxes) == 1:
        return (to,)
    return tuple(sorted([to if box == at else box for box in boxes]))


def solved(room: str, boxes: tuple[int, ...]) -> bool:
    """Whether every box is on a goal."""
    return all(room[box] == GOAL for box in boxes)


def draw(room: str, state: State) -> str:
    """What the policy is shown."""
    marks = list(room)
    for box in state.boxes:
        marks[box] = "*" if marks[box] == GOAL else "X"
    marks[state.player] = "S" if marks[state.player] == GOAL else "P"
    return "".join(marks)


def reachable(room: str, boxes: tuple[int, ...], start: int, steps: tuple[int, ...]) -> set[int]:
    """The places to which the player can walk without pushing."""
    found, edge = {start}, [start]
    while edge:
        here = edge.pop()
        for step in steps:
            to = here + step
            if to not in found and room[to] != WALL and to not in boxes:
                found.add(to)
                edge.append(to)
    return found
