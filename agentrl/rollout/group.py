"""From the episodes of a task to its tree, in order of their numbers: when each was played leaves no trace."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field, replace

from agentrl.core.failures import Failure
from agentrl.core.tree import RolloutTree, Task, Turn


@dataclass(slots=True)
class Group:
    """What became of the episodes of one task.

    Attributes:
        first: number of its first episode among all of tasks with this id; their seeds differ.
        played, failures: by the episode's number in the group.
    """

    task: Task
    size: int
    first: int = 0
    played: dict[int, Sequence[Turn]] = field(default_factory=dict)
    failures: dict[int, Failure] = field(default_factory=dict)

    def tree(self) -> RolloutTree:
        failures = [self.failures[number] for number in sorted(self.failures)]
        tree = RolloutTree(self.task, requested=self.size, failures=failures)
        for number in sorted(self.played):
            graft(tree, self.played[number])
        return tree


def graft(tree: RolloutTree, turns: Sequence[Turn], parent: int | None = None) -> None:
    """Add a chain of turns to a tree, under the node `parent` or as a new child of the root."""
    for turn in turns:
        number = len(tree)
        if turn.parent != parent or turn.id != number:
            turn = replace(turn, id=number, parent=parent)
        tree.add(turn)
        parent = number
