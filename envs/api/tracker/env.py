"""`IssueTracker-v0`: tasks in an issue tracker."""

from __future__ import annotations

from agentrl.envs.api.env import ApiEnv
from agentrl.envs.api.tracker.service import TRACKER
from agentrl.envs.api.tracker.tasks import TEMPLATES


class IssueTrackerEnv(ApiEnv):
    __doc__ = ApiEnv.__doc__

    service = TRACKER
    templates = TEMPLATES
