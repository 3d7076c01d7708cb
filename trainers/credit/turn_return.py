"""Turn returns: every turn is credited with the discounted return from itself on.

G_k = r_k + gamma * G_{k+1}, discounted per turn; earlier rewards do not credit later turns (the policy gradient
theorem's reward-to-go). With a baseline: minus the mean over the turns of the same task and depth, leaving out
the own episode; a turn deeper than any other episode goes has nobody to be compared with and gets 0.
"""

from __future__ import annotations

from typing import Literal

import numpy as np

from agentrl.trainers.credit.baseline import centre, centre_on_others
from agentrl.trainers.credit.groups import same_depth
from agentrl.trainers.credit.result import Credit, credit_of
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
    if baseline == "turn":
        return credit_of(table, centre_on_others(returns, same_depth(table), table.owner))
    batch = np.zeros(len(table), np.int64)
    return credit_of(table, centre(returns, batch, baseline="mean" if baseline == "batch" else "none"))
