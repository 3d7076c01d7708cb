"""agentrl: train and evaluate language-model agents that act over many turns with tools."""

from agentrl.core.env import Snapshot, ToolEnv
from agentrl.core.failures import InfrastructureFailure, ToolError, UserError
from agentrl.core.messages import Message, ToolCall, assistant, call, system, user
from agentrl.core.registry import make, register
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
    "register",
    "system",
    "tool",
    "user",
]
