"""A limit of turns, whatever the environment's own is."""

from __future__ import annotations

from typing import Any, ClassVar

from agentrl.core.env import ToolEnv
from agentrl.core.failures import UserError
from agentrl.core.messages import Observation
from agentrl.wrappers.base import Played, Shown, Wrapper


class TurnLimit(Wrapper):
    """Truncates an episode after `turns` turns; `info["truncated_by"]` says so.

    Raises:
        UserError: `turns` is no whole number of at least 1.
    """

    kept: ClassVar[tuple[str, ...]] = ("_turns",)

    def __init__(self, env: ToolEnv, turns: int) -> None:
        super().__init__(env)
        if isinstance(turns, bool) or not isinstance(turns, int) or turns < 1:
            raise UserError(f"turn_limit: turns must be a whole number of at least 1, got {turns!r:.40}")
        self.turns, self._turns = turns, 0

    @property
    def max_turns(self) -> int | None:  # type: ignore[override]
        inner = self.env.max_turns
        return self.turns if inner is None else min(inner, self.turns)

    def begun(self, observation: Observation, info: dict[str, Any]) -> Shown:
        self._turns = 0
        return observation, info

    def played(
        self, observation: Observation, reward: float, terminated: bool, truncated: bool, info: dict[str, Any]
    ) -> Played:
        self._turns += 1
        if self._turns >= self.turns and not (terminated or truncated):
            truncated, info = True, {**info, "truncated_by": "turn_limit"}
        return observation, reward, terminated, truncated, info
