"""A programming task as plain data: what is asked, what is submitted, and hidden tests that hold no code of the policy.

Invariant: a test is calls with plain arguments and what must come back, so that it can be judged outside of the
process, and of the sandbox, in which submitted code runs.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Literal, TypeAlias

from agentrl.envs import generated

Kind: TypeAlias = Literal["strings", "parsing", "structures", "dates", "graphs", "text", "bugfix"]
KINDS: tuple[Kind, ...] = ("strings", "parsing", "structures", "dates", "graphs", "text", "bugfix")


@dataclass(frozen=True, slots=True)
class Raises:
    """Stands for an expected exception: the name of its class, or of one of its bases."""

    name: str


@dataclass(frozen=True, slots=True)
class Call:
    """One call into the submission.

    Attributes:
        target: `function` or `Class` of `solution.py`; `package.module:function` of another file; `.method` of the
            object that the test constructed last.
        args, kwargs: plain data: None, bool, int, float, str, bytes, list, tuple, dict, set.
    """

    target: str
    args: tuple[Any, ...] = ()
    kwargs: Mapping[str, Any] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class Run:
    """One run of a submitted script; its standard output is what comes back (trailing white space ignored)."""

    script: str = "main.py"
    args: tuple[str, ...] = ()
    stdin: str = ""


@dataclass(frozen=True, slots=True)
class Asserts:
    """A test program of a public set, unchanged. It runs in a sandbox of its own, without the submission, whose functions
    are stand-ins there: calls go over, plain data comes back. It has passed if it ends without an exception.

    Attributes:
        code: the program.
        names: functions of `solution.py` that it calls.
    """

    code: str
    names: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class Test:
    """One hidden test, in a fresh process.

    Attributes:
        name: unique within the task.
        steps: calls, or runs, in order; or one `Asserts` (expected: `(True,)`).
        expected: one value for each step (of a constructor: None), or `Raises`.
        check: instead of `expected`, a property: given the list of what came back, is it right? It runs where the
            submission cannot reach it.
    """

    __test__ = False  # not a test of pytest's

    name: str
    steps: tuple[Call | Run | Asserts, ...]
    expected: tuple[Any, ...] | None = None
    check: Callable[[list[Any]], bool] | None = None

    def __post_init__(self) -> None:
        if (self.expected is None) == (self.check is None):
            raise ValueError(f"test {self.name}: either expected values or a property")
        if self.expected is not None and len(self.expected) != len(self.steps):
            raise ValueError(
                f"test {self.name}: {len(self.steps)} steps, {len(self.expected)} expected values"
            )


@dataclass(frozen=True, slots=True)
class Problem:
    """A task without its identity.

    Attributes:
        statement: what the policy is asked: behaviour, names and signatures, edge cases, one to three examples.
        reference: files of a solution that passes every test.
        tests: hidden tests; none repeats an example of the statement.
        files: files that are in the workspace at the start.
        submit: files that are graded; nothing else leaves the policy's sandbox.
    """

    statement: str
    reference: Mapping[str, str]
    tests: tuple[Test, ...]
    files: Mapping[str, str] = field(default_factory=dict)
    submit: tuple[str, ...] = ("solution.py",)


CodeTask: TypeAlias = generated.FamilyTask[Problem]
Family: TypeAlias = generated.Family[Problem]


def load(source: str) -> dict[str, Any]:
    """The names that trusted source (a reference) defines, to compute what tests expect."""
    names: dict[str, Any] = {"__name__": "solution"}
    exec(compile(source, "<reference>", "exec"), names)
    return names


def outcomes(source: str, calls: Sequence[Call]) -> tuple[Any, ...]:
    """What a trusted single-file reference answers to each call: values, None for a constructor, `Raises`."""
    names = load(source)
    answers: list[Any] = []
    last: Any = None
    for call in calls:
        target = getattr(last, call.target[1:]) if call.target.startswith(".") else names[call.target]
        try:
            value = target(*call.args, **call.kwargs)
        except Exception as error:
            answers.append(Raises(type(error).__name__))
            continue
        if isinstance(target, type):
            last, value = value, None
        answers.append(value)
    return tuple(answers)


def expect(name: str, source: str, *calls: Call) -> Test:
    """A test that expects what the reference answers."""
    return Test(name, calls, outcomes(source, calls))


def cases(source: str, function: str, inputs: Sequence[tuple[Any, ...]]) -> tuple[Test, ...]:
    """One test for each tuple of arguments."""
    return tuple(
        expect(f"{function}-{index}", source, Call(function, tuple(arguments)))
        for index, arguments in enumerate(inputs)
    )
