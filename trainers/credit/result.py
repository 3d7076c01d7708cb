"""What a credit method returns."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from agentrl.trainers.credit.baseline import flat
from agentrl.trainers.table import TurnTable


@dataclass(frozen=True, slots=True)
class Credit:
    """Advantages and what should be known of the groups of episodes, whatever the method compares.

    Attributes:
        advantages: float64, one per turn of the table.
        groups: tasks, each with its group of episodes.
        singletons: groups of one scored episode: it has nobody to be compared with.
        zero_variance: groups of several scored episodes with equal returns: nothing tells one from another.
        excluded: episodes without a finite return: left out of every statistic, advantage 0.
    """

    advantages: np.ndarray
    groups: int = 0
    singletons: int = 0
    zero_variance: int = 0
    excluded: int = 0


def credit_of(table: TurnTable, advantages: np.ndarray) -> Credit:
    """Advantages with the counts of the table's groups."""
    scored = np.isfinite(table.leaf_return)
    returns, group = table.leaf_return[scored], table.leaf_tree[scored]
    count = np.bincount(group)
    return Credit(
        advantages,
        groups=len(np.unique(table.leaf_tree)),
        singletons=int((count == 1).sum()),
        zero_variance=int(((count > 1) & flat(returns, group)).sum()),
        excluded=int((~scored).sum()),
    )
