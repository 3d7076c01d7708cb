"""How games draw their tasks.

Invariant: game, split and seed name one task, the same in every process; what a task asks decides its split, so no task
is in two.
"""

from __future__ import annotations

from collections.abc import Callable, Hashable
from random import Random
from typing import Any, NamedTuple, TypeVar

from agentrl.core.failures import UserError
from agentrl.envs.generated import in_split

P = TypeVar("P")
TRIES, REMEMBERED = 5000, 4096
_tasks: dict[TaskKey, Any] = {}


class TaskKey(NamedTuple):
    """What a task depends on: equal keys are equal tasks."""

    game: str
    split: str
    seed: int
    settings: tuple[Hashable, ...] = ()

    def rng(self) -> Random:
        """The source of all chance of the task."""
        return Random(f"{self.game}/{self.split}/{self.seed}")


def drawn(key: TaskKey, make: Callable[[Random], P | None], identity: Callable[[P], str]) -> P:
    """The first problem that `make` draws (None is no problem) and whose `identity` belongs to the split.

    Raises:
        UserError: none was found: the settings leave too few problems.
    """

    def draw(rng: Random) -> P:
        for _ in range(TRIES):
            problem = make(rng)
            if problem is not None and in_split(identity(problem), key.split):
                return problem
        raise UserError(f"no task of these settings was found for the split {key.split!r}: make it larger")

    return remembered(key, draw)


def remembered(key: TaskKey, draw: Callable[[Random], P]) -> P:
    """The task of a key, which never changes: a group plays it many times, and drawing costs more than a step."""
    if key not in _tasks:
        if len(_tasks) >= REMEMBERED:
            _tasks.clear()
        _tasks[key] = draw(key.rng())
    return _tasks[key]


def forget() -> None:
    """Draw every task anew."""
    _tasks.clear()


def check_between(name: str, value: int, low: int, high: int) -> None:
    """Raises: UserError: `value` is no whole number from `low` to `high`."""
    if isinstance(value, bool) or not isinstance(value, int) or not low <= value <= high:
        raise UserError(f"{name} must be a whole number from {low} to {high}, got {value!r:.40}")
