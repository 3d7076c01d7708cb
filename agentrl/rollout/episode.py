"""One episode: act, step, until it ends. Turns come out; a broken part raises.

An episode begins with a reset or, if it branches off another one, with a restored snapshot (`Start`); from there on
both go the same way.
"""

from __future__ import annotations

import time
from collections.abc import Sequence
from dataclasses import dataclass, replace

from agentrl.core.failures import InvariantBroken
from agentrl.core.fork import Snapshot
from agentrl.core.tree import Task, Turn, check_turn
from agentrl.inference.policy import Policy, Sampled, View
from agentrl.rollout.calls import PASSING, Shown, typed
from agentrl.rollout.deadline import within
from agentrl.rollout.gate import Gate
from agentrl.rollout.hosts import Host
from agentrl.rollout.seeds import derive
from agentrl.rollout.settings import RolloutSettings


@dataclass(frozen=True, slots=True)
class Start:
    """A point in an episode from which others branch off.

    Attributes:
        path: the turns up to it: `path[i].id == i`, its parent `i - 1`.
        shown: what the environment showed after the last of them.
        snapshot: the environment at that moment.
    """

    path: tuple[Turn, ...]
    shown: Shown
    snapshot: Snapshot


async def fork(host: Host, path: Sequence[Turn], shown: Shown) -> Start:
    """The present point of an episode, for others to branch off."""
    return Start(tuple(path), shown, await host.snapshot())


async def play(
    host: Host,
    task: Task,
    policy: Policy,
    settings: RolloutSettings,
    *,
    seed: int,
    start: Start | None = None,
    order: tuple[int, int] = (0, 0),
    gate: Gate | None = None,
) -> list[Turn]:
    """Play an episode to its end.

    Args:
        seed: decides the sampling seeds of its turns, each with the turn's number.
        start: where it branches off; None: the root.
        order: its place in line at the gate.
        gate: decides when an episode may call the policy; None: at once.

    Returns:
        Its turns as a chain, those of `start` included: `turns[i].id == i`, its parent `i - 1`. No turn beyond them
        means that the context is full there already.

    Raises:
        InfrastructureFailure: the environment, a tool or the engine broke.
        UserError: bad input, e.g. a first prompt that outgrows the model.
    """
    path: list[Turn] = []
    if start is None:
        shown = await host.reset(task)
    else:
        await host.restore(start.snapshot)
        path, shown = list(start.path), start.shown
    first = len(path)
    while True:
        if gate is not None:
            await gate.wait(order)
        began = time.perf_counter()
        view = View(path, shown.observation, host.tools, host.env, derive(seed, len(path)))
        sampled = await act(policy, view, settings.generate_seconds)
        acted = time.perf_counter()
        if sampled.action is None:
            return cut_off(path, first, shown, task.id)
        before, shown = shown, await host.step(sampled.action)
        cut = settings.max_turns is not None and len(path) + 1 >= settings.max_turns
        turn = record(path, before, sampled, shown, cut, (acted - began, time.perf_counter() - acted))
        check_turn(turn, f"{task.id} turn {turn.id}")
        path.append(turn)
        if turn.done:
            return path


async def act(policy: Policy, view: View, seconds: float) -> Sampled:
    """Call the policy within its deadline; what breaks in it is an infrastructure failure."""
    name = type(policy).__name__
    try:
        return await within(seconds, policy.act(view), "generate", name)
    except PASSING:
        raise
    except Exception as error:
        raise typed(error, "generate", name) from error


def record(
    path: Sequence[Turn],
    before: Shown,
    sampled: Sampled,
    after: Shown,
    cut: bool,
    seconds: tuple[float, float],
) -> Turn:
    """The turn that was just played. `cut`: the turn limit of the settings is reached."""
    assert sampled.action is not None
    info = dict(after.info)
    parts = info.pop("reward_parts", {})
    errors = info.pop("tool_errors", ())
    success = info.pop("success", None)
    cut = cut and not after.terminated
    done = after.terminated or after.truncated or cut
    if success is None and done:
        success = False
    if errors:
        info["tool_error_details"] = errors
    if cut and not after.truncated:
        info["truncated_by"] = "max_turns"
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
        reward=after.reward,
        reward_parts=parts,
        terminated=after.terminated,
        truncated=after.truncated or cut,
        final=after.observation if done else (),
        state_key=before.state_key,
        success=success,
        tool_errors=tuple([error["kind"] for error in errors]),
        info=info,
        seconds=seconds,
        cached_tokens=sampled.cached_tokens,
    )


def cut_off(path: list[Turn], first: int, shown: Shown, name: str) -> list[Turn]:
    """The context is full: the last turn becomes the leaf of a truncated episode."""
    if not path:
        raise InvariantBroken("a first prompt that does not fit raises ContextOverflow", name)
    if len(path) > first:
        info = {**path[-1].info, "truncated_by": "context"}
        path[-1] = replace(path[-1], truncated=True, final=shown.observation, success=False, info=info)
    return path
