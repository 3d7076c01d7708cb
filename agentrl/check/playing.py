"""Playing an environment for the checks: transcripts as plain data, action sequences that repeat."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Callable, Sequence
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


def random_action(env: ToolEnv, rng: np.random.Generator) -> Message:
    """A random valid call; the space's own generator is set from `rng` first."""
    env.action_space.seed(int(rng.integers(2**31)))
    return as_action(env.action_space.sample())


def expert_or_random(env: ToolEnv, rng: np.random.Generator) -> Message:
    """The expert's action, or a random one now and then and where there is no expert."""
    action = env.expert() if rng.random() < 0.8 else None
    return random_action(env, rng) if action is None else as_action(action)


def transcript(
    env: ToolEnv, seed: int, choose: Chooser = expert_or_random, turns: int = MAX_TURNS, options: Any = None
) -> list[dict[str, Any]]:
    """Play one episode; what was shown, done and given, as JSON data."""
    rng = np.random.default_rng(seed)
    observation, info = env.reset(seed=seed, options=options)
    out = [{"shown": to_dicts(observation), "info": plain(info), "key": env.state_key()}]
    out += continue_(env, rng, choose, turns)
    return out


def continue_(
    env: ToolEnv, rng: np.random.Generator, choose: Chooser, turns: int = MAX_TURNS
) -> list[dict[str, Any]]:
    """Play on from where an environment stands."""
    out = []
    for _ in range(turns):
        action = choose(env, rng)
        observation, reward, terminated, truncated, info = env.step(action)
        out.append(
            {
                "action": action.to_dict(),
                "shown": to_dicts(observation),
                "reward": reward,
                "terminated": terminated,
                "truncated": truncated,
                "info": plain(info),
                "key": env.state_key(),
            }
        )
        if terminated or truncated:
            break
    return out


def replay(env: ToolEnv, actions: Sequence[Message]) -> list[dict[str, Any]]:
    """Do the given actions; as `continue_`."""
    left = list(actions)
    return continue_(env, np.random.default_rng(0), lambda *_: left.pop(0), len(left))


def actions_of(steps: Sequence[dict[str, Any]]) -> list[Message]:
    return [Message.from_dict(step["action"]) for step in steps if "action" in step]


def plain(value: Any) -> Any:
    """A deep copy as JSON data.

    Raises:
        Broken: it is not JSON-serialisable.
    """
    try:
        return json.loads(json.dumps(value, allow_nan=True))
    except (TypeError, ValueError) as error:
        raise Broken(f"info is not JSON-serialisable: {error}") from None


def first_difference(one: Sequence[Any], two: Sequence[Any]) -> str:
    """Where two transcripts part, for a person."""
    for index, (a, b) in enumerate(zip(one, two, strict=False)):
        if a != b:
            keys = [key for key in a if a.get(key) != b.get(key)]
            return f"step {index}, {keys[0]}: {str(a.get(keys[0]))[:90]!r} != {str(b.get(keys[0]))[:90]!r}"
    return f"lengths {len(one)} and {len(two)}"


def fingerprint(value: Any) -> str:
    return hashlib.blake2b(json.dumps(value, sort_keys=True).encode(), digest_size=16).hexdigest()
