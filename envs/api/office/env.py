"""`Office-v0`: tasks with calendars, mails and contacts."""

from __future__ import annotations

from agentrl.envs.api.env import ApiEnv
from agentrl.envs.api.office.service import OFFICE
from agentrl.envs.api.office.tasks import TEMPLATES


class OfficeEnv(ApiEnv):
    __doc__ = ApiEnv.__doc__

    service = OFFICE
    templates = TEMPLATES
