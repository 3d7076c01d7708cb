"""Entropy of the sampling distribution, and the bonus for keeping it.

The gradient of H with respect to a logit is -p (log p + H). Williams & Peng 1991 (doi:10.1080/09540099108946587).
"""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    import torch


def entropy(logp: torch.Tensor) -> torch.Tensor:
    """Entropy in nats of distributions given as log-probabilities, shape (..., vocabulary) -> (...).

    A token that cannot be sampled (log-probability -inf) adds nothing and gets no gradient.
    """
    possible = logp != -float("inf")
    finite = logp.masked_fill(~possible, 0.0)
    return -(finite.exp() * finite * possible).sum(-1)


def bonus(entropies: torch.Tensor, *, coef: float = 0.0) -> torch.Tensor:
    """What is added to the token losses: `-coef * H`, shape (tokens,)."""
    return -coef * entropies
