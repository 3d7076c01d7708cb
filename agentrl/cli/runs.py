"""Where runs live, and what they were made with."""

from __future__ import annotations

import importlib.metadata
import platform
from pathlib import Path

RUNS = Path("runs")
PACKAGES = (
    "agentrl-toolkit",
    "gymnasium",
    "numpy",
    "pydantic",
    "tantivy",
    "torch",
    "transformers",
    "renderers",
    "peft",
)


def new_run_folder(name: str) -> Path:
    """A folder under `runs/` that is not there yet: `runs/name`, `runs/name-2`, ..."""
    folder, count = RUNS / name, 1
    while folder.exists():
        count += 1
        folder = RUNS / f"{name}-{count}"
    return folder


def versions() -> dict[str, str]:
    """Python and every package whose version may change a result; those not installed are left out."""
    found = {"python": platform.python_version()}
    for name in PACKAGES:
        try:
            found[name] = importlib.metadata.version(name)
        except importlib.metadata.PackageNotFoundError:
            continue
    return found
