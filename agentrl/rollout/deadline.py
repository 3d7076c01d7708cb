"""Deadlines: what waits longer than it may is cancelled; what does not wait at all pays nothing for it."""

from __future__ import annotations

import asyncio
import types
from collections.abc import Awaitable, Generator
from typing import Any, TypeVar

from agentrl.core.failures import Boundary, DeadlineExceeded, InfrastructureFailure

T = TypeVar("T")


async def within(seconds: float, awaitable: Awaitable[T], where: Boundary, subject: str) -> T:
    """Await something for at most `seconds`. A timer is set only if it waits.

    Raises:
        DeadlineExceeded: the time was over; the awaitable has been cancelled.
        InfrastructureFailure: it was cancelled from inside, though nobody cancelled us.
    """
    steps: Any = awaitable.__await__()
    timer = None
    try:
        waits_for = steps.send(None)
        timer = asyncio.timeout(seconds)
        async with timer:
            return await go_on(steps, waits_for)
    except StopIteration as answer:
        return answer.value
    except TimeoutError as error:
        if timer is not None and timer.expired():
            raise DeadlineExceeded(where, subject, seconds) from error
        raise  # its own
    except asyncio.CancelledError as error:
        task = asyncio.current_task()
        if task is not None and task.cancelling():
            raise
        raise InfrastructureFailure(where, subject, "it was cancelled from inside") from error


@types.coroutine
def go_on(steps: Any, waits_for: Any) -> Generator[Any, Any, Any]:
    """The rest of an awaitable that has been started and waits for `waits_for`."""
    while True:
        try:
            sent = yield waits_for
        except BaseException as thrown:
            advance, argument = steps.throw, thrown
        else:
            advance, argument = steps.send, sent
        try:
            waits_for = advance(argument)
        except StopIteration as answer:
            return answer.value
