"""What is done to an environment, wherever it runs, and what comes back: checked, plain, picklable."""

from __future__ import annotations

import asyncio
import math
from collections.abc import Callable, Coroutine, Mapping
from dataclasses import dataclass
from typing import Any

from agentrl.core.env import ToolEnv
from agentrl.core.failures import InfrastructureFailure, InvariantBroken, UserError
from agentrl.core.fork import Snapshot
from agentrl.core.messages import Message, Messages, user
from agentrl.core.tree import Task

PASSING = (UserError, InvariantBroken, InfrastructureFailure)
"""Errors that say themselves whose fault they are; everything else that an environment raises is ours."""
CONTROL = (asyncio.CancelledError, KeyboardInterrupt, GeneratorExit)
"""Not errors of an environment at all."""


@dataclass(frozen=True, slots=True)
class Shown:
    """What an environment shows after a reset or step, and the key of the situation it is now in."""

    observation: Messages
    reward: float
    terminated: bool
    truncated: bool
    info: Mapping[str, Any]
    state_key: str | None


def first_shown(env: ToolEnv, answer: tuple[Any, ...]) -> Shown:
    observation, info = answer
    return Shown(messages(observation), 0.0, False, False, info, env.state_key())


def next_shown(env: ToolEnv, answer: tuple[Any, ...]) -> Shown:
    """Raises: InfrastructureFailure: a reward that is no number."""
    observation, reward, terminated, truncated, info = answer
    if not math.isfinite(reward):
        raise InfrastructureFailure("reward", type(env).__name__, f"a reward is finite, not {reward}")
    return Shown(
        messages(observation), float(reward), bool(terminated), bool(truncated), info, env.state_key()
    )


def messages(observation: Any) -> Messages:
    if type(observation) is tuple:
        return observation
    return (user(observation),) if isinstance(observation, str) else tuple(observation)


def reset(env: ToolEnv, task: Task) -> Shown:
    return first_shown(env, env.reset(seed=task.seed, options=reset_options(task)))


def step(env: ToolEnv, action: Message) -> Shown:
    return next_shown(env, env.step(action))


def snapshot(env: ToolEnv) -> Snapshot:
    return env.snapshot()


def restore(env: ToolEnv, snapshot: Snapshot) -> None:
    env.restore(snapshot)


def expert(env: ToolEnv) -> Any:
    return env.expert()


async def areset(env: ToolEnv, task: Task) -> Shown:
    return first_shown(env, await env.areset(seed=task.seed, options=reset_options(task)))


async def astep(env: ToolEnv, action: Message) -> Shown:
    return next_shown(env, await env.astep(action))


async def asnapshot(env: ToolEnv) -> Snapshot:
    return await env.asnapshot()


async def arestore(env: ToolEnv, snapshot: Snapshot) -> None:
    await env.arestore(snapshot)


def reset_options(task: Task) -> dict[str, Any]:
    return {"split": task.split, **task.options}


CALLS: Mapping[str, Callable[..., Any]] = {
    "reset": reset,
    "step": step,
    "snapshot": snapshot,
    "restore": restore,
    "expert": expert,
}

ASYNC_CALLS: Mapping[str, Callable[..., Coroutine[Any, Any, Any]]] = {
    "reset": areset,
    "step": astep,
    "snapshot": asnapshot,
    "restore": arestore,
}


def typed(error: BaseException, where: Any, subject: str) -> Exception:
    """An error that an environment raised, as one that says whose fault it is."""
    if isinstance(error, PASSING):
        return error
    failure = InfrastructureFailure(where, subject, f"{type(error).__name__}: {error}")
    failure.__cause__ = error
    return failure
