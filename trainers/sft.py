"""Supervised fine-tuning on demonstrations: the cold start of a policy.

A batch is a pure function of its step number, and an update a function of (weights, optimizer, batch): so a
run is deterministic, and one that is interrupted and goes on from its `SFTState` ends with the same bits.
The loss is the mean over the policy's own tokens; tokens that the environment showed may count a little too,
which teaches a small model what to expect and how to copy.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, TypeAlias

import numpy as np

from agentrl.core.failures import UserError
from agentrl.trainers.demonstrations import Row
from agentrl.trainers.models import context_length

if TYPE_CHECKING:
    import torch

Batches: TypeAlias = Callable[[int], Sequence[Row]]
"""The rows of step 1, 2, ...; the same step always gives the same rows."""


@dataclass(frozen=True, slots=True)
class SFTSettings:
    """How to fine-tune.

    Attributes:
        steps: optimizer steps.
        lr: highest learning rate.
        warmup: steps over which the learning rate rises from 0.
        decay: steps over which it falls (linearly) to `final_lr`; 0 keeps it.
        tail: steps at the end, after the decay, at `final_lr`.
        final_lr: learning rate at the end, as a fraction of `lr`.
        observation_weight: weight of a token that the environment showed; the policy's own weigh 1.
        grad_clip: largest gradient norm; 0 does not clip.
        width: tokens per packed row; longer demonstrations get a row of their own length.
    """

    steps: int = 1000
    lr: float = 2e-3
    warmup: int = 20
    decay: int = 0
    tail: int = 0
    final_lr: float = 0.1
    betas: tuple[float, float] = (0.9, 0.98)
    weight_decay: float = 0.0
    observation_weight: float = 0.05
    grad_clip: float = 1.0
    width: int = 128


@dataclass(slots=True)
class SFTState:
    """Where a fine-tuning stands: with the weights, all that the next step depends on."""

    step: int = 0
    optimizer: dict[str, Any] = field(default_factory=dict)
    tokens: int = 0


@dataclass(frozen=True, slots=True)
class SFTProgress:
    """What a listener is told after a step: `loss` is the mean over the policy's tokens, in nats."""

    step: int
    steps: int
    loss: float
    tokens: int


def sft(
    model: torch.nn.Module,
    batches: Batches,
    settings: SFTSettings,
    *,
    state: SFTState | None = None,
    until: int | None = None,
    progress: Callable[[SFTProgress], None] | None = None,
) -> SFTState:
    """Train `model` in place from `state` (or the start) to step `until` (or the last).

    Raises:
        UserError: a batch in which the policy says nothing, or a demonstration longer than its context.
        Whatever `progress` raises, between two steps: the weights are then those of the step it was told of.
    """
    import torch

    state = state or SFTState()
    limit = context_length(model)
    trainable = [parameter for parameter in model.parameters() if parameter.requires_grad]
    optimizer = torch.optim.AdamW(
        trainable, lr=settings.lr, betas=settings.betas, weight_decay=settings.weight_decay
    )
    if state.optimizer:
        optimizer.load_state_dict(state.optimizer)
    model.train()
    for step in range(state.step + 1, min(until or settings.steps, settings.steps) + 1):
        rows = batches(step)
        if (longest := max(len(row.ids) for row in rows)) > limit:
            raise UserError(f"a demonstration of {longest} tokens outgrows the model's context of {limit}")
        for group in optimizer.param_groups:
            group["lr"] = learning_rate(settings, step)
        loss, policy_loss = sft_loss(model, rows, settings)
        optimizer.zero_grad(set_to_none=True)
        loss.backward()
        if settings.grad_clip:
            torch.nn.utils.clip_grad_norm_(trainable, settings.grad_clip)
        optimizer.step()
        state.step, state.tokens = step, state.tokens + sum(len(row.ids) for row in rows)
        if progress is not None:
            progress(SFTProgress(step, settings.steps, policy_loss, state.tokens))
    state.optimizer = optimizer.state_dict()
    return state


def sft_loss(
    model: torch.nn.Module, rows: Sequence[Row], settings: SFTSettings
) -> tuple[torch.Tensor, float]:
    """(weighted mean cross-entropy, that of the policy's tokens alone) of a batch."""
    import torch

    device = next(model.parameters()).device
    packed = pack(rows, settings.width)
    ids = torch.from_numpy(packed.ids).to(device)
    positions = torch.from_numpy(packed.positions).to(device)
    logits = model(input_ids=ids, position_ids=positions, use_cache=False).logits[:, :-1]
    # A target is scored where the token before it belongs to the same demonstration.
    inside = packed.positions[:, 1:] > 0
    own = torch.from_numpy(inside & packed.sampled[:, 1:]).to(device)
    shown = torch.from_numpy(inside & ~packed.sampled[:, 1:] & packed.real[:, 1:]).to(device)
    if not own.any():
        raise UserError("a batch of demonstrations in which the policy says nothing")
    losses = torch.nn.functional.cross_entropy(
        logits.float().flatten(0, 1), ids[:, 1:].flatten(), reduction="none"
    )
    losses = losses.view(own.shape)
    policy_loss = losses[own].mean()
    weight = settings.observation_weight
    if not weight:
        return policy_loss, float(policy_loss.detach())
    weights = own.float() + weight * shown.float()
    return (losses * weights).sum() / own.sum(), float(policy_loss.detach())


@dataclass(frozen=True, slots=True)
class Packed:
    """Demonstrations laid end to end in rows of equal length; arrays of shape (rows, width).

    `positions` count from 0 within each demonstration (which is how the model keeps them apart), `sampled`
    marks the policy's tokens, `real` everything but the padding.
    """

    ids: np.ndarray
    positions: np.ndarray
    sampled: np.ndarray
    real: np.ndarray


def pack(rows: Sequence[Row], width: int) -> Packed:
    """First-fit by falling length: dense rows, the same for the same batch."""
    width = max(width, max(len(row.ids) for row in rows))
    bins: list[list[Row]] = []
    room: list[int] = []
    for row in sorted(rows, key=lambda row: -len(row.ids)):
        at = next((i for i, free in enumerate(room) if free >= len(row.ids)), len(bins))
        if at == len(bins):
            bins.append([])
            room.append(width)
        bins[at].append(row)
        room[at] -= len(row.ids)
    width -= min(room)
    ids = np.zeros((len(bins), width), np.int64)
    positions = np.zeros((len(bins), width), np.int64)
    sampled = np.zeros((len(bins), width), bool)
    real = np.zeros((len(bins), width), bool)
    for index, content in enumerate(bins):
        start = 0
        for row in content:
            end = start + len(row.ids)
            ids[index, start:end], sampled[index, start:end], real[index, start:end] = (
                row.ids,
                row.sampled,
                True,
            )
            positions[index, start:end] = np.arange(end - start)
            start = end
        positions[index, start:] = np.arange(width - start)
    return Packed(ids, positions, sampled, real)


def learning_rate(settings: SFTSettings, step: int) -> float:
    """Linear warm-up, constant, linear decay, constant tail."""
    rise = min(1.0, step / settings.warmup) if settings.warmup else 1.0
    left = max(0, settings.steps - settings.tail - step)
    share = min(1.0, left / settings.decay) if settings.decay else 1.0
    return settings.lr * min(rise, settings.final_lr + (1 - settings.final_lr) * share)
