"""What a collection cost and what became of it."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any

from agentrl.core.failures import InfrastructureFailure
from agentrl.core.tree import RolloutTree


@dataclass(slots=True)
class RolloutStats:
    """Counts of one collection.

    Attributes:
        requested, usable: episodes that were asked for, and that the trees hold.
        refilled: episodes begun in place of ones that broke.
        dropped: episodes that are missing from their groups: the last one in their place broke, too.
        removed_groups: groups under the minimum.
        failures: every infrastructure failure, also of episodes that another one made good, by
            `environment|boundary|kind`; the boundary of a tool is `tool:name`.
        tool_calls, tool_errors: calls in the trees, and wrong ones by `environment|tool|kind`.
        abandoned: environments that did not close in time and were left behind.
        turns, prompt_tokens, cached_tokens, completion_tokens: in the trees; `prompt_tokens` are those that
            observations added, `cached_tokens` those that the engine need not compute again.
        truncated, success, return_mean: of the usable episodes: how many were cut, and two rates.
        policy_seconds, env_seconds: summed over turns.
        seconds: from beginning to end.
    """

    requested: int = 0
    usable: int = 0
    refilled: int = 0
    dropped: int = 0
    removed_groups: int = 0
    failures: Counter[str] = field(default_factory=Counter)
    tool_calls: int = 0
    tool_errors: Counter[str] = field(default_factory=Counter)
    abandoned: int = 0
    turns: int = 0
    prompt_tokens: int = 0
    cached_tokens: int = 0
    completion_tokens: int = 0
    truncated: int = 0
    success: float = 0.0
    return_mean: float = 0.0
    policy_seconds: float = 0.0
    env_seconds: float = 0.0
    seconds: float = 0.0

    def note(self, env: str, failure: InfrastructureFailure) -> None:
        """Count an infrastructure failure."""
        where = f"tool:{failure.subject}" if failure.where == "tool" else failure.where
        self.failures[f"{env}|{where}|{type(failure).__name__}"] += 1

    def count(self, trees: Sequence[RolloutTree]) -> None:
        """Add what the trees hold."""
        episodes = [episode for tree in trees for episode in tree.episodes()]
        self.usable = len(episodes)
        if episodes:
            self.success = sum(episode.success for episode in episodes) / len(episodes)
            self.return_mean = sum(episode.total_reward for episode in episodes) / len(episodes)
            self.truncated = sum(episode.leaf.truncated for episode in episodes)
        for tree in trees:
            self.turns += len(tree)
            for turn in tree:
                self.tool_calls += len(turn.action.tool_calls)
                self.completion_tokens += len(turn.completion_ids)
                self.prompt_tokens += len(turn.context_ids)
                self.cached_tokens += turn.cached_tokens
                self.policy_seconds += turn.seconds[0]
                self.env_seconds += turn.seconds[1]
                for detail in turn.info.get("tool_error_details", ()):
                    self.tool_errors[f"{tree.task.env}|{detail['tool']}|{detail['kind']}"] += 1

    def metrics(self) -> dict[str, Any]:
        """As plain data, for the store."""
        out: dict[str, Any] = {}
        for name in RolloutStats.__dataclass_fields__:
            value = getattr(self, name)
            out[name] = dict(value) if isinstance(value, Counter) else value
        return out
