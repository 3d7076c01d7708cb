"""Rolling out: from tasks and a policy to trees."""

from agentrl.rollout.kinds import check_task
from agentrl.rollout.manager import Progress, RolloutProgress, Rollouts, collect, rollout
from agentrl.rollout.settings import RolloutSettings
from agentrl.rollout.stats import RolloutStats

__all__ = [
    "Progress",
    "RolloutProgress",
    "RolloutSettings",
    "RolloutStats",
    "Rollouts",
    "check_task",
    "collect",
    "rollout",
]
