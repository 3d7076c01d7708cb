"""What the checker says of an environment."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any


@dataclass(frozen=True, slots=True)
class CheckResult:
    """One check. A check that does not apply is `ok` and says so in `skipped`; one that did not end in time `hung`."""

    name: str
    ok: bool
    detail: str = ""
    skipped: bool = False
    hung: bool = False


@dataclass(frozen=True, slots=True)
class Report:
    """All checks of one environment."""

    id: str
    checks: tuple[CheckResult, ...]

    @property
    def ok(self) -> bool:
        return all(check.ok for check in self.checks)

    @property
    def failed(self) -> tuple[CheckResult, ...]:
        return tuple(check for check in self.checks if not check.ok)

    def to_dict(self) -> dict[str, Any]:
        """The document of `agentrl env check --json`."""
        return {
            "id": self.id,
            "ok": self.ok,
            "checks": [
                {"name": c.name, "ok": c.ok, "skipped": c.skipped, "detail": c.detail} for c in self.checks
            ],
        }


def render(report: Report) -> Any:
    """The report as a Rich table."""
    from rich.markup import escape
    from rich.table import Table

    held = sum(check.ok for check in report.checks)
    table = Table(
        title=f"{escape(report.id)}: {held} of {len(report.checks)} checks hold",
        title_justify="left",
        box=None,
    )
    for column in ("", "check", "detail"):
        table.add_column(column, overflow="fold")
    for check in report.checks:
        mark = "-" if check.skipped else "ok" if check.ok else "[red]NO[/red]"
        table.add_row(mark, check.name, escape(check.detail))
    return table
