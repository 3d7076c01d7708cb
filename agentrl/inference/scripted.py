"""Policies that need no model: an environment's expert, random calls."""

from __future__ import annotations

import numpy as np

from agentrl.core.failures import UnknownName, UserError
from agentrl.core.messages import as_action
from agentrl.inference.policy import Policy, Sampled, View


class ExpertPolicy:
    """Does what the environment's expert says."""

    async def act(self, view: View) -> Sampled:
        action = view.env.expert() if view.env is not None else None
        if action is None:
            raise UserError("this environment has no expert")
        return Sampled(as_action(action))


class RandomPolicy:
    """A random valid call."""

    async def act(self, view: View) -> Sampled:
        assert view.env is not None
        view.env.action_space.seed(int(np.random.default_rng(view.seed).integers(2**31)))
        return Sampled(as_action(view.env.action_space.sample()))


POLICIES = {"expert": ExpertPolicy, "random": RandomPolicy}


def scripted_policy(name: str) -> Policy:
    if name not in POLICIES:
        raise UnknownName("scripted policy", name, POLICIES)
    return POLICIES[name]()
