"""Log-probabilities and entropies of the sampled tokens, without ever holding all logits.

The decoder runs once; the output layer and the softmax run over chunks of the trained positions, each recomputed
in the backward pass. At most `chunk` times the vocabulary of logits exist at a time.
"""

from __future__ import annotations

from typing import Any

import torch
from torch.utils.checkpoint import checkpoint

from agentrl.inference.distribution import log_distribution
from agentrl.inference.engine import Sampling
from agentrl.trainers.batch import Batch
from agentrl.trainers.entropy import entropy

CHUNK = 1024


def token_logprobs(
    model: Any, batch: Batch, sampling: Sampling, *, chunk: int = CHUNK, entropy_gradient: bool = True
) -> tuple[torch.Tensor, torch.Tensor]:
    """(log-probability, entropy) of every trained token under the exact sampling distribution.

    Args:
        chunk: how many tokens' logits exist at a time.
        entropy_gradient: whether the entropy is to be differentiated; not doing so saves time and memory.

    Returns:
        float32 tensors of shape (trained tokens,), in the order of `batch.mask.nonzero()`. The entropy is that of
        the sampling distribution, in nats.
    """
    hidden = model.get_decoder()(
        input_ids=batch.ids, attention_mask=batch.attention, use_cache=False
    ).last_hidden_state
    # The token at position t is predicted from position t - 1; a sampled token is never the first.
    rows, columns = batch.mask.nonzero(as_tuple=True)
    states = hidden[rows, columns - 1]
    targets = batch.ids[rows, columns]
    head = model.get_output_embeddings()

    def piece(state: torch.Tensor, target: torch.Tensor) -> tuple[torch.Tensor, torch.Tensor]:
        logp = log_distribution(head(state), sampling)
        picked = logp.gather(-1, target.unsqueeze(-1)).squeeze(-1)
        return picked, entropy(logp if entropy_gradient else logp.detach())

    pieces = []
    for start in range(0, len(targets), chunk):
        state, target = states[start : start + chunk], targets[start : start + chunk]
        if torch.is_grad_enabled() and len(targets) > chunk:
            pieces.append(checkpoint(piece, state, target, use_reentrant=False))
        else:
            pieces.append(piece(state, target))
    return torch.cat([p for p, _ in pieces]), torch.cat([e for _, e in pieces])
