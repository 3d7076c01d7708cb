"""The scripted experts: from what a policy can see to the next action, for every task that has one.

Invariant: an expert is a pure function of one moment, so it goes on from wherever a policy has got to.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import TypeAlias

from agentrl.core.messages import Action
from agentrl.envs.web.miniwob.experts import clicks, figures, forms, mail, reading, texts
from agentrl.envs.web.miniwob.sight import Sight

Expert: TypeAlias = Callable[[Sight], Action]

EXPERTS: Mapping[str, Expert] = {
    **clicks.EXPERTS,
    **figures.EXPERTS,
    **forms.EXPERTS,
    **mail.EXPERTS,
    **reading.EXPERTS,
    **texts.EXPERTS,
}
