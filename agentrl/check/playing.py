"""Playing an environment for the checks: transcripts as plain data, action sequences that repeat."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Callable, Mapping, Sequence
from typing import Any

import numpy as np

from agentrl.core.env import ToolEnv
from agentrl.core.messages import Message, as_action, to_dicts

MAX_TURNS = 40

Chooser = Callable[[ToolEnv, np.random.Generator], Message]


class Broken(AssertionError):
    """A rule that does not hold; the message says which and where."""


def require(holds: bool, message: str) -> None:
    if not holds:
        raise Broken(message)


# -- who chooses the actions ---------------------------------------------------------------------------


def random_action(env: ToolEnv, rng: np.random.Generator) -> Message:
    """A random valid call; the space's own generator is set from `rng` first."""
    env.action_space.seed(int(rng.integers(2**31)))
    return as_action(env.action_space.sample())


def expert_action(env: ToolEnv, _: np.random.Generator) -> Message:
    action = env.expert()
    if action is None:
        raise Broken("the expert has nothing to say before the end")
    return as_action(action)


def expert_or_random(env: ToolEnv, rng: np.random.Generator) -> Message:
    """The expert's action, or a random one now and then and where there is no expert."""
    action = env.expert() if rng.random() < 0.8 else None
    return random_action(env, rng) if action is None else as_action(action)


# -- transcripts ---------------------------------------------------------------------------------------


def transcript(
    env: ToolEnv, seed: int, choose: Chooser = expert_or_random, turns: int = MAX_TURNS, options: Any = None
) -> list[dict[str, Any]]:
    """Play one episode; what was shown, done and given, as JSON data."""
    begun = begin_record(env, env.reset(seed=seed, options=options))
    return [begun, *play_on(env, np.random.default_rng(seed), choose, turns)]


def play_on(
    env: ToolEnv, rng: np.random.Generator, choose: Chooser, turns: int = MAX_TURNS
) -> list[dict[str, Any]]:
    """Play on from where an environment stands."""
    out: list[dict[str, Any]] = []
    while len(out) < turns and not (out and ended(out[-1])):
        action = choose(env, rng)
        out.append(step_record(env, action, env.step(action)))
    return out


def replay(env: ToolEnv, actions: Sequence[Message]) -> list[dict[str, Any]]:
    """Do the given actions, as far as the episode goes."""
    left = iter(actions)
    return play_on(env, np.random.default_rng(0), lambda *_: next(left), len(actions))


def begin_record(env: ToolEnv, result: tuple[Any, dict[str, Any]]) -> dict[str, Any]:
    """What a reset gave."""
    observation, info = result
    return {"shown": to_dicts(observation), "info": plain(info), "key": env.state_key()}


def step_record(env: ToolEnv, action: Message, result: tuple[Any, ...]) -> dict[str, Any]:
    """What a step gave."""
    observation, reward, terminated, truncated, info = result
    return {
        "action": action.to_dict(),
        "shown": to_dicts(observation),
        "reward": float(reward),
        "terminated": terminated,
        "truncated": truncated,
        "info": plain(info),
        "key": env.state_key(),
    }


def ended(record: Mapping[str, Any]) -> bool:
    return bool(record.get("terminated") or record.get("truncated"))


def actions_of(steps: Sequence[Mapping[str, Any]]) -> list[Message]:
    return [Message.from_dict(step["action"]) for step in steps if "action" in step]


def texts_of(record: Mapping[str, Any]) -> list[str]:
    """The contents of what was shown."""
    return [message["content"] for message in record["shown"]]


def plain(value: Any) -> Any:
    """A deep copy as JSON data; whatever is no JSON is printed (that it is none is for a rule of its own)."""
    return json.loads(json.dumps(value, default=repr))


# -- comparing them ------------------------------------------------------------------------------------


def same(one: Sequence[Any], two: Sequence[Any], where: str) -> None:
    """Two transcripts are equal.

    Raises:
        Broken: says where they part.
    """
    if fingerprint(one) != fingerprint(two):
        raise Broken(f"{where}: {first_difference(one, two)}")


def first_difference(one: Sequence[Any], two: Sequence[Any]) -> str:
    """Where two transcripts part, for a person."""
    for index, (a, b) in enumerate(zip(one, two, strict=False)):
        for key in sorted(a.keys() | b.keys()):
            if fingerprint(a.get(key)) != fingerprint(b.get(key)):
                return f"step {index}, {key}: {str(a.get(key))[:90]!r} != {str(b.get(key))[:90]!r}"
    return f"lengths {len(one)} and {len(two)}"


def fingerprint(value: Any) -> str:
    return hashlib.blake2b(json.dumps(value, sort_keys=True).encode(), digest_size=16).hexdigest()
