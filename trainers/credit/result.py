"""What a credit method returns."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np


@dataclass(frozen=True, slots=True)
class Credit:
    """Advantages and what should be known of them.

    Attributes:
        advantages: float64, one per turn of the table.
        groups: how many groups of episodes there were.
        singletons: groups of one usable episode: no relative signal, so advantage 0.
        zero_variance: groups of several episodes with equal returns: advantage exactly 0.
        excluded: episodes without a finite return: left out of the statistics, advantage 0.
    """

    advantages: np.ndarray
    groups: int = 0
    singletons: int = 0
    zero_variance: int = 0
    excluded: int = 0
