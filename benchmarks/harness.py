"""What a benchmark is, and how it is run: figures, held against targets, with the machine and the versions."""

from __future__ import annotations

import importlib
import importlib.metadata
import operator
import os
import pkgutil
import platform
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Literal, TypeAlias

import agentrl.benchmarks
from agentrl.core.failures import UnknownName

Op: TypeAlias = Literal[">=", "<=", ">", "<"]
OPS: dict[str, Callable[[float, float], bool]] = {
    ">=": operator.ge,
    "<=": operator.le,
    ">": operator.gt,
    "<": operator.lt,
}
PACKAGES = (
    "agentrl-toolkit",
    "docker",
    "torch",
    "transformers",
    "renderers",
    "gymnasium",
    "numpy",
    "tantivy",
    "bm25s",
    "textworld",
    "alfworld",
    "playwright",
    "miniwob",
    "faiss-cpu",
)


@dataclass(frozen=True, slots=True)
class Target:
    """What a figure must be; a figure that was not measured does not hold."""

    figure: str
    op: Op
    target: float

    def holds(self, figures: Mapping[str, float]) -> bool:
        return self.figure in figures and OPS[self.op](figures[self.figure], self.target)


@dataclass(frozen=True, slots=True)
class BenchResult:
    """What a benchmark measured; ratios and medians, since machines are noisy."""

    figures: Mapping[str, float]
    targets: tuple[Target, ...] = field(default_factory=tuple)


def bench_names() -> list[str]:
    """The benchmarks there are: modules of this package that have a `run`."""
    found = (info.name for info in pkgutil.iter_modules(agentrl.benchmarks.__path__))
    return sorted(name for name in found if name not in ("harness", "memory"))


def run_bench(name: str, *, quick: bool = False) -> dict[str, Any]:
    """Run one; the document that `agentrl bench --json` prints.

    Raises:
        UnknownName: with the nearest known ones.
    """
    if name not in bench_names():
        raise UnknownName("benchmark", name, bench_names())
    result: BenchResult = importlib.import_module(f"agentrl.benchmarks.{name}").run(quick=quick)
    return {
        "name": name,
        "machine": machine(),
        "versions": versions(),
        "figures": dict(result.figures),
        "targets": [
            {"figure": t.figure, "op": t.op, "target": t.target, "ok": t.holds(result.figures)}
            for t in result.targets
        ],
    }


def machine() -> dict[str, Any]:
    """Processor, cores, memory, and how busy the machine was when it was asked."""
    info = Path("/proc/cpuinfo")
    lines = info.read_text().splitlines() if info.is_file() else []
    model = next(
        (line.partition(":")[2].strip() for line in lines if line.startswith("model name")),
        platform.processor(),
    )
    return {
        "processor": model,
        "cores": len(os.sched_getaffinity(0)),
        "memory_gib": round(os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES") / 2**30, 1),
        "load_1min": round(os.getloadavg()[0], 2),
        "system": platform.platform(),
    }


def versions() -> dict[str, str]:
    """Python and the packages that matter, where installed."""
    out = {"python": platform.python_version()}
    for name in PACKAGES:
        try:
            out[name] = importlib.metadata.version(name)
        except importlib.metadata.PackageNotFoundError:
            continue
    return out
