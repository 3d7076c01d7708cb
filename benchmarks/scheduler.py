"""What the rollout manager costs, and how well it keeps an engine busy while environments straggle.

(a) `turns_per_second`: an instant policy and a no-op inline environment, real time, one core.
(b) Simulated time, 64 episodes of 8 turns, environment latencies log-normal (median 0.5 s, sigma 1.5: one step in a
    hundred takes over 16 s). The simulated engine serves all requests that it holds together, one token a step, a
    step of batch b taking 20 ms + 0.1 ms * b. Three schedules of the very same latencies and lengths:
      manager:   `agentrl.rollout.collect`, unchanged;
      ideal:     a lower bound of the makespan of any schedule, which even the best one need not reach: the larger of
                 all the engine's work in full batches and the longest episode alone;
      lock-step: wait for all environments, then one engine batch, then all environments again.
    `engine_busy_fraction` is the share of the manager's time in which the engine works. The same work in the ideal time
    would keep it busy for more of it: `engine_busy_fraction_of_ideal` is the ideal time by the manager's.
    `throughput_vs_lockstep` compares the times of these two. Medians over seeds.
"""

from __future__ import annotations

import asyncio
import statistics
import time

import numpy as np

from agentrl.benchmarks.harness import BenchResult, Target
from agentrl.core.catalogue import register
from agentrl.core.env import ToolEnv
from agentrl.core.messages import call, text_of
from agentrl.core.tool import tool
from agentrl.core.tree import Task
from agentrl.inference.policy import Sampled, View
from agentrl.rollout import RolloutSettings, collect
from agentrl.rollout.simulation import run_simulated

EPISODES, TURNS = 64, 8
BASE, PER_ROW = 0.020, 0.0001
GO = call("go")


class Noop(ToolEnv):
    """Does nothing, at once."""

    safety = "inline"
    max_turns = 50

    def task(self) -> str:
        return "go"

    @tool
    def go(self) -> str:
        """Go on."""
        return "on"


class Instant:
    """A policy that answers at once."""

    async def act(self, view: View) -> Sampled:
        return Sampled(GO, (1,), (2,), (-0.5,))


def turns_per_second(tasks: int) -> float:
    register("bench/Noop-v0", Noop)
    work = [Task("bench/Noop-v0", seed) for seed in range(tasks)]
    began = time.perf_counter()
    rollouts = asyncio.run(collect(work, Instant(), RolloutSettings()))
    return rollouts.stats.turns / (time.perf_counter() - began)


class Latencies:
    """Seconds of every environment step and tokens of every turn, shape (episodes, turns)."""

    def __init__(self, seed: int) -> None:
        rng = np.random.default_rng(seed)
        self.step = rng.lognormal(np.log(0.5), 1.5, (EPISODES, TURNS))
        self.tokens = rng.integers(8, 33, (EPISODES, TURNS))


class Straggler(ToolEnv):
    """Each step takes its own time."""

    safety = "async"
    max_turns = TURNS

    def __init__(self, latencies: Latencies) -> None:
        super().__init__()
        self.latencies = latencies

    def task(self) -> str:
        return str(self.task_seed)

    @tool
    async def go(self) -> str:
        """Go on."""
        await asyncio.sleep(float(self.latencies.step[self.task_seed, self.turn]))
        return "on"


class BatchEngine:
    """The simulated engine as a policy; counts the time in which it works."""

    def __init__(self, latencies: Latencies) -> None:
        self.latencies, self.busy = latencies, 0.0
        self._active: dict[asyncio.Future[None], int] = {}
        self._arrived: dict[asyncio.Future[None], int] = {}
        self._runner: asyncio.Task[None] | None = None

    async def act(self, view: View) -> Sampled:
        episode = int(text_of(view.path[0].observation if view.path else view.observation))
        future: asyncio.Future[None] = asyncio.get_running_loop().create_future()
        self._arrived[future] = int(self.latencies.tokens[episode, len(view.path)])
        if self._runner is None:
            self._runner = asyncio.ensure_future(self._serve())
        await future
        return Sampled(GO, (1,), (2,), (-0.5,))

    async def _serve(self) -> None:
        while self._active or self._arrived:
            self._active |= self._arrived
            self._arrived = {}
            seconds = BASE + PER_ROW * len(self._active)
            await asyncio.sleep(seconds)
            self.busy += seconds
            for future in list(self._active):
                self._active[future] -= 1
                if self._active[future] == 0:
                    del self._active[future]
                    future.set_result(None)
        self._runner = None


def with_manager(latencies: Latencies) -> tuple[float, float]:
    """(seconds to finish, seconds the engine worked)."""
    engine = BatchEngine(latencies)

    register("bench/Straggler-v0", Straggler)
    settings = RolloutSettings(concurrency=EPISODES, step_seconds=1e6, generate_seconds=1e6)
    tasks = [Task("bench/Straggler-v0", seed, kwargs={"latencies": latencies}) for seed in range(EPISODES)]
    rollouts, seconds = run_simulated(collect(tasks, engine, settings))
    assert rollouts.stats.turns == EPISODES * TURNS
    return seconds, engine.busy


def ideal(latencies: Latencies) -> float:
    """Seconds in which no schedule can be finished sooner: the engine has all the tokens to sample, at best in batches
    of everybody; and every episode has its own turns, one after the other, at best alone in the engine."""
    engine = float(latencies.tokens.sum()) * (BASE / EPISODES + PER_ROW)
    chains = (latencies.tokens * (BASE + PER_ROW) + latencies.step).sum(axis=1)
    return max(engine, float(chains.max()))


def lock_step(latencies: Latencies) -> tuple[float, float]:
    """Everybody waits for everybody, every turn."""
    now = busy = 0.0
    for turn in range(TURNS):
        left = latencies.tokens[:, turn].copy()
        while (left > 0).any():
            seconds = BASE + PER_ROW * int((left > 0).sum())
            now, busy, left = now + seconds, busy + seconds, left - 1
        now += float(latencies.step[:, turn].max())
    return now, busy


def run(quick: bool = False) -> BenchResult:
    rates = [turns_per_second(40 if quick else 400) for _ in range(1 if quick else 5)]
    fractions, speedups, busies = [], [], []
    for seed in range(3 if quick else 15):
        latencies = Latencies(seed)
        seconds, busy = with_manager(latencies)
        slow_seconds, _ = lock_step(latencies)
        fractions.append(ideal(latencies) / seconds)
        busies.append(busy / seconds)
        speedups.append(slow_seconds / seconds)
    figures = {
        "turns_per_second": statistics.median(rates),
        "engine_busy_fraction_of_ideal": statistics.median(fractions),
        "engine_busy_fraction_of_ideal_min": min(fractions),
        "engine_busy_fraction": statistics.median(busies),
        "throughput_vs_lockstep": statistics.median(speedups),
        "throughput_vs_lockstep_min": min(speedups),
    }
    targets = (
        Target("turns_per_second", ">=", 5000),
        Target("engine_busy_fraction_of_ideal", ">=", 0.95),
        Target("throughput_vs_lockstep", ">=", 1.8),
    )
    return BenchResult(figures, targets)
