import asyncio

import pytest

from agentrl.core.failures import DeadlineExceeded, InfrastructureFailure
from agentrl.rollout.deadline import within


async def after(seconds: float, value: int) -> int:
    for _ in range(3):
        await asyncio.sleep(seconds / 3)
    return value


async def at_once(value: int) -> int:
    return value


def test_answers_in_time_whether_or_not_they_wait():
    assert asyncio.run(within(1.0, at_once(1), "step", "x")) == 1
    assert asyncio.run(within(1.0, after(0.003, 2), "step", "x")) == 2
    assert asyncio.run(within(1.0, after(0.0, 3), "step", "x")) == 3


def test_what_is_late_is_cancelled_and_may_clean_up():
    ended = []

    async def late() -> None:
        try:
            await asyncio.sleep(30)
        finally:
            await asyncio.sleep(0)
            ended.append(True)

    with pytest.raises(DeadlineExceeded, match=r"no answer within 0\.01 s"):
        asyncio.run(within(0.01, late(), "step", "x"))
    assert ended == [True]


def test_errors_of_its_own_are_its_own():
    async def breaking(seconds: float) -> None:
        if seconds:
            await asyncio.sleep(seconds)
        raise TimeoutError("its own")

    for seconds in (0.0, 0.001):
        with pytest.raises(TimeoutError, match="its own"):
            asyncio.run(within(1.0, breaking(seconds), "step", "x"))


def test_a_cancellation_from_inside_is_a_failure_and_one_from_outside_is_none():
    async def giving_up(seconds: float) -> None:
        await asyncio.sleep(seconds)
        raise asyncio.CancelledError

    for seconds in (0, 0.001):
        with pytest.raises(InfrastructureFailure, match="cancelled from inside"):
            asyncio.run(within(1.0, giving_up(seconds), "step", "x"))

    async def main() -> None:
        task = asyncio.ensure_future(within(1.0, after(30, 1), "step", "x"))
        await asyncio.sleep(0.01)
        task.cancel()
        with pytest.raises(asyncio.CancelledError):
            await task

    asyncio.run(main())


def test_futures_are_awaited_too():
    async def main() -> int:
        future = asyncio.get_running_loop().create_future()
        asyncio.get_running_loop().call_later(0.001, future.set_result, 5)
        return await within(1.0, future, "step", "x")

    assert asyncio.run(main()) == 5
