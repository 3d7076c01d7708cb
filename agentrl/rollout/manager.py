"""The rollout manager: many episodes at once, each at its own pace.

What it promises: every boundary has a deadline; environments are closed exactly once whatever happens; an episode that
an infrastructure failure ended is replaced by one in a fresh environment, a few times; then it is missing from its
group and counted, and nothing of it is in a tree; the trees do not depend on timing (given a policy that does not).
"""

from __future__ import annotations

import asyncio
import time
from collections import Counter
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import Any

from agentrl.core.failures import Failure, InfrastructureFailure
from agentrl.core.portal import finish
from agentrl.core.tree import RolloutTree, Task, Turn
from agentrl.inference.policy import Policy
from agentrl.rollout.episode import play
from agentrl.rollout.gate import Gate
from agentrl.rollout.group import Group
from agentrl.rollout.kinds import kind_of
from agentrl.rollout.pool import Pool
from agentrl.rollout.schedule import Job, Schedule
from agentrl.rollout.seeds import derive
from agentrl.rollout.settings import RolloutSettings
from agentrl.rollout.stats import RolloutStats


@dataclass(frozen=True, slots=True)
class RolloutProgress:
    """How far a collection is: episodes. `success` is the rate so far."""

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

    Args:
        progress: called after every episode.
        stop: once set, what is finished is returned and the rest is closed.

    Raises:
        UserError: bad input; everything is closed.
    """
    return await Collection(tasks, policy, settings or RolloutSettings(), progress).run(stop)


def rollout(tasks: Sequence[Task], policy: Policy, settings: RolloutSettings | None = None) -> Rollouts:
    """`collect` from synchronous code."""
    return asyncio.run(collect(tasks, policy, settings))


class Collection:
    """One running collection: jobs in order, an asyncio task for each that is being played, groups that fill."""

    def __init__(
        self, tasks: Sequence[Task], policy: Policy, settings: RolloutSettings, progress: Progress | None
    ) -> None:
        self.policy, self.settings, self.progress = policy, settings, progress
        kinds = {name: kind_of(name) for name in dict.fromkeys(task.env for task in tasks)}
        self.schedule, self.pool = Schedule(tasks, kinds, settings.group_size), Pool(kinds, settings)
        self.groups = groups_of(tasks, settings.group_size)
        self.stats = RolloutStats(requested=len(tasks) * settings.group_size)
        self.gate = Gate(self.admit) if settings.deterministic else None
        self.playing: set[asyncio.Task[None]] = set()
        self.over = asyncio.Event()
        self.error: BaseException | None = None
        self.finished = self.played = self.successes = self.tokens = 0
        self.began = time.perf_counter()

    async def run(self, stop: asyncio.Event | None) -> Rollouts:
        self.admit()
        self.end_if_idle()
        signals = [asyncio.ensure_future(event.wait()) for event in (self.over, stop) if event is not None]
        try:
            await asyncio.wait(signals, return_when=asyncio.FIRST_COMPLETED)
        finally:
            running = [*self.playing, *signals]
            for task in running:
                task.cancel()
            await finish(self.end(running))
        if self.error is not None:
            raise self.error
        return self.result()

    async def end(self, running: Sequence[asyncio.Task[Any]]) -> None:
        """Wait for what was cancelled and close every environment; the deadlines bound both."""
        await asyncio.gather(*running, return_exceptions=True)
        await self.pool.aclose()

    def admit(self) -> int:
        """Begin as many episodes as there is room for; returns how many."""
        begun = 0
        while len(self.playing) < self.settings.concurrency and (job := self.schedule.take()) is not None:
            task = asyncio.ensure_future(self.episode(job))
            self.playing.add(task)
            task.add_done_callback(self.playing.discard)
            if self.gate is not None:
                self.gate.enter()
            begun += 1
        return begun

    async def episode(self, job: Job) -> None:
        """Play a job, then let others begin. The first error that is no infrastructure failure ends the collection."""
        group = self.groups[job.group]
        try:
            turns = await self.attempts(job, group)
            group.played[job.number] = turns
            self.tell(turns)
        except InfrastructureFailure as failure:
            group.failures[job.number] = Failure.of(failure)
            self.stats.dropped += 1
            self.tell(())
        except asyncio.CancelledError:
            raise
        except BaseException as error:
            self.error = self.error or error
            self.over.set()
            return
        self.leave(job)

    async def attempts(self, job: Job, group: Group) -> list[Turn]:
        """The turns of the job's first episode that nothing broke. Each one has seeds of its own.

        Raises:
            InfrastructureFailure: that of the last one.
        """
        task = group.task
        for attempt in range(self.settings.retries + 1):
            seed = derive(*self.settings.seed, task.id, group.first + job.number, attempt)
            try:
                return await self.attempt(job, task, seed)
            except InfrastructureFailure as failure:
                self.stats.note(task.env, failure)
                if attempt == self.settings.retries:
                    raise
                self.stats.refilled += 1
        raise AssertionError("unreachable")

    async def attempt(self, job: Job, task: Task, seed: int) -> list[Turn]:
        host = await self.pool.take(task)
        try:
            turns = await play(host, task, self.policy, self.settings, seed=seed, order=job, gate=self.gate)
        except BaseException:
            await self.pool.discard(host)
            raise
        self.pool.give(host)
        return turns

    def leave(self, job: Job) -> None:
        """The job is played no more."""
        self.schedule.release(job)
        task = asyncio.current_task()
        assert task is not None
        self.playing.discard(task)
        if self.gate is not None:
            self.gate.leave()
        else:
            self.admit()
        self.end_if_idle()

    def end_if_idle(self) -> None:
        if not self.playing and not self.schedule.waiting:
            self.over.set()

    def tell(self, turns: Sequence[Turn]) -> None:
        """An episode was played, or is missing."""
        self.finished += 1
        if turns:
            leaf = turns[-1]
            self.played += 1
            self.successes += bool(
                leaf.success if leaf.success is not None else sum(turn.reward for turn in turns) > 0
            )
            self.tokens += sum(len(turn.completion_ids) for turn in turns)
        if self.progress is not None:
            seconds = max(1e-9, time.perf_counter() - self.began)
            rate = self.successes / max(1, self.played)
            self.progress(RolloutProgress(self.finished, self.stats.requested, rate, self.tokens / seconds))

    def result(self) -> Rollouts:
        trees: list[RolloutTree] = []
        removed: list[RolloutTree] = []
        for group in self.groups:
            usable = len(group.played) >= self.settings.min_group
            (trees if usable else removed).append(group.tree())
        stats = self.stats
        for name, failure in self.pool.failures:
            stats.note(name, failure)
        stats.removed_groups, stats.abandoned = len(removed), self.pool.abandoned
        stats.count(trees)
        stats.seconds = time.perf_counter() - self.began
        return Rollouts(trees, removed, stats, partial=self.finished < stats.requested)


def groups_of(tasks: Sequence[Task], size: int) -> list[Group]:
    """A group for each task. The same task twice is two groups with episodes of their own."""
    seen: Counter[str] = Counter()
    groups: list[Group] = []
    for task in tasks:
        groups.append(Group(task, size, first=seen[task.id]))
        seen[task.id] += size
    return groups
