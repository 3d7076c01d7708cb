"""Simulated time: an event loop that jumps to the next timer instead of waiting for it.

The same manager code then runs hours of environment latency in milliseconds, and the same way every time.
"""

from __future__ import annotations

import asyncio
import selectors
from collections.abc import Coroutine
from typing import Any, TypeVar

T = TypeVar("T")


class JumpingSelector(selectors.DefaultSelector):
    """A selector that adds the time it was told to wait to a clock, and returns at once."""

    now = 0.0

    def select(self, timeout: float | None = None) -> list[tuple[selectors.SelectorKey, int]]:
        events = super().select(0)
        if not events:
            if timeout is None:
                raise RuntimeError("simulated time stands still: everything waits and no timer is set")
            self.now += max(0.0, timeout)
        return events


class SimulatedLoop(asyncio.SelectorEventLoop):
    """An event loop whose `time()` is simulated, from 0 in seconds. Threads do not take part in it."""

    def __init__(self) -> None:
        self._clock = JumpingSelector()
        super().__init__(self._clock)

    def time(self) -> float:
        return self._clock.now


def run_simulated(coroutine: Coroutine[Any, Any, T]) -> tuple[T, float]:
    """Run a coroutine in simulated time; returns (its result, the simulated seconds it took)."""
    loop = SimulatedLoop()
    try:
        result = loop.run_until_complete(coroutine)
        return result, loop.time()
    finally:
        loop.close()
