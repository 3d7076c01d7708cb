"""How to roll out: group sizes, deadlines, retries. Plain data."""

from __future__ import annotations

from dataclasses import dataclass

from agentrl.core.failures import UserError


@dataclass(frozen=True, slots=True)
class RolloutSettings:
    """Settings of one collection.

    Attributes:
        group_size: episodes per task.
        concurrency: episodes at once.
        max_turns: turn limit on top of the environment's own; None for none.
        retries: fresh attempts for an episode that an infrastructure failure ended.
        min_group: a group with fewer usable episodes is removed (and counted).
        seed: with the task and the episode it decides every sampling seed.
        deterministic: call the policy only when every live episode waits for it.
        make_seconds, reset_seconds, step_seconds, generate_seconds, close_seconds: deadlines.
    """

    group_size: int = 1
    concurrency: int = 64
    max_turns: int | None = None
    retries: int = 2
    min_group: int = 1
    seed: tuple[int | str, ...] = (0,)
    deterministic: bool = False
    make_seconds: float = 120.0
    reset_seconds: float = 120.0
    step_seconds: float = 60.0
    generate_seconds: float = 600.0
    close_seconds: float = 20.0

    def __post_init__(self) -> None:
        for name in ("group_size", "concurrency", "min_group"):
            if getattr(self, name) < 1:
                raise UserError(f"rollout {name} must be at least 1, got {getattr(self, name)}")
        if self.retries < 0:
            raise UserError(f"rollout retries must not be negative, got {self.retries}")
