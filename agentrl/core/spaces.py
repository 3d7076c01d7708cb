"""Gymnasium spaces for what language models say: messages, actions, tool calls; texts and choices are in `textspaces`.

Invariant: what a space samples it contains, and it samples from its own `np_random` alone. `schema()` is the
JSON Schema of what `to_jsonable` writes; spaces are plain data and can be compared, copied and pickled.
"""

from __future__ import annotations

import json
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from agentrl.core.jsontext import parse_json
from agentrl.core.jsonvalues import Schema
from agentrl.core.messages import (
    Action,
    Message,
    Observation,
    ToolCall,
    assistant,
    from_dicts,
    to_dicts,
    user,
)
from agentrl.core.sampling import WORDS, pick, sample_arguments, sample_invalid_call
from agentrl.core.textspaces import ChoiceSpace, Seed, TalkSpace, TextSpace
from agentrl.core.validate import fits

if TYPE_CHECKING:
    from agentrl.core.tool import Tool

__all__ = [
    "ActionSpace",
    "ChoiceSpace",
    "MessagesSpace",
    "TextSpace",
    "ToolCallSpace",
    "sample_arguments",
    "sample_invalid_call",
]

TEXT: Schema = {"type": "string"}


class MessagesSpace(TalkSpace[Observation]):
    """What an environment shows: a tuple of messages; a plain text stands for one user message."""

    def contains(self, x: Any) -> bool:
        return isinstance(x, str) or (isinstance(x, tuple) and all(isinstance(item, Message) for item in x))

    def _draw(self, rng: np.random.Generator) -> Observation:
        return tuple(user(pick(WORDS, rng)) for _ in range(int(rng.integers(1, 4))))

    def schema(self) -> Schema:
        message = {
            "type": "object",
            "properties": {"role": {"enum": ["system", "user", "assistant", "tool"]}, "content": TEXT},
            "required": ["role", "content"],
        }
        return {"anyOf": [TEXT, {"type": "array", "items": message}]}

    def _to_json(self, x: Observation | str) -> Any:
        return x if isinstance(x, str) else to_dicts(x)

    def _from_json(self, x: Any) -> Any:
        return x if isinstance(x, str) else from_dicts(x)


class ActionSpace(TalkSpace[Action]):
    """What a policy may do: any assistant message or text. Wrong calls are in it: the environment answers them.

    `sample()` is a message with one random call that fits its tool's schema; of no tools, a text.

    Attributes:
        specs: (name, parameters) of each tool.
    """

    def __init__(self, tools: Sequence[Tool], seed: Seed = None) -> None:
        self.specs = tuple((tool.name, tool.parameters) for tool in tools)
        super().__init__(seed)

    def _parts(self) -> dict[str, Any]:
        return {"specs": self.specs}

    def __repr__(self) -> str:
        return f"ActionSpace({', '.join(name for name, _ in self.specs)})"

    def contains(self, x: Any) -> bool:
        return isinstance(x, str) or (isinstance(x, Message) and x.role == "assistant")

    def _draw(self, rng: np.random.Generator) -> Action:
        if not self.specs:
            return assistant(pick(WORDS, rng))
        name, parameters = pick(self.specs, rng)
        return assistant("", draw_call(name, parameters, rng))

    def schema(self) -> Schema:
        message: Schema = {
            "type": "object",
            "properties": {"role": {"const": "assistant"}, "content": TEXT},
            "required": ["role", "content"],
        }
        if self.specs:
            calls = [call_schema(name, parameters) for name, parameters in self.specs]
            message["properties"]["tool_calls"] = {"type": "array", "items": {"anyOf": calls}}
        return {"anyOf": [TEXT, message]}

    def _to_json(self, x: Action) -> Any:
        return x if isinstance(x, str) else x.to_dict()

    def _from_json(self, x: Any) -> Action:
        return x if isinstance(x, str) else Message.from_dict(x)


class ToolCallSpace(TalkSpace[ToolCall]):
    """The calls of one tool whose arguments fit its schema."""

    def __init__(self, tool: Tool, seed: Seed = None) -> None:
        self.name, self.parameters = tool.name, tool.parameters
        super().__init__(seed)

    def _parts(self) -> dict[str, Any]:
        return {"name": self.name, "parameters": self.parameters}

    def contains(self, x: Any) -> bool:
        if not isinstance(x, ToolCall) or x.name != self.name:
            return False
        try:
            return fits(self.parameters, parse_json(x.arguments))
        except ValueError:
            return False

    def _draw(self, rng: np.random.Generator) -> ToolCall:
        return draw_call(self.name, self.parameters, rng)

    def schema(self) -> Schema:
        return call_schema(self.name, self.parameters)

    def _to_json(self, x: ToolCall) -> Any:
        return x.to_dict()

    def _from_json(self, x: Any) -> ToolCall:
        return ToolCall.from_dict(x)


def draw_call(name: str, parameters: Schema, rng: np.random.Generator) -> ToolCall:
    return ToolCall(name, json.dumps(sample_arguments(parameters, rng), ensure_ascii=False))


def call_schema(name: str, parameters: Schema) -> Schema:
    """A call in the wire format, whose `arguments` are JSON in a string."""
    arguments = {**TEXT, "contentMediaType": "application/json", "contentSchema": parameters}
    function = {
        "type": "object",
        "properties": {"name": {"const": name}, "arguments": arguments},
        "required": ["name", "arguments"],
    }
    return {"type": "object", "properties": {"function": function}, "required": ["function"]}
