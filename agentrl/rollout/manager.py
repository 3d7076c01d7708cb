"""The rollout manager: many episodes at once, each at its own pace.

What it promises: every boundary has a deadline; environments are closed exactly once whatever happens; an
infrastructure failure is retried on a fresh environment, then its episode is dropped and counted, and nothing of
it is in a tree; the trees do not depend on timing (given a policy that does not).
"""

from __future__ import annotations

import asyncio
import time
from collections import deque
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field, replace

from agentrl.core.failures import Failure, InfrastructureFailure
from agentrl.core.tree import RolloutTree, Task, Turn
from agentrl.inference.policy import Policy
from agentrl.rollout.episode import play
from agentrl.rollout.gate import Gate
from agentrl.rollout.hosts import Host, finish, open_host
from agentrl.rollout.seeds import derive
from agentrl.rollout.settings import RolloutSettings
from agentrl.rollout.stats import RolloutStats


@dataclass(frozen=True, slots=True)
class RolloutProgress:
    """How far a collection is. `success` is the rate so far."""

    done: int
    total: int
    success: float
    tokens_per_second: float


Progress = Callable[[RolloutProgress], None]


@dataclass(slots=True)
class Rollouts:
    """What was collected.

    Attributes:
        trees: usable groups, in order of their tasks.
        removed: groups that fell under `min_group`; never trained on.
        stats: counts over all of them.
        partial: the collection was stopped before it was complete.
    """

    trees: list[RolloutTree]
    removed: list[RolloutTree] = field(default_factory=list)
    stats: RolloutStats = field(default_factory=RolloutStats)
    partial: bool = False

    def __repr__(self) -> str:
        """Short: asyncio asks a finished task's result for it, and the trees are large."""
        return f"Rollouts({len(self.trees)} trees, {self.stats.usable} of {self.stats.requested} episodes)"


async def collect(
    tasks: Sequence[Task],
    policy: Policy,
    settings: RolloutSettings | None = None,
    *,
    progress: Progress | None = None,
    stop: asyncio.Event | None = None,
) -> Rollouts:
    """Roll out `settings.group_size` episodes of each task.

    Raises:
        UserError: bad input; everything is closed.
    """
    collection = Collection(tasks, policy, settings or RolloutSettings(), progress)
    return await collection.run(stop)


def rollout(tasks: Sequence[Task], policy: Policy, settings: RolloutSettings | None = None) -> Rollouts:
    """`collect` from synchronous code."""
    return asyncio.run(collect(tasks, policy, settings))


class Collection:
    """One running collection: jobs in order, workers that take them, results by job."""

    def __init__(
        self, tasks: Sequence[Task], policy: Policy, settings: RolloutSettings, progress: Progress | None
    ) -> None:
        self.tasks, self.policy, self.settings, self.progress = tasks, policy, settings, progress
        self.jobs = deque((t, e) for t in range(len(tasks)) for e in range(settings.group_size))
        self.total = len(self.jobs)
        self.done: dict[tuple[int, int], list[Turn]] = {}
        self.failed: dict[int, list[Failure]] = {}
        self.stats = RolloutStats(requested=self.total)
        self.gate = Gate() if settings.deterministic else None
        self.successes = self.tokens = self.finished = 0
        self.began = time.perf_counter()

    async def run(self, stop: asyncio.Event | None) -> Rollouts:
        count = min(self.settings.concurrency, self.total)
        if self.gate is not None:
            self.gate.expect(count)
        workers = [asyncio.ensure_future(self.work()) for _ in range(count)]
        stopper = asyncio.ensure_future(stop.wait()) if stop is not None else None
        try:
            waiting = {*workers, stopper} if stopper is not None else set(workers)
            while waiting - {stopper}:
                ended, waiting = await asyncio.wait(
                    waiting,
                    return_when=asyncio.FIRST_EXCEPTION if stopper is None else asyncio.FIRST_COMPLETED,
                )
                if stopper in ended:
                    break
                for task in ended:
                    task.result()
        finally:
            everything = [*workers, *([stopper] if stopper is not None else [])]
            for task in everything:
                task.cancel()
            await asyncio.gather(*everything, return_exceptions=True)
        return self.result()

    async def work(self) -> None:
        """Take jobs until none is left; keep the environment while it is clean and fits."""
        host: Host | None = None
        fits: tuple[str, str] | None = None
        try:
            while self.jobs:
                job = self.jobs.popleft()
                task = self.tasks[job[0]]
                for attempt in range(self.settings.retries + 1):
                    try:
                        wanted = (task.env, repr(sorted(task.kwargs.items())))
                        if host is not None and (host.dirty or fits != wanted):
                            await self.close(host)
                            host = None
                        if host is None:
                            host, fits = await open_host(task, self.settings), wanted
                        await self.episode(host, job, attempt)
                        break
                    except InfrastructureFailure as failure:
                        if host is not None:
                            host.dirty = True
                        self.note(job[0], failure, last=attempt == self.settings.retries)
        finally:
            if self.gate is not None:
                self.gate.leave()
            if host is not None:
                await finish(self.close(host))

    async def episode(self, host: Host, job: tuple[int, int], attempt: int) -> None:
        task = self.tasks[job[0]]
        seed = derive(*self.settings.seed, task.id, job[1], attempt)
        turns = await play(
            host,
            task,
            self.policy,
            self.settings,
            seed=seed,
            order=job[0] * self.settings.group_size + job[1],
            turnstile=self.gate,
        )
        self.done[job] = turns
        self.tell(turns)

    async def close(self, host: Host) -> None:
        failure = await host.close()
        if failure is not None:
            self.stats.failures[f"{failure.subject}|close|{type(failure).__name__}"] += 1

    def note(self, task: int, failure: InfrastructureFailure, *, last: bool) -> None:
        self.stats.failures[f"{failure.subject}|{failure.where}|{type(failure).__name__}"] += 1
        if last:
            self.stats.dropped += 1
            self.failed.setdefault(task, []).append(Failure.of(failure))
            self.tell(None)

    def tell(self, turns: list[Turn] | None) -> None:
        self.finished += 1
        if turns is not None:
            leaf = turns[-1]
            self.successes += bool(
                leaf.success if leaf.success is not None else sum(t.reward for t in turns) > 0
            )
            self.tokens += sum(len(turn.completion_ids) for turn in turns)
        if self.progress is not None:
            seconds = max(1e-9, time.perf_counter() - self.began)
            rate = self.successes / max(1, len(self.done))
            self.progress(RolloutProgress(self.finished, self.total, rate, self.tokens / seconds))

    def result(self) -> Rollouts:
        trees: list[RolloutTree] = []
        removed: list[RolloutTree] = []
        for index, task in enumerate(self.tasks):
            tree = RolloutTree(task, requested=self.settings.group_size, failures=self.failed.get(index, []))
            for episode in range(self.settings.group_size):
                graft(tree, self.done.get((index, episode), []))
            usable = len(tree.leaves())
            (trees if usable >= self.settings.min_group else removed).append(tree)
        self.stats.removed_groups = len(removed)
        self.stats.count(trees)
        self.stats.seconds = time.perf_counter() - self.began
        return Rollouts(trees, removed, self.stats, partial=self.finished < self.total)


def graft(tree: RolloutTree, turns: Sequence[Turn]) -> None:
    """Add a chain of turns to a tree, as a new child of its root."""
    offset = len(tree)
    for turn in turns:
        if offset:
            parent = None if turn.parent is None else turn.parent + offset
            turn = replace(turn, id=turn.id + offset, parent=parent)
        tree.add(turn)
