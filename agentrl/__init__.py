"""agentrl: train and evaluate language-model agents that act over many turns with tools.

Names are imported when they are first used: `import agentrl` alone costs nothing.
"""

from __future__ import annotations

import importlib
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from agentrl.core.catalogue import register
    from agentrl.core.env import Snapshot, ToolEnv
    from agentrl.core.failures import InfrastructureFailure, ToolError, UserError
    from agentrl.core.messages import Message, ToolCall, assistant, call, system, user
    from agentrl.core.registry import make, make_vec
    from agentrl.core.tool import Tool, tool
    from agentrl.core.tree import Episode, RolloutTree, Task, Turn

__version__ = "0.1.0"
__all__ = [
    "Episode",
    "InfrastructureFailure",
    "Message",
    "RolloutTree",
    "Snapshot",
    "Task",
    "Tool",
    "ToolCall",
    "ToolEnv",
    "ToolError",
    "Turn",
    "UserError",
    "assistant",
    "call",
    "make",
    "make_vec",
    "register",
    "system",
    "tool",
    "user",
]

HOMES = {
    "catalogue": ("register",),
    "env": ("Snapshot", "ToolEnv"),
    "failures": ("InfrastructureFailure", "ToolError", "UserError"),
    "messages": ("Message", "ToolCall", "assistant", "call", "system", "user"),
    "registry": ("make", "make_vec"),
    "tool": ("Tool", "tool"),
    "tree": ("Episode", "RolloutTree", "Task", "Turn"),
}


def __getattr__(name: str) -> Any:
    for module, names in HOMES.items():
        if name in names:
            return getattr(importlib.import_module(f"agentrl.core.{module}"), name)
    raise AttributeError(f"module 'agentrl' has no attribute {name!r}")


def __dir__() -> list[str]:
    return [*__all__, "__version__"]
