"""Steps a second of the games in the vector form, on one core, resets included.

An expert plays 256 environments in step, eight on each task as a group is in training; then its actions are played again
and timed, with no task drawn before, so that what is measured is the environments and not the player. Seconds are processor
time of this process, which has one thread. Medians of rounds.
"""

from __future__ import annotations

import statistics
import time
from collections.abc import Callable
from functools import partial
from typing import Any

import agentrl
from agentrl.benchmarks.harness import BenchResult, Target
from agentrl.core.catalogue import catalogue
from agentrl.core.messages import Action
from agentrl.core.vector import ToolVectorEnv
from agentrl.envs.games.drawing import forget

TARGET = 50_000
ENVIRONMENTS, GROUP = 256, 8


def games() -> list[str]:
    """The ids of the games that ship."""
    places = {id: str(entry.entry_point) for id, entry in sorted(catalogue().items())}
    return [id for id, place in places.items() if place.startswith("agentrl.envs.games.")]


def record(vector: ToolVectorEnv, seeds: list[int], rounds: int) -> tuple[list[list[Action]], int]:
    """What experts do in `rounds` steps of the vector, and how many episodes ended."""
    vector.reset(seed=seeds)
    played: list[list[Action]] = []
    ended = 0
    for _ in range(rounds):
        actions: list[Action] = [env.expert() or "" for env in vector.envs]
        _, _, terminations, truncations, _ = vector.step(actions)
        played.append(actions)
        ended += int((terminations | truncations).sum())
    return played, ended


def seconds_of(
    reset: Callable[[], Any], step: Callable[[list[Action]], Any], played: list[list[Action]]
) -> float:
    began = time.process_time()
    reset()
    for actions in played:
        step(actions)
    return time.process_time() - began


def run(quick: bool = False) -> BenchResult:
    figures: dict[str, float] = {}
    count, rounds, repeats = (64, 20, 2) if quick else (ENVIRONMENTS, 40, 5)
    for id in games():
        name = id.partition("/")[2].partition("-")[0]
        rates, turns_per_episode = [], []
        for repeat in range(repeats):
            seeds = [1000 * repeat + i // GROUP for i in range(count)]
            vector = agentrl.make_vec(id, count, autoreset_mode="SameStep")
            played, ended = record(vector, seeds, rounds)
            forget()
            took = seconds_of(partial(vector.reset, seed=seeds), vector.step, played)
            vector.close()
            rates.append(count * rounds / took)
            turns_per_episode.append(count * rounds / max(1, ended))
        figures[f"{name}_steps_per_second"] = statistics.median(rates)
        figures[f"{name}_turns_per_episode"] = statistics.median(turns_per_episode)
    steps = [value for name, value in figures.items() if name.endswith("steps_per_second")]
    figures["slowest_steps_per_second"], figures["median_steps_per_second"] = (
        min(steps),
        statistics.median(steps),
    )
    return BenchResult(figures, (Target("slowest_steps_per_second", ">=", TARGET),))
