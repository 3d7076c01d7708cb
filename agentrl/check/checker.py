"""`check_env`: every rule tried on one environment. A rule that hangs falls short; it never hangs the checker."""

from __future__ import annotations

import threading
import traceback
from collections.abc import Callable, Sequence
from typing import Any

from agentrl.check.playing import Broken
from agentrl.check.report import CheckResult, Report
from agentrl.check.rules import CHECKS, Skip, Subject
from agentrl.core.failures import UserError
from agentrl.core.registry import load_class, make_entry, resolve

DEADLINE = 300.0  # seconds for one check


def check_env(
    name: str,
    *,
    kwargs: dict[str, Any] | None = None,
    deadline: float = DEADLINE,
    checks: Sequence[Callable[[Subject], str]] = CHECKS,
) -> Report:
    """Check an environment.

    Args:
        name: an id, `file.py:Class` or `module:Class`.
        kwargs: constructor arguments.
        deadline: seconds for each check.

    Raises:
        UserError: there is no such environment, or its extra is missing.
    """
    entry = resolve(name)
    load_class(entry)
    given = dict(kwargs or {})
    subject = Subject(entry.id, lambda: make_entry(entry, **given), given)
    return Report(entry.id, tuple(run_check(check, subject, deadline) for check in checks))


def run_check(check: Callable[[Subject], str], subject: Subject, deadline: float) -> CheckResult:
    """One check, in a thread that is left behind if it does not come back."""
    name = check.__name__
    result: list[CheckResult] = []

    def work() -> None:
        try:
            result.append(CheckResult(name, True, check(subject)))
        except Skip as reason:
            result.append(CheckResult(name, True, str(reason), skipped=True))
        except (Broken, AssertionError, UserError) as error:
            result.append(CheckResult(name, False, first_line(error)))
        except Exception as error:
            frame = traceback.extract_tb(error.__traceback__)[-1]
            place = f"{frame.filename.rpartition('/')[2]}:{frame.lineno}"
            result.append(CheckResult(name, False, f"{type(error).__name__} at {place}: {first_line(error)}"))

    thread = threading.Thread(target=work, name=f"agentrl-check-{name}", daemon=True)
    thread.start()
    thread.join(deadline)
    return (
        result[0] if result else CheckResult(name, False, f"no answer within {deadline:g} s: something hangs")
    )


def first_line(error: BaseException) -> str:
    return (str(error).strip().splitlines() or [type(error).__name__])[0][:300]
