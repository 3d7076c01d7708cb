"""GRPO: the return, normalised within the episodes of the task.

Shao et al. 2024 (arXiv:2402.03300, section 4.1.2). A_i = (R_i - mean) / (std + eps). The division weights tasks
by the inverse of their spread: easy and hard tasks count more than in the true gradient.
"""

from __future__ import annotations

from agentrl.trainers.credit.baseline import Singleton, centre
from agentrl.trainers.credit.result import Credit, credit_of
from agentrl.trainers.table import TurnTable


def grpo(table: TurnTable, *, eps: float = 1e-6, ddof: int = 1, singleton: Singleton = "zero") -> Credit:
    """Advantages, shape (turns,). `eps` stands outside the root; `ddof=1` is the libraries' choice."""
    relative = centre(
        table.leaf_return,
        table.leaf_tree,
        baseline="mean",
        scale="std",
        ddof=ddof,
        eps=eps,
        singleton=singleton,
    )
    return credit_of(table, table.to_turns(relative))
