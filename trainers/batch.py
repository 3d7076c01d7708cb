"""Micro-batches: rows of similar length side by side, padded on the right, under a token budget.

Which rows go together is a function of the rows alone. Padding takes part in nothing.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import torch

from agentrl.trainers.rows import Row


@dataclass(frozen=True, slots=True)
class Batch:
    """A padded micro-batch; tensors of shape (rows, tokens), on one device.

    Attributes:
        ids, attention: token ids and which of them are real.
        mask: sampled tokens that are trained.
        row: index of each row in the whole list of rows.
    """

    ids: torch.Tensor
    attention: torch.Tensor
    mask: torch.Tensor
    row: tuple[int, ...]


def microbatches(rows: Sequence[Row], tokens: int) -> list[list[int]]:
    """Indices of the rows of each micro-batch: longest first, at most `tokens` tokens with the padding (a row that
    is longer alone is a micro-batch of its own)."""
    order = sorted(range(len(rows)), key=lambda index: (-len(rows[index]), index))
    out: list[list[int]] = []
    width = 0
    for index in order:
        if out and width * (len(out[-1]) + 1) <= tokens:
            out[-1].append(index)
        else:
            out.append([index])
            width = len(rows[index])
    return out


def collate(rows: Sequence[Row], picked: Sequence[int], device: torch.device) -> Batch:
    """The padded tensors of some rows."""
    width = max(len(rows[index]) for index in picked)

    def padded(values: list[np.ndarray], kind: torch.dtype) -> torch.Tensor:
        out = np.zeros((len(values), width), values[0].dtype)
        for at, value in enumerate(values):
            out[at, : len(value)] = value
        return torch.from_numpy(out).to(device=device, dtype=kind)

    chosen = [rows[index] for index in picked]
    return Batch(
        ids=padded([row.ids for row in chosen], torch.int64),
        attention=padded([np.ones(len(row), np.int64) for row in chosen], torch.int64),
        mask=padded([row.mask for row in chosen], torch.bool),
        row=tuple(picked),
    )


def of_tokens(
    values: Sequence[np.ndarray], rows: Sequence[Row], picked: Sequence[int], device: torch.device
) -> torch.Tensor:
    """Numbers of the trained tokens of a micro-batch, flat and float32, in the order of `Batch.mask.nonzero()`.

    Args:
        values: one array of shape (tokens,) for every row of `rows`.
    """
    flat = np.concatenate([values[index][rows[index].mask] for index in picked])
    return torch.from_numpy(flat).to(device, torch.float32)
