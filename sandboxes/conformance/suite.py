"""Cases, what they are given, and the runner that holds a backend to them.

Invariant: a case sees a sandbox that is as fresh, ends within its deadline, and leaves nothing; whatever goes wrong in it
is a sentence in the report and not an exception of the runner.
"""

from __future__ import annotations

import asyncio
import time
from collections.abc import Awaitable, Callable, Iterable, Sequence
from dataclasses import asdict, dataclass, field
from typing import Any

from agentrl.core.failures import AgentRLError, UnknownName
from agentrl.sandboxes.base import Backend, Sandbox, SandboxDied, SandboxRefusal, SandboxSpec

NOT_HELD = {
    "isolation": "the local backend isolates nothing",
    "limits": "the local backend holds no limits",
}


class Broken(Exception):
    """What a backend does not hold, in one sentence."""


class Skip(Exception):
    """Why a case says nothing here."""


class Maker:
    """More sandboxes for a case; all of them are closed after it."""

    def __init__(self, backend: Backend, spec: SandboxSpec) -> None:
        self.backend, self.spec = backend, spec
        self.boxes: list[Sandbox] = []

    async def __call__(self, spec: SandboxSpec | None = None) -> Sandbox:
        return self.keep([await self.backend.start(spec or self.spec)])[0]

    def keep(self, boxes: Sequence[Sandbox]) -> list[Sandbox]:
        self.boxes += boxes
        return list(boxes)

    async def clean(self) -> None:
        boxes, self.boxes = self.boxes, []
        for box in boxes:
            await box.close()


Run = Callable[[Sandbox, Maker], Awaitable[str]]


@dataclass(frozen=True, slots=True)
class Case:
    """One thing that a sandbox must hold.

    Attributes:
        name: theme and function, e.g. `deadlines.sleep`.
        run: returns a short detail; raises `Broken` or `Skip`.
        fresh: it may harm its sandbox, so it gets one of its own.
        needs: `isolation` or `limits`, which the local backend does not have; else empty.
        slow: left out unless asked for.
        deadline: seconds.
    """

    name: str
    run: Run = field(repr=False)
    fresh: bool = False
    needs: str = ""
    slow: bool = False
    deadline: float = 30.0


CASES: list[Case] = []


def case(
    *, fresh: bool = False, needs: str = "", slow: bool = False, deadline: float = 30.0
) -> Callable[[Run], Run]:
    """Add a function to the suite."""

    def add(run: Run) -> Run:
        name = f"{run.__module__.rpartition('.')[2]}.{run.__name__}"
        CASES.append(Case(name, run, fresh, needs, slow, deadline))
        return run

    return add


@dataclass(frozen=True, slots=True)
class CaseResult:
    """How one case went; a skipped one counts as held, with the reason in `detail`."""

    name: str
    ok: bool
    skipped: bool
    detail: str
    seconds: float


@dataclass(frozen=True, slots=True)
class ConformanceReport:
    """What a backend holds."""

    backend: str
    cases: tuple[CaseResult, ...]
    seconds: float

    @property
    def ok(self) -> bool:
        return bool(self.cases) and all(case.ok for case in self.cases)

    @property
    def short(self) -> tuple[CaseResult, ...]:
        """The cases that fell short."""
        return tuple(case for case in self.cases if not case.ok)

    def to_dict(self) -> dict[str, Any]:
        cases = [asdict(case) for case in self.cases]
        return {"backend": self.backend, "ok": self.ok, "cases": cases, "seconds": self.seconds}


async def run_conformance(
    backend: Backend,
    spec: SandboxSpec | None = None,
    *,
    only: Iterable[str] = (),
    slow: bool = False,
    progress: Callable[[CaseResult], None] | None = None,
) -> ConformanceReport:
    """Hold a backend to every case, one after the other.

    Args:
        spec: of the sandboxes; the strict defaults if None.
        only: names of cases, or of themes.
        slow: also the cases that wait for an outer deadline.
        progress: told of every result as it comes.

    Raises:
        UnknownName: in `only`.
        SandboxUnavailable, SandboxFailure: not even a first sandbox starts.
    """
    spec = spec or SandboxSpec()
    began = time.monotonic()
    first = await backend.start(spec)
    pair = Shared(backend, spec, first)
    results = []
    try:
        for one in chosen(only, slow):
            result = await held(one, pair)
            results.append(result)
            if progress is not None:
                progress(result)
    finally:
        await pair.close()
    return ConformanceReport(backend.name, tuple(results), round(time.monotonic() - began, 3))


def chosen(only: Iterable[str], slow: bool) -> list[Case]:
    """Cases by name or theme, in the order of the suite."""
    wanted = set(only)
    known = {item.name for item in CASES} | {item.name.partition(".")[0] for item in CASES}
    for name in sorted(wanted - known):
        raise UnknownName("conformance case", name, known)
    return [
        item
        for item in CASES
        if (item.name in wanted or item.name.partition(".")[0] in wanted or not wanted)
        and (slow or not item.slow or item.name in wanted)
    ]


class Shared:
    """The sandbox that harmless cases share, made anew when one has harmed it."""

    def __init__(self, backend: Backend, spec: SandboxSpec, box: Sandbox) -> None:
        self.backend, self.spec, self.box = backend, spec, box
        self.doubtful = False

    async def take(self) -> Sandbox:
        if not self.doubtful:
            try:
                await self.box.reset()
                return self.box
            except AgentRLError:
                self.doubtful = True
        await self.box.close()
        self.box, self.doubtful = await self.backend.start(self.spec), False
        return self.box

    async def close(self) -> None:
        await self.box.close()


async def held(one: Case, shared: Shared) -> CaseResult:
    """Run one case."""
    began = time.monotonic()

    def result(ok: bool, detail: str, skipped: bool = False) -> CaseResult:
        return CaseResult(one.name, ok, skipped, detail, round(time.monotonic() - began, 3))

    if one.needs and shared.backend.name == "local":
        return result(True, NOT_HELD[one.needs], skipped=True)
    made = Maker(shared.backend, shared.spec)
    try:
        outcome = result(*await judged(one, shared, made))
    finally:
        left = await cleaned(made)
    if not outcome.ok:
        shared.doubtful = shared.doubtful or not one.fresh
    return result(False, left) if left and outcome.ok else outcome


async def judged(one: Case, shared: Shared, made: Maker) -> tuple[bool, str, bool]:
    """(held, detail, skipped)"""
    try:
        async with asyncio.timeout(one.deadline):
            box = await made() if one.fresh else await shared.take()
            return True, await one.run(box, made), False
    except Skip as reason:
        return True, str(reason), True
    except Broken as fault:
        return False, str(fault), False
    except TimeoutError:
        return False, f"no end within {one.deadline:g} s", False
    except Exception as error:  # whatever a backend raises is what the report is for
        return False, f"{type(error).__name__}: {error}", False


async def cleaned(made: Maker) -> str:
    """Close what a case has made; what went wrong in that, or nothing."""
    try:
        async with asyncio.timeout(30):
            await made.clean()
    except TimeoutError:
        return "its sandboxes did not close within 30 s"
    except Exception as error:
        return f"its sandboxes did not close: {type(error).__name__}: {error}"
    return ""


# -- what cases say ----------------------------------------------------------------------------------


def must(holds: object, sentence: str) -> None:
    if not holds:
        raise Broken(sentence)


def same(found: object, expected: object, what: str) -> None:
    must(found == expected, f"{what}: expected {expected!r:.200}, got {found!r:.200}")


async def refused(attempt: Awaitable[object], *reasons: str) -> str:
    """The message of a refusal for one of the reasons; anything else is a fault."""
    try:
        got = await attempt
    except SandboxRefusal as refusal:
        must(refusal.reason in reasons, f"refused as {refusal.reason!r} and not as {reasons}: {refusal}")
        must(str(refusal) and "\n" not in str(refusal).strip(), f"not one sentence: {str(refusal)!r:.200}")
        return str(refusal)
    raise Broken(f"expected a refusal ({' or '.join(reasons)}), got {got!r:.200}")


async def works(box: Sandbox) -> None:
    """The sandbox runs commands and reports what they did."""
    result = await box.exec('echo "$((6 * 7))"; exit 3', timeout=10)
    must((result.stdout, result.exit_code) == ("42\n", 3), f"afterwards a command gives {result!r:.300}")


async def nothing_runs(box: Sandbox) -> None:
    """Soon: what watches over a command ends just after it."""
    for _ in range(100):
        left = await box.ping()
        if not left:
            return
        await asyncio.sleep(0.02)
    raise Broken(f"{left} processes live on in the sandbox")


async def usable_or_dead(box: Sandbox) -> str:
    """Afterwards it works, or it says that it has died; nothing between."""
    try:
        await box.reset()
        await works(box)
    except SandboxDied:
        must(not box.alive, "it raised SandboxDied and calls itself alive")
        return "cleanly dead"
    return "usable"
