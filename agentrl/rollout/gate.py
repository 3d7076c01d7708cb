"""A gate before the policy: it opens when every live episode stands before it, and lets them through in order.

Batches are then a function of the tasks alone, whatever the environments' timing; the price is lock-step. Episodes
begin at the gate too, when all the others wait: which ones are live together is no matter of timing either.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable


class Gate:
    """Args: admit: begins the episodes that may begin now; returns how many."""

    def __init__(self, admit: Callable[[], int]) -> None:
        self._admit = admit
        self._live = 0
        self._waiting: dict[tuple[int, int], asyncio.Future[None]] = {}

    def enter(self) -> None:
        """An episode is live."""
        self._live += 1

    def leave(self) -> None:
        """An episode is over."""
        self._live -= 1
        self._look()

    async def wait(self, order: tuple[int, int]) -> None:
        """Wait for all the others. `order` is unique among the live episodes."""
        future = self._waiting[order] = asyncio.get_running_loop().create_future()
        self._look()
        try:
            await future
        finally:
            self._waiting.pop(order, None)

    def _look(self) -> None:
        # In the loop's next turn, when the last one that came waits too and is let through in its place.
        asyncio.get_running_loop().call_soon(self._open_if_all_wait)

    def _open_if_all_wait(self) -> None:
        if len(self._waiting) < self._live or self._admit():
            return
        waiting, self._waiting = self._waiting, {}
        for order in sorted(waiting):
            if not waiting[order].done():
                waiting[order].set_result(None)
