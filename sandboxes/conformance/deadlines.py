"""Deadlines: what is late dies, with everything that it started, however it hides; what is not, lives."""

from __future__ import annotations

import asyncio
import math
import time
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager

from agentrl.core.failures import UserError
from agentrl.sandboxes.base import ExecResult, Sandbox, SandboxDied
from agentrl.sandboxes.conformance import host
from agentrl.sandboxes.conformance.suite import (
    Broken,
    Maker,
    case,
    must,
    nothing_runs,
    same,
    usable_or_dead,
    works,
)

DETACHED = """
import os, sys, time
if os.fork():
    os._exit(0) if len(sys.argv) < 3 else time.sleep(60)
os.setsid()
if os.fork():
    os._exit(0)
print("grandchild", flush=True)
os.execvp("sleep", ["sleep", sys.argv[1]])
"""
# It is never there when it is looked for: each process lives for as long as it takes to make the next.
RUNAWAY = """
import os
print("off", flush=True)
while True:
    if os.fork():
        os._exit(0)
    os.setsid()
"""


@asynccontextmanager
async def within(seconds: float, what: str) -> AsyncIterator[None]:
    """A part of a case with an end of its own, so that a backend without deadlines does not hold up the suite."""
    began = time.monotonic()
    try:
        async with asyncio.timeout(seconds + 2):
            yield
    except TimeoutError:
        raise Broken(f"{what} has not ended {seconds + 2:g} s after its start") from None
    took = time.monotonic() - began
    must(took <= seconds, f"{what} took {took:.2f} s, more than {seconds:g} s")


async def none_left(box: Sandbox, word: str) -> None:
    must(
        await host.settles(lambda: not host.processes(word), 2.0),
        f"sleep {word} lives on among the host's processes",
    )
    found = await box.exec("cat /proc/[0-9]*/cmdline 2>/dev/null | tr '\\0' ' '; true", output_bytes=1 << 20)
    must(f"sleep {word}" not in found.stdout, f"sleep {word} lives on in the sandbox")


def late(result: ExecResult, what: str) -> None:
    must(result.timed_out and not result.ok, f"{what} is not reported as late: {result!r:.200}")
    same(result.exit_code, 137, f"exit code of {what}")


@case()
async def sleep(box: Sandbox, made: Maker) -> str:
    word = host.mark()
    async with within(2, "sleep with a timeout of 1 s"):
        result = await box.exec(f"sleep {word}", timeout=1)
    late(result, "sleep")
    await none_left(box, word)
    return f"ended after {result.seconds:.2f} s"


@case()
async def output_before_the_deadline(box: Sandbox, made: Maker) -> str:
    word = host.mark()
    async with within(3, "a line with a detached background and a timeout of 2 s"):
        result = await box.exec(f"setsid sleep {word} & echo ok; sleep 30", timeout=2)
    late(result, "the line")
    same(result.stdout, "ok\n", "what was written before")
    await none_left(box, word)
    return "kept"


@case()
async def detached_grandchild(box: Sandbox, made: Maker) -> str:
    word = host.mark()
    async with within(2.5, "a parent of a detached grandchild with a timeout of 1 s"):
        result = await box.exec(["python3", "-c", DETACHED, word, "stay"], timeout=1)
    late(result, "the parent")
    same(result.stdout, "grandchild\n", "what the grandchild wrote")
    await none_left(box, word)
    return "dies too"


@case()
async def pipe_held_by_an_orphan(box: Sandbox, made: Maker) -> str:
    word = host.mark()
    async with within(2, "a command whose detached grandchild holds its output"):
        result = await box.exec(["python3", "-c", DETACHED, word], timeout=20)
    same((result.exit_code, result.timed_out), (0, False), "the command")
    await box.reset()
    await none_left(box, word)
    return "does not hold up its command"


@case()
async def background(box: Sandbox, made: Maker) -> str:
    word = host.mark()
    async with within(2, "a command with a background"):
        result = await box.exec(f"sleep {word} & echo hi", timeout=20)
    same((result.stdout, result.exit_code), ("hi\n", 0), "a command with a background")
    late(await box.exec("sleep 30", timeout=0.3), "another command")
    count = await box.exec(f"cat /proc/[0-9]*/cmdline | tr '\\0' ' ' | grep -c '[s]leep {word}'")
    same(count.stdout, "1\n", "how many of it run after another command was killed")
    await box.reset()
    await none_left(box, word)
    return "lives until a reset"


@case()
async def deaf_to_signals(box: Sandbox, made: Maker) -> str:
    async with within(2.5, "a command that ignores signals, with a timeout of 1 s"):
        result = await box.exec(
            "trap '' TERM INT HUP QUIT; echo deaf; while :; do sleep 0.1; done", timeout=1
        )
    late(result, "a deaf command")
    async with within(2.5, "a stopped command with a timeout of 0.5 s"):
        late(await box.exec("kill -STOP $$", timeout=0.5), "a stopped command")
    return "dies"


@case()
async def busy_output(box: Sandbox, made: Maker) -> str:
    async with within(2.5, "yes with a timeout of 1 s"):
        result = await box.exec("yes", timeout=1)
    late(result, "yes")
    must(
        result.stdout.startswith("y\ny\n") and result.truncated_bytes > 0,
        "its output is not kept and counted",
    )
    await works(box)
    return f"{result.truncated_bytes} bytes omitted"


@case(fresh=True, needs="limits")
async def runaway(box: Sandbox, made: Maker) -> str:
    before = len(host.processes())
    async with within(10, "a chain of forks with a timeout of 1 s"):
        try:
            line = ["sh", "-c", 'python3 -c "$1" & sleep 60', "sh", RUNAWAY]
            late(await box.exec(line, timeout=1), "a chain of forks")
            await nothing_runs(box)
        except SandboxDied:
            await box.close()
    outcome = await usable_or_dead(box)
    must(
        await host.settles(lambda: len(host.processes()) <= before + 20),
        "the host has more processes than before",
    )
    return outcome


@case()
async def both_at_once(box: Sandbox, made: Maker) -> str:
    words = [host.mark() for _ in range(4)]
    async with within(4, "four commands with timeouts of 0.3 to 1.2 s"):
        results = await asyncio.gather(
            *(box.exec(f"echo {i}; sleep {word}", timeout=0.3 * (i + 1)) for i, word in enumerate(words))
        )
    for i, result in enumerate(results):
        late(result, f"command {i}")
        same(result.stdout, f"{i}\n", f"output of command {i}")
        must(abs(result.seconds - 0.3 * (i + 1)) < 0.9, f"command {i} ended after {result.seconds:.2f} s")
    for word in words:
        await none_left(box, word)
    return "each at its own"


@case()
async def timeouts_out_of_range(box: Sandbox, made: Maker) -> str:
    for seconds in (0, -1, -0.5, math.nan, math.inf):
        for attempt in (box.exec, box.open):
            try:
                await attempt(["touch", "ran"], timeout=seconds)
            except UserError:
                continue
            raise Broken(f"a timeout of {seconds} is taken")
    same([item.path for item in await box.list()], [], "files that refused commands wrote")
    return "refused"


@case()
async def cancelled(box: Sandbox, made: Maker) -> str:
    word = host.mark()
    running = asyncio.ensure_future(box.exec(f"setsid sleep {word} & sleep {word}", timeout=25))
    await asyncio.sleep(0.3)
    must(box.backend == "docker" or host.processes(word), "the command has not started")
    running.cancel()
    try:
        await running
        raise Broken("a cancelled call returns a result")
    except asyncio.CancelledError:
        await none_left(box, word)
    await works(box)
    return "its command dies"


@case(fresh=True, needs="isolation", deadline=60)
async def everything_stopped(box: Sandbox, made: Maker) -> str:
    async with within(25, "a command after which everything is stopped"):
        try:
            result = await box.exec("kill -STOP -1; kill -STOP 1; sleep 20", timeout=1)
        except SandboxDied:
            must(not box.alive, "it raised SandboxDied and calls itself alive")
            return "SandboxDied"
    late(result, "kill -STOP -1")
    return await usable_or_dead(box)
