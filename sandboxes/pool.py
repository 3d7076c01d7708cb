"""Warm sandboxes: acquired in a millisecond, fresh every time, never more than a limit.

Invariant: what is acquired has served nobody before it was made or reset, and has just been seen alive; at most `limit`
sandboxes exist at once, and whoever comes then waits in line instead of starting one more.
"""

from __future__ import annotations

import asyncio
import time
from collections import deque
from collections.abc import Awaitable
from dataclasses import dataclass
from typing import Literal

from agentrl.core.failures import UserError
from agentrl.sandboxes.base import Backend, Sandbox, SandboxFailure, SandboxSpec
from agentrl.sandboxes.supervised import SupervisedSandbox

STALE = 5.0  # seconds after which a spare is asked whether it lives


@dataclass(slots=True)
class PoolStats:
    """Counts of a pool's life. `waited` is in seconds, over all acquisitions."""

    acquired: int = 0
    warm: int = 0
    started: int = 0
    unhealthy: int = 0
    reused: int = 0
    failed_starts: int = 0
    waited: float = 0.0


class Pool:
    """Sandboxes of one backend and one spec, in one event loop.

    Args:
        warm: how many wait ready.
        limit: how many exist at once, ready and in use.
        starts: how many are started at once.
        recycle: `replace` ends a sandbox after use; `reset` wipes it and keeps it (faster where a start is slow: the
            same supervisor then serves many episodes).
        acquire_seconds: deadline of `acquire`.
    """

    def __init__(
        self,
        backend: Backend,
        spec: SandboxSpec,
        *,
        warm: int = 2,
        limit: int = 64,
        starts: int = 4,
        recycle: Literal["replace", "reset"] = "replace",
        acquire_seconds: float = 120.0,
    ) -> None:
        for name, value, least in (("warm", warm, 0), ("limit", limit, 1), ("starts", starts, 1)):
            if value < least:
                raise UserError(f"sandbox pool {name} must be at least {least}, got {value}")
        self.backend, self.spec = backend, spec
        self.warm, self.limit, self.recycle = min(warm, limit), limit, recycle
        self.acquire_seconds = acquire_seconds
        self.stats = PoolStats()
        self.spares: deque[tuple[SupervisedSandbox, float]] = deque()
        self.held: set[SupervisedSandbox] = set()
        self.free = asyncio.Semaphore(limit)
        self.starts = asyncio.Semaphore(starts)
        self.filling: set[asyncio.Task[None]] = set()
        self.starting = 0  # sandboxes that are being started for somebody who waits
        self.closed = False

    async def acquire(self) -> SupervisedSandbox:
        """A sandbox that is as if fresh. Give it back with `release`, or just close it.

        Raises:
            SandboxFailure: none became free, or none could be started.
            SandboxUnavailable: none can ever be started here.
        """
        if self.closed:
            raise SandboxFailure("pool", "the pool is closed")
        began = time.monotonic()
        try:
            async with asyncio.timeout(self.acquire_seconds):
                await self.free.acquire()
        except TimeoutError:
            raise SandboxFailure(
                "pool", f"none of {self.limit} sandboxes became free within {self.acquire_seconds:g} s"
            ) from None
        try:
            sandbox = await self._spare()
            while sandbox is None and self.filling and self._count() >= self.limit:
                # One more would be too many, but one is on its way.
                await asyncio.wait(self.filling, return_when=asyncio.FIRST_COMPLETED)
                sandbox = await self._spare()
            sandbox = sandbox or await self._start()
        except BaseException:
            self.free.release()
            raise
        self.stats.acquired += 1
        self.stats.waited += time.monotonic() - began
        self.held.add(sandbox)
        sandbox.sibling = self._sibling
        sandbox.ended = self._ended
        self._fill()
        return sandbox

    async def release(self, sandbox: Sandbox) -> None:
        """Give a sandbox back: it is wiped and kept, or ended, as the pool says."""
        assert isinstance(sandbox, SupervisedSandbox)
        if sandbox not in self.held:
            await sandbox.close()
            return
        if self.recycle == "reset" and sandbox.alive and not self.closed and len(self.spares) < self.limit:
            try:
                await sandbox.reset()
            except SandboxFailure:
                self.stats.unhealthy += 1
            else:
                sandbox.ended = None
                self._ended(sandbox)
                self.spares.append((sandbox, time.monotonic()))
                self.stats.reused += 1
                return
        await sandbox.close()

    async def close(self) -> None:
        """End every sandbox of the pool, also those in use; idempotent."""
        self.closed = True
        for task in list(self.filling):
            task.cancel()
        await asyncio.gather(*self.filling, return_exceptions=True)
        every: list[Awaitable[None]] = [sandbox.close() for sandbox, _ in self.spares]
        self.spares.clear()
        every += [sandbox.close() for sandbox in list(self.held)]
        broken = [e for e in await asyncio.gather(*every, return_exceptions=True) if isinstance(e, Exception)]
        if broken:
            raise broken[0]

    async def _spare(self) -> SupervisedSandbox | None:
        """A ready one that lives."""
        while self.spares:
            sandbox, since = self.spares.popleft()
            try:
                if sandbox.alive and time.monotonic() - since > STALE:
                    await sandbox.ping(2.0)
            except SandboxFailure:
                self.stats.unhealthy += 1
            if sandbox.alive:
                self.stats.warm += 1
                return sandbox
            await sandbox.close()
        return None

    def _count(self) -> int:
        """Sandboxes that are there or on their way."""
        return len(self.held) + len(self.spares) + len(self.filling) + self.starting

    async def _start(self) -> SupervisedSandbox:
        self.starting += 1
        try:
            async with self.starts:
                # One may have become ready while we stood in line.
                return await self._spare() or await self._started()
        finally:
            self.starting -= 1

    async def _started(self) -> SupervisedSandbox:
        try:
            sandbox = await self.backend.start(self.spec)
        except SandboxFailure:
            self.stats.failed_starts += 1
            raise
        assert isinstance(sandbox, SupervisedSandbox)
        self.stats.started += 1
        return sandbox

    async def _sibling(self, spec: SandboxSpec) -> Sandbox:
        # A fork of a committed image needs a sandbox of that image, which is not in the pool.
        return await self.acquire() if spec == self.spec else await self.backend.start(spec)

    def _ended(self, sandbox: SupervisedSandbox) -> None:
        if sandbox in self.held:
            self.held.discard(sandbox)
            self.free.release()
            self._fill()

    def _fill(self) -> None:
        """Start what is missing, in the background."""
        room = self.limit - self._count()
        for _ in range(min(self.warm - len(self.spares) - len(self.filling), room)):
            if self.closed:
                return
            task = asyncio.ensure_future(self._warm_up())
            self.filling.add(task)
            task.add_done_callback(self.filling.discard)

    async def _warm_up(self) -> None:
        try:
            async with self.starts:
                sandbox = await self._started()
        except (SandboxFailure, UserError):
            return  # counted; whoever acquires next tries for itself and gets the reason
        # Nothing is awaited between the start and here: a cancelled start ends what it has begun.
        if self.closed or len(self.held) + len(self.spares) + self.starting >= self.limit:
            await sandbox.close()
        else:
            self.spares.append((sandbox, time.monotonic()))


class Leases:
    """Pools that live as long as somebody uses them: one for each event loop, backend and spec."""

    def __init__(self) -> None:
        self.pools: dict[tuple[int, str, str], tuple[Pool, int]] = {}

    def take(self, backend: Backend, spec: SandboxSpec, *, warm: int = 2, limit: int = 64) -> Pool:
        """The pool of this loop for a backend and a spec; made if it is the first lease. Not a coroutine: nothing is
        started yet."""
        key = (id(asyncio.get_running_loop()), backend.name, repr(spec))
        pool, leases = self.pools.get(key, (None, 0))
        if pool is None or pool.closed:
            pool, leases = Pool(backend, spec, warm=warm, limit=limit), 0
        self.pools[key] = (pool, leases + 1)
        return pool

    async def give_back(self, pool: Pool) -> None:
        """End a lease; with the last one, the pool closes."""
        for key, (known, leases) in list(self.pools.items()):
            if known is pool:
                if leases > 1:
                    self.pools[key] = (pool, leases - 1)
                else:
                    del self.pools[key]
                    await pool.close()


leases = Leases()
