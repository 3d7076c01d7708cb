"""How games draw their tasks.

Invariant: game, split and seed name one task, the same in every process; what a task asks decides its split, so no task
is in two.
"""

from __future__ import annotations

from collections.abc import Callable
from random import Random
from typing import TypeVar

from agentrl.core.failures import UserError
from agentrl.envs.generated import in_split

P = TypeVar("P")
TRIES = 5000


def rng_of(game: str, split: str, seed: int) -> Random:
    """The source of all chance of one task."""
    return Random(f"{game}/{split}/{seed}")


def drawn(rng: Random, split: str, make: Callable[[Random], P | None], identity: Callable[[P], str]) -> P:
    """The first problem that `make` draws (None is no problem) and that belongs to the split.

    Raises:
        UserError: none was found: the settings leave too few problems.
    """
    for _ in range(TRIES):
        problem = make(rng)
        if problem is not None and in_split(identity(problem), split):
            return problem
    raise UserError(f"no task of these settings was found for the split {split!r}: make it larger")


def check_between(name: str, value: int, low: int, high: int) -> None:
    """Raises: UserError: `value` is no whole number from `low` to `high`."""
    if isinstance(value, bool) or not isinstance(value, int) or not low <= value <= high:
        raise UserError(f"{name} must be a whole number from {low} to {high}, got {value!r:.40}")
