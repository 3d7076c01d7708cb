"""Rules on branching: a snapshot has one future, whoever continues it and however often."""

from __future__ import annotations

import numpy as np

from agentrl.check.playing import actions_of, play_on, random_action, replay, same, transcript
from agentrl.check.subject import Skip, Subject


def snapshots_have_one_future(subject: Subject) -> str:
    """Twice from one snapshot, in a second instance, after branches that went elsewhere, beside a live branch."""
    with subject.env() as env, subject.env() as other:
        if env.fork == "none":
            raise Skip("fork = none")
        # The longest of some wandering episodes: a branch point needs something before it and after it.
        seeds = subject.paced(range(3, 9), least=1)
        plans = {seed: actions_of(transcript(env, seed, random_action)) for seed in seeds}
        seed = max(plans, key=lambda seed: len(plans[seed]))
        actions = plans[seed]
        cut = len(actions) // 2
        env.reset(seed=seed)
        replay(env, actions[:cut])
        snapshot = env.snapshot()
        key = env.state_key()
        future = replay(env, actions[cut:])
        rng = np.random.default_rng(1)
        for name, target in (("again", env), ("in a second instance", other), ("a third time", env)):
            target.restore(snapshot)
            if target.state_key() != key:
                same([{"key": key}], [{"key": target.state_key()}], f"restored {name}")
            same(future, replay(target, actions[cut:]), f"restored {name}")
            target.restore(snapshot)
            play_on(target, rng, random_action, 3)  # a branch that goes elsewhere must leave no trace
        env.restore(snapshot)
        other.restore(snapshot)
        play_on(other, rng, random_action, 2)
        same(future, replay(env, actions[cut:]), "beside a live branch")
        return f"after {cut} of {len(actions)} turns, {env.fork}"


def a_fork_can_be_forked(subject: Subject) -> str:
    """A snapshot taken after a restore leads on like the episode that was never interrupted."""
    with subject.env() as env, subject.env() as other:
        if env.fork == "none":
            raise Skip("fork = none")
        seed = subject.seeds[0]
        whole = transcript(env, seed)
        target, spare = env, other
        target.reset(seed=seed)
        for index, action in enumerate(actions_of(whole)[:6], start=1):
            spare.restore(target.snapshot())
            target, spare = spare, target
            same(whole[index : index + 1], replay(target, [action]), f"turn {index}, forked at every turn")
        return f"{min(6, len(whole) - 1)} turns, each in another instance"
