"""Where an environment runs: in the loop, in a thread of its own, in a child process, or as coroutines.

A host owns one environment. Every call has a deadline; a host that missed one, or whose environment broke, is
`dirty` and never used again. `close` happens exactly once.
"""

from __future__ import annotations

import asyncio
import contextlib
import queue
import threading
from collections.abc import Callable, Coroutine, Sequence
from dataclasses import dataclass
from typing import Any, TypeVar

from agentrl.core.env import Safety, ToolEnv
from agentrl.core.failures import (
    DeadlineExceeded,
    InfrastructureFailure,
    InvariantBroken,
    UnknownName,
    UserError,
)
from agentrl.core.messages import Message, Messages
from agentrl.core.registry import load_class, make_entry, resolve
from agentrl.core.tree import Task
from agentrl.inference.codec import ToolSpec
from agentrl.rollout.process import ProcessEnv
from agentrl.rollout.settings import RolloutSettings

T = TypeVar("T")


@dataclass(frozen=True, slots=True)
class Shown:
    """What an environment shows after a reset or step, and the key of the situation it is now in."""

    observation: Messages
    reward: float
    terminated: bool
    truncated: bool
    info: dict[str, Any]
    state_key: str | None


async def open_host(task: Task, settings: RolloutSettings) -> Host:
    """A host of the kind that the environment's class declares (`ToolEnv.safety`).

    Raises:
        UserError: an unknown environment or constructor argument.
        InfrastructureFailure: the environment could not be made.
    """
    entry = resolve(task.env)
    safety: Safety = getattr(load_class(entry), "safety", "thread")
    if safety in ("inline", "async"):
        return await (AsyncHost if safety == "async" else Host)(task, settings).open(
            lambda: make_entry(entry, **task.kwargs)
        )
    if safety == "process":
        return await ProcessHost(task, settings).open(lambda: ProcessEnv(entry, task.kwargs))
    return await ThreadHost(task, settings).open(lambda: make_entry(entry, **task.kwargs))


def check_task(task: Task) -> None:
    """Whether a task can be made at all: the environment, its arguments, its split. Nothing is reset.

    Raises:
        UserError, MissingExtra: what is wrong with it.
    """
    env = make_entry(resolve(task.env), **task.kwargs)
    try:
        if task.split not in env.splits:
            raise UnknownName(f"split of {type(env).__name__}", task.split, env.splits)
    finally:
        env.close()


class Host:
    """An environment in the event loop itself: the host of `inline` environments.

    Attributes:
        tools: OpenAI specs of the environment's tools.
        env: the live environment.
        dirty: never use this host again.
    """

    def __init__(self, task: Task, settings: RolloutSettings) -> None:
        self.subject, self.settings = task.env, settings
        self.env: Any = None
        self.tools: Sequence[ToolSpec] = ()
        self.dirty = False
        self.closed = False

    async def open(self, build: Callable[[], Any]) -> Host:
        """Make the environment; closes what is left of it if that fails."""
        try:
            self.env = await self._call("make", self.settings.make_seconds, build)
        except BaseException:
            await finish(self.close())
            raise
        self.tools = [tool.spec for tool in self.env.tools]
        return self

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
        if self.env is not None:
            await self._call("close", self.settings.close_seconds, self.env.close)


class ThreadHost(Host):
    """A thread of its own for one environment. A thread that hangs is left behind; being a daemon, it does
    not keep the process alive, and it closes its environment when it comes back."""

    def __init__(self, task: Task, settings: RolloutSettings) -> None:
        super().__init__(task, settings)
        self._made: Any = None
        self._hangs = False
        self._jobs: queue.SimpleQueue[Any] = queue.SimpleQueue()
        threading.Thread(target=self._work, name=f"agentrl-env-{self.subject}", daemon=True).start()

    async def open(self, build: Callable[[], Any]) -> Host:
        def make() -> Any:
            # Kept by the thread itself: whoever waits for it may be gone by now, and it has to be closed.
            self._made = build()
            return self._made

        return await super().open(make)

    async def _run(self, where: Any, seconds: float, function: Callable[[], T]) -> T:
        loop = asyncio.get_running_loop()
        future: asyncio.Future[T] = loop.create_future()

        def job() -> None:
            try:
                result, error = function(), None
            except BaseException as raised:
                result, error = None, raised
            if not loop.is_closed():
                loop.call_soon_threadsafe(settle, future, result, error)

        self._jobs.put(job)
        try:
            async with asyncio.timeout(seconds):
                return await future
        except TimeoutError:
            self._late()
            raise DeadlineExceeded(where, self.subject, seconds) from None

    def _late(self) -> None:
        """A deadline has passed: nothing can stop a thread."""
        self._hangs = True

    async def _close(self) -> None:
        """Close in the thread, behind what it is doing; one that hangs is not waited for."""
        try:
            if self._hangs:
                self._jobs.put(self._close_made)
            else:
                await self._call("close", self.settings.close_seconds, self._close_made)
        finally:
            self._jobs.put(None)

    def _close_made(self) -> None:
        if self._made is not None:
            self._made.close()

    def _work(self) -> None:
        while (job := self._jobs.get()) is not None:
            # What `_close_made` raises in a thread that was left behind has nobody to go to.
            with contextlib.suppress(Exception):
                job()


class ProcessHost(ThreadHost):
    """A child process of its own: what misses its deadline is killed."""

    def _late(self) -> None:
        if self._made is not None:
            self._made.kill()


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
        if self.env is not None:
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


async def finish(work: Coroutine[Any, Any, T]) -> T:
    """Wait for `work` to its end even if the waiting is cancelled; the cancellation goes on afterwards. Only for work
    that has a deadline of its own."""
    task = asyncio.ensure_future(work)
    cancelled: asyncio.CancelledError | None = None
    while not task.done():
        try:
            await asyncio.shield(task)
        except asyncio.CancelledError as error:
            cancelled = error
    if cancelled is not None:
        raise cancelled
    return task.result()


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
