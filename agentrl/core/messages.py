"""Messages and tool calls: the words that pass between a policy and an environment.

Frozen, plain and picklable. The wire form (`to_dict`, `from_dict`) is the OpenAI chat format, which
is also what chat templates and the Hub's conversational datasets read.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Literal, TypeAlias

Role: TypeAlias = Literal["system", "user", "assistant", "tool"]
ROLES: tuple[Role, ...] = ("system", "user", "assistant", "tool")


@dataclass(frozen=True, slots=True)
class ToolCall:
    """One call of a tool, as a policy wrote it.

    `arguments` is the raw JSON text: nothing is parsed, repaired or judged here. The strict decoder
    (`agentrl.core.decode`) turns it into values or into a tool error which the policy sees.
    """

    name: str
    arguments: str = "{}"
    id: str = ""

    @classmethod
    def make(cls, name: str, /, **arguments: Any) -> ToolCall:
        """Build a call from Python values: `ToolCall.make("search", query="Mali")`."""
        return cls(name, json.dumps(arguments, ensure_ascii=False))

    def __deepcopy__(self, memo: Any) -> ToolCall:
        return self

    def to_dict(self) -> dict[str, Any]:
        return {
            "id": self.id,
            "type": "function",
            "function": {"name": self.name, "arguments": self.arguments},
        }

    @classmethod
    def from_dict(cls, data: Mapping[str, Any]) -> ToolCall:
        function = data.get("function", data)
        arguments = function.get("arguments", "{}")
        if not isinstance(arguments, str):
            arguments = json.dumps(arguments, ensure_ascii=False)
        return cls(str(function["name"]), arguments, str(data.get("id") or ""))


@dataclass(frozen=True, slots=True)
class Message:
    """One chat message.

    Attributes:
        role: who speaks.
        content: the text; empty for a message that only calls tools.
        tool_calls: calls made by an assistant message, in order of declaration.
        tool_call_id: for `role="tool"`: the id of the call that this message answers.
        name: for `role="tool"`: the name of the tool.
        reasoning: the reasoning channel of an assistant message, for models that have one.
    """

    role: Role
    content: str = ""
    tool_calls: tuple[ToolCall, ...] = ()
    tool_call_id: str = ""
    name: str = ""
    reasoning: str = ""

    def __post_init__(self) -> None:
        if self.role not in ROLES:
            raise ValueError(f"message role must be one of {', '.join(ROLES)}, not {self.role!r}")
        if self.tool_calls and self.role != "assistant":
            raise ValueError(f"only an assistant message calls tools, not a {self.role} message")
        if not isinstance(self.tool_calls, tuple):
            object.__setattr__(self, "tool_calls", tuple(self.tool_calls))

    def __deepcopy__(self, memo: Any) -> Message:
        # Nothing in it changes; snapshots of long episodes would otherwise copy every word.
        return self

    def to_dict(self) -> dict[str, Any]:
        out: dict[str, Any] = {"role": self.role, "content": self.content}
        if self.tool_calls:
            out["tool_calls"] = [call.to_dict() for call in self.tool_calls]
        if self.tool_call_id:
            out["tool_call_id"] = self.tool_call_id
        if self.name:
            out["name"] = self.name
        if self.reasoning:
            out["reasoning_content"] = self.reasoning
        return out

    @classmethod
    def from_dict(cls, data: Mapping[str, Any]) -> Message:
        return cls(
            role=data.get("role", ""),
            content=_content(data.get("content")),
            tool_calls=tuple(ToolCall.from_dict(call) for call in data.get("tool_calls") or ()),
            tool_call_id=data.get("tool_call_id") or "",
            name=data.get("name") or "",
            reasoning=data.get("reasoning_content") or "",
        )


def _content(content: Any) -> str:
    """The text of a wire message, which may be a list of parts."""
    if content is None or isinstance(content, str):
        return content or ""
    if not all(isinstance(part, Mapping) and part.get("type") == "text" for part in content):
        raise ValueError(f"message content must be text, not {content!r:.80}")
    return "".join(part["text"] for part in content)


Messages: TypeAlias = tuple[Message, ...]
Observation: TypeAlias = Messages
Action: TypeAlias = Message | str


def system(content: str) -> Message:
    return Message("system", content)


def user(content: str) -> Message:
    return Message("user", content)


def assistant(content: str = "", *calls: ToolCall) -> Message:
    return Message("assistant", content, tuple(calls))


def call(name: str, /, **arguments: Any) -> Message:
    """An assistant message that makes one tool call: `call("search", query="Mali")`."""
    return Message("assistant", "", (ToolCall.make(name, **arguments),))


def as_action(action: Action) -> Message:
    """An assistant message from an action; plain text becomes a message without tool calls."""
    if isinstance(action, str):
        return Message("assistant", action)
    if isinstance(action, Message) and action.role == "assistant":
        return action
    raise TypeError(f"an action is an assistant Message or a str, not {action!r:.80}")


def text_of(messages: str | Sequence[Message]) -> str:
    """The readable text of an observation: contents joined by newlines."""
    if isinstance(messages, str):
        return messages
    return "\n".join(message.content for message in messages if message.content)


def to_dicts(messages: Iterable[Message]) -> list[dict[str, Any]]:
    return [message.to_dict() for message in messages]


def from_dicts(items: Iterable[Mapping[str, Any]]) -> Messages:
    return tuple(Message.from_dict(item) for item in items)
