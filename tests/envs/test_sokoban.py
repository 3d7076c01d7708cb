from collections import deque
from random import Random

import pytest

import agentrl
from agentrl.core.failures import ToolError
from agentrl.core.messages import call, text_of
from agentrl.envs.games.board import as_board
from agentrl.envs.games.sokoban.drawing import played_backwards, random_room, turns
from agentrl.envs.games.sokoban.rules import GOAL, WALL, State, draw, moved, solved, steps_of
from agentrl.envs.games.sokoban.solving import assigned, distances, estimate, solve

SIX = steps_of(6)
#    columns: 0 2 4 6 8 10, rows 12 apart
ROOM = as_board("######" + "#____#" + "#____#" + "#__O_#" + "#____#" + "######", 6)
LETTERS = {name[0]: step for name, step in SIX.items()}


def at(row, column, size=6):
    return 2 * (size * row + column)


def shortest(room, state, size):
    """The fewest moves that solve a room, by looking at every state; None if it cannot be solved."""
    steps = steps_of(size).values()
    found, edge = {state: 0}, deque([state])
    while edge:
        here = edge.popleft()
        if solved(room, here.boxes):
            return found[here]
        for step in steps:
            try:
                ahead = moved(room, here, step)
            except ToolError:
                continue
            if ahead not in found:
                found[ahead] = found[here] + 1
                edge.append(ahead)
    return None


def drawn_tasks(size, boxes, count):
    rng = Random(f"{size} {boxes}")
    while count:
        room = random_room(rng, size, boxes)
        if state := played_backwards(rng, room, size):
            yield room, state
            count -= 1


def test_moves_by_hand():
    state = State(at(2, 1), (at(2, 2),))
    assert moved(ROOM, state, SIX["up"]) == State(at(1, 1), (at(2, 2),))
    assert moved(ROOM, state, SIX["right"]) == State(at(2, 2), (at(2, 3),))
    with pytest.raises(ToolError, match="a wall is in the way"):
        moved(ROOM, state, SIX["left"])
    for state in (State(at(2, 3), (at(2, 4),)), State(at(2, 1), (at(2, 2), at(2, 3)))):
        with pytest.raises(ToolError, match="cannot be pushed"):
            moved(ROOM, state, SIX["right"])


def test_a_room_in_marks():
    state = State(at(3, 3), (at(1, 1), at(2, 2)))
    assert draw(ROOM, state).splitlines()[1:4] == ["# X _ _ _ #", "# _ X _ _ #", "# _ _ S _ #"]
    assert draw(ROOM, State(at(1, 1), (at(3, 3),))).splitlines()[3] == "# _ _ * _ #"
    assert solved(ROOM, (at(3, 3),))
    assert not solved(ROOM, (at(3, 3), at(1, 1)))


def test_distances_by_hand():
    (table,) = distances(ROOM, 6)
    assert table[at(3, 3)] == 0
    assert table[at(3, 2)] == 1
    assert table[at(2, 2)] == 2
    assert at(1, 1) not in table  # a corner
    assert at(4, 2) not in table  # along the lower wall, which the goal is not at
    assert estimate((at(1, 1),), distances(ROOM, 6)) >= 10**6


def test_the_cheapest_assignment_by_hand():
    assert assigned(((1, 2), (1, 9))) == 3
    assert assigned(((4, 1, 3), (2, 0, 5), (3, 2, 2))) == 5


@pytest.mark.parametrize(("size", "boxes"), [(6, 1), (6, 2)])
def test_a_state_is_solved_exactly_where_it_can_be(size, boxes):
    lost = 0
    for number, (room, start) in enumerate(drawn_tasks(size, boxes, 12)):
        rng, state = Random(number), start
        assert shortest(room, start, size) is not None
        for _ in range(rng.randrange(40)):
            try:
                ahead = moved(room, state, rng.choice(list(SIX.values())))
            except ToolError:
                continue
            if not solved(room, ahead.boxes):
                state = ahead
        best = shortest(room, state, size)
        moves = solve(room, state, size, 10**6)
        assert (moves is None) == (best is None)
        lost += best is None
        for letter in moves or "":
            state = moved(room, state, LETTERS[letter])
        assert moves is None or (solved(room, state.boxes) and len(moves) >= best)
    assert lost > 0


@pytest.mark.parametrize(("size", "boxes"), [(6, 1), (6, 4), (8, 2), (10, 4)])
def test_every_room_is_closed_and_hangs_together(size, boxes):
    for room, state in drawn_tasks(size, boxes, 8):
        rows = [line.split() for line in room.splitlines()]
        assert rows[0] == rows[-1] == [WALL] * size
        assert all(row[0] == row[-1] == WALL and len(row) == size for row in rows)
        assert room.count(GOAL) == boxes == len(set(state.boxes))
        assert state.player not in state.boxes
        assert all(room[place] != WALL for place in (state.player, *state.boxes))
        assert not solved(room, state.boxes)


def test_a_turn_by_hand():
    assert turns(at(1, 1), (at(2, 2),), 6)
    assert not turns(at(1, 1), (at(1, 3),), 6)
    assert not turns(at(1, 1), (at(3, 1),), 6)
    assert not turns(at(1, 1), (at(2, 2), at(3, 1)), 6)


@pytest.mark.parametrize("boxes", [1, 2])
def test_walking_in_one_direction_solves_nothing(boxes):
    env = agentrl.make("Sokoban-v0", boxes=boxes)
    for seed in range(80):
        env.reset(seed=seed)
        for direction in SIX:
            env.now = env.first
            assert not any("success" in env.step(call("move", direction=direction))[-1] for _ in range(6))
            env.turn = 0


@pytest.mark.parametrize(("size", "boxes"), [(6, 1), (7, 2), (9, 4)])
def test_the_expert_solves_from_wherever_and_restarts_where_it_must(size, boxes):
    env = agentrl.make("Sokoban-v0", size=size, boxes=boxes, max_turns=1000)
    restarts = 0
    for seed in range(12):
        rng = Random(seed)
        env.reset(seed=seed, options={"split": env.splits[seed % 3]})
        info = {}
        for _ in range(60):
            info = env.step(call("move", direction=rng.choice(list(SIX))))[-1]
            if "success" in info:
                break
        while "success" not in info:
            action = env.expert()
            restarts += action.tool_calls[0].name == "restart"
            info = env.step(action)[-1]
            assert not info["tool_errors"]
        assert info["success"]
    assert restarts > 2


def test_a_game_by_hand():
    env = agentrl.make("Sokoban-v0")
    env.reset(seed=0)
    env.room, env.first = ROOM, State(at(2, 1), (at(2, 2),))
    env.now = env.first
    assert text_of(env.step(call("move", direction="left"))[0]) == "error: a wall is in the way"
    assert text_of(env.step(call("move", direction="right"))[0]).splitlines()[2] == "# _ P X _ #"
    env.step(call("move", direction="right"))
    assert text_of(env.step(env.expert())[0]).splitlines()[2] == "# P X _ _ #"  # against the wall: lost
    env.step(call("move", direction="right"))
    env.step(call("move", direction="up"))
    env.step(call("move", direction="right"))
    observation, reward, terminated, _, info = env.step(call("move", direction="down"))
    assert text_of(observation).splitlines()[3:] == [
        "# _ _ * _ #",
        "# _ _ _ _ #",
        "# # # # # #",
        "Every box is on a goal.",
    ]
    assert (reward, terminated, info["success"]) == (1.0, True, True)
