"""Typed failures: whose fault it was decides what happens next.

* `UserError`: bad input. One clear sentence, exit code 2, nothing half-written.
* `ToolError`: the policy's fault. It becomes an observation, is counted, and is trained on.
* `InfrastructureFailure`: ours. Retried on a fresh environment, then the episode is dropped from its
  group; it is never trained on and never scored as the policy's.
"""

from __future__ import annotations

import difflib
from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any, Literal, TypeAlias


class AgentRLError(Exception):
    """Base of every error that this package raises on purpose. Crosses processes as it is."""

    def __reduce__(self) -> tuple[Any, ...]:
        # Exceptions are otherwise rebuilt from their message alone, which is not what these constructors take.
        return _rebuilt, (type(self), self.args, vars(self))


def _rebuilt(cls: type[AgentRLError], args: tuple[Any, ...], attributes: dict[str, Any]) -> AgentRLError:
    error = cls.__new__(cls, *args)
    vars(error).update(attributes)
    return error


class UserError(AgentRLError):
    """Bad input from the person at the keyboard: the command line prints it as one sentence and exits with 2."""


class UnknownName(UserError):
    """A name that is not known; the message carries the nearest known ones."""

    def __init__(self, kind: str, name: str, known: Iterable[str]) -> None:
        self.kind, self.name, self.nearest = kind, name, nearest(name, known)
        hint = f"; did you mean {' or '.join(map(repr, self.nearest))}?" if self.nearest else ""
        super().__init__(f"unknown {kind} {name!r}{hint}")


class MissingExtra(UserError):
    """An optional dependency is not installed; the message is the command that installs it."""

    def __init__(self, extra: str, what: str) -> None:
        self.extra = extra
        super().__init__(f"{what} needs an extra: pip install 'agentrl-toolkit[{extra}]'")


ToolErrorKind: TypeAlias = Literal[
    "unknown_tool", "malformed_json", "invalid_arguments", "tool_failed", "no_tool_call", "not_allowed"
]


class ToolError(AgentRLError):
    """A call that the policy made wrongly. Raise it inside a tool to answer the policy with its message."""

    def __init__(self, message: str, kind: ToolErrorKind = "tool_failed") -> None:
        self.kind = kind
        super().__init__(message)


Boundary: TypeAlias = Literal[
    "make",
    "reset",
    "step",
    "tool",
    "reward",
    "snapshot",
    "restore",
    "close",
    "generate",
    "render",
    "sandbox",
    "expert",
]


class InfrastructureFailure(AgentRLError):
    """Something of ours broke at a boundary: never the policy's fault, never trained on.

    Attributes:
        where: the boundary at which it broke.
        subject: what broke: an environment id, a tool name, an engine.
    """

    def __init__(self, where: Boundary, subject: str, message: str) -> None:
        self.where, self.subject = where, subject
        super().__init__(f"{subject}: {where} failed: {message}")


class DeadlineExceeded(InfrastructureFailure):
    """A boundary did not answer in time."""

    def __init__(self, where: Boundary, subject: str, seconds: float) -> None:
        self.seconds = seconds
        super().__init__(where, subject, f"no answer within {seconds:g} s")


class ForkMismatch(InfrastructureFailure):
    """A replayed path showed something else than the first time: this environment cannot fork by replay."""

    def __init__(self, subject: str, step: int, expected: str, got: str) -> None:
        self.step = step
        super().__init__(
            "restore", subject, f"replay differs at step {step}: expected {expected!r:.120}, got {got!r:.120}"
        )


class InvariantBroken(AgentRLError):
    """A rule of the token ledger or the tree does not hold; the message names the rule and the id it broke on."""

    def __init__(self, rule: str, where: str, detail: str = "") -> None:
        self.rule, self.where = rule, where
        super().__init__(f"{rule} (at {where}){': ' + detail if detail else ''}")


@dataclass(frozen=True, slots=True)
class Failure:
    """The record of an infrastructure failure, kept with the tree and counted per environment and boundary."""

    where: str
    subject: str
    kind: str
    message: str

    @classmethod
    def of(cls, error: BaseException, *, where: str = "step", subject: str = "") -> Failure:
        if isinstance(error, InfrastructureFailure):
            where, subject = error.where, error.subject
        return cls(where, subject, type(error).__name__, str(error)[:500])


def nearest(name: str, known: Iterable[str], n: int = 3) -> tuple[str, ...]:
    """Up to `n` known names that look like `name`, best first; case and namespace are ignored."""
    by_key: dict[str, str] = {}
    for item in known:
        by_key.setdefault(item.casefold(), item)
        by_key.setdefault(item.casefold().rpartition("/")[2], item)
    matches = difflib.get_close_matches(name.casefold(), by_key, n=2 * n, cutoff=0.5)
    return tuple(dict.fromkeys(by_key[key] for key in matches))[:n]
