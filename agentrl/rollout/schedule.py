"""Which episode begins next: the first in order whose environment has room."""

from __future__ import annotations

from collections import Counter, deque
from collections.abc import Mapping, Sequence
from typing import NamedTuple

from agentrl.core.tree import Task
from agentrl.rollout.kinds import Kind


class Job(NamedTuple):
    """An episode to be played: the position of its task, and its number in the group. Lower ones begin first, so
    that groups are completed in order."""

    group: int
    number: int


class Schedule:
    """Jobs that have not begun, by environment class; counts what is being played of each."""

    def __init__(self, tasks: Sequence[Task], kinds: Mapping[str, Kind], group_size: int) -> None:
        self._limits: dict[object, int | None] = {kind.env_class: kind.limit for kind in kinds.values()}
        self._classes = [kinds[task.env].env_class for task in tasks]
        self._waiting: dict[object, deque[Job]] = {env_class: deque() for env_class in self._limits}
        self._playing: Counter[object] = Counter()
        for group, env_class in enumerate(self._classes):
            self._waiting[env_class].extend(Job(group, number) for number in range(group_size))

    def take(self) -> Job | None:
        """The next job that may begin now; None if there is none."""
        heads = [
            jobs[0]
            for env_class, jobs in self._waiting.items()
            if jobs and ((limit := self._limits[env_class]) is None or self._playing[env_class] < limit)
        ]
        if not heads:
            return None
        env_class = self._classes[min(heads).group]
        self._playing[env_class] += 1
        return self._waiting[env_class].popleft()

    def release(self, job: Job) -> None:
        """The job is played no more."""
        self._playing[self._classes[job.group]] -= 1

    @property
    def waiting(self) -> bool:
        """Whether any job has not begun."""
        return any(self._waiting.values())
