"""What a sandbox costs, on each backend that works here, beside what the backend costs without us.

For each backend (milliseconds, medians): `start`; `acquire` from a warm pool; `exec` of `true` and of `python3 -c pass`;
a call of an open Python session; `fork` of a workspace of 50 files and 1 MB, from a warm pool; `episode`: a task of `Code-v0`
written, submitted and graded in a second sandbox. Baselines in the same run, in alternation with ours: `raw_python`, the
same `python3 -c pass` by the backend's own means (`docker exec`, a `bwrap` of its own), and `docker run --rm` for each
call. `exec_over_raw` is the ratio of the two; `output_rss_mb`, what 300 MB of output add to this process.
"""

from __future__ import annotations

import asyncio
import resource
import statistics
import subprocess
import time
from collections.abc import Awaitable, Callable
from pathlib import Path

from agentrl.benchmarks.harness import BenchResult, Target
from agentrl.core.failures import AgentRLError
from agentrl.core.registry import make
from agentrl.sandboxes.backends import backend
from agentrl.sandboxes.base import Backend, Sandbox, SandboxSpec
from agentrl.sandboxes.image import DEFAULT
from agentrl.sandboxes.pool import Pool
from agentrl.tools.repl import PythonSession

PYTHON = ["python3", "-c", "pass"]
RAW_BWRAP = [
    "bwrap",
    "--unshare-all",
    "--ro-bind",
    "/usr",
    "/usr",
    "--symlink",
    "usr/bin",
    "/bin",
    "--symlink",
]
RAW_BWRAP += ["usr/lib", "/lib", "--symlink", "usr/lib64", "/lib64", "--proc", "/proc", "--dev", "/dev"]
RAW_BWRAP += ["--tmpfs", "/tmp", "--"]
RUN = ["docker", "run", "--rm", "--network", "none", DEFAULT]
TARGETS = (
    ("acquire_ms", {"bubblewrap": 5.0, "docker": 5.0}),
    ("exec_over_raw", {"bubblewrap": 1.1, "docker": 1.1}),
    ("python_ms", {"bubblewrap": 60.0}),
    ("session_ms", {"docker": 20.0, "bubblewrap": 20.0}),
    ("fork_ms", {"bubblewrap": 50.0, "docker": 600.0}),
    ("output_rss_mb", {"bubblewrap": 20.0, "docker": 20.0}),
)


def run(*, quick: bool = False) -> BenchResult:
    """Measure every backend that works here; one that does not is left out, and its targets fall short."""
    figures: dict[str, float] = {}
    for name in ("bubblewrap", "docker"):
        try:
            asyncio.run(backend(name).check(SandboxSpec()))
        except AgentRLError:
            continue
        measured = asyncio.run(measure(backend(name), 5 if quick else 30))
        figures |= {f"{name}_{key}": round(value, 3) for key, value in measured.items()}
    targets = [
        Target(f"{name}_{figure}", "<=", limit)
        for figure, limits in TARGETS
        for name, limit in limits.items()
    ]
    return BenchResult(figures, tuple(targets))


async def measure(some: Backend, rounds: int) -> dict[str, float]:
    spec = SandboxSpec()
    figures = {"start_ms": await starts(some, spec, max(3, rounds // 5))}
    pool = Pool(some, spec, warm=3, limit=8)
    try:
        box = await pool.acquire()
        figures["acquire_ms"] = await acquired(pool, rounds)
        figures["true_ms"] = await median(lambda: box.exec("true"), rounds)
        ours, raw = await against_raw(box, some.name, rounds)
        figures |= {"python_ms": ours, "raw_python_ms": raw, "exec_over_raw": ours / raw}
        session = PythonSession(lambda: given(box))
        await session.run("x = 0")
        figures["session_ms"] = await median(lambda: session.run("x += 1"), rounds)
        figures["fork_ms"] = await forked(pool, box, max(3, rounds // 3))
        before = peak_mb()
        result = await box.exec("head -c 300000000 /dev/zero | tr '\\0' x", timeout=60)
        assert result.truncated_bytes > 299_000_000
        figures["output_rss_mb"] = peak_mb() - before
    finally:
        await pool.close()
    figures["episode_ms"] = await episodes(some.name, max(3, rounds // 3))
    if some.name == "docker":
        figures["run_per_call_ms"] = statistics.median(
            outside([*RUN, *PYTHON]) for _ in range(max(3, rounds // 6))
        )
        figures["run_over_exec"] = figures["run_per_call_ms"] / figures["python_ms"]
    return figures


async def given(box: Sandbox) -> Sandbox:
    return box


async def median(call: Callable[[], Awaitable[object]], rounds: int) -> float:
    """Milliseconds."""
    times = []
    for _ in range(rounds):
        began = time.perf_counter()
        await call()
        times.append(1000 * (time.perf_counter() - began))
    return statistics.median(times)


async def starts(some: Backend, spec: SandboxSpec, rounds: int) -> float:
    times = []
    for _ in range(rounds):
        began = time.perf_counter()
        box = await some.start(spec)
        times.append(1000 * (time.perf_counter() - began))
        await box.close()
    return statistics.median(times)


async def acquired(pool: Pool, rounds: int) -> float:
    """Each acquisition with spares ready, as between the turns of real episodes."""
    times = []
    for _ in range(rounds):
        while not pool.spares:
            await asyncio.sleep(0.01)
        began = time.perf_counter()
        box = await pool.acquire()
        times.append(1000 * (time.perf_counter() - began))
        await pool.release(box)
    return statistics.median(times)


async def against_raw(box: Sandbox, name: str, rounds: int) -> tuple[float, float]:
    """`python3 -c pass` through the supervisor and by the backend's own means, in alternation."""
    raw_command = [*RAW_BWRAP, *PYTHON] if name == "bubblewrap" else ["docker", "exec", box.id, *PYTHON]
    ours, raw = [], []
    for _ in range(rounds):
        ours.append(await median(lambda: box.exec(PYTHON), 1))
        raw.append(await asyncio.to_thread(outside, raw_command))
    return statistics.median(ours), statistics.median(raw)


def outside(command: list[str]) -> float:
    """Milliseconds of a command of this machine."""
    began = time.perf_counter()
    subprocess.run(command, stdin=subprocess.DEVNULL, capture_output=True, check=True, timeout=60)
    return 1000 * (time.perf_counter() - began)


async def forked(pool: Pool, box: Sandbox, rounds: int) -> float:
    for index in range(50):
        await box.write(f"folder{index % 5}/file{index}", b"x" * 20_000)
    times = []
    for _ in range(rounds):
        while not pool.spares:
            await asyncio.sleep(0.01)
        began = time.perf_counter()
        (child,) = await box.fork(1)
        times.append(1000 * (time.perf_counter() - began))
        assert len(await child.list()) == 55
        await child.close()
    return statistics.median(times)


async def episodes(name: str, rounds: int) -> float:
    """The expert's whole episodes; the first one, which fills the pool, is not counted."""
    env = make("Code-v0", sandbox=name)
    times = []
    try:
        for seed in range(rounds + 1):
            began = time.perf_counter()
            await env.areset(seed=seed)
            done = False
            while not done:
                action = env.expert()
                assert action is not None
                _, _, terminated, truncated, _ = await env.astep(action)
                done = terminated or truncated
            times.append(1000 * (time.perf_counter() - began))
    finally:
        await env.aclose()
    return statistics.median(times[1:])


def peak_mb() -> float:
    """The most memory that this process has had, in MiB."""
    own = Path("/proc/self/status").read_text() if Path("/proc/self/status").is_file() else ""
    for line in own.splitlines():
        if line.startswith("VmHWM"):
            return int(line.split()[1]) / 1024
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024
