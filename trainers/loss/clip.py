"""The clipped surrogate, with separate lower and upper bounds.

Schulman et al. 2017 (arXiv:1707.06347, equation 7); separate bounds ("clip-higher"): Yu et al. 2025
(arXiv:2503.14476, equation 10); dual clip: Ye et al. 2020 (arXiv:1912.09729, equation 5).
L = -min(r A, clip(r, 1 - eps_low, 1 + eps_high) A), r = exp(new - old).
"""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    import torch

LOG_RATIO_BOUND = 20.0
"""exp of more overflows nothing but means nothing either."""


def clip(
    new: torch.Tensor,
    old: torch.Tensor,
    advantages: torch.Tensor,
    *,
    eps_low: float = 0.2,
    eps_high: float = 0.28,
    dual: float = 0.0,
) -> tuple[torch.Tensor, torch.Tensor]:
    """Token losses.

    Args:
        new: log-probabilities under the current weights, shape (tokens,); the gradient flows through them.
        old: behaviour (or proximal) log-probabilities, shape (tokens,).
        advantages: shape (tokens,).
        eps_low, eps_high: bounds of the ratio below and above 1.
        dual: above 1, the loss of a token with a negative advantage is at most `-dual * A`; 0 is off.

    Returns:
        (loss, clipped), both of shape (tokens,): `clipped` is true where the gradient is 0.
    """
    ratio = (new - old).clamp(-LOG_RATIO_BOUND, LOG_RATIO_BOUND).exp()
    plain = -ratio * advantages
    bounded = -ratio.clamp(1 - eps_low, 1 + eps_high) * advantages
    loss = plain.maximum(bounded)
    clipped = bounded > plain
    if dual:
        ceiling = -dual * advantages
        over = (advantages < 0) & (loss > ceiling)
        loss, clipped = ceiling.where(over, loss), clipped | over
    return loss, clipped
