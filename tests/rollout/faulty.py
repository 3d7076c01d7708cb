"""Environments that break in every way, and count what is done to them."""

from __future__ import annotations

import asyncio
import itertools
import os
import time
from collections import Counter
from collections.abc import Callable
from typing import Any, ClassVar

from agentrl import ToolEnv, register, tool
from agentrl.core.messages import call
from agentrl.core.tree import Task
from agentrl.inference.policy import Sampled, View

NUMBERS = itertools.count()
"""No number is given twice: what an earlier test left hanging is not taken for one of this test's."""
MADE: list[int] = []
"""The numbers of the environments of this test."""
CLOSED: Counter[int] = Counter()
MOST_OPEN: list[int] = []
"""How many were open whenever one was made."""
GO = call("go")


class Faulty(ToolEnv):
    """Breaks at `where` when the task's seed is in `seeds`.

    Args:
        where: `make`, `reset`, `step`, `close`, `nan`, `die`, or `hang-` and one of the first four.
        seeds: the unlucky tasks.
        once: break only the first time in this process.
        hang: seconds that a hang takes.
    """

    max_turns = 3
    broken: ClassVar[Counter[str]] = Counter()

    def __init__(
        self, *, where: str = "", seeds: Any = (), once: bool = False, delay: float = 0.0, hang: float = 30.0
    ) -> None:
        super().__init__()
        self.where, self.seeds, self.once, self.delay, self.hang = where, tuple(seeds), once, delay, hang
        self.number = next(NUMBERS)
        MADE.append(self.number)
        MOST_OPEN.append(sum(not CLOSED[number] for number in MADE))
        if where == "make":
            raise RuntimeError("cannot be made")
        if where == "hang-make":
            time.sleep(hang)

    def unlucky(self, where: str) -> bool:
        hit = self.where == where and self.task_seed in self.seeds
        if hit and self.once:
            Faulty.broken[where] += 1
            return Faulty.broken[where] == 1
        return hit

    def task(self) -> str:
        if self.unlucky("reset"):
            raise RuntimeError("reset breaks")
        if self.unlucky("hang-reset"):
            time.sleep(self.hang)
        return f"task {self.task_seed}"

    @tool
    def go(self) -> str:
        """Go on."""
        if self.unlucky("step"):
            raise RuntimeError("step breaks")
        if self.unlucky("hang-step"):
            time.sleep(self.hang)
        if self.unlucky("die"):
            os._exit(3)
        if self.unlucky("nan"):
            self.add_reward(float("nan"))
        if self.delay:
            time.sleep(self.delay * (1 + (7 * self.task_seed + 3 * self.turn) % 5))
        self.add_reward(1.0)
        return "on"

    def close(self) -> None:
        CLOSED[self.number] += 1
        super().close()
        if self.where == "close":
            raise RuntimeError("close breaks")
        if self.where == "hang-close":
            time.sleep(self.hang)


class Inline(Faulty):
    """In the loop."""

    safety = "inline"


class Thread(Faulty):
    """In a thread."""

    safety = "thread"


class Process(Faulty):
    """In a process."""

    safety = "process"


class Async(Faulty):
    """Coroutines."""

    safety = "async"

    @tool
    async def wait(self) -> str:
        """Wait."""
        await asyncio.sleep(30)
        return "waited"


class Waiting(Async):
    """Coroutines, from the first message on."""

    async def task(self) -> str:  # type: ignore[override]
        if self.unlucky("wait-reset"):
            await asyncio.sleep(self.hang)
        return f"task {self.task_seed}"


class Licensed(Faulty):
    """Only so many at once."""

    safety = "thread"
    max_instances = 2


KINDS = {
    "inline": Inline,
    "thread": Thread,
    "process": Process,
    "async": Async,
    "waiting": Waiting,
    "licensed": Licensed,
    "licensed-too": Licensed,
}
for _name, _kind in KINDS.items():
    register(f"faulty/{_name}-v0", _kind)


class Go:
    """Calls `go`; counts the calls in flight."""

    def __init__(self, tool_name: str = "go", delay: float = 0.0) -> None:
        self.action, self.delay = call(tool_name), delay
        self.batches: list[tuple[int, ...]] = []

    async def act(self, view: View) -> Sampled:
        if self.delay:
            await asyncio.sleep(self.delay)
        return Sampled(self.action, (1,), (2,), (-0.5,), finish_reason="stop")


def tasks(kind: str, count: int, **kwargs) -> list[Task]:
    return [Task(f"faulty/{kind}-v0", seed, "train", kwargs) for seed in range(count)]


def settled(condition: Callable[[], bool], seconds: float = 10.0) -> bool:
    """Whether it comes true in time: a thread that was left behind ends when its hang is over."""
    end = time.monotonic() + seconds
    while not condition() and time.monotonic() < end:
        time.sleep(0.01)
    return condition()


def assert_closed_once():
    settled(lambda: all(CLOSED[number] for number in MADE))
    assert {number: CLOSED[number] for number in MADE} == dict.fromkeys(MADE, 1)
