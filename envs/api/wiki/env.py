"""`Wiki-v0`: tasks in a wiki."""

from __future__ import annotations

from agentrl.envs.api.env import ApiEnv
from agentrl.envs.api.wiki.service import WIKI
from agentrl.envs.api.wiki.tasks import TEMPLATES


class WikiEnv(ApiEnv):
    __doc__ = ApiEnv.__doc__

    service = WIKI
    templates = TEMPLATES
