"""Looking at processes: transcripts from fresh ones under other hash seeds, and what this one holds open."""

from __future__ import annotations

import gc
import json
import os
import subprocess
import sys
import threading
import time
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from agentrl.check.playing import Broken

HASH_SEEDS = ("1", "2")
DEADLINE = 120.0  # seconds for one process

PROGRAM = """
import json, sys
from agentrl.check.playing import fingerprint, transcript
from agentrl.core.registry import make
name, kwargs, seeds, path = json.loads(sys.argv[1])
sys.path[:0] = path
env = make(name, **kwargs)
print(json.dumps({str(seed): fingerprint(transcript(env, seed)) for seed in seeds}))
env.close()
"""


def other_processes(name: str, kwargs: dict[str, Any], seeds: Sequence[int]) -> dict[str, dict[str, str]]:
    """Fingerprints of the episodes by seed, from one fresh process for each hash seed.

    Raises:
        Broken: a process fails or does not end.
    """
    out = {}
    argument = json.dumps([name, kwargs, list(seeds), [p for p in sys.path if p]])
    for hash_seed in HASH_SEEDS:
        try:
            done = subprocess.run(
                [sys.executable, "-c", PROGRAM, argument],
                env={**os.environ, "PYTHONHASHSEED": hash_seed},
                capture_output=True,
                text=True,
                timeout=DEADLINE,
                check=False,
            )
        except subprocess.TimeoutExpired:
            raise Broken(
                f"a process under PYTHONHASHSEED={hash_seed} did not end within {DEADLINE:g} s"
            ) from None
        if done.returncode != 0:
            raise Broken(f"in a fresh process: {(done.stderr.strip().splitlines() or ['it died'])[-1]}")
        out[hash_seed] = json.loads(done.stdout.strip().splitlines()[-1])
    return out


def resources(patience: float = 3.0) -> dict[str, int]:
    """How many threads, open files and child processes this process has; threads that are ending are waited for."""
    gc.collect()
    lowest = count()
    deadline = time.monotonic() + patience
    while time.monotonic() < deadline:
        now = count()
        if now == lowest:
            break
        lowest = {name: min(lowest[name], now[name]) for name in now}
        time.sleep(0.05)
    return lowest


def count() -> dict[str, int]:
    out = {"threads": threading.active_count()}
    files = Path("/proc/self/fd")
    if files.is_dir():
        out["open files"] = len(list(files.iterdir()))
    children = Path(f"/proc/self/task/{os.getpid()}/children")
    if children.is_file():
        out["child processes"] = len(children.read_text().split())
    return out
