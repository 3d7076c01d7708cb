"""Training rows: contiguous token streams with an advantage on every sampled token.

One row is one segment of a path: exactly what the engine was fed and sampled. Every completion is trained in
exactly one row; where a tree branches, the shared prefix is context in the others.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from agentrl.core.failures import InvariantBroken
from agentrl.core.tree import RolloutTree, Turn, segments


@dataclass(frozen=True, slots=True)
class Row:
    """One token stream; arrays of shape (tokens,).

    Attributes:
        ids: token ids.
        mask: true for sampled tokens that are trained in this row.
        logprobs: behaviour log-probability, 0 where `mask` is false.
        advantages: 0 where `mask` is false.
        node: id of the turn that sampled the token, -1 where `mask` is false.
        depth: turns before that turn on its path, -1 where `mask` is false.
        version: version of the weights that sampled the token, -1 where `mask` is false.
        tree, leaf: where the row comes from.
    """

    ids: np.ndarray
    mask: np.ndarray
    logprobs: np.ndarray
    advantages: np.ndarray
    node: np.ndarray
    depth: np.ndarray
    version: np.ndarray
    tree: int
    leaf: int

    def __len__(self) -> int:
        return len(self.ids)


def rows_of(
    trees: Sequence[RolloutTree], advantages: Sequence[Sequence[float]], *, longest: int | None = None
) -> list[Row]:
    """Rows of all trees, in their order.

    Args:
        advantages: `advantages[i][j]` belongs to turn j of tree i.
        longest: most tokens that the model reads; None for no limit.

    Raises:
        InvariantBroken: a turn without tokens (a scripted policy cannot be trained on), a segment without a prompt,
            a row that the model cannot read, or a turn that would never be trained. Nothing is dropped or cut.
    """
    rows: list[Row] = []
    for index, tree in enumerate(trees):
        trained: set[int] = set()
        for leaf in tree.leaves():
            for segment in segments(tree.path(leaf)):
                row = row_of(segment, tree, advantages[index], trained, index, leaf)
                if longest is not None and len(row) > longest:
                    where = f"{tree.task.id} turn {segment[-1].id}"
                    raise InvariantBroken(
                        "a row fits into the context", where, f"{len(row)} tokens of {longest}"
                    )
                if row.mask.any():
                    rows.append(row)
        if len(trained) != len(tree):
            raise InvariantBroken(
                "every completion is trained once", tree.task.id, f"{len(trained)} of {len(tree)}"
            )
    return rows


def row_of(
    segment: Sequence[Turn],
    tree: RolloutTree,
    advantages: Sequence[float],
    trained: set[int],
    index: int,
    leaf: int,
) -> Row:
    """The row of one segment; turns that another row trains are context here. Adds to `trained`."""
    if not segment[0].context_ids:
        raise InvariantBroken("a segment starts with its prompt", f"{tree.task.id} turn {segment[0].id}")
    first = len(tree.path(segment[0].id)) - 1
    ids: list[int] = []
    logprobs: list[float] = []
    values: list[float] = []
    nodes: list[int] = []
    depths: list[int] = []
    versions: list[int] = []
    for at, turn in enumerate(segment):
        if not turn.completion_ids:
            raise InvariantBroken(
                "a trained turn was sampled token by token", f"{tree.task.id} turn {turn.id}"
            )
        new = turn.id not in trained
        trained.add(turn.id)
        before, said = len(turn.context_ids), len(turn.completion_ids)
        ids += [*turn.context_ids, *turn.completion_ids]
        logprobs += [0.0] * before + (list(turn.logprobs) if new else [0.0] * said)
        values += [0.0] * before + [float(advantages[turn.id]) if new else 0.0] * said
        nodes += [-1] * before + [turn.id if new else -1] * said
        depths += [-1] * before + [first + at if new else -1] * said
        versions += [-1] * before + [turn.weight_version if new else -1] * said
    node = np.asarray(nodes, np.int64)
    return Row(
        ids=np.asarray(ids, np.int64),
        mask=node >= 0,
        logprobs=np.asarray(logprobs, np.float64),
        advantages=np.asarray(values, np.float64),
        node=node,
        depth=np.asarray(depths, np.int64),
        version=np.asarray(versions, np.int64),
        tree=index,
        leaf=leaf,
    )
