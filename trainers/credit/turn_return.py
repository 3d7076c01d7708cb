"""Turn returns: every turn is credited with the discounted return from itself on.

G_k = r_k + gamma * G_{k+1}, discounted per turn; earlier rewards do not credit later turns (the policy gradient
theorem's reward-to-go). With a baseline: minus the mean over the turns of the same task and depth, leaving out
the own episode.
"""

from __future__ import annotations

from typing import Literal

import numpy as np

from agentrl.trainers.credit.baseline import centre_on_others
from agentrl.trainers.credit.result import Credit
from agentrl.trainers.credit.returns import return_to_go
from agentrl.trainers.table import TurnTable


def turn_return(
    table: TurnTable, *, gamma: float = 1.0, baseline: Literal["turn", "none", "batch"] = "turn"
) -> Credit:
    """Advantages, shape (turns,).

    Args:
        gamma: discount per turn.
        baseline: `turn` (task and depth, other episodes), `none`, or `batch` (the mean over all turns).
    """
    returns = return_to_go(table, gamma)
    finite = np.isfinite(returns)
    if baseline == "turn":
        group = table.tree * (int(table.depth.max(initial=0)) + 1) + table.depth
        values = centre_on_others(returns, group, table.owner)
    elif baseline == "batch":
        values = np.where(finite, returns - (returns[finite].mean() if finite.any() else 0.0), 0.0)
    else:
        values = np.where(finite, returns, 0.0)
    return Credit(
        values, groups=len(np.unique(table.leaf_tree)), excluded=int((~np.isfinite(table.leaf_return)).sum())
    )
