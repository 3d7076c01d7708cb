"""One suite for every backend: what a sandbox must hold, whatever it is made of (`agentrl sandbox selfcheck`)."""

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

from agentrl.sandboxes.conformance import (  # isort: skip  # each adds its cases, in this order
    commands,
)

__all__ = [
    "CASES",
    "Broken",
    "Case",
    "CaseResult",
    "ConformanceReport",
    "Maker",
    "Skip",
    "commands",
    "run_conformance",
]
