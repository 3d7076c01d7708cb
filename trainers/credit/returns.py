"""Returns of turns."""

from __future__ import annotations

import numpy as np

from agentrl.trainers.table import TurnTable


def return_to_go(table: TurnTable, gamma: float) -> np.ndarray:
    """Discounted return from each turn on: `G = r + gamma * mean over children of G`, shape (turns,).

    The discount is per turn, never per token. In a chain there is one child; where a tree branches, the mean over
    the branches is the Monte-Carlo estimate of the value after the turn. A turn that lies on no scored path has
    NaN, and its parent leaves it out.
    """
    out = np.where(table.scored, table.reward, np.nan)
    total, count = np.zeros(len(table)), np.zeros(len(table))
    for depth in range(int(table.depth.max(initial=-1)), -1, -1):
        rows = np.flatnonzero((table.depth == depth) & table.scored)
        out[rows] += gamma * total[rows] / np.maximum(count[rows], 1)
        inner = rows[table.parent[rows] >= 0]
        np.add.at(total, table.parent[inner], out[inner])
        np.add.at(count, table.parent[inner], 1)
    return out
