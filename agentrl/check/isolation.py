"""Rules on what is shared: nothing between calls, instances or threads, and nothing stays behind."""

from __future__ import annotations

import copy
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import numpy as np
from gymnasium.utils.passive_env_checker import data_shares_objects

from agentrl.check.holdings import watching
from agentrl.check.playing import (
    Broken,
    actions_of,
    begin_record,
    ended,
    expert_or_random,
    play_on,
    random_action,
    replay,
    require,
    same,
    step_record,
    transcript,
)
from agentrl.check.subject import Skip, Subject
from agentrl.core.env import ToolEnv

PLAYS = 6  # environments that are opened and closed while leaks are counted


def what_is_returned_stays(subject: Subject) -> str:
    """What a call returned is not changed by later ones, and no two calls return a mutable object in common."""
    with subject.env() as env:
        actions = actions_of(transcript(env, subject.seeds[0], turns=8))
        returned: list[tuple[Any, Any]] = [env.reset(seed=subject.seeds[0])]
        copies = [copy.deepcopy(returned[0])]
        for action in actions:
            observation, _, _, _, info = env.step(action)
            returned.append((observation, info))
            copies.append(copy.deepcopy(returned[-1]))
        returned.append(env.reset(seed=subject.seeds[0]))
        copies.append(copy.deepcopy(returned[-1]))
    for index, (now, then) in enumerate(zip(returned, copies, strict=True)):
        require(repr(now) == repr(then), f"what call {index} returned was changed afterwards")
    for i in range(len(returned)):
        for j in range(i):
            common = data_shares_objects(returned[i][0], returned[j][0])
            common = common or bool(containers(returned[i][1]).keys() & containers(returned[j][1]).keys())
            require(not common, f"calls {j} and {i} returned a mutable object in common")
    return f"{len(returned)} calls"


def what_is_returned_may_be_changed(subject: Subject) -> str:
    """Emptying every info, and the options given to a reset, changes nothing of the episode."""
    seed = subject.seeds[0]
    with subject.env() as env:
        undisturbed = transcript(env, seed)
        options: dict[str, Any] = {"split": env.split}
        result = env.reset(seed=seed, options=options)
        out = [begin_record(env, result)]
        for action in actions_of(undisturbed):
            for found in (*containers(result[-1]).values(), options):
                found.clear()
            result = env.step(action)  # type: ignore[assignment]
            out.append(step_record(env, action, result))
    same(undisturbed[1:], out[1:], "after the returned infos were emptied")
    return f"{len(out)} calls"


def containers(value: Any) -> dict[int, Any]:
    """Every dict, list and set inside a value, by identity."""
    found: dict[int, Any] = {}
    if isinstance(value, dict | list | set):
        found[id(value)] = value
    inner = (
        value.values() if isinstance(value, dict) else value if isinstance(value, list | tuple | set) else ()
    )
    for item in inner:
        found |= containers(item)
    return found


def live_copies_do_not_disturb_each_other(subject: Subject) -> str:
    """Two instances played in turns show what each shows alone; closing one leaves the other open."""
    seeds = subject.seeds[0], subject.seeds[-1] + 1
    with subject.env() as env:
        alone = [transcript(env, seed) for seed in seeds]
    plans = [actions_of(steps) for steps in alone]
    with subject.env() as one, subject.env() as two:
        mixed: list[list[dict[str, Any]]] = [
            [begin_record(env, env.reset(seed=seed))] for env, seed in zip((one, two), seeds, strict=True)
        ]
        for turn in range(max(map(len, plans))):
            for env, plan, steps in zip((one, two), plans, mixed, strict=True):
                steps += replay(env, plan[turn : turn + 1])
        for name, expected, got in zip(("first", "second"), alone, mixed, strict=True):
            same(expected, got, f"the {name} of two")
        two.reset(seed=seeds[1])
        one.close()
        same(alone[1][1:], replay(two, plans[1]), "after the other was closed")
    return "two instances in turns"


def threads_do_not_mix(subject: Subject) -> str:
    """Instances in different threads show what they show alone (not asked of `process` environments)."""
    with subject.env() as env:
        if env.safety == "process":
            raise Skip("safety = process")
        alone = [transcript(env, seed) for seed in subject.paced(range(4), least=2)]

    def play(seed: int) -> list[dict[str, Any]]:
        with subject.env() as mine:
            return transcript(mine, seed)

    with ThreadPoolExecutor(len(alone)) as pool:
        for seed, got in enumerate(pool.map(play, range(len(alone)))):
            same(alone[seed], got, f"seed {seed} in a thread of its own")
    return f"{len(alone)} threads"


# -- the end of an environment -------------------------------------------------------------------------


def close_is_idempotent(subject: Subject) -> str:
    """Twice, at any moment: before a reset, mid-episode, after the end, after something failed."""
    tried = []
    for moment, play in subject.paced(MOMENTS.items(), least=3):
        tried.append(moment)
        env = subject.make()
        play(env)
        for time in ("once", "twice"):
            try:
                env.close()
            except Exception as error:
                raise Broken(f"closed {time} {moment}: {type(error).__name__}: {error}") from error
    return ", ".join(tried)


def nothing_is_left_behind(subject: Subject) -> str:
    """Threads, open files, processes and temporary files after many environments are those from before."""
    with watching() as watch:
        plays = []
        for play in subject.paced(MOMENTS.values(), least=2):  # what is made once and kept is no leak
            with subject.env() as env:
                play(env)
            plays.append(play)
        before = watch.holdings()
        closed = 0
        for number in subject.paced(range(PLAYS), least=2):
            with subject.env() as env:
                plays[number % len(plays)](env)
            closed += 1
        for kind, names in watch.more_than(before).items():
            shown = ", ".join(sorted(set(names))[:3])
            require(False, f"{len(names)} more {kind} after {closed} environments were closed: {shown:.160}")
        return f"{closed} environments; {', '.join(before)} are as before"


def a_step_before_reset(env: ToolEnv) -> None:
    fails(env, random_action(env, np.random.default_rng(0)))


def not_at_all(env: ToolEnv) -> None:
    """An environment that was made and never used."""


def one_turn(env: ToolEnv) -> None:
    env.reset(seed=0)
    play_on(env, np.random.default_rng(0), random_action, 1)


def a_whole_episode(env: ToolEnv) -> None:
    steps = transcript(env, 0, expert_or_random, turns=200)
    require(ended(steps[-1]) or len(steps) > 200, "an episode stopped without an end")


def one_turn_and_no_action(env: ToolEnv) -> None:
    one_turn(env)
    fails(env, 42)


def fails(env: ToolEnv, action: Any) -> None:
    try:
        env.step(action)
    except Exception:
        return
    raise Broken(f"a step with {action!r:.60} must fail here")


MOMENTS: dict[str, Callable[[ToolEnv], None]] = {
    "mid-episode": one_turn,
    "after the end": a_whole_episode,
    "before a reset": not_at_all,
    "after a step without an episode": a_step_before_reset,
    "after a step with what is no action": one_turn_and_no_action,
}
