"""Estimators of KL(policy || reference) from sampled tokens (Schulman 2020, http://joschu.net/blog/kl-approx.html).

With d = log pi - log pi_ref of a token sampled from pi: k1 = d, k2 = d^2 / 2, k3 = exp(-d) - 1 + d. As a *loss*
their expected gradients differ: that of k1 is 0, that of k2 is the reverse KL's, that of k3 the forward KL's; in
the *reward*, k1 gives the reverse KL's. d is bounded: a token that the reference never says is infinitely far.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    import torch

LOG_RATIO_BOUND = 20.0


def log_ratio(logp: torch.Tensor, reference: torch.Tensor) -> torch.Tensor:
    """d, within the bound; beyond it the gradient is 0."""
    return (logp - reference).clamp(-LOG_RATIO_BOUND, LOG_RATIO_BOUND)


def k1(logp: torch.Tensor, reference: torch.Tensor) -> torch.Tensor:
    """d; unbiased, of either sign."""
    return log_ratio(logp, reference)


def k2(logp: torch.Tensor, reference: torch.Tensor) -> torch.Tensor:
    """d^2 / 2; never negative, biased, the right gradient as a loss."""
    return 0.5 * log_ratio(logp, reference) ** 2


def k3(logp: torch.Tensor, reference: torch.Tensor) -> torch.Tensor:
    """exp(-d) - 1 + d; never negative, unbiased."""
    d = log_ratio(logp, reference)
    return (-d).exp() - 1 + d


ESTIMATORS = {"k1": k1, "k2": k2, "k3": k3}
