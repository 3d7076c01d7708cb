"""Baselines and scales within groups: the arithmetic that most estimators share.

Values that are not finite are left out of every statistic and get 0. A group whose values are all equal gets
exactly 0, whatever rounding says. A group of one has no relative signal: 0, unless `singleton="raw"`.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal, TypeAlias

import numpy as np

Baseline: TypeAlias = Literal["none", "mean", "loo"]
Scale: TypeAlias = Literal["none", "std"]
Singleton: TypeAlias = Literal["zero", "raw"]


@dataclass(frozen=True, slots=True)
class Centred:
    """Relative values, and counts over the groups."""

    values: np.ndarray
    groups: int
    singletons: int
    zero_variance: int
    excluded: int


def centre(
    values: np.ndarray,
    group: np.ndarray,
    *,
    baseline: Baseline = "mean",
    scale: Scale = "none",
    ddof: int = 1,
    eps: float = 1e-6,
    singleton: Singleton = "zero",
) -> Centred:
    """`(value - baseline) / scale` within groups.

    Args:
        values: shape (n,).
        group: group number of each value, shape (n,), non-negative.
        baseline: `mean` of the group including the value itself; `loo`, the mean of the others; `none`.
        scale: `std` divides by (standard deviation + eps).
        ddof: of the standard deviation.
    """
    valid = np.isfinite(values)
    safe = np.where(valid, values, 0.0)
    size = int(group.max()) + 1 if len(group) else 0
    count = np.bincount(group, weights=valid, minlength=size)
    mean = np.bincount(group, weights=safe, minlength=size) / np.maximum(count, 1)
    low, high = np.full(size, np.inf), np.full(size, -np.inf)
    np.minimum.at(low, group[valid], values[valid])
    np.maximum.at(high, group[valid], values[valid])
    out = safe.copy()
    n = count[group]
    if baseline != "none":
        out -= mean[group]
        if baseline == "loo":
            out *= n / np.maximum(n - 1, 1)
        flat = (low == high)[group]
        out = np.where(flat, 0.0, out)
        if singleton == "raw":
            out = np.where(n == 1, safe, out)
    if scale == "std":
        square = np.bincount(group, weights=np.where(valid, (safe - mean[group]) ** 2, 0.0), minlength=size)
        std = np.sqrt(square / np.maximum(count - ddof, 1))
        divide = n > 1
        out = np.where(divide, out / (std[group] + eps), out / (1.0 + eps) if singleton == "raw" else out)
    return Centred(
        values=np.where(valid, out, 0.0),
        groups=int((np.bincount(group, minlength=size) > 0).sum()),
        singletons=int((count == 1).sum()),
        zero_variance=int(((count > 1) & (low == high)).sum()),
        excluded=int((~valid).sum()),
    )


def centre_on_others(values: np.ndarray, group: np.ndarray, owner: np.ndarray) -> np.ndarray:
    """`value - mean of the group's values of other owners`; 0 where no other owner is in the group.

    Leaving out all of one's own values keeps the baseline independent of one's own actions also where an
    episode comes back to the same situation.

    Args:
        values, group, owner: shape (n,); group -1 belongs to no group and gets 0.
    """
    out = np.zeros(len(values))
    valid = np.isfinite(values) & (group >= 0)
    if not valid.any():
        return out
    v, g, o = values[valid], group[valid], owner[valid]
    pair = np.unique(np.stack([g, o]), axis=1, return_inverse=True)[1].reshape(-1)
    size = int(g.max()) + 1
    total = np.bincount(g, weights=v, minlength=size)[g]
    count = np.bincount(g, minlength=size)[g]
    own_total, own_count = np.bincount(pair, weights=v)[pair], np.bincount(pair)[pair]
    others = count - own_count
    out[valid] = np.where(others > 0, v - (total - own_total) / np.maximum(others, 1), 0.0)
    return out
