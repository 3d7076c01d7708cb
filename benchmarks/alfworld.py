"""ALFWorld: what a reset and a step cost, against the unmodified TextWorld engine on the same games and commands.

  make:    games drawn, proved solvable and written, as many at once as there are cores.
  reset:   of a game that is on disk but was not played in this process, the fork server running.
  first:   the first step that nobody made before, for which an engine loads the game; `live`: the others; `cached`: one that some episode has made. `plain`: the same commands in the
           unmodified engine. In alternation, a game at a time.
  group:   eight episodes of one game at once, each the expert with its own random detours, against eight processes with
           unmodified engines that are given the same commands, all at once. Both begin with imported engines.
  episodes: 64 of different games, all in the middle: the proportional set size of this process and its engines.
  fork:    a snapshot, a detour and the way back.

Times are medians in milliseconds of wall time.
"""

from __future__ import annotations

import json
import os
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import ExitStack, contextmanager
from pathlib import Path
from random import Random

from agentrl.benchmarks.harness import BenchResult, Target
from agentrl.benchmarks.memory import proportional_mb, tree
from agentrl.core.messages import text_of
from agentrl.envs.alfworld.env import ALFWorldEnv
from agentrl.envs.alfworld.generate import generate
from agentrl.envs.alfworld.graph import SHELF

GROUP, EPISODES = 8, 64
PLAIN = """
import json, sys, time, textworld
from textworld.envs import PddlEnv
from alfworld.agents.environment.alfred_tw_env import AlfredDemangler
print("ready", flush=True)
for line in sys.stdin:
    path, commands = json.loads(line)
    began = time.perf_counter()
    env = AlfredDemangler(PddlEnv(textworld.EnvInfos(admissible_commands=True)))
    env.load(path)
    env.reset()
    reset, steps = time.perf_counter() - began, []
    for command in commands:
        began = time.perf_counter()
        env.step(command)
        steps.append(time.perf_counter() - began)
    print(json.dumps([reset, steps]), flush=True)
"""


class PlainEngine:
    """The unmodified engine in a process of its own, imported."""

    def __init__(self) -> None:
        self.process = subprocess.Popen(
            [sys.executable, "-c", PLAIN],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.DEVNULL,
            text=True,
            env={**os.environ, "OMP_NUM_THREADS": "1"},
        )
        self._line()

    def play(self, path: Path, commands: list[str]) -> tuple[float, list[float]]:
        """Seconds of the reset and of each step."""
        assert self.process.stdin is not None
        self.process.stdin.write(json.dumps([str(path), commands]) + "\n")
        self.process.stdin.flush()
        reset, steps = json.loads(self._line())
        return reset, steps

    def _line(self) -> str:
        assert self.process.stdout is not None
        return self.process.stdout.readline()

    def close(self) -> None:
        self.process.kill()
        self.process.communicate()


@contextmanager
def fresh_cache() -> Iterator[Path]:
    """A cache that holds nothing yet."""
    before = os.environ.get("AGENTRL_CACHE")
    with tempfile.TemporaryDirectory(prefix="agentrl-bench-") as folder:
        os.environ["AGENTRL_CACHE"] = folder
        try:
            yield Path(folder)
        finally:
            os.environ.pop("AGENTRL_CACHE")
            if before is not None:
                os.environ["AGENTRL_CACHE"] = before


def forget() -> None:
    """No game was played in this process."""
    SHELF.rest()
    SHELF.games.clear()


def commands_of(env: ALFWorldEnv, seed: int, rng: Random | None = None, detours: float = 0.3) -> list[str]:
    """What a player does in a whole episode: the expert, with random commands in between."""
    env.reset(seed=seed)
    done, over = [], False
    while not over:
        assert env.node is not None
        command = env.expert_command() or "look"
        if rng is not None and rng.random() < detours:
            command = rng.choice(sorted(env.node.commands))
        done.append(command)
        _, _, terminated, truncated, _ = env.step(command)
        over = terminated or truncated
    return done


def replay(env: ALFWorldEnv, seed: int, commands: list[str]) -> tuple[float, list[float]]:
    """Seconds of the reset and of each step."""
    began = time.perf_counter()
    env.reset(seed=seed)
    reset, steps = time.perf_counter() - began, []
    for command in commands:
        began = time.perf_counter()
        env.step(command)
        steps.append(time.perf_counter() - began)
    return reset, steps


def steps_and_resets(games: int) -> dict[str, float]:
    figures: dict[str, list[float]] = {
        name: [] for name in ("reset", "plain_reset", "first", "live", "cached", "plain", "fork")
    }
    env, plain = ALFWorldEnv(actions="text"), PlainEngine()
    try:
        for seed in range(games):
            commands = commands_of(env, seed)
            assert env.game is not None
            path = env.game.file.path
            forget()
            reset, live = replay(env, seed, commands)
            _, cached = replay(env, seed, commands)
            plain_reset, plain_steps = plain.play(path, commands)
            began = time.perf_counter()
            env.reset(seed=seed)
            env.step(commands[0])
            here = env.snapshot()
            env.step("inventory")
            env.restore(here)
            after = text_of(env.step("look")[0])
            figures["fork"].append(time.perf_counter() - began)
            assert after
            figures["reset"].append(reset)
            figures["plain_reset"].append(plain_reset)
            figures["first"].append(live[0])
            figures["live"] += live[1:]
            figures["cached"] += cached
            figures["plain"] += plain_steps
    finally:
        env.close()
        plain.close()
    out = {f"{name}_p50_ms": 1000 * statistics.median(values) for name, values in figures.items()}
    out["plain_over_live"] = out["plain_p50_ms"] / out["live_p50_ms"]
    return out


def group_ratio(games: int) -> dict[str, float]:
    """Eight episodes of one game, ours over theirs, medians over games."""
    ours, theirs = [], []
    with ExitStack() as stack:
        engines = [PlainEngine() for _ in range(GROUP)]
        for engine in engines:
            stack.callback(engine.close)
        envs = [ALFWorldEnv(actions="text") for _ in range(GROUP)]
        for env in envs:
            stack.callback(env.close)
        pool = stack.enter_context(ThreadPoolExecutor(GROUP))
        for seed in range(100, 100 + games):
            played = [commands_of(envs[0], seed, Random(player)) for player in range(GROUP)]
            assert envs[0].game is not None
            path = envs[0].game.file.path
            forget()
            began = time.perf_counter()
            list(pool.map(lambda env, commands: replay(env, seed, commands), envs, played))  # noqa: B023  at once
            ours.append(time.perf_counter() - began)
            began = time.perf_counter()
            list(pool.map(lambda engine, commands: engine.play(path, commands), engines, played))  # noqa: B023
            theirs.append(time.perf_counter() - began)
    ratios = [other / mine for mine, other in zip(ours, theirs, strict=True)]
    return {
        "group_of_8_seconds": statistics.median(ours),
        "eight_plain_engines_seconds": statistics.median(theirs),
        "group_of_8_speedup": statistics.median(ratios),
    }


def memory(episodes: int) -> float:
    """MB of so many episodes of different games that are being played."""
    forget()
    envs = [ALFWorldEnv(actions="text", engines=episodes) for _ in range(episodes)]
    try:
        for seed, env in enumerate(envs):
            env.reset(seed=seed)
        for _ in range(3):
            for env in envs:
                env.step(env.expert_command() or "look")
        return proportional_mb([os.getpid(), *tree(os.getpid())])
    finally:
        for env in envs:
            env.close()


def run(quick: bool = False) -> BenchResult:
    with fresh_cache():
        made = generate("train", 24 if quick else 96)
        figures = {"make_1000_games_seconds": 1000 * made.seconds / made.games}
        figures |= steps_and_resets(4 if quick else 12)
        figures |= group_ratio(2 if quick else 5)
        episodes = 16 if quick else EPISODES
        figures["episodes"] = episodes
        figures["episodes_mb"] = memory(episodes)
    return BenchResult(
        figures,
        (
            Target("make_1000_games_seconds", "<", 480),
            Target("reset_p50_ms", "<", 20),
            Target("live_p50_ms", "<", 80),
            Target("cached_p50_ms", "<", 0.2),
            Target("group_of_8_speedup", ">=", 4),
            Target("episodes_mb", "<", 2500),
        ),
    )
