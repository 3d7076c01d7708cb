"""Policies that need no model: an environment's expert, random calls, a replayed trace, a person."""

from __future__ import annotations

import json
import re
import shlex
from collections.abc import Callable, Mapping, Sequence
from typing import Any

import numpy as np

from agentrl.core.failures import UnknownName, UserError
from agentrl.core.messages import Message, ToolCall, as_action
from agentrl.inference.codec import ToolSpec
from agentrl.inference.policy import Policy, Sampled, View


class ExpertPolicy:
    """Does what the environment's expert says."""

    async def act(self, view: View) -> Sampled:
        action = view.env.expert() if view.env is not None else None
        if action is None:
            raise UserError("this environment has no expert for this situation: use another --engine")
        return Sampled(as_action(action))


class RandomPolicy:
    """A random valid call, decided by the turn's seed alone."""

    async def act(self, view: View) -> Sampled:
        if view.env is None:
            raise UserError("a random policy needs the environment's action space")
        space = view.env.action_space
        space.seed(int(np.random.default_rng(view.seed).integers(2**31)))
        return Sampled(as_action(space.sample()))


class ReplayPolicy:
    """Says again what was said: the actions of an episode, by turn.

    Args:
        actions: assistant messages, in order.
    """

    def __init__(self, actions: Sequence[Message]) -> None:
        self.actions = tuple(actions)

    async def act(self, view: View) -> Sampled:
        turn = len(view.path)
        if turn >= len(self.actions):
            raise UserError(
                f"the replayed episode has {len(self.actions)} turns; the environment asks for another"
            )
        return Sampled(self.actions[turn])


class HumanPolicy:
    """A person: shown what a policy is shown, asked for what a policy says.

    Input is `tool argument=value ...`, `tool value` for a tool of one argument, a JSON call, or plain text; `help` lists
    the tools, `quit` ends.

    Args:
        read: asks for one line; EOFError ends.
        write: shows one line.
    """

    def __init__(self, read: Callable[[str], str] = input, write: Callable[[str], None] = print) -> None:
        self.read, self.write = read, write

    async def act(self, view: View) -> Sampled:
        for message in view.observation:
            self.write(f"{message.name or message.role}: {message.content}")
        if not view.path:
            self.write(help_text(view.tools))
        while True:
            try:
                line = self.read("> ").strip()
            except EOFError:
                line = "quit"
            if line in ("quit", "exit"):
                raise KeyboardInterrupt
            if line in ("help", "?"):
                self.write(help_text(view.tools))
            elif line:
                return Sampled(parse_line(line, view.tools))


def help_text(tools: Sequence[ToolSpec]) -> str:
    """The tools, one a line, as a person calls them."""
    lines = ["tools (type `tool argument=value`, `help` or `quit`):"]
    for tool in tools:
        function = tool["function"]
        names = " ".join(f"{name}=..." for name in function["parameters"].get("properties", {}))
        lines.append(
            f"  {function['name']} {names}".rstrip() + f"   {function.get('description', '')}".rstrip()
        )
    return "\n".join(lines)


def parse_line(line: str, tools: Sequence[ToolSpec]) -> Message:
    """What a person typed as an assistant message; a line that calls no tool is plain text."""
    if line.startswith("{"):
        try:
            data = json.loads(line)
            return Message("assistant", "", (ToolCall.from_dict(data),))
        except (ValueError, KeyError, TypeError):
            return Message("assistant", line)
    name, _, rest = line.partition(" ")
    known = {tool["function"]["name"]: tool["function"]["parameters"] for tool in tools}
    if name not in known:
        return Message("assistant", line)
    return Message("assistant", "", (ToolCall(name, json.dumps(arguments_of(rest.strip(), known[name]))),))


def arguments_of(text: str, parameters: Mapping[str, Any]) -> dict[str, Any]:
    """`a=1 b="two words"` by the schema; one argument needs no name."""
    properties = parameters.get("properties", {})
    if len(properties) == 1 and text and not re.match(rf"{re.escape(next(iter(properties)))}\s*=", text):
        name = next(iter(properties))
        return {name: value_of(text.strip("\"'") if text[0] in "\"'" else text, properties[name])}
    try:
        pieces = shlex.split(text)
    except ValueError:
        pieces = text.split()
    out = {}
    for piece in pieces:
        name, equals, value = piece.partition("=")
        out[name] = value_of(value, properties.get(name, {})) if equals else True
    return out


def value_of(text: str, schema: Mapping[str, Any]) -> Any:
    """A typed value from text: strings as they are, everything else as JSON if it is JSON."""
    if schema.get("type") == "string" or "enum" in schema:
        return text
    try:
        return json.loads(text)
    except ValueError:
        return text


POLICIES: Mapping[str, Callable[[], Policy]] = {
    "expert": ExpertPolicy,
    "random": RandomPolicy,
    "human": HumanPolicy,
}


def scripted_policy(name: str) -> Policy:
    """A scripted policy by name.

    Raises:
        UnknownName: with the nearest.
    """
    if name not in POLICIES:
        raise UnknownName("scripted policy", name, POLICIES)
    return POLICIES[name]()
