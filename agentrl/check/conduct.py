"""Rules on an episode: what is shown, given, reported and known."""

from __future__ import annotations

import itertools
import json
import math
from collections.abc import Iterator
from typing import Any

import gymnasium
import numpy as np

from agentrl.check.playing import Broken, expert_action, expert_or_random, random_action, require, transcript
from agentrl.check.subject import Skip, Subject
from agentrl.core.env import ToolEnv
from agentrl.core.messages import Message, Messages, as_action, user

LONGEST = 500  # turns within which an episode ends
TASKS = 20  # that the expert has to solve


def results(env: ToolEnv, seed: int) -> Iterator[tuple[str, Any, Any, dict[str, Any]]]:
    """(where, observation, action or None, info) of a reset and of every step of an episode."""
    rng = np.random.default_rng(seed)
    observation, info = env.reset(seed=seed)
    yield f"seed {seed}, reset", observation, None, info
    for turn in range(1, LONGEST + 1):
        action = as_action(expert_or_random(env, rng))
        observation, _, terminated, truncated, info = env.step(action)
        yield f"seed {seed}, turn {turn}", observation, action, info
        if terminated or truncated:
            return


def infos_are_json(subject: Subject) -> str:
    """Every info can be written as JSON: stores and traces keep it."""
    seen = 0
    with subject.env() as env:
        for seed in subject.paced(subject.seeds, least=1):
            for where, _, _, info in results(env, seed):
                try:
                    json.dumps(info, allow_nan=False)
                except (TypeError, ValueError) as error:
                    raise Broken(f"{where}: the info is no JSON: {error}") from error
                seen += 1
    return f"{seen} infos"


def observations_can_be_read(subject: Subject) -> str:
    """Messages of the observation space, not empty, as text that can be encoded."""
    seen = 0
    with subject.env() as env:
        for seed in subject.paced(subject.seeds, least=1):
            for where, observation, _, _ in results(env, seed):
                require(env.observation_space.contains(observation), f"{where}: not in observation_space")
                messages = messages_of(observation)
                require(any(message.content for message in messages), f"{where}: nothing is shown")
                for message in messages:
                    require(message.role != "assistant", f"{where}: an assistant message is shown")
                    readable(message.content, where)
                seen += 1
    return f"{seen} observations"


def messages_of(observation: Any) -> Messages:
    """An observation as messages; a plain text stands for one user message."""
    return (user(observation),) if isinstance(observation, str) else observation


def readable(text: str, where: str) -> None:
    try:
        text.encode()
    except UnicodeEncodeError as error:
        raise Broken(f"{where}: the text cannot be encoded: {error.reason}") from error


def rewards_are_finite_and_sum(subject: Subject) -> str:
    """A reward is a finite number and the sum of its named parts."""
    steps = 0
    with subject.env() as env:
        for seed, choose in subject.paced(
            itertools.product(range(5), (random_action, expert_or_random)), least=2
        ):
            rng = np.random.default_rng(seed)
            env.reset(seed=seed)
            over = False
            for _ in range(LONGEST):
                if over:
                    break
                _, reward, terminated, truncated, info = env.step(choose(env, rng))
                number = isinstance(reward, int | float) and math.isfinite(reward)
                require(number, f"seed {seed}: the reward is {reward!r}")
                parts = info.get("reward_parts")
                require(isinstance(parts, dict), f"seed {seed}: info has no reward_parts")
                total = sum(parts.values())  # type: ignore[union-attr]
                whole = math.isclose(total, reward, abs_tol=1e-9)
                require(whole, f"seed {seed}: the parts {parts} do not sum to {reward}")
                over, steps = terminated or truncated, steps + 1
    return f"{steps} steps"


def the_end_is_reported(subject: Subject) -> str:
    """`success` comes with the end and not before; an episode that is over takes no step; `reset` is asked for."""
    with subject.env() as env:
        asks_for_reset(env, "before the first reset")
        steps = transcript(env, subject.seeds[0], turns=LONGEST)
        last = steps[-1]
        over = bool(last.get("terminated")), bool(last.get("truncated"))
        require(any(over), f"no end within {LONGEST} turns: set max_turns")
        require(not all(over), "an episode is both terminated and truncated")
        require(isinstance(last["info"].get("success"), bool), "the last info does not say `success`")
        early = any("success" in step["info"] for step in steps[1:-1])
        require(not early, "`success` is said before the end")
        asks_for_reset(env, "after the end")
        return f"{len(steps) - 1} turns"


def asks_for_reset(env: ToolEnv, when: str) -> None:
    try:
        env.step(random_action(env, np.random.default_rng(0)))
    except gymnasium.error.ResetNeeded:
        return
    raise Broken(f"a step {when} must raise ResetNeeded")


def state_keys_are_stable(subject: Subject) -> str:
    """Asking does not change it, and it moves when the situation does."""
    with subject.env() as env:
        env.reset(seed=subject.seeds[0])
        first = env.state_key()
        if first is None:
            raise Skip("no state key")
        require(isinstance(first, str), f"the state key {first!r:.60} is no text")
        require(env.state_key() == first, "asked twice, the state key differs")
        keys = {
            step["key"] for seed in subject.paced(subject.seeds, least=1) for step in transcript(env, seed)
        }
    require(len(keys) > 1, "the state key is always the same")
    return f"{len(keys)} keys"


def the_expert_solves_it(subject: Subject) -> str:
    """In every split, as often as `expert_success` says."""
    with subject.env() as env:
        env.reset(seed=0)
        if env.expert() is None:
            raise Skip("no expert")
        declared = env.expert_success
        solved = played = 0
        # Where luck decides, a share needs all of them.
        for task in subject.paced(range(TASKS), least=TASKS if declared < 1 else len(env.splits)):
            played += 1
            split = env.splits[task % len(env.splits)]
            solved += bool(last_info(env, task, split)["success"])
        require(
            solved >= declared * played - 1e-9,
            f"the expert solves {solved} of {played} tasks; the share that is declared is {declared:g}",
        )
    return f"{solved} of {played} tasks"


def last_info(env: ToolEnv, seed: int, split: str) -> dict[str, Any]:
    """What is reported at the end of an episode of the expert."""
    env.reset(seed=seed, options={"split": split})
    for _ in range(LONGEST):
        action: Message = expert_action(env, np.random.default_rng(0))
        _, _, terminated, truncated, info = env.step(action)
        if terminated or truncated:
            return info
    raise Broken(f"seed {seed}, {split}: the expert comes to no end within {LONGEST} turns")
