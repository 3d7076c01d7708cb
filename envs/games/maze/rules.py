"""A maze as text: `#` is wall, a space is open; cell (row, column), counted from 1, stands at row 2r-1 and column 2c-1.

Invariant: every cell can be reached from every other; without loops by one way only. Every function is pure.
"""

from __future__ import annotations

from collections import deque
from random import Random
from typing import Literal, TypeAlias

Direction: TypeAlias = Literal["north", "east", "south", "west"]
DIRECTIONS: tuple[Direction, ...] = ("north", "east", "south", "west")
WALL, OPEN = "#", " "


def width_of(size: int) -> int:
    """Characters of a row, the line break included."""
    return 2 * size + 2


def place_of(row: int, column: int, size: int) -> int:
    """Where a cell stands in the text."""
    return (2 * row - 1) * width_of(size) + 2 * column - 1


def cell_at(place: int, size: int) -> tuple[int, int]:
    """Row and column of the cell at a place."""
    row, column = divmod(place, width_of(size))
    return (row + 1) // 2, (column + 1) // 2


def offset(direction: Direction, size: int) -> int:
    """From a cell to the wall or gap beside it; twice that leads to the next cell."""
    return {"north": -width_of(size), "east": 1, "south": width_of(size), "west": -1}[direction]


def random_maze(rng: Random, size: int, loops: float) -> str:
    """A maze grown by a walk that turns back where it can go no further; then every inner wall falls with probability `loops`."""
    rows = [[WALL] * (2 * size + 1) for _ in range(2 * size + 1)]
    text = list("\n".join("".join(row) for row in rows) + "\n")
    steps = [offset(direction, size) for direction in DIRECTIONS]
    cells = {place_of(row, column, size) for row in range(1, size + 1) for column in range(1, size + 1)}
    path = [place_of(1, 1, size)]
    text[path[0]] = OPEN
    while path:
        here = path[-1]
        ways = [step for step in steps if here + 2 * step in cells and text[here + 2 * step] == WALL]
        if not ways:
            path.pop()
            continue
        step = ways[int(rng.random() * len(ways))]
        text[here + step] = text[here + 2 * step] = OPEN
        path.append(here + 2 * step)
    for here in sorted(cells):
        for step in (steps[1], steps[2]):
            if here + 2 * step in cells and text[here + step] == WALL and rng.random() < loops:
                text[here + step] = OPEN
    return "".join(text)


def distances(maze: str, goal: int, size: int) -> dict[int, int]:
    """Cells from every cell to the goal."""
    steps = [offset(direction, size) for direction in DIRECTIONS]
    found = {goal: 0}
    waiting = deque([goal])
    while waiting:
        here = waiting.popleft()
        for step in steps:
            there = here + 2 * step
            if maze[here + step] == OPEN and there not in found:
                found[there] = found[here] + 1
                waiting.append(there)
    return found


def free(maze: str, here: int, direction: Direction, size: int) -> int:
    """How many cells one can go in a direction before there is a wall."""
    step, count = offset(direction, size), 0
    while maze[here + step] == OPEN:
        here += 2 * step
        count += 1
    return count


def next_stretch(far: dict[int, int], maze: str, here: int, size: int) -> tuple[Direction, int]:
    """The direction in which the goal comes nearest, and for how many cells it does; `far` as of `distances`."""
    best: tuple[Direction, int] = ("north", 0)
    for direction in DIRECTIONS:
        step, at, count = offset(direction, size), here, 0
        while maze[at + step] == OPEN and far[at + 2 * step] < far[at]:
            at += 2 * step
            count += 1
        if count > best[1]:
            best = (direction, count)
    return best


def stretches(far: dict[int, int], maze: str, here: int, size: int) -> int:
    """How many straight stretches lead to the goal."""
    count = 0
    while far[here]:
        direction, cells = next_stretch(far, maze, here, size)
        here += 2 * cells * offset(direction, size)
        count += 1
    return count


def drawing(maze: str, here: int, goal: int) -> str:
    """The whole maze, with `@` where one is and `X` at the exit."""
    marks = list(maze)
    marks[goal], marks[here] = "X", "@"
    return "".join(marks).rstrip("\n")
