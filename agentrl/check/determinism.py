"""Rules on chance: nothing but the seed decides what an episode is."""

from __future__ import annotations

import asyncio
import itertools
import random
import sys
from typing import Any

import numpy as np

from agentrl.check.playing import (
    Chooser,
    actions_of,
    begin_record,
    ended,
    expert_action,
    fingerprint,
    random_action,
    replay,
    require,
    same,
    step_record,
    texts_of,
    transcript,
)
from agentrl.check.process import HASH_SEEDS, in_fresh_processes
from agentrl.check.subject import Skip, Subject
from agentrl.core.messages import to_dicts

MANY = 20  # seeds that are tried for differences


def same_seed_same_beginning(subject: Subject) -> str:
    """What a reset shows: again, after other episodes, in a fresh instance, for every split."""
    with subject.env() as env, subject.env() as other:
        tried = 0
        pairs = itertools.product(subject.seeds, env.splits)
        for seed, split in subject.paced(pairs, least=len(env.splits)):
            options = {"split": split}
            first = transcript(env, seed, turns=0, options=options)
            transcript(env, seed + 100, turns=3)
            again, afresh = (transcript(one, seed, turns=0, options=options) for one in (env, other))
            same(first, again, f"seed {seed}, {split}, again")
            same(first, afresh, f"seed {seed}, {split}, afresh")
            require(options == {"split": split}, "reset changed the options that it was given")
            tried += 1
    return f"{tried} beginnings"


def same_seed_same_random_episode(subject: Subject) -> str:
    """Whole episodes of random calls."""
    return same_episodes(subject, random_action)


def same_seed_same_expert_episode(subject: Subject) -> str:
    """Whole episodes of the expert, whose advice is repeatable too."""
    with subject.env() as env:
        env.reset(seed=subject.seeds[0])
        if env.expert() is None:
            raise Skip("no expert")
    return same_episodes(subject, expert_action)


def same_episodes(subject: Subject, choose: Chooser) -> str:
    steps = episodes = 0
    with subject.env() as env, subject.env() as other:
        for seed in subject.paced(subject.seeds, least=1):
            first = transcript(env, seed, choose)
            transcript(env, seed + 100, choose)
            same(first, transcript(env, seed, choose), f"seed {seed}, again in the same instance")
            same(first, transcript(other, seed, choose), f"seed {seed}, in a fresh instance")
            steps, episodes = steps + len(first) - 1, episodes + 1
    return f"{episodes} seeds, {steps} steps"


def same_in_other_processes(subject: Subject) -> str:
    """Under other PYTHONHASHSEEDs: the order of a set must not decide what is shown."""
    if subject.reference is None:
        raise Skip("another process cannot make what this function makes: pass a class or its name")
    with subject.env() as env:
        mine = {seed: fingerprint(transcript(env, seed)) for seed in subject.paced(subject.seeds, least=1)}
    theirs = in_fresh_processes(subject.reference, subject.kwargs, tuple(mine), 0.9 * subject.seconds)
    for hash_seed, prints in theirs.items():
        for seed, ours in mine.items():
            alike = prints[str(seed)] == ours
            require(alike, f"seed {seed} differs in a process under PYTHONHASHSEED={hash_seed}")
    return f"{len(mine)} seeds, PYTHONHASHSEED {', '.join(HASH_SEEDS)}"


def unseeded_episodes_can_be_replayed(subject: Subject) -> str:
    """A reset without a seed draws one and says which: with it the episode is the same."""
    with subject.env() as env, subject.env() as other:
        env.reset(seed=0)
        for _ in range(3):
            begun = begin_record(env, env.reset())
            seed = begun["info"].get("task_seed")
            require(isinstance(seed, int), "the info of a reset does not say `task_seed`")
            again = begin_record(other, other.reset(seed=seed))
            same([begun], [again], f"the drawn seed {seed}")
    return "3 episodes"


def different_seeds_different_tasks(subject: Subject) -> str:
    """In what is shown or in what the same actions lead to; a single task cannot be shared out among splits."""
    with subject.env() as env:
        env.reset(seed=0)
        rng = np.random.default_rng(0)
        actions = [random_action(env, rng) for _ in range(6)]
        episodes = set()
        tried = 0
        for seed in subject.paced(range(MANY), least=6):
            tried += 1
            begun = to_dicts(env.reset(seed=seed)[0])
            steps = [{"shown": begun}, *replay(env, actions)]
            episodes.add(fingerprint([[step["shown"], step.get("reward")] for step in steps]))
        env.reset(seed=0)
        if len(episodes) == 1 and env.expert() is not None:
            # Random actions may find nothing out; the expert's episodes differ if the tasks do.
            played = [transcript(env, seed, expert_action) for seed in range(tried)]
            episodes = {fingerprint([texts_of(step) for step in steps]) for steps in played}
        splits = ", ".join(env.splits)
        several = len(episodes) > 1 or len(env.splits) == 1
        require(
            several, f"{tried} seeds give one and the same task, which cannot be shared out among {splits}"
        )
    return f"{len(episodes)} different episodes from {tried} seeds"


def no_global_randomness(subject: Subject) -> str:
    """Python's, NumPy's and torch's global generators are neither used nor moved."""
    kept = random.getstate(), np.random.get_state()
    try:
        with subject.env() as env:
            transcript(env, 0)
            before = generators()
            first = transcript(env, 1)
            moved = [name for name, state in generators().items() if state != before[name]]
            require(not moved, f"an episode moved the global generator of {', '.join(moved)}")
            random.seed(123)
            np.random.seed(123)
            same(first, transcript(env, 1), "an episode depends on a global generator")
    finally:
        random.setstate(kept[0])
        np.random.set_state(kept[1])
    return ", ".join(before)


def generators() -> dict[str, str]:
    """The states of the global generators, printed."""
    out = {"random": str(random.getstate()), "numpy.random": str(np.random.get_state(legacy=False)["state"])}
    if "torch" in sys.modules:
        out["torch"] = str(sys.modules["torch"].get_rng_state().tolist())
    return out


def the_async_face_shows_the_same(subject: Subject) -> str:
    """`areset` and `astep`, which the rollout manager awaits, against `reset` and `step`."""
    with subject.env() as env:
        alone = {seed: transcript(env, seed) for seed in subject.paced(subject.seeds, least=2)}

    async def play(seed: int) -> list[dict[str, Any]]:
        env = subject.make()
        try:
            out = [begin_record(env, await env.areset(seed=seed))]
            for action in actions_of(alone[seed]):
                out.append(step_record(env, action, await env.astep(action)))
                if ended(out[-1]):
                    break
            return out
        finally:
            await env.aclose()

    async def play_all() -> list[list[dict[str, Any]]]:
        return await asyncio.gather(*(play(seed) for seed in alone))

    for seed, got in zip(alone, asyncio.run(play_all()), strict=True):
        same(alone[seed], got, f"seed {seed}, awaited")
    return f"{len(alone)} episodes at once"
