"""MiniWoB++ in one Chromium: how long a reset and a step take, what sixteen pages cost, and whether seeds hold.

Times are of single awaits in this process, one episode at a time: medians and 99th percentiles in milliseconds over the
tasks that have an expert. Memory is the proportional set size of this process's children (the browser with its renderers,
and Playwright's driver) with sixteen contexts in the middle of an episode. `tasks_deterministic` counts the tasks that
reset twice to the same text with one seed and answer a step; `tasks_varied` those that another seed changes.
"""

from __future__ import annotations

import asyncio
import os
import statistics
import time
from collections.abc import Sequence

from agentrl.benchmarks.harness import BenchResult, Target
from agentrl.benchmarks.memory import proportional_mb, tree
from agentrl.core.messages import call, text_of
from agentrl.envs.web.miniwob.env import MiniWobEnv

CONTEXTS = 16


async def episodes(count: int) -> dict[str, float]:
    """The expert, one episode after the other."""
    env = MiniWobEnv()
    await env.areset(seed=0)  # starts the browser
    resets, steps, solved = [], [], 0
    for seed in range(count):
        began = time.perf_counter()
        await env.areset(seed=seed)
        resets.append(time.perf_counter() - began)
        ended = False
        while not ended:
            action = env.expert()
            assert action is not None
            began = time.perf_counter()
            _, _, terminated, truncated, info = await env.astep(action)
            steps.append(time.perf_counter() - began)
            ended = terminated or truncated
        solved += info["success"]
    await env.aclose()
    return {
        "expert_success": solved / count,
        "reset_p50_ms": 1000 * statistics.median(resets),
        "reset_p99_ms": 1000 * statistics.quantiles(resets, n=100)[98],
        "step_p50_ms": 1000 * statistics.median(steps),
        "step_p99_ms": 1000 * statistics.quantiles(steps, n=100)[98],
    }


async def memory() -> dict[str, float]:
    """Sixteen contexts of one browser, each in an episode of its own."""
    envs = [MiniWobEnv() for _ in range(CONTEXTS)]
    await asyncio.gather(*(env.areset(seed=seed) for seed, env in enumerate(envs)))
    await asyncio.gather(*(env.astep(call("wait", ms=0)) for env in envs))
    used = proportional_mb(tree(os.getpid()))
    await asyncio.gather(*(env.aclose() for env in envs))
    return {"contexts": CONTEXTS, "pss_mb": used}


async def seeds(tasks: Sequence[str]) -> dict[str, float]:
    """Every task: the same seed twice, another one, a step."""
    env = MiniWobEnv(tasks="all")
    good = varied = 0
    for name in tasks:
        env.tasks = (name,)
        one, again, other = [text_of((await env.areset(seed=seed))[0]) for seed in (1, 1, 2)]
        await env.astep(call("click", id=1))
        good += one == again
        varied += one != other
    await env.aclose()
    return {"tasks_deterministic": good, "tasks_varied": varied}


def run(*, quick: bool = False) -> BenchResult:
    figures = asyncio.run(episodes(76 if quick else 228)) | asyncio.run(memory())
    targets = [
        Target("expert_success", ">=", 0.95),
        Target("step_p50_ms", "<", 60),
        Target("reset_p50_ms", "<", 100),
        Target("pss_mb", "<", 2500),
    ]
    if not quick:
        figures |= asyncio.run(seeds(MiniWobEnv(tasks="all").tasks))
        targets.append(Target("tasks_deterministic", ">=", 110))
    return BenchResult(figures, tuple(targets))
