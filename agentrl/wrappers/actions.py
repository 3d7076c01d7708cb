"""Acting by plain text instead of native tool calls, for models that were never taught their own format."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import replace
from typing import Any

import numpy as np

from agentrl.core.env import ToolEnv
from agentrl.core.failures import UnknownName
from agentrl.core.messages import Action, Message, Observation, as_action, assistant, system, user
from agentrl.core.spaces import ActionSpace
from agentrl.core.textspaces import Seed
from agentrl.core.tool import Tool
from agentrl.wrappers.base import Played, Shown, Wrapper
from agentrl.wrappers.formats import FORMATS, ActionFormat


class WrittenCalls(ActionSpace):
    """Any text; `sample()` is a random call, written in a format."""

    def __init__(self, tools: Sequence[Tool], format: ActionFormat, seed: Seed = None) -> None:
        self.tools, self.format = tools, format
        super().__init__(tools, seed)

    def _parts(self) -> dict[str, Any]:
        return {**super()._parts(), "format": type(self.format).__name__}

    def _draw(self, rng: np.random.Generator) -> Action:
        message = as_action(super()._draw(rng))
        return (
            "\n".join(self.format.write(call, self.tools) for call in message.tool_calls) or message.content
        )


class TextActions(Wrapper):
    """The policy writes its calls into its text; the system message tells it how, and answers are user messages.

    The tools are no longer offered natively (`tools` is empty). A message without a call is answered by the environment
    as ever, with a hint at the format.

    Args:
        format: `xml` (`<tool_call>{...}</tool_call>`), `tags` (`<search>Mali</search>`) or `plain` (`search(query="Mali")`).

    Raises:
        UnknownName: another format.
    """

    def __init__(self, env: ToolEnv, format: str = "xml") -> None:
        super().__init__(env)
        if format not in FORMATS:
            raise UnknownName("format", str(format), FORMATS)
        self.format = FORMATS[format]()
        self._calls = 0
        self._space: WrittenCalls | None = None

    @property
    def tools(self) -> tuple[Tool, ...]:
        return ()

    @tools.setter
    def tools(self, tools: Iterable[Tool]) -> None:
        self.env.tools = tuple(tools)

    @property
    def action_space(self) -> Any:  # type: ignore[override]
        if self._space is None or self._space.tools is not self.env.tools:
            self._space = WrittenCalls(self.env.tools, self.format)
        return self._space

    @property
    def answers_text(self) -> bool:
        return True

    def begun(self, observation: Observation, info: dict[str, Any]) -> Shown:
        told = self.format.told(self.env.tools)
        if observation and observation[0].role == "system":
            first, rest = observation[0], observation[1:]
            return (replace(first, content=f"{first.content}\n\n{told}"), *rest), info
        return (system(told), *observation), info

    def acting(self, action: Message) -> Message:
        calls = (*action.tool_calls, *self.format.read(action.content, self.env.tools))
        self._calls = len(calls)
        return replace(action, tool_calls=calls)

    def played(
        self, observation: Observation, reward: float, terminated: bool, truncated: bool, info: dict[str, Any]
    ) -> Played:
        shown = "\n".join(
            self.format.answered(message.name, message.content) if message.role == "tool" else message.content
            for message in observation
        )
        if not self._calls and info["tool_errors"]:
            shown = f"{shown}\n{self.format.hint}"
        return (user(shown),), reward, terminated, truncated, info

    def expert(self) -> Action | None:
        action = self.env.expert()
        if action is None:
            return None
        message = as_action(action)
        written = [self.format.write(call, self.env.tools) for call in message.tool_calls]
        return assistant("\n".join(part for part in (message.content, *written) if part))
