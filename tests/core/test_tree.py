from __future__ import annotations

import math
import pickle

import pytest
from hypothesis import given
from hypothesis import strategies as st

from agentrl.core.failures import Failure, InfrastructureFailure, InvariantBroken
from agentrl.core.messages import assistant, call, user
from agentrl.core.tree import Episode, RolloutTree, Task, Turn, fed_ids, segments


def turn(parent: int | None, ids: tuple[int, ...] = (5,), **more) -> Turn:
    given = {"context_ids": (1, 2), "logprobs": (-0.5,) * len(ids), "completion_ids": ids, **more}
    return Turn(-1, parent, (user("q"),), call("go"), **given)


def grown() -> RolloutTree:
    """Two episodes that share their first turn, and one of its own:  0 -> 1 -> 3*,  0 -> 2*,  4*."""
    tree = RolloutTree(Task("agentrl/X-v0", 3), requested=3)
    tree.add(turn(None, (10,), reward=0.25))
    tree.add(turn(0, (11, 12), context_ids=(3,)))
    tree.add(
        turn(0, (13,), context_ids=(3,), terminated=True, reward=1.0, success=True, final=(user("done"),))
    )
    tree.add(turn(1, (14,), context_ids=(7, 8, 9), handoff="fresh", truncated=True))
    tree.add(turn(None, (15,), terminated=True, reward=0.5))
    return tree


def test_ids_paths_leaves_and_children():
    tree = grown()
    assert [t.id for t in tree] == [0, 1, 2, 3, 4]
    assert len(tree) == 5
    assert [t.id for t in tree.path(3)] == [0, 1, 3]
    assert (tree.children(None), tree.children(0), tree.children(3)) == ([0, 4], [1, 2], [])
    assert tree.leaves() == [2, 3, 4]
    assert tree.task.id == "agentrl/X-v0:train:3"


def test_episodes():
    episodes = grown().episodes()
    assert [[t.id for t in episode.turns] for episode in episodes] == [[0, 2], [0, 1, 3], [4]]
    first, second, third = episodes
    assert (first.total_reward, first.success, first.completion_tokens) == (1.25, True, 2)
    assert (second.total_reward, second.success) == (0.25, True)
    assert (third.total_reward, third.success) == (0.5, True)
    assert first.messages() == (user("q"), call("go"), user("q"), call("go"), user("done"))


def test_the_token_ledger():
    tree = grown()
    assert tree.prompt_ids(0) == (1, 2)
    assert tree.prompt_ids(1) == (1, 2, 10, 3)
    assert tree.prompt_ids(3) == (7, 8, 9)
    assert [[t.id for t in piece] for piece in segments(tree.path(3))] == [[0, 1], [3]]
    assert fed_ids(tree.path(1)) == [1, 2, 10, 3, 11, 12]


def test_an_unfinished_path_is_not_an_episode():
    tree = RolloutTree(Task("x", 1))
    tree.add(turn(None))
    assert tree.episodes() == []
    assert tree.leaves() == [0]


@pytest.mark.parametrize(
    ("bad", "rule"),
    [
        (turn(7), "a parent is in the tree before its child"),
        (turn(-1), "a parent is in the tree before its child"),
        (turn(2), "a finished turn has no children"),
        (turn(0, logprobs=()), "every sampled token has a behaviour log-probability"),
        (turn(0, logprobs=(0.5,)), "a log-probability is a number not above 0"),
        (turn(0, logprobs=(math.nan,)), "a log-probability is a number not above 0"),
        (turn(None, context_ids=()), "a first turn was sampled from a prompt"),
        (turn(0, reward=math.nan), "a reward is finite"),
        (turn(0, reward=math.inf), "a reward is finite"),
        (turn(0, reward=-math.inf), "a reward is finite"),
    ],
)
def test_a_turn_that_breaks_a_rule_is_not_added(bad, rule):
    tree = grown()
    with pytest.raises(InvariantBroken, match=f"^{rule} \\(at agentrl/X-v0:train:3 turn 5\\)"):
        tree.add(bad)
    assert len(tree) == 5


def test_a_scripted_turn_has_no_tokens():
    tree = RolloutTree(Task("x", 1))
    tree.add(Turn(0, None, (user("q"),), assistant("a"), terminated=True))
    assert isinstance(tree.episodes()[0], Episode)
    assert tree.prompt_ids(0) == ()


def test_a_tree_is_plain_data():
    tree = grown()
    tree.failures.append(Failure.of(InfrastructureFailure("reset", "X-v0", "down")))
    assert pickle.loads(pickle.dumps(tree)) == tree
    assert tree.failures == [Failure("reset", "X-v0", "InfrastructureFailure", "X-v0: reset failed: down")]


@given(st.lists(st.tuples(st.integers(0, 30), st.booleans(), st.integers(1, 3)), max_size=25))
def test_any_tree_keeps_its_ledger(steps):
    tree = RolloutTree(Task("x", 1))
    token = 0
    for choice, done, count in steps:
        free = [None, *(t.id for t in tree if not t.done)]
        ids = tuple(range(token, token + count))
        token += count
        tree.add(turn(free[choice % len(free)], ids, context_ids=(1000 + len(tree),), terminated=done))
    for node in tree:
        assert node.parent is None or node.parent < node.id
        assert [*tree.prompt_ids(node.id), *node.completion_ids] == fed_ids(tree.path(node.id))
    assert sum(len(tree.children(node)) for node in [None, *range(len(tree))]) == len(tree)
    assert len(tree.episodes()) == sum(t.terminated for t in tree)
