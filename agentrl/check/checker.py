"""`check_env`: every rule tried on one environment. A rule that hangs falls short; it never hangs the checker."""

from __future__ import annotations

import sysconfig
import threading
import traceback
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import agentrl.core
from agentrl.check.playing import Broken
from agentrl.check.report import CheckResult, Report
from agentrl.check.rules import CHECKS
from agentrl.check.subject import DEADLINE, SEEDS, Skip, Subject, subject_of
from agentrl.core.env import ToolEnv
from agentrl.core.failures import UserError

AFTER_A_HANG = 0.25
"""The share of its deadline that a check has once another one hung: what hangs once will hang again."""
MACHINERY = (
    *agentrl.core.__path__,
    str(Path(__file__).parent),
    sysconfig.get_path("stdlib"),
    sysconfig.get_path("purelib"),
)
"""Where the fault hardly ever is: an error is placed at the last line outside of these."""


def check_env(
    source: str | Callable[..., ToolEnv] = "",
    *,
    factory: Callable[..., ToolEnv] | None = None,
    seeds: Iterable[int] = SEEDS,
    kwargs: Mapping[str, Any] | None = None,
    deadline: float = DEADLINE,
    checks: Sequence[Callable[[Subject], str]] = CHECKS,
) -> Report:
    """Check an environment.

    Args:
        source: an id, `file.py:Class`, `module:Class`, an environment class, or a function that makes one.
        factory: makes the environment instead; `source` is then what the report calls it.
        seeds: of the episodes that are played, at least one.
        kwargs: constructor arguments.
        deadline: seconds for each check.
        checks: the rules.

    Raises:
        UserError: there is no such environment, its extra is missing, or it does not take these arguments; no seeds.
    """
    chosen = tuple(seeds)
    if not chosen:
        raise UserError("check_env needs at least one seed")
    if not source and factory is None:
        raise UserError("check_env needs an environment: its name, its class, or a factory")
    subject = subject_of(factory or source, dict(kwargs or {}), chosen, deadline)
    if factory is not None and isinstance(source, str) and source:
        subject = replace(subject, id=source)
    results: list[CheckResult] = []
    for check in checks:
        hung = any(result.hung for result in results)
        results.append(run_check(check, subject, deadline * AFTER_A_HANG if hung else deadline))
    return Report(subject.id, tuple(results))


def run_check(check: Callable[[Subject], str], subject: Subject, deadline: float) -> CheckResult:
    """One check, in a thread that is left behind if it does not come back."""
    name = check.__name__
    result: list[CheckResult] = []

    def work() -> None:
        try:
            result.append(CheckResult(name, True, check(subject)))
        except Skip as reason:
            result.append(CheckResult(name, True, str(reason), skipped=True))
        except (Broken, UserError) as error:
            result.append(CheckResult(name, False, first_line(error)))
        except BaseException as error:  # an environment may also raise SystemExit
            result.append(CheckResult(name, False, described(error)))

    thread = threading.Thread(target=work, name=f"agentrl-check-{name}", daemon=True)
    thread.start()
    thread.join(deadline)
    late = CheckResult(name, False, f"no answer within {deadline:g} s: something hangs", hung=True)
    return result[0] if result else late


def described(error: BaseException) -> str:
    """What was raised first, where, and its first line."""
    root = error
    while root.__cause__ is not None:
        root = root.__cause__
    frames = traceback.extract_tb(root.__traceback__)
    own = [frame for frame in frames if not frame.filename.startswith(MACHINERY)]
    frame = (own or frames)[-1]
    return f"{type(root).__name__} at {Path(frame.filename).name}:{frame.lineno} in {frame.name}: {first_line(root)}"


def first_line(error: BaseException) -> str:
    return (str(error).strip().splitlines() or [type(error).__name__])[0][:300]
