"""RLOO: the return minus the mean return of the other episodes of the task.

Kool et al. 2019; Ahmadian et al. 2024 (arXiv:2402.14740, section 3). A_i = R_i - (sum of R - R_i) / (n - 1).
Unbiased: the baseline does not depend on the episode's own actions.
"""

from __future__ import annotations

from agentrl.trainers.credit.baseline import Singleton, centre
from agentrl.trainers.credit.result import Credit, credit_of
from agentrl.trainers.table import TurnTable


def rloo(table: TurnTable, *, singleton: Singleton = "zero") -> Credit:
    """Advantages, shape (turns,). `singleton`: what a group of one gets, `zero` or its `raw` return."""
    relative = centre(table.leaf_return, table.leaf_tree, baseline="loo", singleton=singleton)
    return credit_of(table, table.to_turns(relative))
