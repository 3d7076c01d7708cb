"""Evaluation: roll out held-out tasks once each and count, with an interval.

Infrastructure failures are a column of their own: such an episode is neither a success nor a failure.
"""

from __future__ import annotations

import asyncio
import re
import statistics
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any

from agentrl.core.tree import RolloutTree, Task
from agentrl.evaluate.intervals import wilson
from agentrl.inference.policy import Policy
from agentrl.rollout import Progress, RolloutSettings, collect
from agentrl.store.store import RunStore


def evaluation_tasks(
    env: str,
    episodes: int,
    *,
    split: str = "test",
    kwargs: Mapping[str, Any] | None = None,
    first_seed: int = 0,
) -> list[Task]:
    """`episodes` different tasks of a split: seeds `first_seed`, `first_seed + 1`, ..."""
    return [Task(env, first_seed + index, split, dict(kwargs or {})) for index in range(episodes)]


async def evaluate(
    tasks: Sequence[Task],
    policy: Policy,
    settings: RolloutSettings,
    *,
    store: RunStore | None = None,
    phase: str = "eval",
    step: int = 0,
    progress: Progress | None = None,
    stop: asyncio.Event | None = None,
) -> dict[str, Any]:
    """One episode of each task; the document that `agentrl eval --json` prints. Stored under `phase` if a
    store is given.

    Raises:
        UserError: the tasks cannot be rolled out at all (unknown environment, context too small).
    """
    settings = replace(settings, group_size=1, min_group=1)
    rollouts = await collect(tasks, policy, settings, progress=progress, stop=stop)
    trees = [*rollouts.trees, *rollouts.removed]
    document = summarize(trees, finished=not rollouts.partial)
    document["seconds"] = round(rollouts.stats.seconds, 3)
    document["partial"] = rollouts.partial
    document["run"] = str(store.folder) if store else ""
    if store is not None:
        store.commit_evaluation(phase, step, trees, document)
    return document


def summarize(trees: Sequence[RolloutTree], *, finished: bool = True) -> dict[str, Any]:
    """Counts and rates over the finished episodes of trees. In an unfinished collection, an episode that is not
    there has not failed: only recorded failures count."""
    episodes = [episode for tree in trees for episode in tree.episodes()]
    n = len(episodes)
    successes = sum(episode.success for episode in episodes)
    low, high = wilson(successes, n)
    return {
        "id": trees[0].task.env if trees else "",
        "split": trees[0].task.split if trees else "",
        "episodes": n,
        "success": successes / n if n else 0.0,
        "success_ci95": [low, high],
        "return_mean": statistics.fmean(episode.total_reward for episode in episodes) if n else 0.0,
        "turns_mean": statistics.fmean(len(episode.turns) for episode in episodes) if n else 0.0,
        "truncated": sum(episode.leaf.truncated for episode in episodes),
        "tool_errors": sum(len(turn.tool_errors) for episode in episodes for turn in episode.turns),
        "infrastructure_failures": sum(
            tree.requested - len(tree.episodes()) if finished else len(tree.failures) for tree in trees
        ),
        "failures": why(trees),
        "tokens": sum(episode.completion_tokens for episode in episodes),
    }


def why(trees: Sequence[RolloutTree], most: int = 5) -> list[dict[str, Any]]:
    """The commonest reasons of infrastructure failures, each with its count; names of single sandboxes left out."""
    counts: Counter[tuple[str, str]] = Counter()
    for tree in trees:
        for failure in tree.failures:
            message = re.sub(r"agentrl-[0-9a-f]{12}", "sandbox", failure.message)
            counts[failure.where, message[:300]] += 1
    return [
        {"where": where, "message": message, "count": count}
        for (where, message), count in counts.most_common(most)
    ]
