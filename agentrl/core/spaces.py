"""Gymnasium spaces that can describe an LLM's text and tool calls."""

from __future__ import annotations

import json
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import gymnasium
import numpy as np

from agentrl.core.messages import Message, ToolCall, user

if TYPE_CHECKING:
    from agentrl.core.tool import Tool


class MessagesSpace(gymnasium.Space[Any]):
    def __init__(self, seed: int | np.random.Generator | None = None) -> None:
        super().__init__(None, None, seed)

    def contains(self, x: Any) -> bool:
        return isinstance(x, str) or (isinstance(x, tuple) and all(isinstance(item, Message) for item in x))

    def sample(self, mask: Any = None, probability: Any = None) -> Any:
        return (user(f"message {int(self.np_random.integers(1000))}"),)

    def __eq__(self, other: object) -> bool:
        return isinstance(other, MessagesSpace)

    __hash__ = None  # type: ignore[assignment]


class ActionSpace(gymnasium.Space[Any]):
    def __init__(self, tools: Sequence[Tool], seed: int | np.random.Generator | None = None) -> None:
        self.specs = tuple((tool.name, tool.parameters) for tool in tools)
        super().__init__(None, None, seed)

    def contains(self, x: Any) -> bool:
        return isinstance(x, str) or (isinstance(x, Message) and x.role == "assistant")

    def sample(self, mask: Any = None, probability: Any = None) -> Any:
        if not self.specs:
            return Message("assistant", "ok")
        name, schema = self.specs[int(self.np_random.integers(len(self.specs)))]
        arguments = {key: sample_value(item, self.np_random) for key, item in schema["properties"].items()}
        return Message("assistant", "", (ToolCall(name, json.dumps(arguments)),))

    def __eq__(self, other: object) -> bool:
        return isinstance(other, ActionSpace) and self.specs == other.specs

    __hash__ = None  # type: ignore[assignment]


def sample_value(schema: dict[str, Any], rng: np.random.Generator) -> Any:
    if "enum" in schema:
        return schema["enum"][int(rng.integers(len(schema["enum"])))]
    kind = schema.get("type", "string")
    if kind == "integer":
        return int(rng.integers(schema.get("minimum", 0), schema.get("maximum", 100) + 1))
    if kind == "number":
        return float(rng.random())
    if kind == "boolean":
        return bool(rng.integers(2))
    if kind == "string":
        return "".join(rng.choice(list("abcdefgh"), size=5))
    return None
