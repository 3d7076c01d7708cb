"""Processes: bombs, swarms, orphans, and commands that kill whatever they can."""

from __future__ import annotations

import asyncio

from agentrl.sandboxes.base import ExecResult, Sandbox, SandboxDied, SandboxRefusal
from agentrl.sandboxes.conformance import host
from agentrl.sandboxes.conformance.suite import Maker, case, must, nothing_runs, same, usable_or_dead, works

PYTHON_BOMB = "import os\nwhile True:\n    try: os.fork()\n    except OSError: pass"
MANY = """
import os, sys, time
count = 0
while count < int(sys.argv[1]):
    try:
        if os.fork() == 0:
            time.sleep(60)
    except OSError:
        break
    count += 1
    time.sleep(0.002)
print(count, flush=True)
os._exit(0)
"""
SWARM = """
import os, time
for _ in range(150):
    pid = os.fork()
    if pid == 0:
        os.setsid()
        if os.fork() == 0:
            time.sleep(0.02)
            os._exit(0)
        os._exit(0)
    os.waitpid(pid, 0)
"""
ZOMBIES = "grep -l '^State:.Z' /proc/[0-9]*/status 2>/dev/null | wc -l"


async def bomb(box: Sandbox, command: str | list[str]) -> str:
    before = len(host.processes())
    try:
        result: ExecResult | None = await box.exec(command, timeout=2)
    except (SandboxDied, SandboxRefusal):
        result = None
    outcome = await usable_or_dead(box)
    if outcome != "usable":
        await box.close()
    most = before + 20  # others work on this machine too
    must(await host.settles(lambda: len(host.processes()) <= most), "the host has more processes than before")
    return f"{outcome}; exit code {result.exit_code if result else None}"


@case(fresh=True, needs="limits")
async def shell_fork_bomb(box: Sandbox, made: Maker) -> str:
    return await bomb(box, "b() { b | b & }; b; sleep 1; echo $?")


@case(fresh=True, needs="limits")
async def python_fork_bomb(box: Sandbox, made: Maker) -> str:
    return await bomb(box, ["python3", "-c", PYTHON_BOMB])


@case(fresh=True, needs="limits")
async def too_many_processes(box: Sandbox, made: Maker) -> str:
    most = box.spec.processes
    result = await box.exec(["python3", "-c", MANY, str(most + 200)], timeout=20)
    must(result.exit_code == 137 or result.stdout.strip().isdigit(), f"the count is lost: {result!r:.200}")
    count = int(result.stdout) if result.stdout.strip().isdigit() else 0
    must(count <= most, f"{count} processes run, and {most} may")
    return f"{count} of at most {most}; {await usable_or_dead(box)}"


@case(deadline=60)
async def orphans_are_collected(box: Sandbox, made: Maker) -> str:
    before = await box.ping()
    for _ in range(10):
        same(
            (await box.exec(["python3", "-c", SWARM], timeout=20)).exit_code, 0, "150 double-forked children"
        )
    for _ in range(50):
        if await box.ping() <= before:
            break
        await asyncio.sleep(0.05)
    same(await box.ping(), before, "processes after 1,500 double-forked children")
    if box.backend != "local":
        zombies = int((await box.exec(ZOMBIES)).stdout)
        must(zombies <= 1, f"{zombies} zombies are left")
    await works(box)
    return "1,500, none left"


async def after_killing(box: Sandbox, command: str) -> str:
    """Whatever the command killed: every later result is of a command that ran."""
    try:
        result = await box.exec(command, timeout=5)
        said = f"exit code {result.exit_code}"
        must(result.exit_code != 0 or "survived" in result.stdout, f"reported as a success: {result!r:.200}")
    except SandboxDied:
        said = "SandboxDied"
    for i in range(3):
        try:
            result = await box.exec(f"echo ran > proof{i}; echo ran {i}", timeout=5)
            same((result.stdout, result.exit_code), (f"ran {i}\n", 0), "a command afterwards")
            same(await box.read(f"proof{i}"), b"ran\n", "the proof that it ran")
        except SandboxDied:
            must(not box.alive, "it raised SandboxDied and calls itself alive")
            said += ", then SandboxDied"
            break
    return said


@case(fresh=True, needs="isolation")
async def kill_the_first_process(box: Sandbox, made: Maker) -> str:
    return await after_killing(box, "kill -9 1; kill -TERM 1; sleep 0.2; echo survived")


@case(fresh=True, needs="isolation")
async def kill_everything(box: Sandbox, made: Maker) -> str:
    return await after_killing(box, "kill -9 -1; sleep 0.2; echo survived")


@case(fresh=True, needs="isolation")
async def kill_each_by_number(box: Sandbox, made: Maker) -> str:
    script = (
        "for p in /proc/[0-9]*; do p=${p#/proc/}; [ $p = $$ ] || kill -9 $p; done; sleep 0.2; echo survived"
    )
    return await after_killing(box, script)


@case(fresh=True, needs="isolation")
async def other_signals_to_everything(box: Sandbox, made: Maker) -> str:
    script = "trap '' TERM INT HUP USR1 ALRM; for s in TERM INT HUP USR1 ALRM PIPE; do kill -$s -1; done; echo survived"
    result = await box.exec(script, timeout=10)
    same(
        (result.stdout, result.exit_code),
        ("survived\n", 0),
        "a command that sends every signal that can be ignored",
    )
    await works(box)
    return "ignored"


@case(fresh=True)
async def kill_the_parent(box: Sandbox, made: Maker) -> str:
    result = await box.exec("kill -9 $PPID; sleep 30", timeout=10)
    same((result.exit_code, result.ok), (137, False), "a command that killed its runner")
    must(result.seconds < 5, f"it was seen only after {result.seconds:.1f} s")
    await works(box)
    await nothing_runs(box)
    return "137, usable"
