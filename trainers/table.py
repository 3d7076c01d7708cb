"""The table of turns: what credit assignment sees, before any padding, packing or sharding.

One row per node of every tree. In a tree that branches, a node lies on the paths of several leaves; estimators
work per leaf (an episode), and a node gets the mean over its leaves.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from agentrl.core.failures import InvariantBroken
from agentrl.core.tree import RolloutTree


@dataclass(frozen=True, slots=True)
class TurnTable:
    """Columns over turns (rows) and over episodes (leaves); all arrays one-dimensional.

    Attributes:
        tree: index of the row's tree: the group of the episodes of one task.
        parent: row of the parent, -1 for a first turn. A parent comes before its children.
        depth: turns before this one on its path.
        reward: reward of the turn; NaN where it could not be scored.
        tokens: sampled tokens of the turn; a turn of 0 tokens was scripted and cannot be trained.
        key: code of (tree, state key), -1 where there is no key.
        owner: the first leaf below the row: in a chain, its episode.
        leaf_tree, leaf_return: of every episode: its tree, and the sum of its rewards.
        member_row, member_leaf: pairs (row, leaf) of all paths.
        scored: whether a path through the row has a finite return.
    """

    tree: np.ndarray
    parent: np.ndarray
    depth: np.ndarray
    reward: np.ndarray
    tokens: np.ndarray
    key: np.ndarray
    owner: np.ndarray
    leaf_tree: np.ndarray
    leaf_return: np.ndarray
    member_row: np.ndarray
    member_leaf: np.ndarray
    scored: np.ndarray

    def __len__(self) -> int:
        return len(self.tree)

    def to_turns(self, per_leaf: np.ndarray) -> np.ndarray:
        """Values of episodes as values of turns: the mean over the scored leaves of each; 0 where none is."""
        finite = np.isfinite(self.leaf_return)[self.member_leaf]
        rows, leaves = self.member_row[finite], self.member_leaf[finite]
        total = np.bincount(rows, weights=per_leaf[leaves], minlength=len(self))
        return total / np.maximum(np.bincount(rows, minlength=len(self)), 1)


def table_of(trees: Sequence[RolloutTree], penalties: Sequence[Sequence[float]] | None = None) -> TurnTable:
    """The table of some trees.

    Args:
        trees: groups; every leaf must be a finished turn.
        penalties: numbers to take off the reward of every turn (KL in the reward), `penalties[tree][turn]`.

    Raises:
        InvariantBroken: a leaf that is not finished.
    """
    tree_of: list[int] = []
    parents: list[int] = []
    depths: list[int] = []
    rewards: list[float] = []
    tokens: list[int] = []
    keys: list[int] = []
    paths: list[list[int]] = []
    leaf_tree: list[int] = []
    codes: dict[tuple[int, str], int] = {}
    start = 0
    for index, tree in enumerate(trees):
        for turn in tree:
            tree_of.append(index)
            parents.append(-1 if turn.parent is None else start + turn.parent)
            depths.append(0 if turn.parent is None else depths[start + turn.parent] + 1)
            rewards.append(turn.reward - (penalties[index][turn.id] if penalties else 0.0))
            tokens.append(len(turn.completion_ids))
            keys.append(
                -1 if turn.state_key is None else codes.setdefault((index, turn.state_key), len(codes))
            )
        for leaf in tree.leaves():
            if not tree.turns[leaf].done:
                raise InvariantBroken("a leaf is a finished turn", f"{tree.task.id} turn {leaf}")
            paths.append([start + turn.id for turn in tree.path(leaf)])
            leaf_tree.append(index)
        start += len(tree)
    reward = np.asarray(rewards, np.float64)
    owner = np.full(len(tree_of), -1, np.int64)
    for leaf in range(len(paths) - 1, -1, -1):
        owner[paths[leaf]] = leaf
    leaf_return = np.asarray([reward[path].sum() for path in paths], np.float64)
    scored = np.zeros(len(tree_of), bool)
    for path, value in zip(paths, leaf_return, strict=True):
        scored[path] |= np.isfinite(value)
    return TurnTable(
        tree=np.asarray(tree_of, np.int64),
        parent=np.asarray(parents, np.int64),
        depth=np.asarray(depths, np.int64),
        reward=reward,
        tokens=np.asarray(tokens, np.int64),
        key=np.asarray(keys, np.int64),
        owner=owner,
        leaf_tree=np.asarray(leaf_tree, np.int64),
        leaf_return=leaf_return,
        member_row=np.asarray([row for path in paths for row in path], np.int64),
        member_leaf=np.asarray([leaf for leaf, path in enumerate(paths) for _ in path], np.int64),
        scored=scored,
    )
