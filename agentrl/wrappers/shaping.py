"""Rewards with costs, a scale and a potential.

Invariant: what is added is named in `reward_parts`, so the reward is the sum of its parts, and `info["unshaped_reward"]` is
the environment's own. Success is never touched.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any, ClassVar

from agentrl.core.env import ToolEnv
from agentrl.core.failures import InfrastructureFailure, UserError
from agentrl.core.messages import Observation
from agentrl.core.registry import import_module
from agentrl.wrappers.base import Played, Shown, Wrapper


class ShapeReward(Wrapper):
    """Costs of turns and of tool errors, a scale, and shaping by a potential.

    With a potential P, a turn from s to s' gets `gamma * P(s') - P(s)` more, where P of an episode's end is 0: this leaves the
    optimal policies as they are (Ng, Harada, Russell, ICML 1999).

    Args:
        turn_cost: taken off in every turn.
        error_cost: taken off for every wrong call.
        scale: of the environment's own rewards.
        potential: a function of the (unwrapped) environment, or where one is: `module:function`, `file.py:function`.
        gamma: the discount that the potential is for, above 0 and at most 1.

    Raises:
        UserError: a number that is not finite, or no such function.
    """

    kept: ClassVar[tuple[str, ...]] = ("_before",)

    def __init__(
        self,
        env: ToolEnv,
        *,
        turn_cost: float = 0.0,
        error_cost: float = 0.0,
        scale: float = 1.0,
        potential: str | Callable[[ToolEnv], float] | None = None,
        gamma: float = 1.0,
    ) -> None:
        super().__init__(env)
        for name, value in (("turn_cost", turn_cost), ("error_cost", error_cost), ("scale", scale)):
            if isinstance(value, bool) or not isinstance(value, int | float) or not math.isfinite(value):
                raise UserError(f"shape_reward: {name} must be a finite number, got {value!r:.40}")
        if isinstance(gamma, bool) or not isinstance(gamma, int | float) or not 0 < gamma <= 1:
            raise UserError(f"shape_reward: gamma must be above 0 and at most 1, got {gamma!r:.40}")
        self.turn_cost, self.error_cost, self.scale, self.gamma = turn_cost, error_cost, scale, gamma
        self.potential = function_at(potential) if isinstance(potential, str) else potential
        self._before = 0.0

    def begun(self, observation: Observation, info: dict[str, Any]) -> Shown:
        self._before = self._potential()
        return observation, info

    def played(
        self, observation: Observation, reward: float, terminated: bool, truncated: bool, info: dict[str, Any]
    ) -> Played:
        parts = {name: self.scale * value for name, value in info["reward_parts"].items()}
        if self.turn_cost:
            parts["turn_cost"] = parts.get("turn_cost", 0.0) - self.turn_cost
        if self.error_cost and info["tool_errors"]:
            parts["error_cost"] = parts.get("error_cost", 0.0) - self.error_cost * len(info["tool_errors"])
        if self.potential is not None:
            after = 0.0 if terminated or truncated else self._potential()
            parts["potential"] = parts.get("potential", 0.0) + self.gamma * after - self._before
            self._before = after
        info = {**info, "reward_parts": parts, "unshaped_reward": info.get("unshaped_reward", reward)}
        return observation, float(sum(parts.values())), terminated, truncated, info

    def _potential(self) -> float:
        if self.potential is None:
            return 0.0
        value = float(self.potential(self.unwrapped))
        if not math.isfinite(value):
            raise InfrastructureFailure("reward", "shape_reward", f"a potential is finite, not {value}")
        return value


def function_at(place: str) -> Callable[[ToolEnv], float]:
    module, colon, name = place.rpartition(":")
    found = getattr(import_module(module), name, None) if colon else None
    if not callable(found):
        raise UserError(f"shape_reward: no function at {place!r}: name it as module:function")
    return found
