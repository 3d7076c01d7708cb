"""From synchronous code into an event loop: one background loop per process, for async environments and tools."""

from __future__ import annotations

import asyncio
import functools
import os
import threading
from collections.abc import Coroutine
from typing import Any, TypeVar

T = TypeVar("T")


@functools.cache
def background_loop() -> asyncio.AbstractEventLoop:
    """The loop behind the sync facades, started on first use in a daemon thread."""
    loop = asyncio.new_event_loop()
    threading.Thread(target=loop.run_forever, name="agentrl-portal", daemon=True).start()
    return loop


# A child of fork() has the loop but not its thread.
if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=background_loop.cache_clear)


def run_sync(coroutine: Coroutine[Any, Any, T]) -> T:
    """Run a coroutine to its end from synchronous code, whether or not this thread has a loop of its own."""
    loop = background_loop()
    if threading.current_thread().name == "agentrl-portal":
        coroutine.close()
        raise RuntimeError("run_sync was called inside the background loop: await the coroutine instead")
    future = asyncio.run_coroutine_threadsafe(coroutine, loop)
    try:
        return future.result()
    except KeyboardInterrupt:
        future.cancel()
        raise
