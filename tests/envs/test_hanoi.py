from collections import deque
from itertools import product
from random import Random

import gymnasium.utils.env_checker
import pytest
from playing import play

import agentrl
from agentrl.check import check_env
from agentrl.check.audit import audit_env
from agentrl.core.failures import ToolError, UserError
from agentrl.core.messages import Message, ToolCall, call, text_of
from agentrl.envs.games.hanoi.rules import PEGS, described, moved, moves
from agentrl.envs.games.hanoi.solving import distance, lengths, next_move


def searched(goal):
    """From every state to its distance from the goal, by breadth-first search."""
    found, queue = {goal: 0}, deque([goal])
    while queue:
        state = queue.popleft()
        for move in moves(state):
            if (after := moved(state, *move)) not in found:
                found[after] = found[state] + 1
                queue.append(after)
    return found


@pytest.mark.parametrize("disks", [1, 2, 3, 4])
def test_the_shortest_way_agrees_with_a_search_of_every_pair(disks):
    for goal in product(PEGS, repeat=disks):
        found = searched(goal)
        assert len(found) == 3**disks
        for state, length in found.items():
            assert distance(state, goal) == length
            if length:
                assert found[moved(state, *next_move(state, goal))] == length - 1


@pytest.mark.parametrize("disks", [1, 2, 3, 7, 10, 64])
def test_the_classical_task_takes_two_to_the_n_less_one(disks):
    assert distance(("A",) * disks, ("C",) * disks) == 2**disks - 1


def test_the_classical_task_of_three_disks_by_hand():
    state, goal, way = ("A",) * 3, ("C",) * 3, []
    while state != goal:
        way.append(next_move(state, goal))
        state = moved(state, *way[-1])
    assert way == [("A", "C"), ("A", "B"), ("C", "B"), ("A", "C"), ("B", "A"), ("B", "C"), ("A", "C")]


def test_the_largest_disk_moves_twice_where_that_is_shorter():
    # Disks 1 and 2 go from B to A, disk 3 from A to B.
    state, goal = ("B", "B", "A"), ("A", "A", "B")
    # Once: both from B to C (3), disk 3 to B (1), both from C to A (3). Twice: disk 3 to C, both to A, disk 3 to B.
    assert lengths(state, goal) == (7, 5)
    assert next_move(state, goal) == ("A", "C")


def test_the_moves_by_hand():
    state = ("C", "A", "A")  # disk 1 on C, disks 2 and 3 on A
    assert described(state) == "A: 3 2\nB:\nC: 1"
    assert moved(state, "A", "B") == ("C", "B", "A")
    assert set(moves(state)) == {("A", "B"), ("C", "A"), ("C", "B")}
    assert set(moves(("B", "B", "B"))) == {("B", "A"), ("B", "C")}


@pytest.mark.parametrize(
    ("source", "target", "said"),
    [
        ("A", "A", "another one"),
        ("B", "A", "peg B is empty"),
        ("A", "C", "disk 2 is larger than disk 1 on top"),
    ],
)
def test_what_the_rules_forbid(source, target, said):
    with pytest.raises(ToolError, match=said):
        moved(("C", "A", "A"), source, target)


def test_every_state_has_the_moves_that_the_rules_allow():
    for state in product(PEGS, repeat=4):
        allowed = set()
        for pair in product(PEGS, repeat=2):
            try:
                moved(state, *pair)
            except ToolError:
                continue
            allowed.add(pair)
        assert set(moves(state)) == allowed
        assert len(allowed) in (2, 3)


@pytest.mark.parametrize("disks", [3, 4, 6])
def test_the_expert_takes_a_shortest_way(disks):
    env = agentrl.make("Hanoi-v0", disks=disks)
    for split, seed in product(env.splits, range(30)):
        env.reset(seed=seed, options={"split": split})
        length = distance(env.now, env.goal)
        assert (2**disks - 1) / 2 <= length <= 2**disks - 1
        total, info = play(env, seed, split)
        assert (total, info["success"], info["turn"]) == (1.0, True, length)


def test_the_expert_goes_on_from_anywhere():
    env = agentrl.make("Hanoi-v0", max_turns=1000)
    for seed in range(30):
        env.reset(seed=seed)
        rng, info = Random(seed), {}
        for _ in range(12):
            source, target = rng.choice(moves(env.now))
            info = env.step(call("move", source=source, target=target))[-1]
            if "success" in info:
                break
        while "success" not in info:
            info = env.step(env.expert())[-1]
        assert info["success"]


def test_no_pair_is_in_two_splits_and_there_are_many():
    env, pairs = agentrl.make("Hanoi-v0"), {}
    for split in env.splits:
        pairs[split] = set()
        for seed in range(200):
            env.reset(seed=seed, options={"split": split})
            pairs[split].add((env.now, env.goal))
    assert not pairs["train"] & (pairs["validation"] | pairs["test"])
    assert not pairs["validation"] & pairs["test"]
    assert min(map(len, pairs.values())) > 100


def test_random_legal_moves_rarely_arrive():
    env, won = agentrl.make("Hanoi-v0"), 0
    for seed in range(300):
        env.reset(seed=seed)
        rng, info = Random(seed), {}
        while "success" not in info:
            source, target = rng.choice(moves(env.now))
            info = env.step(call("move", source=source, target=target))[-1]
        won += info["success"]
    assert won / 300 < 0.05


def test_several_moves_in_one_message():
    env = agentrl.make("Hanoi-v0", disks=3)
    env.reset(seed=0)
    env.now, env.goal = ("A",) * 3, ("C",) * 3
    way = ["AC", "AB", "CB", "AC", "BA", "BC", "AC", "CA"]
    calls = tuple(ToolCall.make("move", source=a, target=b) for a, b in way)
    observation, reward, terminated, _, info = env.step(Message("assistant", "", calls))
    assert (reward, terminated, info["success"]) == (1.0, True, True)
    assert text_of(observation[:1]) == "A: 3 2\nB:\nC: 1"
    assert text_of(observation[6:7]) == "A:\nB:\nC: 3 2 1\nThis is the goal."
    assert "episode is over" in text_of(observation[7:])


def test_a_wrong_move_is_answered_and_costs_nothing():
    env = agentrl.make("Hanoi-v0")
    env.reset(seed=0)
    for arguments in (
        {"source": "A", "target": "A"},
        {"source": "D", "target": "A"},
        {"source": "A"},
        {"source": 1},
    ):
        before = env.now
        observation, reward, terminated, _, info = env.step(call("move", **arguments))
        assert text_of(observation).startswith("error: ")
        assert (reward, terminated, len(info["tool_errors"]), env.now) == (0.0, False, 1, before)


@pytest.mark.parametrize(
    "kwargs", [{"disks": 2}, {"disks": 11}, {"disks": True}, {"disks": "4"}, {"max_turns": -1}]
)
def test_wrong_settings_are_refused(kwargs):
    with pytest.raises(UserError):
        agentrl.make("Hanoi-v0", **kwargs)


def test_a_fork_goes_its_own_way():
    env, other = agentrl.make("Hanoi-v0"), agentrl.make("Hanoi-v0")
    env.reset(seed=5)
    before = env.state_key()
    other.restore(env.snapshot())
    other.step(other.expert())
    assert (env.state_key(), other.state_key() != before) == (before, True)


def test_gymnasiums_checker_passes():
    gymnasium.utils.env_checker.check_env(agentrl.make("Hanoi-v0"), skip_render_check=True)


@pytest.mark.slow
def test_the_rules_hold():
    report = check_env("agentrl/Hanoi-v0")
    assert report.ok, [check for check in report.checks if not check.ok]
    document = audit_env("agentrl/Hanoi-v0", episodes=30)
    assert document["ok"], document["policies"]
