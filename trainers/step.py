"""The optimizer's step: rows in, changed weights and numbers about them out. Blind to algorithms.

What a token contributes is its global weight times (surrogate + KL - entropy bonus); sums over micro-batches and
ranks give the gradient of the whole batch, however it was cut.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from contextlib import AbstractContextManager, nullcontext
from dataclasses import dataclass
from typing import Any

import numpy as np
import torch

from agentrl.inference.engine import Sampling
from agentrl.trainers.aggregate import token_weights
from agentrl.trainers.batch import collate, microbatches, of_tokens
from agentrl.trainers.entropy import bonus
from agentrl.trainers.kl import ESTIMATORS
from agentrl.trainers.logprobs import token_logprobs
from agentrl.trainers.rows import Row
from agentrl.trainers.world import World

TokenLoss = Callable[..., tuple[torch.Tensor, torch.Tensor]]

MEANS = ("loss", "entropy", "clip_fraction", "ratio", "kl_behaviour", "kl_reference", "sampler_gap")
EXTREMES = ("ratio_max", "ratio_min", "sampler_gap_max")


@dataclass(frozen=True, slots=True)
class StepSettings:
    """What one update does.

    Attributes:
        loss: token loss `(new, old, advantages) -> (loss, clipped)`.
        sampling: the settings that the tokens were sampled with.
        aggregate, aggregate_params: weights of the tokens.
        kl, kl_coef: estimator and coefficient of the KL term in the loss; 0 is off.
        entropy_coef: coefficient of the entropy bonus; 0 is off.
        epochs, minibatches: passes over the rows, and optimizer steps in each.
        tokens_per_microbatch: padded tokens of one forward pass.
        grad_clip: largest gradient norm; 0 does not clip.
        recompute_old: take the old log-probabilities from the weights before the update instead of the engine.
    """

    loss: TokenLoss
    sampling: Sampling
    aggregate: str = "token_mean"
    aggregate_params: tuple[tuple[str, float], ...] = ()
    kl: str = "k3"
    kl_coef: float = 0.0
    entropy_coef: float = 0.0
    epochs: int = 1
    minibatches: int = 1
    tokens_per_microbatch: int = 16384
    grad_clip: float = 1.0
    recompute_old: bool = False


def policy_step(
    model: torch.nn.Module,
    optimizer: torch.optim.Optimizer,
    rows: Sequence[Row],
    settings: StepSettings,
    *,
    reference: torch.nn.Module | None = None,
    world: World | None = None,
) -> dict[str, Any]:
    """Update `model` in place; returns metrics.

    Where nothing has a gradient, no step is made and `no_gradient_because` says why. Metrics are over the rows that
    push (all of them with a KL term or an entropy bonus) and over all ranks; `sampler_gap` (trainer against sampler, in
    log-probability) is taken before the first optimizer step, where the weights are those that sampled.
    """
    world = world or World.current()
    why = no_gradient(rows, settings)
    if why:
        return {"no_gradient_because": why, "optimizer_steps": 0, "trained_tokens": 0}
    prepare(model)
    behaviour = [row.logprobs for row in rows]
    old = score(model, rows, settings) if settings.recompute_old else behaviour
    anchor = score(reference, rows, settings) if reference is not None and settings.kl_coef else None
    meter = Meter()
    for _ in range(settings.epochs):
        for part in range(settings.minibatches):
            picked = list(range(part, len(rows), settings.minibatches))
            if picked:
                minibatch(
                    model,
                    optimizer,
                    rows,
                    picked,
                    settings,
                    old,
                    behaviour,
                    anchor,
                    meter,
                    world,
                )
    meter.reduce_(world, next(model.parameters()).device)
    return meter.metrics()


def minibatch(
    model: torch.nn.Module,
    optimizer: torch.optim.Optimizer,
    rows: Sequence[Row],
    picked: Sequence[int],
    settings: StepSettings,
    old: Sequence[np.ndarray],
    behaviour: Sequence[np.ndarray],
    anchor: Sequence[np.ndarray] | None,
    meter: Meter,
    world: World,
) -> None:
    """One optimizer step on the rows `picked`."""
    parameters = [parameter for parameter in model.parameters() if parameter.requires_grad]
    device = parameters[0].device
    weights_of = dict(
        zip(
            picked,
            token_weights(settings.aggregate, [rows[i] for i in picked], **dict(settings.aggregate_params)),
            strict=True,
        )
    )
    weights = [weights_of.get(index, np.zeros(0)) for index in range(len(rows))]
    # Rows without an advantage push nothing (they stay in the denominators): their passes are saved.
    everything = settings.entropy_coef != 0 or anchor is not None
    pushing = [index for index in picked if everything or rows[index].advantages.any()]
    if not pushing:
        return
    mine = world.share(pushing)
    unmoved = meter.steps == 0
    optimizer.zero_grad(set_to_none=True)
    for micro in microbatches([rows[index] for index in mine], settings.tokens_per_microbatch):
        chosen = [mine[index] for index in micro]
        batch = collate(rows, chosen, device)

        def tokens(values: Sequence[np.ndarray], chosen: Sequence[int] = chosen) -> torch.Tensor:
            return of_tokens(values, rows, chosen, device)

        with computing(device, model):
            new, entropy = token_logprobs(
                model, batch, settings.sampling, entropy_gradient=settings.entropy_coef != 0
            )
        before, weight, advantage = tokens(old), tokens(weights), tokens([row.advantages for row in rows])
        # Rounding may put a token at the edge of top-k or top-p outside the trainer's own support. It has no ratio: it
        # pushes nothing, stays in the denominator, and is counted.
        inside = torch.isfinite(new) & torch.isfinite(before)
        new, before, weight = new.where(inside, 0.0), before.where(inside, 0.0), weight * inside
        loss, clipped = settings.loss(new, before, advantage)
        if anchor is not None:
            distance = ESTIMATORS[settings.kl](new, tokens(anchor))
            loss = loss + settings.kl_coef * distance
            meter.add(kl_reference=(distance, weight))
        (weight * (loss + bonus(entropy, coef=settings.entropy_coef))).sum().backward()
        ratio = (new.detach() - before).exp()
        meter.add(
            loss=(loss, weight),
            entropy=(entropy, weight),
            clip_fraction=(clipped.float(), weight),
            ratio=(ratio, weight),
            kl_behaviour=(before - new.detach(), weight),
        )
        meter.high(ratio_max=ratio, ratio_min=-ratio)
        if unmoved:
            gap = (new.detach() - tokens(behaviour)).abs() * inside
            meter.add(sampler_gap=(gap, weight))
            meter.high(sampler_gap_max=gap)
        meter.tokens += len(new)
        meter.outside += int((~inside).sum())
    for parameter in parameters:
        if parameter.grad is None:
            parameter.grad = torch.zeros_like(parameter)
    world.sum_(parameter.grad for parameter in parameters if parameter.grad is not None)
    norm = torch.nn.utils.clip_grad_norm_(parameters, settings.grad_clip or float("inf"))
    if torch.isfinite(norm):
        optimizer.step()
        meter.steps += 1
    else:
        meter.skipped += 1
    meter.norms.append(float(norm))


@torch.no_grad()
def score(model: torch.nn.Module, rows: Sequence[Row], settings: StepSettings) -> list[np.ndarray]:
    """Log-probabilities of the trained tokens under `model`; shape (tokens,) of every row, 0 elsewhere."""
    device = next(model.parameters()).device
    out = [np.zeros(len(row)) for row in rows]
    for picked in microbatches(rows, settings.tokens_per_microbatch):
        batch = collate(rows, picked, device)
        with computing(device, model):
            values = token_logprobs(model, batch, settings.sampling)[0].double().cpu().numpy()
        start = 0
        for index in picked:
            count = int(rows[index].mask.sum())
            out[index][rows[index].mask] = values[start : start + count]
            start += count
    return out


def prepare(model: torch.nn.Module) -> None:
    """Evaluation mode: dropout would draw random numbers and make the sampler's and the trainer's policy differ. Layers
    that recompute their activations do so only in training mode, so they alone (not what is in them) are put in it."""
    model.eval()
    for module in model.modules():
        if getattr(module, "gradient_checkpointing", False):
            module.training = True


def computing(device: torch.device, model: torch.nn.Module) -> AbstractContextManager[Any]:
    """bfloat16 arithmetic on a GPU (the weights and their optimizer stay float32); nothing on a CPU."""
    if device.type == "cuda":
        return torch.autocast("cuda", torch.bfloat16)
    return nullcontext()


def no_gradient(rows: Sequence[Row], settings: StepSettings) -> str:
    """Why an update would have no gradient; empty if it has one."""
    if not any(row.mask.any() for row in rows):
        return "no sampled tokens"
    if settings.kl_coef or settings.entropy_coef or any(row.advantages.any() for row in rows):
        return ""
    return "every advantage is 0"


class Meter:
    """Weighted means over the tokens of an update, and extremes."""

    def __init__(self) -> None:
        self.sums: dict[str, float] = {}
        self.weights: dict[str, float] = {}
        self.extremes: dict[str, float] = {}
        self.norms: list[float] = []
        self.tokens = self.outside = self.steps = self.skipped = 0

    def add(self, **values: tuple[torch.Tensor, torch.Tensor]) -> None:
        for name, (value, weight) in values.items():
            self.sums[name] = self.sums.get(name, 0.0) + float((value.detach() * weight).sum())
            self.weights[name] = self.weights.get(name, 0.0) + float(weight.sum())

    def high(self, **values: torch.Tensor) -> None:
        for name, value in values.items():
            if len(value):
                self.extremes[name] = max(self.extremes.get(name, -float("inf")), float(value.detach().max()))

    def reduce_(self, world: World, device: torch.device) -> None:
        """Make the numbers of this rank those of all ranks; steps and norms are the same on every rank."""
        if world.size == 1:
            return
        rows = [[self.sums.get(name, 0.0), self.weights.get(name, 0.0)] for name in MEANS]
        sums = torch.tensor([*rows, [self.tokens, self.outside]], dtype=torch.float64, device=device)
        highs = [self.extremes.get(name, -float("inf")) for name in EXTREMES]
        most = torch.tensor(highs, dtype=torch.float64, device=device)
        world.sum_([sums])
        world.max_([most])
        *rows, (tokens, outside) = sums.tolist()
        self.tokens, self.outside = int(tokens), int(outside)
        for name, (total, weight) in zip(MEANS, rows, strict=True):
            if weight or name in self.sums:
                self.sums[name], self.weights[name] = total, weight
        self.extremes = {
            name: value for name, value in zip(EXTREMES, most.tolist(), strict=True) if value > -float("inf")
        }

    def metrics(self) -> dict[str, Any]:
        out: dict[str, Any] = {
            name: value / self.weights[name] if self.weights[name] else 0.0
            for name, value in self.sums.items()
        }
        out |= self.extremes
        if "ratio_min" in out:
            out["ratio_min"] = -out["ratio_min"]
        out["grad_norm"] = sum(self.norms) / len(self.norms) if self.norms else 0.0
        return out | {
            "optimizer_steps": self.steps,
            "steps_skipped": self.skipped,
            "trained_tokens": self.tokens,
            "outside_support": self.outside,
        }
