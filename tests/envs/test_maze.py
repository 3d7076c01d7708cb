from random import Random

import pytest

import agentrl
from agentrl.core.messages import call, text_of
from agentrl.envs.games.maze.rules import (
    DIRECTIONS,
    cell_at,
    distances,
    drawing,
    free,
    next_stretch,
    offset,
    place_of,
    random_maze,
    stretches,
)

BY_HAND = """\
#######
#   # #
### # #
# #   #
# # ###
#     #
#######
"""


def at(row, column):
    return place_of(row, column, 3)


def test_a_maze_by_hand():
    assert BY_HAND[at(1, 1)] == BY_HAND[at(3, 3)] == " "
    assert cell_at(at(2, 3), 3) == (2, 3)
    assert [free(BY_HAND, at(1, 2), direction, 3) for direction in DIRECTIONS] == [0, 0, 2, 1]
    far = distances(BY_HAND, at(1, 3), 3)
    assert {cell_at(place, 3): cells for place, cells in far.items()} == {
        (1, 3): 0,
        (2, 3): 1,
        (2, 2): 2,
        (1, 2): 3,
        (3, 2): 3,
        (1, 1): 4,
        (3, 1): 4,
        (3, 3): 4,
        (2, 1): 5,
    }
    assert next_stretch(far, BY_HAND, at(1, 1), 3) == ("east", 1)
    assert next_stretch(far, BY_HAND, at(1, 2), 3) == ("south", 1)
    assert stretches(far, BY_HAND, at(2, 1), 3) == 5
    assert drawing(BY_HAND, at(1, 1), at(1, 3)).splitlines()[1] == "#@  #X#"


@pytest.mark.parametrize("size", [4, 8, 20])
@pytest.mark.parametrize("loops", [0.0, 0.3])
def test_every_cell_is_reached_and_without_loops_by_one_way(size, loops):
    maze = random_maze(Random(1), size, loops)
    assert len(distances(maze, place_of(1, 1, size), size)) == size**2
    gaps = sum(
        maze[place_of(row, column, size) + offset(direction, size)] == " "
        for row in range(1, size + 1)
        for column in range(1, size + 1)
        for direction in ("east", "south")
    )
    assert (gaps == size**2 - 1) == (loops == 0.0)
    edge = [line for line in maze.splitlines() if line.strip("#")]
    assert all(line[0] == line[-1] == "#" for line in edge)


def test_tasks_are_far_enough_and_not_too_far():
    env = agentrl.make("Maze-v0")
    for seed in range(60):
        env.reset(seed=seed, options={"split": env.splits[seed % 3]})
        maze, start, goal = env.layout
        far = distances(maze, goal, 8)
        assert far[start] >= 16
        assert stretches(far, maze, start, 8) <= 24


def test_moves_stop_at_walls_and_at_the_exit():
    env = agentrl.make("Maze-v0", view="full")
    env.reset(seed=0)
    direction, cells = next(
        (direction, free(env.layout.maze, env.here, direction, 8))
        for direction in DIRECTIONS
        if free(env.layout.maze, env.here, direction, 8)
    )
    shown, *_ = env.step(call("move", direction=direction, steps=cells + 3))
    assert text_of(shown).startswith(f"After {cells} there is a wall.")
    shown, *_, info = env.step(call("move", direction=direction))
    assert text_of(shown) == f"error: there is a wall in the {direction}"
    assert len(info["tool_errors"]) == 1
    assert "1" in text_of(env.step(call("move", direction=direction, steps=0))[0])


def test_the_expert_takes_over_anywhere():
    for kwargs in ({}, {"loops": 0.4, "size": 12}, {"view": "full", "size": 4}):
        env = agentrl.make("Maze-v0", max_turns=500, **kwargs)
        rng = Random(0)
        for seed in range(20):
            env.reset(seed=seed)
            for _ in range(10):
                env.step(call("move", direction=rng.choice(DIRECTIONS)))
            over = env._over
            while not over:
                *_, terminated, truncated, info = env.step(env.expert())
                over = terminated or truncated
                assert info["tool_errors"] == []
            assert info["success"]
