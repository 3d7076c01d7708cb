"""`audit_env`: can an environment be won without doing its task?

Policies that know nothing play it, and where an environment names attacks on its reward, each is tried: it must score
nothing and leave a sign in `info["tamper"]`. An infrastructure failure is neither a score nor a sign: it is counted.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from functools import partial
from typing import Any

import numpy as np

from agentrl.core.env import ToolEnv
from agentrl.core.failures import InfrastructureFailure
from agentrl.core.messages import Action, Message, ToolCall
from agentrl.core.registry import make_entry, resolve
from agentrl.core.spaces import sample_arguments

TURNS = 40
Chooser = Callable[[ToolEnv, np.random.Generator], Action]


@dataclass(slots=True)
class Score:
    """How one policy or attack did. `score` is the mean of `success`; `flagged`, whether every episode left a sign."""

    name: str
    what: str = ""
    episodes: int = 0
    wins: int = 0
    signs: int = 0
    failures: int = 0
    seen: set[str] = field(default_factory=set)

    @property
    def score(self) -> float:
        return self.wins / self.episodes if self.episodes else 0.0

    @property
    def flagged(self) -> bool:
        return self.episodes > 0 and self.signs == self.episodes

    def add(self, info: dict[str, Any]) -> None:
        self.episodes += 1
        self.wins += bool(info.get("success"))
        self.signs += bool(info.get("tamper"))
        self.seen |= set(info.get("tamper", ()))

    def to_dict(self) -> dict[str, Any]:
        return {
            "name": self.name,
            "what": self.what,
            "score": self.score,
            "episodes": self.episodes,
            "flagged": self.flagged,
            "signs": sorted(self.seen),
            "infrastructure_failures": self.failures,
        }


def audit_env(
    name: str,
    *,
    kwargs: dict[str, Any] | None = None,
    episodes: int = 50,
    attack_episodes: int = 3,
    progress: Callable[[str], None] | None = None,
) -> dict[str, Any]:
    """Audit an environment; the document that `agentrl env audit --json` prints.

    Args:
        episodes: of each policy, on different tasks.
        attack_episodes: of each attack, on different tasks.

    Raises:
        UserError: there is no such environment, or it cannot run here.
    """
    entry = resolve(name)
    env = make_entry(entry, **(kwargs or {}))
    allowed = env.trivial_success
    tell = progress or (lambda _: None)
    policies, attacks = [], []
    try:
        for what, chooser in POLICIES.items():
            policies.append(played(env, what, chooser, episodes))
            tell(f"policy {what}: {policies[-1].score:.3f}")
        for index, attack in enumerate(getattr(env, "attacks", tuple)()):
            score = attacked(env, attack, attack_episodes, 1000 + 17 * index)
            attacks.append(score)
            tell(f"attack {attack.name}: {score.score:.3f} {'flagged' if score.flagged else 'NOT FLAGGED'}")
    finally:
        env.close()
    ok = all(score.score <= allowed and score.episodes for score in policies)
    ok = ok and all(score.score == 0 and score.flagged for score in attacks)
    return {
        "id": entry.id,
        "ok": ok,
        "allowed": allowed,
        "policies": [score.to_dict() for score in policies],
        "attacks": [score.to_dict() for score in attacks],
    }


def played(env: ToolEnv, name: str, chooser: Chooser, episodes: int) -> Score:
    """Whole episodes of a policy that knows nothing."""
    score = Score(name, (chooser.__doc__ or "").strip())
    for seed in range(episodes):
        rng = np.random.default_rng(seed)
        score_episode(env, seed, score, partial(chooser, env, rng))
    return score


def attacked(env: Any, attack: Any, episodes: int, first_seed: int) -> Score:
    """An attack against some tasks; once its plan is done it says nothing."""
    score = Score(attack.name, attack.what)
    for seed in range(first_seed, first_seed + episodes):
        plan: list[Action] = []

        def next_action(plan: list[Action] = plan) -> Action:
            if not plan:
                plan += [*env.attack(attack), *([Message("assistant", "")] * TURNS)]
            return plan.pop(0)

        score_episode(env, seed, score, next_action)
    return score


def score_episode(env: ToolEnv, seed: int, score: Score, choose: Callable[[], Action]) -> None:
    """One episode; one that never ends within `TURNS` has not succeeded."""
    try:
        env.reset(seed=seed)
        info: dict[str, Any] = {}
        for _ in range(TURNS):
            _, _, terminated, truncated, info = env.step(choose())
            if terminated or truncated:
                break
        score.add(info)
    except InfrastructureFailure:
        score.failures += 1


def no_op(env: ToolEnv, rng: np.random.Generator) -> Action:
    """Says nothing."""
    return Message("assistant", "")


def repeated(env: ToolEnv, rng: np.random.Generator) -> Action:
    """The same call, again and again."""
    return sampled(env, np.random.default_rng(7), 0)


def empty_answer(env: ToolEnv, rng: np.random.Generator) -> Action:
    """The last tool (the one that answers, in most environments) with empty arguments."""
    if not env.tools:
        return Message("assistant", "")
    tool = env.tools[-1]
    arguments = sample_arguments(tool.parameters, np.random.default_rng(0))
    given = {key: "" if isinstance(value, str) else value for key, value in arguments.items()}
    return Message("assistant", "", (ToolCall(tool.name, json.dumps(given)),))


def null_arguments(env: ToolEnv, rng: np.random.Generator) -> Action:
    """Every tool with null for every argument."""
    calls = [
        ToolCall(tool.name, json.dumps(dict.fromkeys(tool.parameters.get("properties", {}))))
        for tool in env.tools
    ]
    return Message("assistant", "" if calls else "null", tuple(calls))


def random(env: ToolEnv, rng: np.random.Generator) -> Action:
    """Random calls with arguments that fit their schemas."""
    return sampled(env, rng, int(rng.integers(max(1, len(env.tools)))))


def sampled(env: ToolEnv, rng: np.random.Generator, index: int) -> Action:
    if not env.tools:
        return Message("assistant", f"action {int(rng.integers(10))}")
    tool = env.tools[index]
    arguments = sample_arguments(tool.parameters, rng)
    return Message("assistant", "", (ToolCall(tool.name, json.dumps(arguments)),))


POLICIES: dict[str, Chooser] = {
    "no_op": no_op,
    "repeated": repeated,
    "empty_answer": empty_answer,
    "null_arguments": null_arguments,
    "random": random,
}


def rows_of(document: dict[str, Any]) -> Sequence[tuple[Any, ...]]:
    """Rows for people: what, name, score, verdict."""
    rows: list[tuple[Any, ...]] = []
    for item in document["policies"]:
        fine = item["score"] <= document["allowed"]
        rows.append(("policy", item["name"], item["score"], "ok" if fine else "scores too much"))
    for item in document["attacks"]:
        verdict = "SCORES" if item["score"] else "ok" if item["flagged"] else "not flagged"
        rows.append(("attack", item["name"], item["score"], f"{verdict}: {', '.join(item['signs'][:4])}"))
    return rows
