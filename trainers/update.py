"""One update from trees: reward, credit, rows, optimizer. A function of weights, optimizer and trees alone."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import torch

from agentrl.core.tree import RolloutTree
from agentrl.trainers.config import Recipe
from agentrl.trainers.credit.result import Credit
from agentrl.trainers.methods import component
from agentrl.trainers.models import context_length
from agentrl.trainers.rows import rows_of
from agentrl.trainers.step import StepSettings, policy_step, score
from agentrl.trainers.table import table_of


@dataclass(frozen=True, slots=True)
class Update:
    """What an update did. `advantages[i][j]` belongs to turn j of tree i."""

    metrics: dict[str, Any]
    advantages: list[list[float]]


def update_policy(
    model: torch.nn.Module,
    optimizer: torch.optim.Optimizer,
    trees: Sequence[RolloutTree],
    recipe: Recipe,
    *,
    reference: torch.nn.Module | None = None,
) -> Update:
    """Assign credit to every turn of `trees` and update `model` in place."""
    settings = step_settings(recipe)
    longest = recipe.model.max_context or context_length(model)
    penalties = None
    if reference is not None and recipe.kl.place == "reward":
        penalties = kl_penalties(reference, trees, recipe, settings, longest)
    table = table_of(trees, penalties)
    credit = component("credit", recipe.credit)(table)
    per_tree = split(credit.advantages, trees)
    rows = rows_of(trees, per_tree, longest=longest)
    metrics = policy_step(model, optimizer, rows, settings, reference=reference)
    if "no_gradient_because" in metrics and credit.groups:
        metrics["no_gradient_because"] += f": {no_signal(credit)}"
    metrics |= {
        "groups": credit.groups,
        "singleton_groups": credit.singletons,
        "zero_variance_groups": credit.zero_variance,
        "excluded_episodes": credit.excluded,
        "advantage_mean": float(credit.advantages.mean()) if len(table) else 0.0,
        "advantage_std": float(credit.advantages.std()) if len(table) else 0.0,
        "lr": optimizer.param_groups[0]["lr"],
    }
    return Update(metrics, per_tree)


def no_signal(credit: Credit) -> str:
    """What the groups of episodes say of why there is nothing to learn from them."""
    return (
        f"of {credit.groups} groups {credit.zero_variance} have equal returns and {credit.singletons} one scored "
        f"episode; {credit.excluded} episodes could not be scored"
    )


def step_settings(recipe: Recipe) -> StepSettings:
    """What the recipe says of the optimizer's step."""
    in_loss = recipe.kl.place == "loss"
    return StepSettings(
        loss=component("loss", recipe.loss),
        sampling=recipe.rollout.sampling.sampling(),
        aggregate=recipe.aggregate.name,
        aggregate_params=tuple(sorted(recipe.aggregate.params.items())),
        kl=recipe.kl.name,
        kl_coef=recipe.kl.coef if in_loss else 0.0,
        entropy_coef=recipe.entropy_coef,
        epochs=recipe.optim.epochs,
        minibatches=recipe.optim.minibatches,
        tokens_per_microbatch=recipe.optim.tokens_per_microbatch,
        grad_clip=recipe.optim.grad_clip,
        recompute_old=recipe.optim.old_logprobs == "recompute",
    )


def kl_penalties(
    reference: torch.nn.Module,
    trees: Sequence[RolloutTree],
    recipe: Recipe,
    settings: StepSettings,
    longest: int,
) -> list[list[float]]:
    """KL in the reward: of every turn, coefficient times the sum over its tokens of the estimator."""
    from agentrl.trainers.kl import ESTIMATORS

    rows = rows_of(trees, [[0.0] * len(tree) for tree in trees], longest=longest)
    out = [[0.0] * len(tree) for tree in trees]
    estimate = ESTIMATORS[recipe.kl.name]
    for row, anchor in zip(rows, score(reference, rows, settings), strict=True):
        values = estimate(torch.from_numpy(row.logprobs), torch.from_numpy(anchor)).numpy()
        for node in np.unique(row.node[row.mask]):
            out[row.tree][int(node)] = recipe.kl.coef * float(values[row.mask & (row.node == node)].sum())
    return out


def split(values: np.ndarray, trees: Sequence[RolloutTree]) -> list[list[float]]:
    """One flat array over all turns as one list a tree."""
    ends = np.cumsum([len(tree) for tree in trees], dtype=np.int64)
    return [values[end - len(tree) : end].tolist() for tree, end in zip(trees, ends, strict=True)]
