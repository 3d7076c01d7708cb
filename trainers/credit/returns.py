"""Returns of turns."""

from __future__ import annotations

import numpy as np

from agentrl.trainers.table import TurnTable


def return_to_go(table: TurnTable, gamma: float) -> np.ndarray:
    """Discounted return from each turn on: `G = r + gamma * mean over children of G`, shape (turns,).

    The discount is per turn, never per token. In a chain there is one child; where a tree branches, the mean over
    the branches is the Monte-Carlo estimate of the value after the turn.
    """
    out = table.reward.astype(np.float64).copy()
    total, count = np.zeros(len(table)), np.zeros(len(table))
    for row in range(len(table) - 1, -1, -1):
        if count[row]:
            out[row] += gamma * total[row] / count[row]
        parent = table.parent[row]
        if parent >= 0:
            total[parent] += out[row]
            count[parent] += 1
    return out
