"""Grading: the tests run in the files that the policy has left, in a fresh sandbox without any of its processes.

Invariants: one finite number between 0 and 1 is a reward, everything else is 0 with a sign; whatever happens, the image
that was made for grading is removed. What breaks is the policy's doing only if it breaks twice, and does not break on
the task's untouched image; else nobody is scored.
"""

from __future__ import annotations

import asyncio
import io
import json
import math
import re
import tarfile
from collections.abc import AsyncIterator, Iterator
from contextlib import asynccontextmanager
from dataclasses import dataclass, replace
from pathlib import Path

from agentrl.core.portal import finish
from agentrl.envs.taskfolder.format import FolderTask
from agentrl.envs.taskfolder.images import for_tests
from agentrl.sandboxes.base import (
    Backend,
    Sandbox,
    SandboxDied,
    SandboxFailure,
    SandboxRefusal,
    SandboxSnapshot,
    SandboxSpec,
    SandboxUnavailable,
)
from agentrl.sandboxes.supervised import SupervisedSandbox, spread

TESTS, LOGS = "/tests", "/logs/verifier"
RENEW = f"rm -rf {LOGS} {TESTS} && mkdir -p {LOGS} {TESTS}"
SHIPMENT = 8 << 20
LARGEST_REWARD = 16 << 10
MOST_SIGNS = 20
NUMBER = re.compile(r"[+-]?(\d+\.?\d*|\.\d+)([eE][+-]?\d+)?", re.ASCII)
PLANTED = re.compile(
    r"(^|/)(conftest\.py|(site|user)customize\.py|pytest\.ini|tox\.ini|\.coveragerc|[^/]+\.pth|ld\.so\.preload)$"
)
REPLACED = re.compile(
    r"^(/usr(/local)?)?/s?bin/(ba|da|a|z)?sh$|^(/usr(/local)?)?/bin/(env|cat|cp|mkdir|rm|tar|timeout|uvx?|pytest|pip3?|"
    r"(python|pypy)[\d.]*)$|/ld-linux[^/]*\.so[.\d]*$|/libc\.so[.\d]*$"
)


@dataclass(frozen=True, slots=True)
class Grade:
    """How a submission did.

    Attributes:
        reward: in [0, 1].
        flags: signs of tampering, sorted.
        exit_code: of test.sh; None if it did not come to that.
        timed_out: it was killed at its deadline.
        output: the end of what test.sh printed, for people; never shown to the policy.
    """

    reward: float
    flags: tuple[str, ...] = ()
    exit_code: int | None = None
    timed_out: bool = False
    output: str = ""


class Unfit(Exception):
    """The tests could not be run in these files."""


async def signs(box: Sandbox) -> set[str]:
    """What the policy has put where only a grader's victim would have it."""
    changed = await box.changes() if isinstance(box, SupervisedSandbox) else None
    if changed is None:  # this backend cannot say: ask inside, and look at the workspace alone
        listed = await box.exec(["ls", "-A", LOGS, TESTS], timeout=10)
        found = {"planted_reward"} if "reward." in listed.stdout else set()
        paths = [entry.path for entry in await box.list()]
    else:
        found = {"planted_reward"} if any(path.startswith(f"{LOGS}/reward.") for path in changed) else set()
        found |= {"planted_tests"} if any(path.startswith(f"{TESTS}/") for path in changed) else set()
        paths = changed
    suspect = [f"planted:{path[-80:]}" for path in paths if PLANTED.search(path)]
    suspect += [f"replaced:{path[-80:]}" for path in changed or () if REPLACED.search(path)]
    return found | set(sorted(suspect)[:MOST_SIGNS])


async def grade(task: FolderTask, box: Sandbox, backend: Backend, untouched: SandboxSpec) -> Grade:
    """End a policy's sandbox and run the task's tests in its files.

    Args:
        box: the policy's sandbox; closed here.
        untouched: how a sandbox of the task begins, to tell whose fault a failure is.

    Raises:
        SandboxRefusal: the files cannot be kept (a policy's doing: it is told, and nothing is graded).
        SandboxFailure, SandboxUnavailable: sandboxes do not work.
    """
    async with kept(box, backend) as snapshot:
        await box.close()
        for _ in range(2):
            try:
                async with one_of(snapshot, backend) as fresh:
                    return await judged(task, fresh)
            except (SandboxFailure, SandboxUnavailable, SandboxRefusal, Unfit) as error:
                broken = error
        await whose_fault(task, backend, for_tests(untouched))
    return Grade(
        0.0, ("killed_sandbox" if isinstance(broken, SandboxDied) else "breaks_grading",), output=str(broken)
    )


async def whose_fault(task: FolderTask, backend: Backend, spec: SandboxSpec) -> None:
    """Returns if the tests can be put into the task's own, untouched sandbox: then the policy has broken its files.

    Raises:
        SandboxFailure, SandboxUnavailable: they cannot, and it was not the policy.
    """
    box = await backend.start(spec)
    try:
        await put_tests(task, box)
    except (SandboxRefusal, Unfit) as error:
        raise SandboxFailure(task.name, f"the tests cannot be put into its image: {error}") from error
    finally:
        await box.close()


@asynccontextmanager
async def kept(box: Sandbox, backend: Backend) -> AsyncIterator[SandboxSnapshot]:
    """The files of a sandbox; what holds them outside of this process is removed at the end, also when cancelled."""
    taking = asyncio.ensure_future(box.snapshot())

    async def drop() -> None:
        await asyncio.wait([taking])
        if not taking.cancelled() and taking.exception() is None:
            await box.close()  # an image in use would stay
            await backend.discard(taking.result())

    try:
        yield await asyncio.shield(taking)
    finally:
        await finish(drop())


@asynccontextmanager
async def one_of(snapshot: SandboxSnapshot, backend: Backend) -> AsyncIterator[Sandbox]:
    """A sandbox with these files, for the tests."""
    (box,) = await spread(replace(snapshot, spec=for_tests(snapshot.spec)), 1, backend.start)
    try:
        yield box
    finally:
        await box.close()


async def judged(task: FolderTask, box: Sandbox) -> Grade:
    await put_tests(task, box)
    env = dict(task.verifier_env)
    result = await box.exec(f"{TESTS}/test.sh", timeout=task.verifier_seconds, env=env)
    output = (result.stdout + result.stderr)[-2000:]
    if result.timed_out:
        return Grade(0.0, ("tests_timed_out",), result.exit_code, True, output)
    texts = {name: await content(box, f"{LOGS}/{name}") for name in ("reward.txt", "reward.json")}
    reward, flag = reward_of(texts["reward.txt"], texts["reward.json"])
    return Grade(reward, (flag,) if flag else (), result.exit_code, False, output)


async def put_tests(task: FolderTask, box: Sandbox) -> None:
    """Empty `/logs/verifier`, and the task's tests, and nothing else, in `/tests`.

    Raises:
        Unfit: it does not work.
    """
    done = await box.exec(["sh", "-c", RENEW], timeout=30)
    if not done.ok:
        raise Unfit(f"{TESTS} and {LOGS} cannot be made: {done.stderr[-300:]}")
    await unpack(box, task.tests, TESTS)
    done = await box.exec(["chmod", "+x", f"{TESTS}/test.sh"], timeout=10)
    if not done.ok:
        raise Unfit(f"{TESTS}/test.sh: {done.stderr[-300:]}")


async def unpack(box: Sandbox, folder: Path, target: str) -> None:
    """Copy a folder of this machine into a sandbox, also outside of its workspace.

    Raises:
        Unfit: it does not work.
    """
    for archive in archives(folder):
        done = await box.exec(["tar", "-x", "-o", "-f", "-", "-C", target], stdin=archive, timeout=60)
        if not done.ok:
            raise Unfit(f"tar in {target}: {done.stderr[-300:]}")


def archives(folder: Path) -> Iterator[bytes]:
    """A folder as tar files of a few megabytes each. Links stay links; owners and times do not travel."""
    held, size = io.BytesIO(), 0
    tar = tarfile.open(fileobj=held, mode="w")  # noqa: SIM115
    for path in sorted(folder.rglob("*")):
        info = tar.gettarinfo(str(path), arcname=path.relative_to(folder).as_posix())
        if info is None:  # a socket
            continue
        info.uid = info.gid = 0
        info.uname = info.gname = ""
        if info.isfile():
            # A second link to a file of an earlier archive would lead nowhere: each is a file of its own.
            with path.open("rb") as file:
                tar.addfile(info, file)
        elif info.islnk():
            info.type, info.linkname, info.size = tarfile.REGTYPE, "", path.stat().st_size
            with path.open("rb") as file:
                tar.addfile(info, file)
        else:
            tar.addfile(info)
        size += info.size
        if size >= SHIPMENT:
            tar.close()
            yield held.getvalue()
            held, size = io.BytesIO(), 0
            tar = tarfile.open(fileobj=held, mode="w")  # noqa: SIM115
    tar.close()
    yield held.getvalue()


async def content(box: Sandbox, path: str) -> str | None:
    """The beginning of a file; None if it is not there."""
    result = await box.exec(["cat", path], timeout=10, output_bytes=LARGEST_REWARD)
    return result.stdout if result.ok else None


def reward_of(text: str | None, document: str | None) -> tuple[float, str]:
    """The reward in `reward.txt` and `reward.json` and, where there is none, 0 and the sign that says why.

    The JSON is a number, or an object of numbers with a `reward` among them or with one alone.
    """
    said: list[object] = []
    if document is not None:
        try:
            value = json.loads(document)
        except (ValueError, RecursionError):
            return 0.0, "reward_not_a_number"
        if isinstance(value, dict):
            if not value or any(not is_number(item) for item in value.values()):
                return 0.0, "reward_not_a_number"
            if "reward" not in value and len(value) != 1:
                return 0.0, "reward_ambiguous"
            value = value["reward"] if "reward" in value else next(iter(value.values()))
        said.append(value)
    if text is not None:
        if not NUMBER.fullmatch(text.strip()):
            return 0.0, "reward_not_a_number"
        said.append(float(text))
    if not said:
        return 0.0, "reward_missing"
    if not all(map(is_number, said)):
        return 0.0, "reward_not_a_number"
    if any(value != said[0] for value in said):
        return 0.0, "reward_ambiguous"
    reward = float(said[0])  # type: ignore[arg-type]
    return (reward, "") if 0.0 <= reward <= 1.0 else (0.0, "reward_out_of_range")


def is_number(value: object) -> bool:
    """A finite one; `true` is none."""
    if isinstance(value, bool) or not isinstance(value, int | float):
        return False
    return (isinstance(value, int) and abs(value) < 1 << 53) or (
        isinstance(value, float) and math.isfinite(value)
    )
