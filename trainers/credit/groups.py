"""Which turns are compared with which: one group number per turn, -1 for a turn that belongs to no group.

Every key holds the task, so turns of different tasks never meet.
"""

from __future__ import annotations

import numpy as np

from agentrl.trainers.table import TurnTable


def same_task(table: TurnTable) -> np.ndarray:
    """All turns of one task; shape (turns,)."""
    return table.tree


def same_depth(table: TurnTable) -> np.ndarray:
    """Turns of one task that come equally late on their paths; shape (turns,)."""
    return table.tree * (int(table.depth.max(initial=0)) + 1) + table.depth


def same_state(table: TurnTable) -> np.ndarray:
    """Turns of one task that acted in the same situation; -1 where the environment gave no key; shape (turns,)."""
    return table.key
