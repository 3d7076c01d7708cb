"""Episodes as lines that a person reads."""

from __future__ import annotations

from agentrl.core.tree import Episode


def transcript(episode: Episode) -> list[str]:
    """One line a message, tool calls as `name(arguments)`, the reward last."""
    lines = []
    for message in episode.messages():
        calls = [f"{call.name}({call.arguments})" for call in message.tool_calls]
        lines.append(f"{message.role}: {' '.join(filter(None, [message.content, *calls]))}")
    lines.append(f"reward: {episode.total_reward:g}  success: {'yes' if episode.success else 'no'}")
    return lines
