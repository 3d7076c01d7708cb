"""Dr. GRPO: the return minus the group's mean, without dividing by the standard deviation.

Liu et al. 2025 (arXiv:2503.20783, section 3.2). A_i = R_i - mean. The own return is in the mean, which scales the
gradient by (n - 1) / n and nothing else. The paper's loss divides the sum over tokens by a constant: combine with
`aggregate = "constant"`.
"""

from __future__ import annotations

from agentrl.trainers.credit.baseline import Singleton, centre
from agentrl.trainers.credit.result import Credit, credit_of
from agentrl.trainers.table import TurnTable


def dr_grpo(table: TurnTable, *, singleton: Singleton = "zero") -> Credit:
    """Advantages, shape (turns,)."""
    relative = centre(table.leaf_return, table.leaf_tree, baseline="mean", singleton=singleton)
    return credit_of(table, table.to_turns(relative))
