"""What an environment costs: times of reset, step and fork, and memory."""

from __future__ import annotations

import time
from pathlib import Path
from typing import Any

import numpy as np

from agentrl.check.playing import expert_or_random
from agentrl.core.registry import make_entry, resolve

EPISODES = 200
SECONDS = 10.0  # the most that is spent on one environment


def bench_env(name: str, *, kwargs: dict[str, Any] | None = None) -> dict[str, Any]:
    """Measure one environment; the document that `agentrl env bench --json` prints.

    Figures: `make_p50_ms`, and p50 and p99 in milliseconds of `reset`, `step` and `fork` (snapshot and restore);
    `rss_mb`, the memory that eight live instances add, each.
    """
    entry = resolve(name)
    given = dict(kwargs or {})
    before = resident_mb()
    made = []
    live = []
    for _ in range(8):
        began = time.perf_counter()
        live.append(make_entry(entry, **given))
        made.append(time.perf_counter() - began)
        live[-1].reset(seed=len(live))
    memory = (resident_mb() - before) / len(live)
    env = live[0]
    rng = np.random.default_rng(0)
    times: dict[str, list[float]] = {"reset": [], "step": [], "fork": []}
    deadline = time.perf_counter() + SECONDS
    for seed in range(EPISODES):
        if time.perf_counter() > deadline:
            break
        timed(times["reset"], lambda seed=seed: env.reset(seed=seed))
        for _ in range(40):
            action = expert_or_random(env, rng)
            result = timed(times["step"], lambda action=action: env.step(action))
            if result[2] or result[3]:
                break
        if env.fork != "none":
            env.reset(seed=seed)
            timed(times["fork"], lambda: env.restore(env.snapshot()))
    for one in live:
        one.close()
    figures = {"make_p50_ms": 1000 * float(np.median(made)), "rss_mb": max(0.0, memory)}
    for name_, values in times.items():
        if values:
            figures[f"{name_}_p50_ms"] = 1000 * float(np.quantile(values, 0.5))
            figures[f"{name_}_p99_ms"] = 1000 * float(np.quantile(values, 0.99))
    return {"id": entry.id, "figures": {key: round(value, 4) for key, value in figures.items()}}


def timed(times: list[float], function: Any) -> Any:
    began = time.perf_counter()
    result = function()
    times.append(time.perf_counter() - began)
    return result


def resident_mb() -> float:
    """Resident memory of this process, in MiB."""
    status = Path("/proc/self/status")
    for line in status.read_text().splitlines() if status.is_file() else []:
        if line.startswith("VmRSS"):
            return int(line.split()[1]) / 1024
    return 0.0
