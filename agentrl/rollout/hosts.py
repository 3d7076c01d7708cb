"""Where an environment runs: in the loop, in a thread of its own, in a child process, or as coroutines.

A host owns one environment. Every call has a deadline; a host that missed one, or whose environment broke, is
`dirty` and never used again. `close` happens exactly once.
"""

from __future__ import annotations

import asyncio
import queue
import threading
from collections.abc import Callable, Coroutine, Sequence
from dataclasses import dataclass
from typing import Any, TypeVar

from agentrl.core.env import ToolEnv
from agentrl.core.failures import DeadlineExceeded, InfrastructureFailure, InvariantBroken, UserError
from agentrl.core.messages import Message, Messages
from agentrl.core.registry import make
from agentrl.core.tree import Task
from agentrl.inference.codec import ToolSpec
from agentrl.rollout.settings import RolloutSettings

T = TypeVar("T")
MakeEnv = Callable[[Task], ToolEnv]


@dataclass(frozen=True, slots=True)
class Shown:
    """What an environment shows after a reset or step, and the key of the situation it is now in."""

    observation: Messages
    reward: float
    terminated: bool
    truncated: bool
    info: dict[str, Any]
    state_key: str | None


def make_env(task: Task) -> ToolEnv:
    return make(task.env, **task.kwargs)


class Host:
    """An environment in the event loop itself: the host of `inline` environments.

    Attributes:
        tools: OpenAI specs of the environment's tools.
        env: the live environment.
        dirty: never use this host again.
    """

    def __init__(self, env: ToolEnv, subject: str, settings: RolloutSettings) -> None:
        self.env, self.subject, self.settings = env, subject, settings
        self.tools: Sequence[ToolSpec] = [tool.spec for tool in env.tools]
        self.dirty = False
        self.closed = False

    async def reset(self, task: Task) -> Shown:
        return await self._call("reset", self.settings.reset_seconds, lambda: reset(self.env, task))

    async def step(self, action: Message) -> Shown:
        return await self._call("step", self.settings.step_seconds, lambda: step(self.env, action))

    async def close(self) -> InfrastructureFailure | None:
        """Close the environment, once; a failure to close is returned, not raised."""
        if self.closed:
            return None
        self.closed = True
        try:
            await self._close()
        except InfrastructureFailure as failure:
            return failure
        return None

    async def _call(self, where: Any, seconds: float, function: Callable[[], T]) -> T:
        """Run one call; whatever it raises that is not bad input is an infrastructure failure."""
        try:
            return await self._run(where, seconds, function)
        except (UserError, InvariantBroken, asyncio.CancelledError):
            self.dirty = True
            raise
        except InfrastructureFailure:
            self.dirty = True
            raise
        except Exception as error:
            self.dirty = True
            raise InfrastructureFailure(where, self.subject, f"{type(error).__name__}: {error}") from error

    async def _run(self, where: Any, seconds: float, function: Callable[[], T]) -> T:
        return function()

    async def _close(self) -> None:
        await self._call("close", self.settings.close_seconds, self.env.close)


class ThreadHost(Host):
    """A thread of its own for one environment. A thread that hangs is left behind; being a daemon, it does
    not keep the process alive, and it closes its environment when it comes back."""

    def __init__(self, build: Callable[[], ToolEnv], subject: str, settings: RolloutSettings) -> None:
        self.subject, self.settings = subject, settings
        self.tools = []
        self.dirty = self.closed = False
        self._build = build
        self._jobs: queue.SimpleQueue[Any] = queue.SimpleQueue()
        self._thread = threading.Thread(target=self._work, name=f"agentrl-env-{subject}", daemon=True)
        self._thread.start()

    async def open(self) -> ThreadHost:
        def build() -> ToolEnv:
            return self._build()

        self.env = await self._call("make", self.settings.make_seconds, build)
        self.tools = [tool.spec for tool in self.env.tools]
        return self

    async def _run(self, where: Any, seconds: float, function: Callable[[], T]) -> T:
        loop = asyncio.get_running_loop()
        future: asyncio.Future[T] = loop.create_future()
        self._jobs.put((function, loop, future))
        try:
            async with asyncio.timeout(seconds):
                return await future
        except TimeoutError:
            if future.done() and not future.cancelled():
                raise
            raise DeadlineExceeded(where, self.subject, seconds) from None

    async def _close(self) -> None:
        try:
            if hasattr(self, "env"):
                await self._call("close", self.settings.close_seconds, self.env.close)
        finally:
            self._jobs.put(None)

    def _work(self) -> None:
        while (job := self._jobs.get()) is not None:
            function, loop, future = job
            try:
                result, error = function(), None
            except BaseException as raised:
                result, error = None, raised
            if not loop.is_closed():
                loop.call_soon_threadsafe(settle, future, result, error)


class AsyncHost(Host):
    """An environment whose calls are coroutines, awaited in this loop."""

    async def reset(self, task: Task) -> Shown:
        async def go() -> Shown:
            observation, info = await self.env.areset(seed=task.seed, options=reset_options(task))
            return Shown(observation, 0.0, False, False, info, self.env.state_key())

        return await self._await("reset", self.settings.reset_seconds, go())

    async def step(self, action: Message) -> Shown:
        async def go() -> Shown:
            observation, reward, terminated, truncated, info = await self.env.astep(action)
            return Shown(observation, reward, terminated, truncated, info, self.env.state_key())

        return await self._await("step", self.settings.step_seconds, go())

    async def _close(self) -> None:
        await self._await("close", self.settings.close_seconds, self.env.aclose())

    async def _await(self, where: Any, seconds: float, coroutine: Coroutine[Any, Any, T]) -> T:
        try:
            async with asyncio.timeout(seconds):
                return await coroutine
        except TimeoutError:
            self.dirty = True
            raise DeadlineExceeded(where, self.subject, seconds) from None
        except (UserError, InvariantBroken, InfrastructureFailure, asyncio.CancelledError):
            self.dirty = True
            raise
        except Exception as error:
            self.dirty = True
            raise InfrastructureFailure(where, self.subject, f"{type(error).__name__}: {error}") from error


def settle(future: asyncio.Future[Any], result: Any, error: BaseException | None) -> None:
    if future.done():
        return
    if error is None:
        future.set_result(result)
    else:
        future.set_exception(error)


def reset_options(task: Task) -> dict[str, Any]:
    return {"split": task.split, **task.options}


def reset(env: ToolEnv, task: Task) -> Shown:
    observation, info = env.reset(seed=task.seed, options=reset_options(task))
    return Shown(observation, 0.0, False, False, info, env.state_key())


def step(env: ToolEnv, action: Message) -> Shown:
    observation, reward, terminated, truncated, info = env.step(action)
    return Shown(observation, reward, terminated, truncated, info, env.state_key())
