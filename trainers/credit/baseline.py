"""Baselines and scales within groups: the arithmetic that most estimators share.

Values that are not finite are left out of every statistic and get 0. A group whose values are all equal, but for
rounding, gets exactly 0: an optimizer that divides by the gradient's size would make a full step of the rounding.
A group of one has no relative signal: 0, unless `singleton="raw"`.
"""

from __future__ import annotations

from typing import Literal, TypeAlias

import numpy as np

Baseline: TypeAlias = Literal["none", "mean", "loo"]
Scale: TypeAlias = Literal["none", "std"]
Singleton: TypeAlias = Literal["zero", "raw"]

ROUNDING = 1e-12
"""Values closer than this, relative to the larger of them and 1, are equal."""


def centre(
    values: np.ndarray,
    group: np.ndarray,
    *,
    baseline: Baseline = "mean",
    scale: Scale = "none",
    ddof: int = 1,
    eps: float = 1e-6,
    singleton: Singleton = "zero",
) -> np.ndarray:
    """`(value - baseline) / scale` within groups; shape (n,).

    Args:
        values: shape (n,).
        group: group number of each value, shape (n,); -1 belongs to no group and gets 0.
        baseline: `mean` of the group including the value itself; `loo`, the mean of the others; `none`.
        scale: `std` divides by (standard deviation + eps).
        ddof: of the standard deviation.
    """
    out = np.zeros(len(values))
    valid = np.isfinite(values) & (group >= 0)
    v, g = values[valid], group[valid]
    count = np.bincount(g)
    n = count[g]
    mean = (np.bincount(g, weights=v) / np.maximum(count, 1))[g]
    relative = v.astype(np.float64)
    if baseline != "none":
        relative = v - mean
        if baseline == "loo":
            relative = relative * n / np.maximum(n - 1, 1)
        relative[flat(v, g)[g]] = 0.0
        if singleton == "raw":
            relative = np.where(n == 1, v, relative)
    if scale == "std":
        std = deviation(v, g, ddof)[g]
        alone = 1.0 + eps if singleton == "raw" else 1.0
        relative = relative / np.where(n > 1, std + eps, alone)
    out[valid] = relative
    return out


def centre_on_others(
    values: np.ndarray, group: np.ndarray, owner: np.ndarray, *, scale: Scale = "none", eps: float = 1e-6
) -> np.ndarray:
    """`value - mean of the group's values of other owners`; 0 where no other owner is in the group.

    Leaving out all of one's own values keeps the baseline independent of one's own actions also where an
    episode comes back to the same situation.

    Args:
        values, group, owner: shape (n,); group -1 belongs to no group and gets 0.
        scale: `std` divides by (standard deviation of the whole group, ddof 1, + eps).
    """
    out = np.zeros(len(values))
    valid = np.isfinite(values) & (group >= 0)
    if not valid.any():
        return out
    v, g, o = values[valid], group[valid], owner[valid]
    pair = np.unique(np.stack([g, o]), axis=1, return_inverse=True)[1].reshape(-1)
    total, count = np.bincount(g, weights=v)[g], np.bincount(g)[g]
    own_total, own_count = np.bincount(pair, weights=v)[pair], np.bincount(pair)[pair]
    others = count - own_count
    relative = v - (total - own_total) / np.maximum(others, 1)
    relative[(others == 0) | flat(v, g)[g]] = 0.0
    if scale == "std":
        relative = relative / (deviation(v, g, 1)[g] + eps)
    out[valid] = relative
    return out


def flat(values: np.ndarray, group: np.ndarray) -> np.ndarray:
    """Of every group number, whether its (finite) values are all equal but for rounding."""
    size = int(group.max(initial=-1)) + 1
    low, high = np.full(size, np.inf), np.full(size, -np.inf)
    np.minimum.at(low, group, values)
    np.maximum.at(high, group, values)
    return high - low <= ROUNDING * np.maximum(1.0, np.maximum(np.abs(low), np.abs(high)))


def deviation(values: np.ndarray, group: np.ndarray, ddof: int) -> np.ndarray:
    """Standard deviation of every group number's (finite) values."""
    count = np.bincount(group)
    mean = np.bincount(group, weights=values) / np.maximum(count, 1)
    square = np.bincount(group, weights=(values - mean[group]) ** 2)
    return np.sqrt(square / np.maximum(count - ddof, 1))
