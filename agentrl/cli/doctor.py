"""`agentrl doctor`: what works on this machine, and the command that would fix what does not."""

from __future__ import annotations

import importlib.metadata
import importlib.util
import os
import platform
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Callable
from dataclasses import asdict, dataclass
from pathlib import Path

import typer

from agentrl.cli.output import Json, emit, out, table


@dataclass(frozen=True, slots=True)
class Finding:
    """One capability. `fix` is a command or a sentence; empty where nothing is to do."""

    name: str
    ok: bool
    detail: str
    fix: str = ""
    needed: bool = False


def add_to(app: typer.Typer) -> None:
    app.command(
        "doctor", help="Say what works on this machine, and the command that would fix what does not."
    )(doctor)


def doctor(json: Json = False) -> None:
    findings = [check() for check in CHECKS]
    if json:
        emit([asdict(finding) for finding in findings])
    else:
        rows = [
            ("ok" if f.ok else "NO" if f.needed else "-", f.name, f.detail, "" if f.ok else f.fix)
            for f in findings
        ]
        table("", ("", "what", "found", "to fix"), rows)
        out.print()
    if any(finding.needed and not finding.ok for finding in findings):
        raise typer.Exit(1)


def python() -> Finding:
    ok = (3, 11) <= sys.version_info[:2] <= (3, 13)
    return Finding("python", ok, platform.python_version(), "use Python 3.11 to 3.13", needed=True)


def machine() -> Finding:
    cores = len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1
    memory = os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES") / 2**30
    return Finding("machine", True, f"{platform.machine()}, {cores} cores, {memory:.0f} GiB memory")


def environments() -> Finding:
    from agentrl.core.registry import catalogue, make

    env = make("agentrl/Search-v0")
    env.reset(seed=0)
    env.close()
    return Finding("environments", True, f"{len(catalogue())} registered, Search-v0 answers", needed=True)


def run_folder() -> Finding:
    fix = "run in a folder that you may write to, or pass --run"
    try:
        with tempfile.TemporaryFile(dir=Path.cwd()):
            free = shutil.disk_usage(Path.cwd()).free / 2**30
    except OSError as error:
        return Finding("run folder", False, f"{Path.cwd()}: {error.strerror}", fix)
    return Finding(
        "run folder", free > 1, f"{Path.cwd()} can be written, {free:.0f} GiB free", "free some disk space"
    )


def package(name: str, extra: str, what: str) -> Callable[[], Finding]:
    def check() -> Finding:
        found = importlib.util.find_spec(name) is not None
        detail = f"{what}: {importlib.metadata.version(name)}" if found else f"{what}: not installed"
        return Finding(name, found, detail, f"pip install 'agentrl-toolkit[{extra}]'")

    return check


def gpu() -> Finding:
    fix = "training falls back to the CPU; on a machine with an NVIDIA GPU install torch's CUDA build"
    if importlib.util.find_spec("torch") is None:
        return Finding("gpu", False, "torch is not installed", "pip install 'agentrl-toolkit[train]'")
    import torch

    if not torch.cuda.is_available():
        return Finding("gpu", False, f"torch {torch.__version__} sees no CUDA device", fix)
    return Finding(
        "gpu", True, f"{torch.cuda.get_device_name()}, {torch.cuda.mem_get_info()[1] / 2**30:.0f} GiB"
    )


def docker() -> Finding:
    if shutil.which("docker") is None:
        return Finding("docker", False, "no docker command", "apt-get install -y docker.io && dockerd &")
    probe = subprocess.run(
        ["docker", "info", "--format", "{{.ServerVersion}}"],
        capture_output=True,
        text=True,
        timeout=20,
        check=False,
    )
    if probe.returncode != 0:
        reason = (probe.stderr.strip().splitlines() or ["the engine does not answer"])[0]
        return Finding("docker", False, reason, "start the engine: systemctl start docker (or: dockerd &)")
    return Finding("docker", True, f"engine {probe.stdout.strip()}")


def bubblewrap() -> Finding:
    found = shutil.which("bwrap")
    return Finding(
        "bubblewrap", found is not None, found or "no bwrap command", "apt-get install -y bubblewrap"
    )


CHECKS: tuple[Callable[[], Finding], ...] = (
    python,
    machine,
    environments,
    run_folder,
    package("torch", "train", "training and local models"),
    package("transformers", "train", "models and tokenizers"),
    package("renderers", "train", "chat rendering"),
    gpu,
    package("peft", "lora", "LoRA"),
    package("pyarrow", "parquet", "Parquet export"),
    package("bm25s", "search", "more search engines"),
    docker,
    bubblewrap,
)
