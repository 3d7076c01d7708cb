"""GiGPO: episode credit within the task plus step credit among turns that acted in the same situation.

Feng et al. 2025 (arXiv:2505.10978, equations 3 to 8). A = A_E + omega * A_S. A_E is the episode's return relative
to the task's other episodes; A_S the discounted return-to-go of the turn relative to the other turns of the task
with the same state key. A turn whose situation nobody else met gets A_S = 0.

The published code takes the episode statistics over turns (`unit="turn"`) and keeps the own episode in the anchor
baseline (`exclude_own=False`), which is biased where an episode comes back to a situation; both are settings.
"""

from __future__ import annotations

from typing import Literal

import numpy as np

from agentrl.trainers.credit.baseline import Scale, centre, centre_on_others
from agentrl.trainers.credit.groups import same_state, same_task
from agentrl.trainers.credit.result import Credit, credit_of
from agentrl.trainers.credit.returns import return_to_go
from agentrl.trainers.table import TurnTable


def gigpo(
    table: TurnTable,
    *,
    omega: float = 1.0,
    gamma: float = 0.95,
    scale: Scale = "none",
    eps: float = 1e-6,
    unit: Literal["episode", "turn"] = "episode",
    exclude_own: bool = True,
) -> Credit:
    """Advantages, shape (turns,).

    Args:
        omega: weight of the step credit.
        gamma: discount per turn of the step credit.
        scale: `none` subtracts the mean (the paper's mean norm), `std` also divides by the standard deviation.
        unit: whether the episode statistics count episodes or turns.
        exclude_own: leave all turns of the own episode out of the mean of the step baseline.
    """
    episode = episode_credit(table, scale=scale, eps=eps, unit=unit)
    step = step_credit(table, gamma=gamma, scale=scale, eps=eps, exclude_own=exclude_own)
    return credit_of(table, episode + omega * step)


def episode_credit(
    table: TurnTable, *, scale: Scale, eps: float, unit: Literal["episode", "turn"]
) -> np.ndarray:
    """The episode's return relative to the task's, shape (turns,)."""
    if unit == "episode":
        return table.to_turns(centre(table.leaf_return, table.leaf_tree, scale=scale, eps=eps))
    returns = np.where(table.scored, table.to_turns(table.leaf_return), np.nan)
    return centre(returns, same_task(table), scale=scale, eps=eps)


def step_credit(table: TurnTable, *, gamma: float, scale: Scale, eps: float, exclude_own: bool) -> np.ndarray:
    """Return-to-go relative to the turns of the same task and state key; 0 for turns without a key."""
    returns = return_to_go(table, gamma)
    if exclude_own:
        return centre_on_others(returns, same_state(table), table.owner, scale=scale, eps=eps)
    return centre(returns, same_state(table), scale=scale, eps=eps)
