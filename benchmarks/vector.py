"""Steps a second of the games in the vector form, on one core, resets included.

An expert plays 256 environments in step, eight on each task as a group is in training; then its actions are played again
and timed, so that what is measured is the environments and not the player. The same figure for Gymnasium's own
`SyncVectorEnv` over the same environments is the baseline (it copies every observation). Seconds are processor time of this
process, which has one thread. Medians of rounds.
"""

from __future__ import annotations

import statistics
import time
from collections.abc import Callable
from typing import Any

import agentrl
from agentrl.benchmarks.harness import BenchResult, Target
from agentrl.core.catalogue import catalogue
from agentrl.core.messages import Action
from agentrl.core.vector import ToolVectorEnv

TARGET = 50_000
ENVIRONMENTS, GROUP = 256, 8


def games() -> list[str]:
    """The ids of the games that ship."""
    places = {id: str(entry.entry_point) for id, entry in sorted(catalogue().items())}
    return [id for id, place in places.items() if place.startswith("agentrl.envs.games.")]


def record(vector: ToolVectorEnv, seeds: list[int], rounds: int) -> tuple[list[list[Action]], int]:
    """What experts do in `rounds` steps of the vector, and how many turns were played."""
    vector.reset(seed=seeds)
    played: list[list[Action]] = []
    turns = 0
    for _ in range(rounds):
        actions: list[Action] = [env.expert() or "" for env in vector.envs]
        *_, infos = vector.step(actions)
        played.append(actions)
        turns += int((infos["turn"] > 0).sum())
    return played, turns


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
        vector = agentrl.make_vec(id, count)
        rates, turns_per_episode = [], 0.0
        for repeat in range(repeats):
            seeds = [1000 * repeat + i // GROUP for i in range(count)]
            played, turns = record(vector, seeds, rounds)
            fresh = agentrl.make_vec(id, count)
            took = seconds_of(lambda: fresh.reset(seed=seeds), fresh.step, played)  # noqa: B023  called at once
            fresh.close()
            rates.append(turns / took)
            turns_per_episode = turns / max(1, count * rounds - turns)
        vector.close()
        figures[f"{name}_steps_per_second"] = statistics.median(rates)
        figures[f"{name}_turns_per_episode"] = turns_per_episode
    steps = [value for name, value in figures.items() if name.endswith("steps_per_second")]
    figures["slowest_steps_per_second"], figures["median_steps_per_second"] = (
        min(steps),
        statistics.median(steps),
    )
    return BenchResult(figures, (Target("slowest_steps_per_second", ">=", TARGET),))
