"""Search for a solution, over pushes.

Weighted A* (Pohl, 1970) over the places of the boxes and the region in which the player can walk. Distances are exact for a
box alone in the room; where no goal can be reached from a place even so, a box there is lost.

Invariant: what `solve` returns are moves that solve the room from the state; `None` means that there are none, or that
none was found within the budget.
"""

from __future__ import annotations

import functools
import heapq
from itertools import count

from agentrl.envs.games.sokoban.rules import GOAL, WALL, State, pushed, reachable, solved, steps_of

WEIGHT = 2
FAR = 10**6


@functools.lru_cache(maxsize=1024)
def distances(room: str, size: int) -> tuple[dict[int, int], ...]:
    """For every goal, the pushes that bring a box there from each place; places without one are left out."""
    steps = tuple(steps_of(size).values())
    out = []
    for goal in (index for index, mark in enumerate(room) if mark == GOAL):
        found, edge = {goal: 0}, [goal]
        for here in edge:
            for step in steps:
                box = here - step
                if room[box] != WALL and room[box - step] != WALL and box not in found:
                    found[box] = found[here] + 1
                    edge.append(box)
        out.append(found)
    return tuple(out)


def estimate(boxes: tuple[int, ...], tables: tuple[dict[int, int], ...]) -> int:
    """Pushes at least needed, each box with a goal of its own; `FAR` where some box can reach none."""
    if len(boxes) == 1:
        return tables[0].get(boxes[0], FAR)
    return assigned(tuple(tuple(table.get(box, FAR) for table in tables) for box in boxes))


def assigned(costs: tuple[tuple[int, ...], ...]) -> int:
    """The cheapest way to give each row a column of its own; at most 4 of each."""
    best = {0: 0}
    for row in costs:
        ahead: dict[int, int] = {}
        for used, cost in best.items():
            for column, more in enumerate(row):
                if not used >> column & 1:
                    mask = used | 1 << column
                    ahead[mask] = min(ahead.get(mask, FAR), cost + more)
        best = ahead
    return min(FAR, *best.values())


@functools.lru_cache(maxsize=256)
def solve(room: str, state: State, size: int, budget: int) -> str | None:
    """Moves that solve the room, a letter each (u, d, l, r).

    Args:
        budget: how many positions may be opened.
    """
    steps = steps_of(size)
    around = tuple(steps.values())
    tables = distances(room, size)
    first = estimate(state.boxes, tables)
    if first >= FAR:
        return None
    tie = count()
    queue = [(WEIGHT * first, next(tie), 0, state)]
    opened: set[tuple[int, tuple[int, ...]]] = set()
    links: dict[State, tuple[State, int, int] | None] = {state: None}
    while queue and budget:
        _, _, pushes, here = heapq.heappop(queue)
        region = reachable(room, here.boxes, here.player, around)
        key = (min(region), here.boxes)
        if key in opened:
            continue
        opened.add(key)
        budget -= 1
        if solved(room, here.boxes):
            return as_moves(room, here, links, size)
        for box in here.boxes:
            for step in around:
                if box - step not in region or room[box + step] == WALL or box + step in here.boxes:
                    continue
                ahead = State(box, pushed(here.boxes, box, box + step))
                if ahead in links:
                    continue
                left = estimate(ahead.boxes, tables)
                if left < FAR:
                    links[ahead] = (here, box, step)
                    heapq.heappush(queue, (pushes + 1 + WEIGHT * left, next(tie), pushes + 1, ahead))
    return None


def as_moves(room: str, last: State, links: dict[State, tuple[State, int, int] | None], size: int) -> str:
    """The walks and pushes that lead along the links to a state."""
    letters = {step: name[0] for name, step in steps_of(size).items()}
    parts = []
    while (link := links[last]) is not None:
        before, box, step = link
        parts.append(walk(room, before, box - step, size) + letters[step])
        last = before
    return "".join(reversed(parts))


def walk(room: str, state: State, to: int, size: int) -> str:
    """The shortest walk to a place that the player can reach without pushing."""
    letters = {step: name[0] for name, step in steps_of(size).items()}
    came = {state.player: (0, "")}
    edge = [state.player]
    for here in edge:
        if here == to:
            break
        for step, letter in letters.items():
            there = here + step
            if there not in came and room[there] != WALL and there not in state.boxes:
                came[there] = (here, letter)
                edge.append(there)
    out = []
    while to != state.player:
        to, letter = came[to]
        out.append(letter)
    return "".join(reversed(out))
