"""The pool: warm, bounded, fresh, health-checked."""

import asyncio
import os
import signal
import time
from dataclasses import replace

import pytest

from agentrl.core.failures import UserError
from agentrl.sandboxes.base import SandboxFailure, SandboxSpec
from agentrl.sandboxes.pool import Leases, Pool

SPEC = SandboxSpec()


async def until(condition, seconds=20.0):
    deadline = time.monotonic() + seconds
    while not condition():
        assert time.monotonic() < deadline, "it did not come about"
        await asyncio.sleep(0.01)


async def test_what_is_ready_is_acquired_at_once(some_backend):
    pool = Pool(some_backend, SPEC, warm=2, limit=4)
    try:
        first = await pool.acquire()
        await until(lambda: len(pool.spares) == 2)
        began = time.perf_counter()
        second = await pool.acquire()
        assert time.perf_counter() - began < 0.05
        assert second is not first
        assert pool.stats.warm == 1
    finally:
        await pool.close()
    assert not pool.held
    assert not pool.spares


@pytest.mark.parametrize("warm", [0, 1, 3])
async def test_never_more_than_the_limit(bubblewrap, monkeypatch, warm):
    """Counted where sandboxes are made and ended, not where the pool counts."""
    pool = Pool(bubblewrap, SPEC, warm=warm, limit=3)
    alive, most = 0, 0
    start = bubblewrap.start

    async def counting(spec):
        nonlocal alive, most
        alive += 1
        most = max(most, alive)
        box = await start(spec)
        destroy = box.handle.destroy

        async def destroying():
            nonlocal alive
            await destroy()
            alive -= 1

        box.handle = replace(box.handle, destroy=destroying)
        return box

    async def use(index):
        box = await pool.acquire()
        await box.exec(f"sleep 0.0{index % 3}")
        await pool.release(box)

    monkeypatch.setattr(bubblewrap, "start", counting)
    try:
        await asyncio.gather(*(use(index) for index in range(24)))
    finally:
        await pool.close()
    assert most <= 3
    assert pool.stats.acquired == 24


async def test_waiting_in_line_has_a_deadline(bubblewrap):
    pool = Pool(bubblewrap, SPEC, warm=0, limit=1, acquire_seconds=0.2)
    try:
        box = await pool.acquire()
        with pytest.raises(SandboxFailure, match="none of 1 sandboxes became free"):
            await pool.acquire()
        await pool.release(box)
        assert (await pool.acquire()).alive
    finally:
        await pool.close()


@pytest.mark.parametrize("recycle", ["replace", "reset"])
async def test_nobody_finds_what_another_left(bubblewrap, recycle):
    pool = Pool(bubblewrap, SPEC, warm=1, limit=1, recycle=recycle)
    try:
        for _ in range(3):
            box = await pool.acquire()
            assert await box.list() == []
            assert await box.ping() == 0
            await box.exec("echo x > left; echo y > /tmp/left; mkdir -m 000 closed; sleep 100 & true")
            await pool.release(box)
        assert pool.stats.reused == (3 if recycle == "reset" else 0)
    finally:
        await pool.close()


async def test_a_spare_that_died_is_not_given_out(bubblewrap):
    pool = Pool(bubblewrap, SPEC, warm=1, limit=2)
    try:
        await pool.release(await pool.acquire())
        await until(lambda: len(pool.spares) == 1)
        await pool.spares[0][0].close()
        box = await pool.acquire()
        assert (await box.exec("echo fine")).stdout == "fine\n"
    finally:
        await pool.close()


@pytest.mark.slow
async def test_a_spare_that_hangs_is_found_out(bubblewrap, monkeypatch):
    monkeypatch.setattr("agentrl.sandboxes.pool.STALE", 0.0)
    pool = Pool(bubblewrap, SPEC, warm=1, limit=2)
    stopped = []
    try:
        await pool.release(await pool.acquire())
        await until(lambda: len(pool.spares) == 1)
        spare = pool.spares[0][0]
        for entry in __import__("agentrl.sandboxes.ledger", fromlist=["x"]).processes():
            if entry.sandbox == spare.id:
                os.kill(int(entry.id), signal.SIGSTOP)
                stopped.append(int(entry.id))
        assert stopped
        box = await pool.acquire()
        assert box is not spare
        assert pool.stats.unhealthy == 1
    finally:
        await pool.close()


async def test_forks_count_and_are_given_back(bubblewrap):
    pool = Pool(bubblewrap, SPEC, warm=1, limit=3)
    try:
        box = await pool.acquire()
        await box.write("x", "1")
        one, two = await box.fork(2)
        assert len(pool.held) == 3
        assert await one.read("x") == b"1"
        await one.close()
        await two.close()
        assert len(pool.held) == 1
    finally:
        await pool.close()


async def test_a_failing_backend_fails_whoever_acquires_and_frees_the_place(bubblewrap, monkeypatch):
    pool = Pool(bubblewrap, SPEC, warm=1, limit=1)
    start = bubblewrap.start

    async def broken(spec):
        raise SandboxFailure("test", "broken")

    try:
        monkeypatch.setattr(bubblewrap, "start", broken)
        for _ in range(3):
            with pytest.raises(SandboxFailure, match="broken"):
                await pool.acquire()
        monkeypatch.setattr(bubblewrap, "start", start)
        assert (await pool.acquire()).alive
    finally:
        await pool.close()


async def test_cancelled_acquisitions_leave_nothing(some_backend):
    pool = Pool(some_backend, SPEC, warm=0, limit=4)
    waiting = [asyncio.ensure_future(pool.acquire()) for _ in range(4)]
    await asyncio.sleep(0.02)
    for task in waiting:
        task.cancel()
    await asyncio.gather(*waiting, return_exceptions=True)
    assert pool.free._value == 4 - len(pool.held)
    await pool.close()


async def test_leases_share_a_pool_and_the_last_closes_it(bubblewrap):
    leases = Leases()
    one, two = leases.take(bubblewrap, SPEC), leases.take(bubblewrap, SPEC)
    other = leases.take(bubblewrap, SandboxSpec(processes=64))
    assert one is two
    assert other is not one
    await leases.give_back(one)
    assert not one.closed
    await leases.give_back(two)
    assert one.closed
    await leases.give_back(other)


@pytest.mark.parametrize("settings", [{"limit": 0}, {"warm": -1}, {"starts": 0}])
async def test_bad_sizes_are_refused(bubblewrap, settings):
    with pytest.raises(UserError, match="sandbox pool"):
        Pool(bubblewrap, SPEC, **settings)
