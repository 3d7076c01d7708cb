"""Grading: what was submitted runs in one fresh sandbox, and is judged here, where it cannot reach.

Invariants: expected values never enter a sandbox; only plain data comes back, and only its value counts; an answer that did
not come is a failed test. A sandbox that dies under a submission is tried once more, and after a second death, while
other sandboxes live, the death is the submission's own.
"""

from __future__ import annotations

import asyncio
import base64
import json
import secrets
from collections.abc import Callable, Mapping
from contextlib import AbstractAsyncContextManager, AsyncExitStack
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from agentrl.envs.code.task import Asserts, Call, Problem, Raises, Run, Test
from agentrl.envs.code.values import Missing, Opaque, decode, encode, same, strange
from agentrl.sandboxes.base import Process, Sandbox, SandboxDied, SandboxFailure, SandboxRefusal

PLAIN, SUBJECT, ASSERTER = (
    Path(__file__).with_name(f"{name}.py").read_text(encoding="utf-8")
    for name in ("plain", "subject", "asserter")
)
GRACE = 4.0
NOT_FINITE = {"nan", "inf", "-inf"}
READY = 20.0
LARGEST_ANSWER = 3 << 20
Fresh = Callable[[], AbstractAsyncContextManager[Sandbox]]


@dataclass(frozen=True, slots=True)
class TestResult:
    """How one hidden test went; `detail` says what went wrong, for people, and never reaches the policy."""

    __test__ = False

    name: str
    passed: bool
    detail: str = ""


@dataclass(frozen=True, slots=True)
class Grade:
    """How a submission did.

    Attributes:
        results: one for each hidden test, in order.
        flags: signs of tampering, sorted; empty for an honest submission.
    """

    results: tuple[TestResult, ...]
    flags: tuple[str, ...] = ()

    @property
    def passed(self) -> int:
        return sum(result.passed for result in self.results)

    @property
    def fraction(self) -> float:
        return self.passed / len(self.results) if self.results else 0.0

    @property
    def solved(self) -> bool:
        return bool(self.results) and self.passed == len(self.results)


@dataclass(slots=True)
class Progress:
    """What is known so far of one grading."""

    results: list[TestResult] = field(default_factory=list)
    flags: set[str] = field(default_factory=set)


async def grade(
    problem: Problem,
    files: Mapping[str, bytes],
    fresh: Fresh,
    *,
    seconds: float = 5.0,
    total_seconds: float = 40.0,
) -> Grade:
    """Run every hidden test of a problem against submitted files.

    Args:
        files: path to content, relative to the workspace.
        fresh: gives a sandbox that nothing has touched, as a context.
        seconds: deadline of one test.
        total_seconds: of all of them; tests beyond it have failed.

    Raises:
        SandboxFailure: no sandbox could be had.
    """
    for attempt in range(2):
        progress = Progress()
        try:
            async with fresh() as box:
                await attempt_all(problem, files, box, fresh, progress, seconds, total_seconds)
            return graded(problem, progress)
        except SandboxDied:
            if attempt:
                # Is it us? Another sandbox must live, or this raises and nobody is blamed.
                async with fresh() as box:
                    await box.ping()
                progress.flags.add("killed_sandbox")
    return graded(problem, progress)


def graded(problem: Problem, progress: Progress) -> Grade:
    """Every test has a result: one that never ran has failed."""
    missing = [TestResult(test.name, False, "did not run") for test in problem.tests[len(progress.results) :]]
    return Grade((*progress.results, *missing), tuple(sorted(progress.flags)))


async def attempt_all(
    problem: Problem,
    files: Mapping[str, bytes],
    box: Sandbox,
    fresh: Fresh,
    progress: Progress,
    seconds: float,
    total_seconds: float,
) -> None:
    for path, content in files.items():
        await box.write(path, content)
    deadline = asyncio.get_running_loop().time() + total_seconds
    async with AsyncExitStack() as opened:
        subject = await begin(box, SUBJECT, total_seconds)
        other: Sandbox | None = None
        judging: Channel | None = None
        for test in problem.tests:
            left = min(seconds, deadline - asyncio.get_running_loop().time())
            if left <= 0:
                progress.flags.add("slow")
                break
            try:
                if isinstance(test.steps[0], Asserts):
                    if other is None:
                        other = await opened.enter_async_context(fresh())
                    judging = judging or await begin(other, ASSERTER, total_seconds)
                    result, clean = await converse(
                        test, test.steps[0], subject, judging, left, progress.flags
                    )
                    if not clean:  # it is in the middle of something: the next test needs another one
                        await judging.process.kill()
                        judging = None
                else:
                    answer = await subject.ask(left + GRACE, test=as_request(test, left))
                    result = judge(test, answer, progress.flags)
            except (SandboxRefusal, TimeoutError, EOFError):
                progress.flags.add("killed_grader")
                break
            progress.results.append(result)


async def begin(box: Sandbox, program: str, seconds: float) -> Channel:
    """Start one of our programs in a sandbox. Nothing of the submission has run yet: what goes wrong here is ours."""
    process = await box.open(["python3", "-I", "-c", f"{PLAIN}\n{program}"], timeout=seconds + GRACE + READY)
    channel = Channel(process)
    try:
        await channel.receive(READY)
    except (TimeoutError, EOFError):
        said = (await process.kill()).stderr
        raise SandboxFailure(box.id, f"the grader did not start: {said[-300:]}") from None
    return channel


async def converse(
    test: Test, asserts: Asserts, subject: Channel, judging: Channel, seconds: float, flags: set[str]
) -> tuple[TestResult, bool]:
    """A test program in one sandbox, its calls carried to the submission in another; and whether it came to its end."""
    deadline = asyncio.get_running_loop().time() + seconds
    await subject.ask(GRACE, begin=True)
    await judging.send({"code": asserts.code, "names": list(asserts.names)})
    detail = "too slow"
    passed = clean = False
    while (left := deadline - asyncio.get_running_loop().time()) > 0:
        try:
            message = await judging.receive(left)
        except TimeoutError:
            break
        if "call" not in message:
            passed, clean = message.get("done") is True, True
            detail = "" if passed else str(message.get("detail", "it failed"))
            break
        answer = await subject.ask(left + GRACE, step=message["call"], seconds=left)
        values, said = parsed(answer)
        flags |= said | set().union(*map(strange, values))
        if not answer.get("came") or not values:
            flags.add("exits")
            detail = "the submission did not answer"
            break
        await judging.send({"answer": encoded(values[-1])})
    ended = await subject.ask(2 * GRACE, end=True)
    flags |= parsed(ended)[1] | ({"left_processes"} if ended.get("strays") else set())
    return TestResult(test.name, passed, detail), clean


def encoded(value: Any) -> Any:
    """An answer for the test program: what is no plain data stays none."""
    if isinstance(value, Opaque):
        return {"type": "opaque", "value": value.kind}
    if isinstance(value, Raises):
        return {"type": "raises", "value": value.name}
    if isinstance(value, list):
        return [encoded(item) for item in value]
    if isinstance(value, tuple):
        return {"type": "tuple", "value": [encoded(item) for item in value]}
    if isinstance(value, dict):
        return {"type": "dict", "value": [[encoded(key), encoded(item)] for key, item in value.items()]}
    return encode(value)


class Channel:
    """Lines of JSON with the grader inside."""

    def __init__(self, process: Process) -> None:
        self.process, self.held = process, bytearray()

    async def ask(self, timeout: float, **request: Any) -> dict[str, Any]:
        """A request and its answer, matched by a number that nothing else knows.

        Raises:
            EOFError: what came is no answer to it.
        """
        nonce = secrets.token_hex(16)
        await self.send({"nonce": nonce, **request})
        answer = await self.receive(timeout)
        if answer.get("nonce") != nonce:
            raise EOFError
        return answer

    async def send(self, message: dict[str, Any]) -> None:
        await self.process.send(json.dumps(message).encode() + b"\n")

    async def receive(self, seconds: float) -> dict[str, Any]:
        """Raises: EOFError: the other end is gone, or sends what is no message. TimeoutError."""
        async with asyncio.timeout(seconds):
            while b"\n" not in self.held:
                piece = await self.process.receive(seconds)
                self.held += piece
                if not piece or len(self.held) > LARGEST_ANSWER:
                    raise EOFError
        line, _, rest = bytes(self.held).partition(b"\n")
        self.held = bytearray(rest)
        try:
            message = json.loads(line)
        except (ValueError, RecursionError):
            raise EOFError from None
        if not isinstance(message, dict):
            raise EOFError
        return message


def as_request(test: Test, seconds: float) -> dict[str, Any]:
    """A test as the grader inside reads it: what to do, and nothing of what is expected."""
    steps: list[dict[str, Any]] = []
    for step in test.steps:
        if isinstance(step, Run):
            steps.append({"script": step.script, "args": list(step.args), "stdin": step.stdin})
        elif isinstance(step, Call):
            keywords = {"type": "dict", "value": [[key, encode(value)] for key, value in step.kwargs.items()]}
            steps.append(
                {"target": step.target, "args": [encode(item) for item in step.args], "kwargs": keywords}
            )
    return {"steps": steps, "seconds": seconds}


def judge(test: Test, answer: Mapping[str, Any], flags: set[str]) -> TestResult:
    """Compare what came back with what is expected; adds what looks like tampering to `flags`."""
    values, said = parsed(answer)
    flags.update(said)
    if answer.get("strays"):
        flags.add("left_processes")
    if answer.get("large"):
        flags.add("flood")
    if not answer.get("finished"):
        why = "too slow" if answer.get("late") else f"the process ended early (code {answer.get('code')})"
        if not answer.get("late"):
            flags.add("exits")
        values += [Missing(why)] * (len(test.steps) - len(values))
    flags.update(*(strange(value) for value in values if not allowed(test, value)))
    if any(isinstance(value, str) and value.strip().lower() in NOT_FINITE for value in values):
        flags.add("not_finite")  # what a script prints of such a number
    if len(values) != len(test.steps):
        return TestResult(test.name, False, f"{len(values)} answers to {len(test.steps)} steps")
    outputs = [
        tidy(value) if isinstance(step, Run) else value
        for value, step in zip(values, test.steps, strict=True)
    ]
    if test.expected is not None:
        wanted = [
            tidy(v) if isinstance(s, Run) else v for v, s in zip(test.expected, test.steps, strict=True)
        ]
        for index, (want, got) in enumerate(zip(wanted, outputs, strict=True)):
            if not same(want, got):
                return TestResult(test.name, False, f"step {index}: expected {want!r:.120}, got {got!r:.120}")
        return TestResult(test.name, True)
    assert test.check is not None
    try:
        right = test.check(outputs) is True
    except Exception as error:  # a property meets a value of a shape that it was not made for
        return TestResult(test.name, False, f"the property does not hold ({type(error).__name__})")
    return TestResult(test.name, right, "" if right else "the property does not hold")


def parsed(answer: Mapping[str, Any]) -> tuple[list[Any], set[str]]:
    """Answers and flags from what a fork sent; what cannot be read is no answer."""
    values: list[Any] = []
    flags: set[str] = set()
    for line in base64.b64decode(str(answer.get("data", ""))).splitlines():
        try:
            message = json.loads(line)
            if "answer" in message:
                values.append(decode(message["answer"]))
            elif "flag" in message:
                flags.add(str(message["flag"])[:100])
        except (ValueError, TypeError, KeyError, RecursionError):
            values.append(Missing("it cannot be read"))
            flags.add("forged_answer")
    return values, flags


def allowed(test: Test, value: Any) -> bool:
    """Whether a number that is not finite is what the test asks for."""
    return test.expected is not None and any(
        strange(expected) and same(expected, value) for expected in test.expected
    )


def tidy(output: Any) -> Any:
    """What a script printed, without the white space at the ends of lines and of the whole."""
    if not isinstance(output, str):
        return output
    return "\n".join(line.rstrip() for line in output.rstrip().splitlines())
