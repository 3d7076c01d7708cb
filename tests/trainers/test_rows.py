"""Rows and micro-batches: every completion trained once, in exactly the tokens that the engine saw."""

import numpy as np
import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st

from agentrl.core.failures import InvariantBroken
from agentrl.core.messages import assistant, user
from agentrl.core.tree import RolloutTree, Task, Turn
from agentrl.trainers.batch import collate, microbatches, of_tokens
from agentrl.trainers.rows import Row, rows_of

CPU = torch.device("cpu")


def turn(parent: int | None, context: tuple[int, ...], said: tuple[int, ...], **more: object) -> Turn:
    return Turn(
        id=0,
        parent=parent,
        observation=(user("o"),),
        action=assistant("a"),
        context_ids=context,
        completion_ids=said,
        logprobs=tuple(-0.1 * token for token in said),
        **more,
    )


def tree_of(*turns: Turn) -> RolloutTree:
    tree = RolloutTree(Task("env", 0))
    for one in turns:
        tree.add(one)
    return tree


def test_a_chain_is_one_row():
    tree = tree_of(
        turn(None, (1, 2), (3,), weight_version=7), turn(0, (4,), (5, 6), terminated=True, weight_version=8)
    )
    (row,) = rows_of([tree], [[0.5, -2.0]])
    assert row.ids.tolist() == [1, 2, 3, 4, 5, 6]
    assert row.mask.tolist() == [False, False, True, False, True, True]
    assert row.advantages.tolist() == [0, 0, 0.5, 0, -2.0, -2.0]
    assert row.logprobs == pytest.approx([0, 0, -0.3, 0, -0.5, -0.6])
    assert row.node.tolist() == [-1, -1, 0, -1, 1, 1]
    assert row.depth.tolist() == [-1, -1, 0, -1, 1, 1]
    assert row.version.tolist() == [-1, -1, 7, -1, 8, 8]
    assert (row.tree, row.leaf) == (0, 1)


def test_a_shared_prefix_is_trained_once():
    tree = tree_of(
        turn(None, (1,), (2,)), turn(0, (3,), (4,), terminated=True), turn(0, (3,), (5,), terminated=True)
    )
    first, second = rows_of([tree], [[1.0, 2.0, 3.0]])
    assert first.ids[first.mask].tolist() == [2, 4]
    assert second.ids.tolist() == [1, 2, 3, 5]
    assert second.mask.tolist() == [False, False, False, True]
    assert second.advantages.tolist() == [0, 0, 0, 3.0]


def test_a_fresh_segment_is_a_row_of_its_own_even_under_a_branch():
    tree = tree_of(
        turn(None, (1,), (2,)),
        turn(0, (7, 8), (4,), handoff="fresh", terminated=True),
        turn(0, (9,), (5,), handoff="fresh", terminated=True),
    )
    rows = rows_of([tree], [[1.0, 2.0, 3.0]])
    assert [row.ids.tolist() for row in rows] == [[1, 2], [7, 8, 4], [9, 5]]
    assert [row.advantages[row.mask].tolist() for row in rows] == [[1.0], [2.0], [3.0]]
    assert [row.depth[row.mask].tolist() for row in rows] == [[0], [1], [1]]


def test_what_was_not_sampled_token_by_token_is_refused():
    with pytest.raises(InvariantBroken, match="sampled token by token"):
        rows_of([tree_of(turn(None, (1,), (), terminated=True))], [[0.0]])


def test_a_segment_starts_with_context():
    tree = tree_of(turn(None, (1,), (2,)), turn(0, (), (3,), handoff="fresh", terminated=True))
    with pytest.raises(InvariantBroken, match="prompt"):
        rows_of([tree], [[0.0, 0.0]])


def test_a_row_that_the_model_cannot_read_is_refused_not_cut():
    tree = tree_of(turn(None, (1, 2), (3,)), turn(0, (4,), (5, 6), terminated=True))
    assert len(rows_of([tree], [[0.0, 0.0]], longest=6)[0]) == 6
    with pytest.raises(InvariantBroken, match=r"env:train:0 turn 1.*6 tokens of 5"):
        rows_of([tree], [[0.0, 0.0]], longest=5)


@given(st.lists(st.integers(0, 10), min_size=1, max_size=12), st.data())
def test_every_completion_of_a_random_tree_is_trained_exactly_once(choices, data):
    tree = RolloutTree(Task("env", 0))
    for at, choice in enumerate(choices):
        parent = choice - 1 if 0 < choice <= at else None
        fresh = parent is not None and data.draw(st.booleans())
        tree.add(turn(parent, (100 + at,), (at,) * (1 + at % 3), handoff="fresh" if fresh else "clean"))
    advantages = [float(node) + 1 for node in range(len(tree))]
    rows = rows_of([tree], [advantages])
    trained = sorted(int(node) for row in rows for node in row.node[row.mask])
    assert trained == sorted(node.id for node in tree for _ in node.completion_ids)
    for row in rows:
        for node in np.unique(row.node[row.mask]):
            here = np.flatnonzero(row.node == node)
            assert set(row.advantages[here]) == {advantages[node]}
            # Each token is conditioned on exactly what the engine was fed.
            assert tuple(row.ids[: here[0]]) == tree.prompt_ids(int(node))


def plain(length: int) -> Row:
    at, zero = np.arange(length), np.zeros(length)
    return Row(at, at > 0, -at / 10.0, np.ones(length), zero, zero, zero, 0, 0)


@given(st.lists(st.integers(2, 30), max_size=20), st.integers(1, 100))
def test_microbatches_hold_every_row_once_within_the_budget(lengths, budget):
    rows = [plain(length) for length in lengths]
    cut = microbatches(rows, budget)
    assert sorted(index for picked in cut for index in picked) == list(range(len(rows)))
    for picked in cut:
        width = max(lengths[index] for index in picked)
        assert len(picked) == 1 or width * len(picked) <= budget


def test_padding_is_on_the_right_and_trains_nothing():
    rows = [plain(2), plain(4)]
    batch = collate(rows, [1, 0], CPU)
    assert batch.ids.tolist() == [[0, 1, 2, 3], [0, 1, 0, 0]]
    assert batch.attention.tolist() == [[1, 1, 1, 1], [1, 1, 0, 0]]
    assert batch.mask.sum() == 4
    flat = of_tokens([row.logprobs for row in rows], rows, [1, 0], CPU)
    assert flat.tolist() == pytest.approx([-0.1, -0.2, -0.3, -0.1])
