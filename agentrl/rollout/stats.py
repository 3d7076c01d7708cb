"""What a collection cost and what became of it."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any

from agentrl.core.tree import RolloutTree


@dataclass(slots=True)
class RolloutStats:
    """Counts of one collection. `failures` counts every infrastructure failure by `env|boundary|kind`, also those
    whose episode was saved by another attempt; `dropped` counts the episodes that were lost."""

    requested: int = 0
    usable: int = 0
    dropped: int = 0
    removed_groups: int = 0
    failures: Counter[str] = field(default_factory=Counter)
    tool_errors: Counter[str] = field(default_factory=Counter)
    turns: int = 0
    tool_calls: int = 0
    prompt_tokens: int = 0
    cached_tokens: int = 0
    completion_tokens: int = 0
    truncated: int = 0
    policy_seconds: float = 0.0
    env_seconds: float = 0.0
    seconds: float = 0.0
    success: float = 0.0
    return_mean: float = 0.0

    def count(self, trees: Sequence[RolloutTree]) -> None:
        """Add what the trees hold."""
        episodes = [episode for tree in trees for episode in tree.episodes()]
        self.usable = len(episodes)
        if episodes:
            self.success = sum(episode.success for episode in episodes) / len(episodes)
            self.return_mean = sum(episode.total_reward for episode in episodes) / len(episodes)
            self.truncated = sum(episode.leaf.truncated for episode in episodes)
        for tree in trees:
            for turn in tree:
                self.turns += 1
                self.tool_calls += len(turn.action.tool_calls)
                self.completion_tokens += len(turn.completion_ids)
                self.prompt_tokens += len(turn.context_ids)
                self.cached_tokens += turn.cached_tokens
                self.policy_seconds += turn.seconds[0]
                self.env_seconds += turn.seconds[1]
                for detail in turn.info.get("tool_error_details", ()):
                    self.tool_errors[f"{detail['tool']}|{detail['kind']}"] += 1

    def metrics(self) -> dict[str, Any]:
        """As plain data, for the store."""
        out: dict[str, Any] = {}
        for name in RolloutStats.__dataclass_fields__:
            value = getattr(self, name)
            out[name] = dict(value) if isinstance(value, Counter) else value
        return out
