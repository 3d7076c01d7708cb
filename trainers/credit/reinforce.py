"""REINFORCE: every turn is credited with the return of its episode.

Williams 1992 (doi:10.1007/BF00992696). A = R - b, with b = 0 or the mean return of the batch. Unbiased with
b = 0; with the batch mean the own return is in the baseline, which scales the gradient by (n - 1) / n.
"""

from __future__ import annotations

from typing import Literal

import numpy as np

from agentrl.trainers.credit.baseline import centre
from agentrl.trainers.credit.result import Credit, credit_of
from agentrl.trainers.table import TurnTable


def reinforce(table: TurnTable, *, baseline: Literal["none", "batch"] = "none") -> Credit:
    """Advantages, shape (turns,). `baseline`: `none`, or `batch` for the mean over all episodes."""
    batch = np.zeros(len(table.leaf_tree), np.int64)
    relative = centre(table.leaf_return, batch, baseline="mean" if baseline == "batch" else "none")
    return credit_of(table, table.to_turns(relative))
