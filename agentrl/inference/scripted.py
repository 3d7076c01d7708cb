"""Policies that need no model: an environment's expert, random calls, the same message for ever, a stored episode, a
person (`human`). They leave no token record, so nothing is trained on them.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np

from agentrl.core.failures import UnknownName, UserError
from agentrl.core.messages import Action, Message, as_action
from agentrl.core.tree import Episode, Turn
from agentrl.inference.human import HumanPolicy
from agentrl.inference.policy import Policy, Sampled, View
from agentrl.store.store import RunStore


class ExpertPolicy:
    """Does what the environment's expert says."""

    async def act(self, view: View) -> Sampled:
        action = view.env.expert() if view.env is not None else None
        if action is None:
            raise UserError(
                f"{subject(view)} has no expert {'here' if view.path else 'at all'} (at turn {len(view.path)}): "
                "use another policy"
            )
        return Sampled(as_action(action))


class RandomPolicy:
    """A random valid call, decided by the turn's seed alone."""

    async def act(self, view: View) -> Sampled:
        if view.env is None:
            raise UserError("a random policy needs the environment's action space")
        space = view.env.action_space
        space.seed(int(np.random.default_rng(view.seed).integers(2**31)))
        return Sampled(as_action(space.sample()))


class FixedPolicy:
    """Says the same every turn: the floor under every evaluation."""

    def __init__(self, action: Action = "") -> None:
        self.action = as_action(action)

    async def act(self, view: View) -> Sampled:
        return Sampled(self.action)


class ReplayPolicy:
    """Says again what was said.

    Args:
        actions: assistant messages of one episode, in order, said whatever is shown.
    """

    def __init__(self, actions: Sequence[Message]) -> None:
        self.actions = tuple(actions)

    async def act(self, view: View) -> Sampled:
        turn = len(view.path)
        if turn >= len(self.actions):
            raise UserError(
                f"the replayed episode has {len(self.actions)} turns; {subject(view)} asks for another"
            )
        return Sampled(self.actions[turn])


class TracePolicy:
    """Plays stored episodes again, each where it began, as long as everything is as it was.

    Args:
        episodes: stored episodes; of several that went the same way so far, the first is followed.
    """

    def __init__(self, episodes: Iterable[Episode]) -> None:
        self.starts: dict[tuple[Any, ...], list[tuple[Turn, ...]]] = {}
        for episode in episodes:
            self.starts.setdefault(bare(episode.turns[0].observation), []).append(episode.turns)

    async def act(self, view: View) -> Sampled:
        begun = view.path[0].observation if view.path else view.observation
        stored = self.starts.get(bare(begun), [])
        if not stored:
            raise UserError(f"no stored episode begins like this one of {subject(view)}")
        now = len(view.path)
        for turns in stored:
            if (
                len(turns) > now
                and all(same(a, b) for a, b in zip(view.path, turns, strict=False))
                and bare(turns[now].observation) == bare(view.observation)
            ):
                return Sampled(turns[now].action)
        raise UserError(f"{subject(view)} does not go as it was stored (at turn {now})")


def subject(view: View) -> str:
    """What a policy plays, for errors."""
    return "the environment" if view.env is None else type(view.env).__name__


def bare(messages: Sequence[Message]) -> tuple[Any, ...]:
    """What messages say, without the ids of calls."""
    return tuple((m.role, m.content, m.name) for m in messages)


def same(a: Turn, b: Turn) -> bool:
    """Whether the same was shown and said."""
    calls = [[(call.name, call.arguments) for call in turn.action.tool_calls] for turn in (a, b)]
    return (bare(a.observation), a.action.content, calls[0]) == (
        bare(b.observation),
        b.action.content,
        calls[1],
    )


def replay_of(run: str | Path) -> TracePolicy:
    """The policy that plays the episodes of a run again.

    Raises:
        UserError: no run there, or one without finished episodes.
    """
    with RunStore.open(Path(run)) as store:
        trees = [tree for _, _, tree in store.numbered_trees(store.phases())]
    episodes = [episode for tree in trees for episode in tree.episodes()]
    if not episodes:
        raise UserError(f"the run at {run} holds no finished episodes to replay")
    return TracePolicy(episodes)


POLICIES: Mapping[str, Callable[[], Policy]] = {
    "expert": ExpertPolicy,
    "random": RandomPolicy,
    "noop": FixedPolicy,
    "human": HumanPolicy,
}


def scripted_policy(name: str, *, run: str | Path | None = None) -> Policy:
    """A scripted policy by name: expert, random, noop, human; replay, of a stored run.

    Raises:
        UnknownName: with the nearest.
        UserError: replay without a run.
    """
    if name == "replay":
        if run is None:
            raise UserError("a replay needs the folder of a run")
        return replay_of(run)
    if name not in POLICIES:
        raise UnknownName("scripted policy", name, [*POLICIES, "replay"])
    return POLICIES[name]()
