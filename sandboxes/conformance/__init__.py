"""One suite for every backend: what a sandbox must hold, whatever it is made of (`agentrl sandbox selfcheck`)."""

import importlib

from agentrl.sandboxes.conformance.suite import (
    CASES,
    Broken,
    Case,
    CaseResult,
    ConformanceReport,
    Maker,
    Skip,
    run_conformance,
)

THEMES = (
    "commands",
    "output",
    "deadlines",
    "processes",
    "limits",
    "files",
    "isolation",
    "kernel",
    "forking",
    "channels",
    "lifecycle",
)

for _theme in THEMES:  # each adds its cases, in this order
    importlib.import_module(f"agentrl.sandboxes.conformance.{_theme}")

__all__ = [
    "CASES",
    "Broken",
    "Case",
    "CaseResult",
    "ConformanceReport",
    "Maker",
    "Skip",
    "run_conformance",
]
