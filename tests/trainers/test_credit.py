"""Credit methods by hand: groups, exclusions, trees. (Golden numbers: test_golden.py.)"""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from agentrl.core.messages import assistant, user
from agentrl.core.tree import RolloutTree, Task, Turn
from agentrl.trainers.credit.baseline import centre, centre_on_others
from agentrl.trainers.credit.dr_grpo import dr_grpo
from agentrl.trainers.credit.gigpo import gigpo, step_credit
from agentrl.trainers.credit.grpo import grpo
from agentrl.trainers.credit.reinforce import reinforce
from agentrl.trainers.credit.returns import return_to_go
from agentrl.trainers.credit.rloo import rloo
from agentrl.trainers.credit.turn_return import turn_return
from agentrl.trainers.table import table_of

METHODS = (reinforce, rloo, grpo, dr_grpo, gigpo, turn_return)


def chain_tree(seed: int, episodes: list[list[float]], keys: list[list[str]] | None = None) -> RolloutTree:
    """A group of chains with the given rewards and state keys."""
    tree = RolloutTree(Task("env", seed), requested=len(episodes))
    for e, rewards in enumerate(episodes):
        for k, reward in enumerate(rewards):
            tree.add(
                turn(None if k == 0 else len(tree) - 1, reward, k == len(rewards) - 1, keys and keys[e][k])
            )
    return tree


def turn(parent: int | None, reward: float, last: bool, key: str | None = None) -> Turn:
    return Turn(
        id=0,
        parent=parent,
        observation=(user("o"),),
        action=assistant("a"),
        context_ids=(1,),
        completion_ids=(2, 3),
        logprobs=(-0.5, -0.5),
        reward=reward,
        terminated=last,
        state_key=key,
    )


def test_groups_are_counted_whatever_the_method_compares():
    # A mixed group, one episode alone, a group of equals, and (by its penalties) one that could not be scored.
    trees = [
        chain_tree(i, episodes)
        for i, episodes in enumerate(
            [[[1.0], [0.0]], [[0.7]], [[0.5, 0.5], [1.0], [1.0]], [[1.0], [0.0], [2.0]]]
        )
    ]
    nan = float("nan")
    table = table_of(trees, [[0, 0], [0], [0] * 4, [nan, 0, 0]])
    for method in METHODS:
        credit = method(table)
        assert (credit.groups, credit.singletons, credit.zero_variance, credit.excluded) == (4, 1, 1, 1)
        assert credit.advantages.shape == (10,)
        assert credit.advantages[7] == 0.0


def test_an_episode_that_could_not_be_scored_gets_nothing_and_shifts_nobody():
    # Its later turns have finite returns of their own: they must not count either.
    keys = [["a", "b", "c"]] * 3
    rewards = [[1.0, 0.0, 0.5], [0.0, 1.0, 1.0], [0.0, 0.0, 9.0]]
    whole = table_of([chain_tree(0, rewards, keys)], [[0] * 6 + [0, float("nan"), 0]])
    without = table_of([chain_tree(0, rewards[:2], keys[:2])])
    for method in METHODS:
        got = method(whole).advantages
        assert got[:6] == pytest.approx(method(without).advantages, abs=1e-12)
        assert got[6:].tolist() == [0.0] * 3


def test_a_branch_that_could_not_be_scored_leaves_the_prefix_to_the_others():
    tree = RolloutTree(Task("env", 0), requested=3)
    root = tree.add(turn(None, 0.25, False)).id
    tree.add(turn(root, 1.0, True))
    tree.add(turn(root, 0.0, True))
    tree.add(turn(None, 0.0, True))
    table = table_of([tree], [[0, 0, float("nan"), 0]])
    assert table.scored.tolist() == [True, True, False, True]
    assert return_to_go(table, 1.0)[[0, 1, 3]].tolist() == [1.25, 1.0, 0.0]
    assert rloo(table).advantages.tolist() == [1.25, 1.25, 0.0, -1.25]


def test_turn_returns_by_hand():
    table = table_of([chain_tree(0, [[0.1, 0.0, 1.0]])])
    assert return_to_go(table, 0.95) == pytest.approx([1.0025, 0.95, 1.0])


def test_gigpo_leaves_out_the_own_episode():
    # Both episodes start in s; the first comes back to it. gamma 1: returns to go 1, 1 and 0.
    table = table_of([chain_tree(0, [[0.0, 1.0], [0.0]], [["s", "s"], ["s"]])])
    step = step_credit(table, gamma=1.0, scale="none", eps=0.0, exclude_own=True)
    assert step.tolist() == [1.0, 1.0, -1.0]
    leaky = step_credit(table, gamma=1.0, scale="none", eps=0.0, exclude_own=False)
    assert leaky == pytest.approx([1 / 3, 1 / 3, -2 / 3])


def test_keys_of_different_tasks_never_meet():
    one = chain_tree(0, [[1.0], [0.0]], [["s"], ["s"]])
    two = chain_tree(1, [[5.0], [5.0]], [["s"], ["s"]])
    step = step_credit(table_of([one, two]), gamma=1.0, scale="none", eps=0.0, exclude_own=True)
    assert step.tolist() == [1.0, -1.0, 0.0, 0.0]


@pytest.mark.parametrize("method", [rloo, grpo, dr_grpo, gigpo, turn_return])
@given(value=st.floats(-1e3, 1e3), size=st.integers(1, 9))
def test_equal_rewards_give_exactly_zero(method, value, size):
    # Exactly: an optimizer that divides by the gradient's size makes a full step of 1e-17.
    turns = [[value, 0.1]] * size
    table = table_of([chain_tree(0, turns, [["s", "t"]] * size)])
    assert method(table).advantages.tolist() == [0.0] * (2 * size)


def test_returns_that_differ_by_rounding_are_equal():
    table = table_of([chain_tree(0, [[0.1, 0.2, 0.3], [0.3, 0.2, 0.1]])])
    assert sum([0.1, 0.2, 0.3]) != sum([0.3, 0.2, 0.1])
    for method in (rloo, grpo, dr_grpo):
        credit = method(table)
        assert credit.advantages.tolist() == [0.0] * 6
        assert credit.zero_variance == 1


def test_leaving_out_the_own_episode_and_dividing_go_together():
    # Returns to go in s: 4, 2 (one episode) and 0. Others' means: 0, 0, 3; standard deviation 2.
    table = table_of([chain_tree(0, [[2.0, 2.0], [0.0]], [["s", "s"], ["s"]])])
    step = step_credit(table, gamma=1.0, scale="std", eps=0.0, exclude_own=True)
    assert step == pytest.approx([2.0, 1.0, -1.5])


@given(st.data())
def test_advantages_follow_their_episodes_however_groups_and_members_are_ordered(data):
    rewards = st.sampled_from([0.0, 0.25, 0.5, 1.0])
    episode = st.lists(st.tuples(rewards, st.sampled_from(["s", "t"])), min_size=1, max_size=4)
    groups = data.draw(st.lists(st.lists(episode, min_size=1, max_size=4), min_size=1, max_size=3))

    def tree(group):
        return chain_tree(0, [[r for r, _ in e] for e in group], [[k for _, k in e] for e in group])

    shuffled = [data.draw(st.permutations(range(len(group)))) for group in groups]
    order = data.draw(st.permutations(range(len(groups))))
    for method in METHODS:
        flat = method(table_of([tree(group) for group in groups])).advantages.tolist()
        want = [[[flat.pop(0) for _ in e] for e in group] for group in groups]
        flat = method(
            table_of([tree([groups[i][j] for j in shuffled[i]]) for i in order])
        ).advantages.tolist()
        for i in order:
            for j in shuffled[i]:
                assert [flat.pop(0) for _ in groups[i][j]] == pytest.approx(want[i][j], abs=1e-12)


def test_the_baseline_of_a_turn_is_the_others_at_its_depth():
    table = table_of([chain_tree(0, [[0.0, 1.0], [0.0, 0.0], [0.0]])])
    # Returns to go: 1, 1 | 0, 0 | 0; depth 0: 1, 0, 0; depth 1: 1, 0.
    assert turn_return(table).advantages.tolist() == [1.0, 1.0, -0.5, -1.0, -0.5]
    whole = turn_return(table, baseline="batch").advantages
    assert whole == pytest.approx([0.6, 0.6, -0.4, -0.4, -0.4])


def test_in_a_branching_tree_a_node_gets_the_mean_over_its_leaves():
    tree = RolloutTree(Task("env", 0), requested=3)
    root = tree.add(turn(None, 0.0, False)).id
    tree.add(turn(root, 1.0, True))
    tree.add(turn(root, 0.0, True))
    tree.add(turn(None, 0.0, True))
    table = table_of([tree])
    assert table.leaf_return.tolist() == [1.0, 0.0, 0.0]
    # RLOO per leaf: 1, -1/2, -1/2; the shared turn: (1 - 1/2) / 2.
    assert rloo(table).advantages == pytest.approx([0.25, 1.0, -0.5, -0.5])
    assert return_to_go(table, 1.0).tolist() == [0.5, 1.0, 0.0, 0.0]


def test_order_of_groups_and_members_does_not_matter():
    rng = np.random.default_rng(0)
    values, group, owner = rng.normal(size=40), rng.integers(0, 6, 40), rng.integers(0, 9, 40)
    order = rng.permutation(40)
    for options in ({"baseline": "loo"}, {"scale": "std"}, {}):
        whole = centre(values, group, **options)
        assert centre(values[order], group[order], **options) == pytest.approx(whole[order], abs=1e-12)
    whole = centre_on_others(values, group, owner)
    assert centre_on_others(values[order], group[order], owner[order]) == pytest.approx(
        whole[order], abs=1e-12
    )


def test_others_means_others():
    values, group, owner = np.array([1.0, 2.0, 6.0, 4.0]), np.array([0, 0, 0, -1]), np.array([0, 0, 1, 2])
    assert centre_on_others(values, group, owner).tolist() == [-5.0, -4.0, 4.5, 0.0]


def test_a_hundred_thousand_turns_take_under_a_second():
    import time

    tree = chain_tree(
        0, [[0.0] * 9 + [float(i % 2)] for i in range(100)], [[f"s{k}" for k in range(10)]] * 100
    )
    table = table_of([tree] * 100)
    assert len(table) == 100_000
    for method in METHODS:
        began = time.perf_counter()
        method(table)
        assert time.perf_counter() - began < 1.0
