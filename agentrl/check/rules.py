"""The rules, one function each: it returns a detail, or raises. `CHECKS` is the order in which they are tried."""

from __future__ import annotations

import copy
import inspect
import math
import random
import threading
import warnings
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import gymnasium
import numpy as np
from gymnasium.utils.env_checker import check_env as gymnasium_check
from gymnasium.utils.passive_env_checker import data_shares_objects

from agentrl.check.playing import (
    Broken,
    actions_of,
    continue_,
    fingerprint,
    first_difference,
    random_action,
    replay,
    require,
    transcript,
)
from agentrl.check.process import other_processes, resources
from agentrl.core.env import ToolEnv
from agentrl.core.failures import UserError
from agentrl.core.messages import Message, ToolCall, as_action
from agentrl.core.spaces import sample_arguments, sample_invalid_call
from agentrl.core.validate import fits

SEEDS = (0, 1, 2)


class Skip(Exception):
    """A rule that does not apply here; the message says why."""


@dataclass(frozen=True, slots=True)
class Subject:
    """The environment under check: its name, how to make one, and how another process makes one."""

    id: str
    make: Callable[[], ToolEnv]
    kwargs: dict[str, Any]


def declares_itself(subject: Subject) -> str:
    """A docstring, tools with descriptions, schemas that accept what is sampled from them."""
    env = subject.make()
    require(bool(inspect.getdoc(type(env))), "the class has no docstring")
    require(
        len(env.tools) > 0 or type(env).on_text is not ToolEnv.on_text,
        "no tools, and plain text is not answered",
    )
    rng = np.random.default_rng(0)
    for tool in env.tools:
        require(bool(tool.description), f"tool {tool.name} has no description")
        require(tool.parameters.get("type") == "object", f"tool {tool.name}: its schema is not of an object")
        for _ in range(5):
            arguments = sample_arguments(tool.parameters, rng)
            require(
                fits(tool.parameters, arguments),
                f"tool {tool.name}: its schema refuses its own sample {arguments}",
            )
    env.close()
    return f"{len(env.tools)} tools, splits {', '.join(env.splits)}, fork {env.fork}, safety {env.safety}"


def gymnasiums_own_checker(subject: Subject) -> str:
    env = subject.make()
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        gymnasium_check(env, skip_render_check=True)
    return "gymnasium.utils.env_checker.check_env"


def same_seed_same_episode(subject: Subject) -> str:
    """Also in one instance after other episodes, and in a fresh instance."""
    env, other = subject.make(), subject.make()
    for seed in SEEDS:
        first = transcript(env, seed)
        transcript(env, seed + 100)
        for name, again in (
            ("the same instance", transcript(env, seed)),
            ("a fresh instance", transcript(other, seed)),
        ):
            require(first == again, f"seed {seed} differs in {name}: {first_difference(first, again)}")
    env.close()
    other.close()
    return f"{len(SEEDS)} seeds, whole episodes"


def same_in_other_processes(subject: Subject) -> str:
    """Under other PYTHONHASHSEEDs: sets and dicts must not decide what is shown."""
    env = subject.make()
    mine = {seed: fingerprint(transcript(env, seed)) for seed in SEEDS}
    env.close()
    for hash_seed, theirs in other_processes(subject.id, subject.kwargs, SEEDS).items():
        for seed in SEEDS:
            require(mine[seed] == theirs[str(seed)], f"seed {seed} differs under PYTHONHASHSEED={hash_seed}")
    return "PYTHONHASHSEED 1 and 2"


def different_seeds_different_tasks(subject: Subject) -> str:
    """What is shown, or what the same actions lead to: a task may differ in what it hides."""
    env = subject.make()
    env.reset(seed=0)
    rng = np.random.default_rng(0)
    actions = [random_action(env, rng) for _ in range(6)]
    episodes = set()
    for seed in range(20):
        observation, _ = env.reset(seed=seed)
        steps = [{"shown": [message.to_dict() for message in observation]}]
        for action in actions:
            steps += replay(env, [action])
            if steps[-1]["terminated"] or steps[-1]["truncated"]:
                break
        episodes.add(fingerprint([step["shown"] for step in steps] + [step.get("reward") for step in steps]))
    env.reset(seed=0)
    if len(episodes) == 1 and env.expert() is not None:
        # Random actions may find nothing out; the expert's episodes differ if the tasks do.
        episodes = {fingerprint(transcript(env, seed, expert_action)[1:]) for seed in range(20)}
    env.close()
    require(len(episodes) > 1, "20 seeds gave one and the same episode under the same actions")
    return f"{len(episodes)} different episodes from 20 seeds"


def expert_action(env: ToolEnv, _: np.random.Generator) -> Message:
    action = env.expert()
    require(action is not None, "the expert has nothing to say before the end")
    assert action is not None
    return as_action(action)


def no_global_randomness(subject: Subject) -> str:
    """Python's, NumPy's and torch's global generators are neither used nor moved."""

    def states() -> list[Any]:
        found: list[Any] = [random.getstate(), np.random.get_state()[1].tolist(), np.random.get_state()[2]]  # type: ignore[index]
        import sys

        if "torch" in sys.modules:
            found.append(sys.modules["torch"].get_rng_state().tolist())
        return found

    env = subject.make()
    transcript(env, 0)
    before = states()
    first = transcript(env, 1)
    require(states() == before, "an episode moved a global random generator")
    random.seed(123)
    np.random.seed(123)
    require(transcript(env, 1) == first, "an episode depends on a global random generator")
    env.close()
    return "random, numpy.random" + (", torch" if len(before) > 3 else "")


def nothing_shared_between_steps(subject: Subject) -> str:
    """What was returned stays as it was, and no mutable object is returned twice."""
    env = subject.make()
    rng = np.random.default_rng(0)
    returned: list[tuple[Any, dict[str, Any]]] = [env.reset(seed=0)]
    copies = [copy.deepcopy(returned[0])]
    for _ in range(8):
        observation, _, terminated, truncated, info = env.step(random_action(env, rng))
        returned.append((observation, info))
        copies.append(copy.deepcopy((observation, info)))
        if terminated or truncated:
            break
    returned.append(env.reset(seed=0))
    copies.append(copy.deepcopy(returned[-1]))
    env.close()
    for index, (now, then) in enumerate(zip(returned, copies, strict=True)):
        require(now == then, f"what call {index} returned was changed afterwards")
    for i in range(len(returned)):
        for j in range(i):
            shares = data_shares_objects(returned[i][0], returned[j][0]) or shares_containers(
                returned[i][1], returned[j][1]
            )
            require(not shares, f"calls {j} and {i} returned a mutable object in common")
    return f"{len(returned)} calls"


def shares_containers(one: Any, two: Any) -> bool:
    """Whether two infos have a dict or list object in common, at any depth."""

    def containers(value: Any) -> dict[int, Any]:
        found: dict[int, Any] = {}
        if isinstance(value, dict | list):
            found[id(value)] = value
            for item in value.values() if isinstance(value, dict) else value:
                found |= containers(item)
        return found

    return bool(containers(one).keys() & containers(two).keys())


def snapshots_restore_the_same_future(subject: Subject) -> str:
    """Twice from one snapshot, in a second instance, and without branches seeing each other."""
    env, other = subject.make(), subject.make()
    if env.fork == "none":
        raise Skip("fork = none")
    # The longest of some wandering episodes: a branch point needs something before it and after it.
    plans = [actions_of(transcript(env, seed, random_action)) for seed in range(3, 9)]
    actions = max(plans, key=len)
    seed = 3 + plans.index(actions)
    cut = max(1, len(actions) // 2) if len(actions) > 1 else 0
    env.reset(seed=seed)
    replay(env, actions[:cut])
    snapshot = env.snapshot()
    future = replay(env, actions[cut:])
    rng = np.random.default_rng(1)
    for name, target in (
        ("the same instance", env),
        ("a second instance", other),
        ("the same instance again", env),
    ):
        target.restore(snapshot)
        again = replay(target, actions[cut:])
        require(future == again, f"restored in {name}: {first_difference(future, again)}")
        target.restore(snapshot)
        continue_(target, rng, random_action, 3)  # a branch that goes elsewhere must leave no trace
    env.restore(snapshot)
    other.restore(snapshot)
    continue_(other, rng, random_action, 2)
    again = replay(env, actions[cut:])
    require(future == again, f"a branch saw another: {first_difference(future, again)}")
    env.close()
    other.close()
    return f"fork = {env.fork}, after {cut} of {len(actions)} turns"


def live_copies_do_not_disturb_each_other(subject: Subject) -> str:
    """Two instances played in turns show what each shows alone."""
    one, two = subject.make(), subject.make()
    alone = [transcript(one, 0), transcript(two, 1)]
    plans = [actions_of(steps) for steps in alone]
    one.reset(seed=0)
    two.reset(seed=1)
    mixed: list[list[Any]] = [[], []]
    for turn in range(max(map(len, plans))):
        for index, env in enumerate((one, two)):
            if turn < len(plans[index]):
                mixed[index] += replay(env, [plans[index][turn]])
    for index in (0, 1):
        require(
            mixed[index] == alone[index][1:],
            f"copy {index}: {first_difference(mixed[index], alone[index][1:])}",
        )
    one.close()
    two.close()
    return "two instances, interleaved"


def close_is_idempotent(subject: Subject) -> str:
    """Before a reset, in the middle of an episode, and again and again."""
    for played in (0, 1):
        env = subject.make()
        if played:
            env.reset(seed=0)
            env.step(random_action(env, np.random.default_rng(0)))
        env.close()
        env.close()
    return "before a reset, mid-episode, twice"


def nothing_is_leaked(subject: Subject) -> str:
    """Threads, open files and child processes after many environments are those from before."""

    def play() -> None:
        env = subject.make()
        transcript(env, 0)
        env.close()

    play()
    before = resources()
    for _ in range(5):
        play()
    after = resources()
    for name, count in before.items():
        require(after[name] <= count, f"{after[name] - count} more {name} after 5 environments were closed")
    return ", ".join(f"{count} {name}" for name, count in after.items())


def rewards_are_finite_and_sum(subject: Subject) -> str:
    env = subject.make()
    total = 0
    for seed in range(5):
        for step in transcript(env, seed, random_action)[1:] + transcript(env, seed)[1:]:
            reward, parts = step["reward"], step["info"].get("reward_parts")
            require(
                isinstance(reward, int | float) and math.isfinite(reward), f"seed {seed}: reward {reward!r}"
            )
            require(isinstance(parts, dict), f"seed {seed}: info has no reward_parts")
            require(
                math.isclose(sum(parts.values()), reward, abs_tol=1e-9),
                f"seed {seed}: parts {parts} do not sum to {reward}",
            )
            total += 1
    env.close()
    return f"{total} steps"


def the_end_is_reported(subject: Subject) -> str:
    """`success` comes with the end; a finished episode takes no step; `reset` is asked for."""
    env = subject.make()
    raises_reset_needed(env, "before the first reset")
    steps = transcript(env, 0, turns=500)
    ended = bool(steps[-1].get("terminated") or steps[-1].get("truncated"))
    require(ended, "no end within 500 turns: set max_turns")
    require(isinstance(steps[-1]["info"].get("success"), bool), "the last info does not say `success`")
    require(all("success" not in step["info"] for step in steps[1:-1]), "`success` is said before the end")
    raises_reset_needed(env, "after the end")
    env.close()
    return f"{len(steps) - 1} turns"


def raises_reset_needed(env: ToolEnv, when: str) -> None:
    try:
        env.step(random_action(env, np.random.default_rng(0)))
    except gymnasium.error.ResetNeeded:
        return
    raise Broken(f"a step {when} must raise ResetNeeded")


def malformed_calls_survive(subject: Subject) -> str:
    """Broken JSON, wrong types, unknown tools, empty and huge messages: answered, counted, never an exception."""
    env = subject.make()
    rng = np.random.default_rng(7)
    env.reset(seed=0)
    tried = 0
    for tool in env.tools:
        for _ in range(12):
            bad = sample_invalid_call(tool.parameters, rng)
            env.reset(seed=0)
            _, _, _, _, info = env.step(Message("assistant", "", (ToolCall(tool.name, bad.arguments),)))
            recovered = bad.kind == "double_encoded"  # the decoder reads through a second encoding
            require(
                recovered or len(info["tool_errors"]) == 1,
                f"{tool.name}({bad.arguments!r:.60}) was not counted as an error",
            )
            tried += 1
    messages = [
        Message("assistant", "", (ToolCall("no_such_tool", "{}"),)),
        Message("assistant", ""),
        Message("assistant", "x" * 1_000_000),
        Message("assistant", "\ud800 \x00 \u202e"),
        Message("assistant", "", (ToolCall("", "not json"),)),
    ]
    for message in messages:
        env.reset(seed=0)
        observation, *_ = env.step(message)
        require(len(observation) > 0, f"{str(message)[:60]!r} was not answered")
        tried += 1
    env.close()
    return f"{tried} messages"


def every_call_is_answered(subject: Subject) -> str:
    """Several calls in one message: all executed in order, each answered under its own id."""
    env = subject.make()
    if not env.tools:
        raise Skip("no tools")
    env.reset(seed=0)
    calls = tuple(ToolCall("no_such_tool", "{}", f"call-{i}") for i in range(2))
    rng = np.random.default_rng(0)
    tool = env.tools[0]
    calls += (ToolCall(tool.name, encode(sample_arguments(tool.parameters, rng)), "call-2"),)
    observation, _, _, _, info = env.step(Message("assistant", "", calls))
    answered = [message.tool_call_id for message in observation if message.role == "tool"]
    require(answered == ["call-0", "call-1", "call-2"], f"answers {answered} to calls call-0, call-1, call-2")
    unknown = [error for error in info["tool_errors"] if error["tool"] == "no_such_tool"]
    require(len(unknown) == 2, "two unknown tools were called, not two counted")
    env.close()
    return "three calls in one message"


def encode(arguments: dict[str, Any]) -> str:
    import json

    return json.dumps(arguments)


def state_keys_are_stable(subject: Subject) -> str:
    """Asking does not change it, and it moves when the situation does."""
    env = subject.make()
    env.reset(seed=0)
    first = env.state_key()
    if first is None:
        raise Skip("no state key")
    require(env.state_key() == first, "asked twice, the state key differs")
    keys = {step["key"] for seed in SEEDS for step in transcript(env, seed)}
    env.close()
    require(len(keys) > 1, "the state key is always the same")
    return f"{len(keys)} keys"


def the_expert_solves_it(subject: Subject) -> str:
    env = subject.make()
    env.reset(seed=0)
    if env.expert() is None:
        raise Skip("no expert")
    ends = []
    for seed in range(20):
        env.reset(seed=seed)
        for _ in range(500):
            _, _, terminated, truncated, info = env.step(expert_action(env, np.random.default_rng(0)))
            if terminated or truncated:
                ends.append(bool(info["success"]))
                break
    env.close()
    solved = sum(ends)
    require(len(ends) == 20, f"only {len(ends)} of 20 episodes of the expert ended")
    floor = getattr(type(env), "expert_success", 1.0)
    require(solved >= floor * 20 - 1e-9, f"the expert solves {solved} of 20 tasks, {floor:g} are declared")
    return f"{solved} of 20 tasks"


def splits_are_known(subject: Subject) -> str:
    env = subject.make()
    firsts = {}
    for split in env.splits:
        firsts[split] = fingerprint([m.to_dict() for m in env.reset(seed=0, options={"split": split})[0]])
    try:
        env.reset(seed=0, options={"split": "no such split"})
    except UserError:
        env.close()
        return ", ".join(env.splits)
    raise Broken("an unknown split was accepted")


def threads_do_not_mix(subject: Subject) -> str:
    """Instances in different threads show what they show alone (not asked of `process` environments)."""
    env = subject.make()
    if env.safety == "process":
        raise Skip("safety = process")
    alone = [transcript(env, seed) for seed in range(4)]
    env.close()
    got: list[Any] = [None] * 4

    def play(seed: int) -> None:
        mine = subject.make()
        got[seed] = transcript(mine, seed)
        mine.close()

    threads = [threading.Thread(target=play, args=(seed,)) for seed in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    for seed in range(4):
        require(got[seed] == alone[seed], f"seed {seed} differs in a thread")
    return "4 threads"


CHECKS: tuple[Callable[[Subject], str], ...] = (
    declares_itself,
    gymnasiums_own_checker,
    same_seed_same_episode,
    same_in_other_processes,
    different_seeds_different_tasks,
    no_global_randomness,
    nothing_shared_between_steps,
    snapshots_restore_the_same_future,
    live_copies_do_not_disturb_each_other,
    threads_do_not_mix,
    close_is_idempotent,
    nothing_is_leaked,
    rewards_are_finite_and_sum,
    the_end_is_reported,
    malformed_calls_survive,
    every_call_is_answered,
    state_keys_are_stable,
    the_expert_solves_it,
    splits_are_known,
)
