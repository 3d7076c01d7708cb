"""Environments in threads and processes: a thread of its own for each, which also waits for its child process.

Nothing can stop a thread. One that hangs is left behind: as a daemon it does not keep the process alive, and
it closes its environment when it comes back. Nobody waits for it. A process that hangs is asked to end, which lets
it close its environment, and killed soon after.
"""

from __future__ import annotations

import asyncio
import contextlib
import queue
import threading
from collections.abc import Callable, Mapping
from typing import Any

from agentrl.core.catalogue import EnvEntry
from agentrl.core.failures import DeadlineExceeded
from agentrl.core.portal import settle
from agentrl.rollout.calls import CALLS, typed
from agentrl.rollout.deadline import within
from agentrl.rollout.hosts import Host
from agentrl.rollout.process import GRACE, ProcessEnv
from agentrl.rollout.settings import RolloutSettings


class ThreadHost(Host):
    """All calls of one environment, its making and its closing happen in one thread, in order."""

    def __init__(self, entry: EnvEntry, kwargs: Mapping[str, Any], settings: RolloutSettings) -> None:
        super().__init__(entry, kwargs, settings)
        self.hangs = False
        self._jobs: queue.SimpleQueue[Callable[[], None] | None] = queue.SimpleQueue()
        threading.Thread(target=self._work, name=f"agentrl-env-{self.name}", daemon=True).start()

    async def _make(self) -> None:
        def make() -> None:
            # Kept by the thread itself: who waits for it may be gone by now, and it has to be closed.
            self.env = self._build()

        await self._submit("make", self.settings.make_seconds, make)

    async def _call(self, name: Any, seconds: float, *arguments: Any) -> Any:
        return await self._submit(name, seconds, lambda: CALLS[name](self.env, *arguments))

    async def _close(self) -> None:
        """Close in the thread, behind what it is doing; a thread that hangs is not waited for."""
        closing = self._put("close", self._close_env)
        self._jobs.put(None)
        if self.hangs:
            self.abandoned = True
            closing.cancel()
            return
        try:
            await within(self.settings.close_seconds, closing, "close", self.name)
        except DeadlineExceeded:
            self.abandoned = True
            raise

    def _close_env(self) -> None:
        if self.env is not None:
            self.env.close()

    async def _submit(self, where: Any, seconds: float, function: Callable[[], Any]) -> Any:
        try:
            return await within(seconds, self._put(where, function), where, self.name)
        except DeadlineExceeded:
            self._late()
            raise

    def _late(self) -> None:
        """A deadline has passed."""
        self.hangs = True

    def _put(self, where: Any, function: Callable[[], Any]) -> asyncio.Future[Any]:
        """Have the thread run `function`; the future holds what comes of it."""
        loop = asyncio.get_running_loop()
        future: asyncio.Future[Any] = loop.create_future()

        def job() -> None:
            result, error = None, None
            try:
                result = function()
            except BaseException as raised:
                # Also SystemExit and StopIteration, which must not reach the loop as they are.
                error = typed(raised, where, self.name)
            with contextlib.suppress(RuntimeError):  # the loop may be closed by now
                loop.call_soon_threadsafe(settle, future, result, error)

        self._jobs.put(job)
        return future

    def _work(self) -> None:
        while (job := self._jobs.get()) is not None:
            job()
            del job  # it holds the last result


class ProcessHost(ThreadHost):
    """The thread waits for a child process (`process.py`), in which the environment lives."""

    async def _make(self) -> None:
        self.env = ProcessEnv(self.entry, self.kwargs, self.settings)
        await self._submit("make", self.settings.make_seconds, self.env.start)

    async def _call(self, name: Any, seconds: float, *arguments: Any) -> Any:
        return await self._submit(name, seconds, lambda: self.env.ask(name, *arguments))

    async def _close(self) -> None:
        closing = self._put("close", self._close_env)
        self._jobs.put(None)
        seconds = min(GRACE, self.settings.close_seconds) if self.hangs else self.settings.close_seconds
        try:
            await within(seconds, asyncio.shield(closing), "close", self.name)
        except DeadlineExceeded:
            self.env.kill()
            if (await asyncio.wait({closing}, timeout=GRACE))[0]:
                closing.exception()  # that the process has died is no news
            else:
                self.abandoned = True
            if not self.hangs:
                raise

    def _late(self) -> None:
        super()._late()
        self.env.terminate()
