"""What the manager has to know of an environment before there is one: how it is made, where it may run, how many."""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import TypeAlias

from agentrl.core.catalogue import EnvEntry
from agentrl.core.env import ToolEnv
from agentrl.core.failures import UnknownName, UserError
from agentrl.core.registry import load_class, make_entry, resolve
from agentrl.core.tree import Task
from agentrl.rollout.hosts import AsyncHost, Host
from agentrl.rollout.settings import RolloutSettings
from agentrl.rollout.threads import ProcessHost, ThreadHost

HOSTS: Mapping[str, type[Host]] = {
    "inline": Host,
    "async": AsyncHost,
    "thread": ThreadHost,
    "process": ProcessHost,
}
EnvClass: TypeAlias = Callable[..., ToolEnv]


@dataclass(frozen=True, slots=True)
class Kind:
    """One environment id.

    Attributes:
        env_class: what makes it; ids of one class share its limit.
        host: runs an instance where its `safety` says.
        limit: how many instances of the class may be open at once; None for no limit.
    """

    entry: EnvEntry
    env_class: EnvClass
    host: type[Host]
    limit: int | None

    def new_host(self, task: Task, settings: RolloutSettings) -> Host:
        """A host for a task's environment, which is not made yet."""
        return self.host(self.entry, task.kwargs, settings)


def kind_of(name: str) -> Kind:
    """The kind that an id stands for, by the class attributes `safety` and `max_instances`. A factory without them
    runs in threads.

    Raises:
        UnknownName, MissingExtra, UserError: there is no such environment here.
    """
    entry = resolve(name)
    env_class = load_class(entry)
    safety, limit = getattr(env_class, "safety", "thread"), getattr(env_class, "max_instances", None)
    if safety not in HOSTS:
        raise UserError(f"{name}: safety is one of {', '.join(HOSTS)}, not {safety!r}")
    if limit is not None and limit < 1:
        raise UserError(f"{name}: max_instances must be at least 1, got {limit}")
    return Kind(entry, env_class, HOSTS[safety], limit)


def reuse_key(task: Task) -> tuple[str, object]:
    """Tasks of equal keys can be played in the same environment, one after the other. Arguments that JSON
    cannot hold are only equal to themselves."""
    try:
        return task.env, json.dumps(dict(task.kwargs), sort_keys=True)
    except (TypeError, ValueError):
        return task.env, tuple(sorted((name, id(value)) for name, value in task.kwargs.items()))


def check_task(task: Task) -> None:
    """Whether a task can be made at all: the environment, its arguments, its split. Nothing is reset.

    Raises:
        UserError, MissingExtra: what is wrong with it.
    """
    env = make_entry(resolve(task.env), **task.kwargs)
    try:
        if task.split not in env.splits:
            raise UnknownName(f"split of {type(env).__name__}", task.split, env.splits)
    finally:
        env.close()
