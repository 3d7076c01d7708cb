"""A gate before the policy: it opens when every live episode stands before it, and lets them through in order.

Batches are then a function of the tasks alone, whatever the environments' timing; the price is lock-step.
"""

from __future__ import annotations

import asyncio


class Gate:
    def __init__(self) -> None:
        self._live = 0
        self._waiting: dict[int, asyncio.Future[None]] = {}

    def expect(self, workers: int) -> None:
        """So many workers are going to play."""
        self._live = workers

    def leave(self) -> None:
        """One worker plays no more."""
        self._live -= 1
        self._open()

    async def wait(self, order: int) -> None:
        """Wait for all the others. `order` is unique among the live episodes."""
        self._waiting[order] = asyncio.get_running_loop().create_future()
        future = self._waiting[order]
        self._open()
        try:
            await future
        finally:
            self._waiting.pop(order, None)

    def _open(self) -> None:
        """Let everybody through once the last one has come; in the next turn of the loop, when it waits too."""
        asyncio.get_running_loop().call_soon(self._release)

    def _release(self) -> None:
        if self._waiting and len(self._waiting) >= self._live:
            for order in sorted(self._waiting):
                future = self._waiting[order]
                if not future.done():
                    future.set_result(None)
