"""Between synchronous code and event loops: one background loop per process, and waiting that cannot be cut short."""

from __future__ import annotations

import asyncio
import atexit
import contextlib
import functools
import os
import threading
from collections.abc import Callable, Coroutine
from typing import Any, TypeVar, cast

T = TypeVar("T")


@functools.cache
def background_loop() -> asyncio.AbstractEventLoop:
    """The loop behind the sync facades, started on first use in a daemon thread."""
    loop = asyncio.new_event_loop()
    threading.Thread(target=loop.run_forever, name="agentrl-portal", daemon=True).start()
    atexit.register(_wind_up, loop)
    return loop


def _wind_up(loop: asyncio.AbstractEventLoop) -> None:
    """At exit: end what still waits in the loop, instead of dropping it half-way."""

    async def cancel() -> None:
        tasks = [task for task in asyncio.all_tasks() if task is not asyncio.current_task()]
        for task in tasks:
            task.cancel()
        await asyncio.wait(tasks, timeout=2) if tasks else None

    with contextlib.suppress(TimeoutError, RuntimeError):
        asyncio.run_coroutine_threadsafe(cancel(), loop).result(3)


# A child of fork() has the loop but not its thread.
if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=background_loop.cache_clear)


def run_sync(coroutine: Coroutine[Any, Any, T]) -> T:
    """Run a coroutine to its end from synchronous code, whether or not this thread has a loop of its own."""
    loop = background_loop()
    if threading.current_thread().name == "agentrl-portal":
        coroutine.close()
        raise RuntimeError("run_sync was called inside the background loop: await the coroutine instead")

    async def guarded() -> tuple[T | None, BaseException | None]:
        try:
            return await coroutine, None
        except (SystemExit, KeyboardInterrupt) as error:  # raised there, it would end the loop for everybody
            return None, error

    future = asyncio.run_coroutine_threadsafe(guarded(), loop)
    try:
        result, exit = future.result()
    except KeyboardInterrupt:
        future.cancel()
        raise
    if exit is not None:
        raise exit
    return cast(T, result)


async def in_thread(function: Callable[[], T]) -> T:
    """Run a function in a daemon thread of its own: one that hangs keeps neither a loop nor the process from ending."""
    loop = asyncio.get_running_loop()
    future: asyncio.Future[T] = loop.create_future()

    def work() -> None:
        result, error = None, None
        try:
            result = function()
        except BaseException as raised:
            error = raised
        with contextlib.suppress(RuntimeError):  # the loop may be closed by now
            loop.call_soon_threadsafe(settle, future, result, error)

    threading.Thread(target=work, name="agentrl-call", daemon=True).start()
    return await future


def settle(future: asyncio.Future[Any], result: Any, error: BaseException | None) -> None:
    """Give a future its outcome, if it still waits for one."""
    if future.done():
        return
    if error is None:
        future.set_result(result)
    else:
        future.set_exception(error)


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
        except BaseException:
            break  # its own: raised below
    if cancelled is not None:
        raise cancelled
    return task.result()
