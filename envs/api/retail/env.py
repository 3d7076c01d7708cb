"""`Retail-v0`: requests of customers, and a policy that says which of them to refuse."""

from __future__ import annotations

from agentrl.envs.api.env import ApiEnv
from agentrl.envs.api.retail.service import RETAIL
from agentrl.envs.api.retail.tasks import TEMPLATES


class RetailEnv(ApiEnv):
    __doc__ = ApiEnv.__doc__

    service = RETAIL
    templates = TEMPLATES
