"""From start to close: nothing is left, nothing dead answers, and its end is told at once."""

from __future__ import annotations

import asyncio
import os
import signal
import time

from agentrl.core.failures import AgentRLError
from agentrl.sandboxes.base import Sandbox, SandboxDied
from agentrl.sandboxes.conformance import host
from agentrl.sandboxes.conformance.suite import Broken, Maker, Skip, case, must, same, works
from agentrl.sandboxes.owner import me


async def died(attempt: object, what: str) -> None:
    try:
        got = await attempt  # type: ignore[misc]
    except SandboxDied:
        return
    except AgentRLError as error:
        raise Broken(f"{what} raises {type(error).__name__} and not SandboxDied: {error}") from None
    raise Broken(f"{what} gives {got!r:.100} and does not raise SandboxDied")


async def nothing_left(box: Sandbox) -> None:
    """No process and, where there is an engine, no container bears its name."""
    must(
        await host.settles(lambda: not host.processes(box.id), 2.0),
        f"processes of {box.id} live on: {host.processes(box.id)}",
    )
    if box.backend == "docker":
        from agentrl.sandboxes.docker import ask, connect

        client = await ask(connect)
        found = await ask(
            lambda: client.api.containers(all=True, filters={"label": f"agentrl.sandbox={box.id}"})
        )
        client.close()
        same(found, [], f"containers of {box.id}")


@case(fresh=True)
async def close_leaves_nothing(box: Sandbox, made: Maker) -> str:
    word = host.mark()
    await box.exec(f"mkdir -p shut/in; chmod 000 shut/in shut; setsid sleep {word} & sleep {word} & true")
    must(box.alive, "it calls itself dead")
    began = time.monotonic()
    await box.close()
    took = time.monotonic() - began
    must(took < 5, f"closing took {took:.1f} s")
    must(not box.alive, "it calls itself alive after its close")
    must(not host.processes(word), "what ran in it lives on")
    await nothing_left(box)
    await box.close()
    await asyncio.gather(box.close(), box.close())
    return f"closed in {took:.2f} s"


@case(fresh=True)
async def use_after_close(box: Sandbox, made: Maker) -> str:
    snapshot = await box.snapshot()
    await box.close()
    attempts = {
        "exec": box.exec("echo hi"),
        "open": box.open(["true"], timeout=5),
        "read": box.read("x"),
        "write": box.write("x", b""),
        "list": box.list(),
        "snapshot": box.snapshot(),
        "fork": box.fork(),
        "restore": box.restore(snapshot),
        "reset": box.reset(),
        "ping": box.ping(),
    }
    for name, attempt in attempts.items():
        await died(attempt, f"{name} after close")
    return "SandboxDied"


@case(fresh=True)
async def close_while_it_runs(box: Sandbox, made: Maker) -> str:
    word = host.mark()
    running = [asyncio.ensure_future(box.exec(f"sleep {word}", timeout=25)) for _ in range(2)]
    process = await box.open(["sleep", word], timeout=25)
    await asyncio.sleep(0.2)
    began = time.monotonic()
    await box.close()
    for one in running:
        await died(one, "a command that runs while its sandbox is closed")
    await died(process.receive(5), "a channel of a closed sandbox")
    took = time.monotonic() - began
    must(took < 3, f"it was told after {took:.1f} s")
    await nothing_left(box)
    return f"told after {took:.2f} s"


@case(fresh=True, needs="isolation")
async def death_is_told(box: Sandbox, made: Maker) -> str:
    """The sandbox is killed from outside, as a machine short of memory would do."""
    pids = host.processes(box.id)
    if not pids:
        raise Skip("its processes cannot be seen from here")
    running = asyncio.ensure_future(box.exec("sleep 25", timeout=25))
    await asyncio.sleep(0.2)
    began = time.monotonic()
    for pid in pids:
        os.kill(pid, signal.SIGKILL)
    await died(running, "a command whose sandbox was killed")
    await died(box.exec("echo hi"), "a command after that")
    must(not box.alive, "it calls itself alive")
    took = time.monotonic() - began
    must(took < 3, f"it was told after {took:.1f} s")
    await box.close()
    await nothing_left(box)
    return f"told after {took:.2f} s"


@case()
async def cancelled_start(box: Sandbox, made: Maker) -> str:
    mine = me().text  # others may start sandboxes on this machine meanwhile
    before = set(host.processes(mine))
    for delay in (0.0, 0.005, 0.02, 0.05):
        starting = asyncio.ensure_future(made.backend.start(made.spec))
        await asyncio.sleep(delay)
        starting.cancel()
        try:
            made.keep([await starting])
            await made.clean()
        except asyncio.CancelledError:
            continue

    def left() -> set[int]:
        return set(host.processes(mine)) - before

    must(await host.settles(lambda: not left(), 5.0), f"processes of cancelled starts live on: {left()}")
    await works(box)
    return "leaves nothing"


@case()
async def as_a_context(box: Sandbox, made: Maker) -> str:
    async with await made() as inner:
        await works(inner)
        name = inner.id
    must(not inner.alive and not host.processes(name), "it is left after its block")
    must(box.id != name, "two sandboxes bear one name")
    same((await box.exec("true")).exit_code, 0, "another sandbox")
    return name


SYSV = """
import ctypes
libc = ctypes.CDLL(None)
assert libc.shmget(4711, 4096, 0o1600) >= 0
assert libc.msgget(4712, 0o1600) >= 0
assert libc.semget(4713, 1, 0o1600) >= 0
"""
LEFT = "cat /proc/sysvipc/shm /proc/sysvipc/msg /proc/sysvipc/sem | grep -c 47 || true"


@case(fresh=True, needs="isolation")
async def reset_removes_ipc(box: Sandbox, made: Maker) -> str:
    result = await box.exec(["python3", "-c", SYSV])
    same((result.exit_code, result.stderr), (0, ""), "making IPC objects")
    same((await box.exec(LEFT)).stdout, "3\n", "IPC objects before the reset")
    await box.reset()
    same((await box.exec(LEFT)).stdout, "0\n", "IPC objects after the reset")
    return "shared memory, queue, semaphore"
