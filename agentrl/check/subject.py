"""The environment under check: how to make one here, and how another process makes one."""

from __future__ import annotations

import importlib.util
import inspect
import time
from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import Any, TypeVar

from agentrl.core.env import ToolEnv
from agentrl.core.failures import UserError
from agentrl.core.registry import check_arguments, is_env, load_class, make_entry, resolve

SEEDS = (0, 1, 2)
DEADLINE = 120.0  # seconds for one check
PACE = 0.5  # seconds after which a rule begins nothing more, once it has done the least that it needs
T = TypeVar("T")


class Skip(Exception):
    """A rule that does not apply here; the message says why."""


@dataclass(frozen=True, slots=True)
class Subject:
    """What every rule is given.

    Attributes:
        id: the name in the report.
        make: makes an environment, open and not yet reset.
        reference: the name by which a fresh process makes the same environment; None if it has none.
        kwargs: constructor arguments, for that process.
        seeds: of the episodes that are played.
        seconds: how long one rule may take.
        pace: seconds after which a rule that repeats itself stops, so that an environment of which every episode
            costs seconds (a sandbox, a browser) is checked on fewer of them.
    """

    id: str
    make: Callable[[], ToolEnv]
    reference: str | None = None
    kwargs: Mapping[str, Any] = field(default_factory=dict)
    seeds: tuple[int, ...] = SEEDS
    seconds: float = DEADLINE
    pace: float = PACE

    def paced(self, items: Iterable[T], least: int) -> Iterator[T]:
        """`items`, at least so many of them, and more while there is time."""
        began = time.monotonic()
        for index, item in enumerate(items):
            if index >= least and time.monotonic() - began > self.pace:
                return
            yield item

    @contextmanager
    def env(self) -> Iterator[ToolEnv]:
        """An environment that is closed afterwards, also where a rule does not hold."""
        env = self.make()
        try:
            yield env
        finally:
            env.close()


def subject_of(
    source: str | Callable[..., ToolEnv],
    kwargs: Mapping[str, Any],
    seeds: tuple[int, ...] = SEEDS,
    seconds: float = DEADLINE,
) -> Subject:
    """A subject from a name (an id, `file.py:Class`, `module:Class`), a class, or anything that returns one.

    Raises:
        UserError: there is no such environment, its extra is missing, or it does not take these arguments.
    """
    if not isinstance(source, str):
        name = getattr(source, "__qualname__", repr(source))
        return Subject(name, lambda: made(source, kwargs), reference_of(source), kwargs, seeds, seconds)
    entry = resolve(source)
    check_arguments(entry.id, load_class(entry), {name: kwargs[name] for name in kwargs if name != "wrap"})
    return Subject(entry.id, lambda: make_entry(entry, **kwargs), source, kwargs, seeds, seconds)


def made(factory: Callable[..., ToolEnv], kwargs: Mapping[str, Any]) -> ToolEnv:
    env = factory(**kwargs)
    if not isinstance(env, ToolEnv):
        raise UserError(f"{factory!r:.80} made a {type(env).__name__}, not a ToolEnv")
    return env


def reference_of(factory: Callable[..., ToolEnv]) -> str | None:
    """`module:Class` or `file.py:Class` of a class at the top of a module; None of anything else."""
    if not is_env(factory) or "." in factory.__qualname__:
        return None
    module, file = factory.__module__, inspect.getsourcefile(factory)
    spec = importlib.util.find_spec(module) if module != "__main__" else None
    return f"{module if spec and spec.origin == file else file}:{factory.__qualname__}"
