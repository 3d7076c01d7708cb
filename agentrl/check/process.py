"""Transcripts from fresh processes, under other hash seeds."""

from __future__ import annotations

import contextlib
import json
import os
import signal
import subprocess
import sys
import tempfile
import time
from collections.abc import Mapping, Sequence
from typing import IO, Any

from agentrl.check.playing import Broken

HASH_SEEDS = ("0", "1", "2")
MARK = "agentrl-check: "  # an environment may print something of its own
PROGRAM = f"""
import json, sys
name, kwargs, seeds, path = json.loads(sys.argv[1])
sys.path[:] = path
from agentrl.check.playing import fingerprint, transcript
from agentrl.core.registry import make
env = make(name, **kwargs)
prints = {{str(seed): fingerprint(transcript(env, seed)) for seed in seeds}}
env.close()
print({MARK!r} + json.dumps(prints))
"""


def in_fresh_processes(
    name: str, kwargs: Mapping[str, Any], seeds: Sequence[int], seconds: float
) -> dict[str, dict[str, str]]:
    """Fingerprints of the episodes by seed, from one fresh process for each hash seed; all run at once.

    Raises:
        Broken: a process fails or does not end in time; none is left behind.
    """
    argument = json.dumps([name, kwargs, list(seeds), sys.path])
    deadline = time.monotonic() + seconds
    with contextlib.ExitStack() as stack:
        running = {hash_seed: stack.enter_context(Fresh(argument, hash_seed)) for hash_seed in HASH_SEEDS}
        return {hash_seed: fresh.result(deadline) for hash_seed, fresh in running.items()}


class Fresh:
    """A fresh process. What it says goes to files: a child that it leaves behind would keep a pipe open."""

    def __init__(self, argument: str, hash_seed: str) -> None:
        self.hash_seed = hash_seed
        self.files = contextlib.ExitStack()
        self.out, self.err = self.file(), self.file()
        self.child = subprocess.Popen(
            [sys.executable, "-c", PROGRAM, argument],
            env={**os.environ, "PYTHONHASHSEED": hash_seed},
            stdin=subprocess.DEVNULL,
            stdout=self.out,
            stderr=self.err,
            start_new_session=True,
        )

    def file(self) -> IO[str]:
        return self.files.enter_context(tempfile.TemporaryFile("w+", errors="replace"))

    def __enter__(self) -> Fresh:
        return self

    def __exit__(self, *error: object) -> None:
        with contextlib.suppress(ProcessLookupError):  # the usual case: it and all of its children are gone
            os.killpg(self.child.pid, signal.SIGKILL)
        self.child.wait()
        self.files.close()

    def result(self, deadline: float) -> dict[str, str]:
        where = f"in a fresh process under PYTHONHASHSEED={self.hash_seed}"
        try:
            self.child.wait(timeout=max(0.0, deadline - time.monotonic()))
        except subprocess.TimeoutExpired:
            raise Broken(f"{where}: no end in time") from None
        self.out.seek(0)
        self.err.seek(0)
        lines = [line for line in self.out.read().splitlines() if line.startswith(MARK)]
        if self.child.returncode != 0 or not lines:
            said = self.err.read().strip().splitlines() or [f"exit code {self.child.returncode}"]
            raise Broken(f"{where}: {said[-1][:300]}")
        return json.loads(lines[-1].removeprefix(MARK))
