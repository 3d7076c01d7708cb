"""The best play where the whole dynamics are known."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TypeAlias

import numpy as np

Outcome: TypeAlias = tuple[float, int, float, bool]
Dynamics: TypeAlias = Mapping[int, Mapping[int, Sequence[Outcome]]]
"""Gymnasium's transition table: `P[state][action] = [(probability, next state, reward, terminated), ...]`."""


def best_actions(dynamics: Dynamics, gamma: float = 0.99, tolerance: float = 1e-10) -> tuple[int, ...]:
    """An optimal action of every state, by value iteration (Bellman, 1957): `V(s) = max_a sum p (r + gamma V(s'))`.

    Args:
        dynamics: states and actions are numbered from 0, and every state has all actions.
        gamma: the discount, below 1: of two ways to the same reward the shorter is better.
        tolerance: the largest change of a value at which the iteration ends.
    """
    states, actions = len(dynamics), len(dynamics[0])
    rows = [(s * actions + a, *end) for s in range(states) for a in range(actions) for end in dynamics[s][a]]
    index, chance, target, gain, over = (np.array(column) for column in zip(*rows, strict=True))
    value, change = np.zeros(states), np.inf
    while change > tolerance:
        future = np.where(over, 0.0, gamma * value[target])
        q = np.bincount(index, chance * (gain + future), states * actions).reshape(states, actions)
        change = np.abs(q.max(axis=1) - value).max()
        value = q.max(axis=1)
    return tuple(int(action) for action in q.argmax(axis=1))
