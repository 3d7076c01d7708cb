"""From token losses to one number: weights that every token gets, computed over the *whole* batch.

A mean of the means of micro-batches (or of ranks) is not the mean; so the weights are made from global counts before
anything is split, and the loss is the sum of weight times token loss over all pieces. Masked tokens are in neither
side. A sequence is an episode, however many rows its context was cut into: a row that stands for one turn must
not count as much as a row that stands for ten. An episode without a trained token is not counted, except by
`constant`.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence

import numpy as np

from agentrl.core.failures import UnknownName, UserError
from agentrl.trainers.rows import Row


def token_mean(rows: Sequence[Row], **_: float) -> list[np.ndarray]:
    """Every token counts the same: sum over tokens / number of tokens (DAPO, arXiv:2503.14476)."""
    total = sum(int(row.mask.sum()) for row in rows)
    return [row.mask / max(total, 1) for row in rows]


def sequence_mean(rows: Sequence[Row], **_: float) -> list[np.ndarray]:
    """Every episode counts the same: mean over episodes of the mean over its tokens (GRPO, arXiv:2402.03300)."""
    tokens = episode_tokens(rows)
    counted = sum(count > 0 for count in tokens.values())
    return [row.mask / (max(tokens[row.tree, row.leaf], 1) * max(counted, 1)) for row in rows]


def sequence_sum(rows: Sequence[Row], **_: float) -> list[np.ndarray]:
    """Mean over episodes of the sum over its tokens."""
    counted = sum(count > 0 for count in episode_tokens(rows).values())
    return [row.mask / max(counted, 1) for row in rows]


def turn_mean(rows: Sequence[Row], **_: float) -> list[np.ndarray]:
    """Every turn counts the same: mean over turns of the mean over its tokens."""
    total = sum(len(np.unique(row.node[row.mask])) for row in rows)
    return [row.mask / (turn_lengths(row) * max(total, 1)) for row in rows]


def constant(rows: Sequence[Row], *, length: float = 0.0, **_: float) -> list[np.ndarray]:
    """Sum over tokens / (episodes * `length`): no episode is favoured for its length (Dr. GRPO, arXiv:2503.20783).

    Raises:
        UserError: `length` was not given.
    """
    if length <= 0:
        raise UserError("aggregate 'constant' needs a length: the most tokens that an episode may sample")
    return [row.mask / (max(len(episode_tokens(rows)), 1) * length) for row in rows]


def episode_tokens(rows: Sequence[Row]) -> dict[tuple[int, int], int]:
    """Of every episode (tree, leaf), how many tokens its rows train."""
    out: dict[tuple[int, int], int] = {}
    for row in rows:
        out[row.tree, row.leaf] = out.get((row.tree, row.leaf), 0) + int(row.mask.sum())
    return out


def turn_lengths(row: Row) -> np.ndarray:
    """Of every token, how many trained tokens its turn has (1 for context)."""
    lengths = np.ones(len(row))
    for node in np.unique(row.node[row.mask]):
        here = row.mask & (row.node == node)
        lengths[here] = here.sum()
    return lengths


AGGREGATES: dict[str, Callable[..., list[np.ndarray]]] = {
    "token_mean": token_mean,
    "sequence_mean": sequence_mean,
    "sequence_sum": sequence_sum,
    "turn_mean": turn_mean,
    "constant": constant,
}


def token_weights(name: str, rows: Sequence[Row], **params: float) -> list[np.ndarray]:
    """Weights of every token of every row under the aggregate `name`; shape (tokens,) each.

    Raises:
        UnknownName: with the nearest.
    """
    if name not in AGGREGATES:
        raise UnknownName("aggregate", name, AGGREGATES)
    return AGGREGATES[name](rows, **params)
