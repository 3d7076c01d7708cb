"""The exact distribution that a token is sampled from: one definition for the sampler and the trainer.

Order of the filters: temperature, then top-k, then top-p, then min-p (each on what the one before left, the
order of transformers' and vLLM's samplers up to min-p, which both apply to the tempered distribution). Dropped
tokens have log-probability -inf; what is left is renormalised. Everything in float32.
"""

from __future__ import annotations

import torch

from agentrl.inference.engine import Sampling


def log_distribution(logits: torch.Tensor, sampling: Sampling) -> torch.Tensor:
    """Log-probabilities under `sampling`, differentiable where finite.

    Args:
        logits: shape (..., vocabulary), any float type.

    Returns:
        float32, same shape; `temperature=0` gives a point mass on the (first) largest logit.
    """
    logits = logits.float()
    if sampling.temperature == 0:
        best = logits.argmax(dim=-1, keepdim=True)
        return torch.full_like(logits, -torch.inf).scatter(-1, best, 0.0)
    if sampling.temperature != 1:
        logits = logits / sampling.temperature
    if sampling.top_k or sampling.top_p < 1 or sampling.min_p > 0:
        logits = logits.masked_fill(~support(logits.detach(), sampling), -torch.inf)
    return torch.log_softmax(logits, dim=-1)


def support(logits: torch.Tensor, sampling: Sampling) -> torch.Tensor:
    """Which tokens may be sampled; bool, the shape of `logits` (already divided by the temperature).

    Equal logits at a cut stay in together, so that the support does not depend on a sort's whims.
    """
    keep = torch.ones_like(logits, dtype=torch.bool)
    if 0 < sampling.top_k < logits.shape[-1]:
        keep &= logits >= logits.topk(sampling.top_k, dim=-1).values[..., -1:]
    if sampling.top_p < 1:
        left = torch.softmax(logits.masked_fill(~keep, -torch.inf), dim=-1)
        ordered = left.sort(dim=-1, descending=True).values
        # A token stays if the mass of the strictly likelier ones before it is below top_p.
        before = ordered.cumsum(dim=-1) - ordered
        kept = (before < sampling.top_p).sum(dim=-1, keepdim=True)
        keep &= left >= ordered.gather(-1, kept - 1)
    if sampling.min_p > 0:
        left = torch.softmax(logits.masked_fill(~keep, -torch.inf), dim=-1)
        keep &= left >= sampling.min_p * left.amax(dim=-1, keepdim=True)
    return keep


def sampling_logprobs(logits: torch.Tensor, ids: torch.Tensor, sampling: Sampling) -> torch.Tensor:
    """Log-probability of `ids` (shape (...)) under `sampling`, given `logits` of shape (..., vocabulary)."""
    if sampling.temperature == 0:
        return torch.zeros(ids.shape, dtype=torch.float32, device=logits.device)
    return log_distribution(logits, sampling).gather(-1, ids.unsqueeze(-1)).squeeze(-1)


def draw(log_probabilities: torch.Tensor, uniforms: torch.Tensor) -> torch.Tensor:
    """Tokens by inverse CDF: the first whose cumulative probability exceeds the uniform number.

    Args:
        log_probabilities: shape (rows, vocabulary), a normalised distribution.
        uniforms: float64 in [0, 1), shape (rows,).

    Returns:
        int64, shape (rows,); never a token of probability 0.
    """
    cdf = log_probabilities.double().exp().cumsum(dim=-1)
    # Scaling by the total keeps rounding of the sum from ever pointing past the last token.
    target = uniforms.to(cdf.device).unsqueeze(-1) * cdf[:, -1:]
    return torch.searchsorted(cdf, target, right=True).squeeze(-1).clamp(max=cdf.shape[-1] - 1)
