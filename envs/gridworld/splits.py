"""Which tasks belong to which split: a function of the task alone, the same in every process and version.

Invariant: a task is in exactly one split; 60 of 100 are for training, 10 for validation, 30 for the test.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import TypeVar

from agentrl.core.env import digest

T = TypeVar("T")
SHARES = {"train": (0, 60), "validation": (60, 70), "test": (70, 100)}
"""From which to which hundredth a split reaches."""


def split_of(task: str) -> str:
    """The split of one task among endlessly many, by its fingerprint."""
    hundredth = int(digest(task), 16) % 100
    return next(split for split, (low, high) in SHARES.items() if low <= hundredth < high)


def share_out(tasks: Sequence[T], split: str) -> tuple[T, ...]:
    """The tasks of one split among few: shuffled by their fingerprints, then cut."""
    shuffled = sorted(tasks, key=lambda task: digest(str(task)))
    low, high = SHARES[split]
    return tuple(shuffled[len(tasks) * low // 100 : len(tasks) * high // 100])
