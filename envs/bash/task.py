"""A shell task as plain data, and its judge: only the state of the files afterwards counts.

Invariant: everything that a task does not mention must be as it was: wiping the tree, rewriting the inputs or leaving
litter is no solution.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Literal, TypeAlias

from agentrl.envs.generated import Family, FamilyTask

Kind: TypeAlias = Literal["find", "count", "transform", "repair"]
KINDS: tuple[Kind, ...] = ("find", "count", "transform", "repair")


@dataclass(frozen=True, slots=True)
class File:
    """A file; the mode counts only by its permission bits."""

    content: bytes
    mode: int = 0o644


@dataclass(frozen=True, slots=True)
class Link:
    """A symbolic link, which may lead nowhere."""

    target: str


@dataclass(frozen=True, slots=True)
class Text:
    """An expected text: white space at the ends of lines and of the whole does not count, nor does the mode."""

    text: str


@dataclass(frozen=True, slots=True)
class Lines:
    """Expected lines, in any order, each as often as here."""

    lines: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class Gone:
    """Expected: nothing is there any more."""


Entry: TypeAlias = File | Link
Tree: TypeAlias = dict[str, Entry]
Expected: TypeAlias = File | Link | Text | Lines | Gone


@dataclass(frozen=True, slots=True)
class ShellProblem:
    """A task without its identity.

    Attributes:
        statement: what is asked.
        files: the tree at the start, by path relative to the workspace.
        reference: a bash script that solves it.
        expected: what must be at each path that the task changes; everything else stays.
    """

    statement: str
    files: Mapping[str, Entry]
    reference: str
    expected: Mapping[str, Expected]


ShellTask: TypeAlias = FamilyTask[ShellProblem]
ShellFamily: TypeAlias = Family[ShellProblem]
"""`make` takes a `random.Random` and a tree of files, which it may add to."""


@dataclass(frozen=True, slots=True)
class Verdict:
    """`parts`: whether each expected path is right, and `untouched`, whether all else is as it was."""

    passed: bool
    parts: Mapping[str, bool]
    reason: str = ""


def judge(problem: ShellProblem, state: Mapping[str, Entry]) -> Verdict:
    """Hold the files of a workspace against what a task expects."""
    parts = {path: holds(expected, state.get(path)) for path, expected in problem.expected.items()}
    wrong = [path for path, right in parts.items() if not right]
    disturbed = sorted(
        path
        for path in problem.files.keys() | state.keys()
        if path not in problem.expected and problem.files.get(path) != state.get(path)
    )
    parts["untouched"] = not disturbed
    reason = ""
    if wrong:
        reason = f"{wrong[0]} is not as asked"
    elif disturbed:
        reason = f"{disturbed[0]} should not have changed"
    return Verdict(not wrong and not disturbed, parts, reason)


def holds(expected: Expected, found: Entry | None) -> bool:
    if isinstance(expected, Gone):
        return found is None
    if isinstance(expected, Text | Lines):
        if not isinstance(found, File):
            return False
        lines = tidy(found.content.decode("utf-8", "replace"))
        if isinstance(expected, Text):
            return lines == tidy(expected.text)
        return sorted(lines) == sorted(expected.lines)
    return found == expected


def tidy(text: str) -> list[str]:
    """Lines without the white space at their ends and at the end of the whole."""
    return [line.rstrip() for line in text.rstrip().splitlines()]
