"""One episode: reset, act, step, until it ends. Turns come out; a broken part raises."""

from __future__ import annotations

import asyncio
import time
from collections.abc import Sequence
from dataclasses import replace
from typing import Protocol

from agentrl.core.failures import DeadlineExceeded, InfrastructureFailure, InvariantBroken, UserError
from agentrl.core.tree import Task, Turn, check_turn
from agentrl.inference.policy import Policy, Sampled, View
from agentrl.rollout.hosts import Host, Shown
from agentrl.rollout.seeds import derive
from agentrl.rollout.settings import RolloutSettings


class Turnstile(Protocol):
    """Decides when a live episode may call the policy."""

    async def wait(self, order: int) -> None: ...


async def play(
    host: Host,
    task: Task,
    policy: Policy,
    settings: RolloutSettings,
    *,
    seed: int,
    order: int = 0,
    turnstile: Turnstile | None = None,
) -> list[Turn]:
    """Turns of one episode, as a chain: `turns[i].parent == i - 1`.

    Raises:
        InfrastructureFailure: the environment, a tool or the engine broke.
        UserError: bad input, e.g. a first prompt that outgrows the model.
    """
    path: list[Turn] = []
    shown = await host.reset(task)
    while True:
        if turnstile is not None:
            await turnstile.wait(order)
        began = time.perf_counter()
        view = View(path, shown.observation, host.tools, host.env, derive(seed, len(path)))
        sampled = await act(policy, view, settings.generate_seconds)
        acted = time.perf_counter()
        if sampled.action is None:
            return cut_off(path, shown, task)
        before = shown
        shown = await host.step(sampled.action)
        limit = settings.max_turns is not None and len(path) + 1 >= settings.max_turns
        turn = record(path, before, sampled, shown, limit, (acted - began, time.perf_counter() - acted))
        check_turn(turn, f"{task.id} turn {turn.id}")
        path.append(turn)
        if turn.done:
            return path


async def act(policy: Policy, view: View, seconds: float) -> Sampled:
    """Call the policy within its deadline; what breaks in it is an infrastructure failure."""
    try:
        async with asyncio.timeout(seconds):
            return await policy.act(view)
    except TimeoutError as error:
        raise DeadlineExceeded("generate", type(policy).__name__, seconds) from error
    except (UserError, InvariantBroken, InfrastructureFailure):
        raise
    except Exception as error:
        raise InfrastructureFailure(
            "generate", type(policy).__name__, f"{type(error).__name__}: {error}"
        ) from error


def record(
    path: Sequence[Turn],
    before: Shown,
    sampled: Sampled,
    after: Shown,
    limit: bool,
    seconds: tuple[float, float],
) -> Turn:
    assert sampled.action is not None
    info = dict(after.info)
    parts = info.pop("reward_parts", {})
    errors = info.pop("tool_errors", [])
    success = info.pop("success", None)
    done = after.terminated or after.truncated or limit
    return Turn(
        id=len(path),
        parent=len(path) - 1 if path else None,
        observation=before.observation,
        action=sampled.action,
        context_ids=sampled.context_ids,
        completion_ids=sampled.completion_ids,
        logprobs=sampled.logprobs,
        weight_version=sampled.weight_version,
        handoff=sampled.handoff,
        finish_reason=sampled.finish_reason,
        reward=float(after.reward),
        reward_parts=parts,
        terminated=after.terminated,
        truncated=after.truncated or (limit and not after.terminated),
        final=after.observation if done else (),
        state_key=before.state_key,
        success=success if success is not None or not done else False,
        tool_errors=tuple(error["kind"] for error in errors),
        info={**info, **({"tool_error_details": errors} if errors else {})},
        seconds=seconds,
        cached_tokens=sampled.cached_tokens,
    )


def cut_off(path: list[Turn], shown: Shown, task: Task) -> list[Turn]:
    """The context is full: the last turn becomes the leaf of a truncated episode."""
    if not path:
        raise InvariantBroken("a first prompt that does not fit raises ContextOverflow", task.id)
    info = {**path[-1].info, "truncated_by": "context"}
    path[-1] = replace(path[-1], truncated=True, final=shown.observation, success=False, info=info)
    return path
