"""How to roll out: group sizes, deadlines, retries. Plain data."""

from __future__ import annotations

from dataclasses import dataclass

from agentrl.core.failures import UserError

LEAST = {"group_size": 1, "concurrency": 1, "max_turns": 1, "retries": 0, "min_group": 1}
DEADLINES = ("make_seconds", "reset_seconds", "step_seconds", "generate_seconds", "close_seconds")


@dataclass(frozen=True, slots=True)
class RolloutSettings:
    """Settings of one collection.

    Attributes:
        group_size: episodes per task.
        concurrency: episodes at once, and environments open at once.
        max_turns: turn limit on top of the environment's own; None for none.
        retries: how often an episode that an infrastructure failure ended is replaced, each time in a fresh
            environment; after that its group lacks it.
        min_group: a group with fewer usable episodes is removed (and counted).
        seed: with the task and the episode it decides every sampling seed.
        deterministic: call the policy only when every live episode waits for it.
        make_seconds, reset_seconds, step_seconds, generate_seconds, close_seconds: deadlines. A snapshot has that of
            a step, a restore that of a reset.
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
        for name, least in LEAST.items():
            value = getattr(self, name)
            if value is not None and value < least:
                raise UserError(f"rollout {name} must be at least {least}, got {value}")
        for name in DEADLINES:
            if not getattr(self, name) > 0:
                raise UserError(f"rollout {name} must be more than 0, got {getattr(self, name)}")
        if self.min_group > self.group_size:
            raise UserError(
                f"rollout min_group ({self.min_group}) must not exceed group_size ({self.group_size}): "
                f"no group could be used"
            )
