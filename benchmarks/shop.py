"""Steps a second of `Shop-v0` on one core: `env.step` with real actions of whole episodes, recorded before.

The episodes are mixed: of every four, two are the expert's, one is hasty (buys the first product found) and one clicks
on random labels, so that all pages are seen. Each shape of action is measured twice:
  first:  every task for the first time in the process, all caches of the shop empty: each search is made, each page written;
  again:  the same again, as the later episodes of a group of one task are.
`groups_of_8` is what these two make together where eight episodes of each task are played, as in training. `reset` is timed
apart. Seconds are processor time of this process, which has one thread: what a core does, whoever else uses the
machine. Medians of rounds.
"""

from __future__ import annotations

import statistics
import time
from dataclasses import dataclass

import numpy as np

import agentrl
from agentrl.benchmarks.harness import BenchResult, Target
from agentrl.core.messages import Action, assistant, call
from agentrl.envs.shop import fuzzy, machine, reward, text
from agentrl.envs.shop.catalogue import made_shop
from agentrl.envs.shop.demonstrate import available
from agentrl.envs.shop.env import Actions, ShopEnv

TARGET = 20_000


@dataclass(frozen=True, slots=True)
class Episode:
    seed: int
    actions: tuple[Action, ...]


def record(actions: Actions, episodes: int) -> list[Episode]:
    """Whole episodes of three kinds of players, one task each."""
    env, out = make(actions), []
    for seed in range(episodes):
        env.reset(seed=seed)
        rng = np.random.default_rng(seed)
        played: list[Action] = []
        for _ in range(env.max_turns or 20):
            played.append(choose(env, seed % 4, rng))
            *_, terminated, truncated, _ = env.step(played[-1])
            if terminated or truncated:
                break
        out.append(Episode(seed, tuple(played)))
    return out


def choose(env: ShopEnv, player: int, rng: np.random.Generator) -> Action:
    labels = available(env.shop, env.state)
    if player < 2 or (player == 3 and not labels):
        return env.expert()
    if player == 2:
        return env.hasty_expert()
    label = labels[int(rng.integers(len(labels)))]
    return assistant(f"click[{label}]") if env.actions == "text" else call("click", target=label)


def make(actions: Actions) -> ShopEnv:
    env = agentrl.make("Shop-v0", actions=actions)
    assert isinstance(env, ShopEnv)
    return env


def forget() -> None:
    """Empty every cache, so that the next episodes are as the first ones of a process."""
    made_shop.cache_clear()
    for module in (machine, text, fuzzy, reward):
        for cached in vars(module).values():
            if hasattr(cached, "cache_clear"):
                cached.cache_clear()


def play(env: ShopEnv, episodes: list[Episode]) -> tuple[float, float]:
    """(steps a second, milliseconds of a reset)."""
    stepping = resetting = 0.0
    for episode in episodes:
        began = time.process_time()
        env.reset(seed=episode.seed)
        ready = time.process_time()
        for action in episode.actions:
            env.step(action)
        stepping += time.process_time() - ready
        resetting += ready - began
    steps = sum(len(episode.actions) for episode in episodes)
    return steps / stepping, 1000 * resetting / len(episodes)


def run(quick: bool = False) -> BenchResult:
    figures: dict[str, float] = {}
    for actions in ("tools", "text"):
        episodes = record(actions, 200 if quick else 1000)
        first, again = [], []
        for _ in range(2 if quick else 5):
            forget()
            env = make(actions)
            first.append(play(env, episodes))
            again.append(play(env, episodes))
        for name, rounds in (("first", first), ("again", again)):
            figures[f"{actions}_{name}_steps_per_second"] = statistics.median(rate for rate, _ in rounds)
            figures[f"{actions}_{name}_reset_ms"] = statistics.median(ms for _, ms in rounds)
        figures[f"{actions}_groups_of_8_steps_per_second"] = statistics.median(
            8 / (1 / one + 7 / other) for (one, _), (other, _) in zip(first, again, strict=True)
        )
        figures[f"{actions}_turns_per_episode"] = statistics.mean(len(one.actions) for one in episodes)
    began = time.process_time()
    forget()
    made_shop(0, 3000)
    figures["catalogue_seconds"] = time.process_time() - began
    targets = [
        Target(f"{actions}_groups_of_8_steps_per_second", ">=", TARGET) for actions in ("tools", "text")
    ]
    return BenchResult(figures, tuple(targets))
