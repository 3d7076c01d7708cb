"""Open environments: reused while they are clean and fit, closed exactly once, never more than are allowed."""

from __future__ import annotations

import asyncio
from collections import Counter
from collections.abc import Mapping

from agentrl.core.failures import InfrastructureFailure
from agentrl.core.tree import Task
from agentrl.rollout.hosts import Host
from agentrl.rollout.kinds import Kind, reuse_key
from agentrl.rollout.settings import RolloutSettings


class Pool:
    """Hosts of a collection. Whoever `take`s one gives it back with `give` or `discard`.

    An episode holds at most one host, so that there is always an idle one to close where too many are open.

    Attributes:
        failures: failures to close, with the environment's id.
        abandoned: how many hosts did not close in time and were left behind.
    """

    def __init__(self, kinds: Mapping[str, Kind], settings: RolloutSettings) -> None:
        self.kinds, self.settings = kinds, settings
        self.failures: list[tuple[str, InfrastructureFailure]] = []
        self.abandoned = 0
        self._keys: dict[Host, tuple[str, object]] = {}
        self._idle: list[Host] = []  # the one that was used last is the last
        self._open: Counter[object] = Counter()
        self._closing: set[asyncio.Task[None]] = set()

    async def take(self, task: Task) -> Host:
        """An idle host that fits, else a new one.

        Raises:
            UserError, InfrastructureFailure: it could not be made; what is left of it has been closed.
        """
        key, kind = reuse_key(task), self.kinds[task.env]
        for host in reversed(self._idle):
            if self._keys[host] == key:
                self._idle.remove(host)
                return host
        while (superfluous := self._superfluous(kind)) is not None:
            self._idle.remove(superfluous)
            await self.discard(superfluous)
        host = kind.new_host(task, self.settings)
        self._keys[host] = key
        self._open[kind.env_class] += 1
        try:
            await host.open()
        except BaseException:
            await self.discard(host)
            raise
        return host

    def give(self, host: Host) -> None:
        """Give back a host whose episode ended well."""
        self._idle.append(host)

    async def discard(self, host: Host) -> None:
        """Close a host. It is closed even if the caller is cancelled meanwhile."""
        await asyncio.shield(self._begin_closing(host))

    async def aclose(self) -> None:
        """Close what is idle, and wait for all that is being closed: as long as the deadlines allow, no longer."""
        while self._idle:
            self._begin_closing(self._idle.pop())
        while self._closing:
            await asyncio.wait(self._closing)

    def _begin_closing(self, host: Host) -> asyncio.Task[None]:
        closing = asyncio.ensure_future(self._close(host))
        self._closing.add(closing)
        closing.add_done_callback(self._closing.discard)
        return closing

    async def _close(self, host: Host) -> None:
        name, _ = self._keys.pop(host)
        try:
            failure = await host.close()
        finally:
            self._open[self.kinds[name].env_class] -= 1
        if failure is not None:
            self.failures.append((name, failure))
        self.abandoned += host.abandoned

    def _superfluous(self, kind: Kind) -> Host | None:
        """The idle host to close before another one of this kind may be opened."""
        if kind.limit is not None and self._open[kind.env_class] >= kind.limit:
            same = (
                host for host in self._idle if self.kinds[self._keys[host][0]].env_class is kind.env_class
            )
            return next(same, None)
        if self._open.total() >= self.settings.concurrency:
            return next(iter(self._idle), None)
        return None
