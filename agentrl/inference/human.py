"""A person as a policy: shown what a policy is shown, asked for what a policy says, on the same path."""

from __future__ import annotations

import json
import re
import shlex
from collections.abc import Callable, Mapping, Sequence
from typing import Any

from rich.console import Console
from rich.text import Text

from agentrl.core.failures import UnknownName
from agentrl.core.messages import Message, ToolCall
from agentrl.inference.codec import ToolSpec
from agentrl.inference.policy import Sampled, View


class HumanPolicy:
    """A person: shown what a policy is shown, asked for what a policy says.

    Input is `tool argument=value ...`, values alone in the order of the arguments, a call (or a list of calls) in JSON, or
    plain text; `help` lists the tools, `quit` ends.

    Args:
        read: asks for one line; EOFError ends.
        write: shows some text.
    """

    def __init__(
        self, read: Callable[[str], str] = input, write: Callable[[str], None] | None = None
    ) -> None:
        self.read, self.write = read, write or show

    async def act(self, view: View) -> Sampled:
        for message in view.observation:
            self.write(f"{message.name or message.role}: {message.content}")
        if not view.path:
            self.write(help_text(view.tools))
        names = [tool["function"]["name"] for tool in view.tools]
        while True:
            try:
                line = self.read("> ").strip()
            except EOFError:
                line = "quit"
            name, _, rest = line.partition(" ")
            if line in ("quit", "exit"):
                raise KeyboardInterrupt
            if line in ("help", "?"):
                self.write(help_text(view.tools))
            elif name not in names and re.match(r"\w+=", rest):
                self.write(str(UnknownName("tool", name, names)))
            elif line:
                return Sampled(parse_line(line, view.tools))


def show(text: str) -> None:
    """Print for a person, wrapped at words."""
    speaker, colon, rest = text.partition(": ")
    bold = colon and "\n" not in speaker
    Console().print(Text.assemble((speaker + colon, "bold"), rest) if bold else Text(text))


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
    if line.startswith(("{", "[")):
        try:
            data = json.loads(line)
            calls = tuple(ToolCall.from_dict(item) for item in (data if isinstance(data, list) else [data]))
        except (ValueError, LookupError, TypeError, AttributeError):
            return Message("assistant", line)
        return Message("assistant", "", calls) if calls else Message("assistant", line)
    name, _, rest = line.partition(" ")
    known = {tool["function"]["name"]: tool["function"]["parameters"] for tool in tools}
    if name not in known:
        return Message("assistant", line)
    arguments = json.dumps(arguments_of(rest.strip(), known[name]), ensure_ascii=False)
    return Message("assistant", "", (ToolCall(name, arguments),))


def arguments_of(text: str, parameters: Mapping[str, Any]) -> dict[str, Any]:
    """`a=1 b="two words"` by the schema. Values without a name go to the arguments that are not named, in their order;
    a tool of one argument takes the whole line."""
    properties: Mapping[str, Any] = parameters.get("properties", {})
    if len(properties) == 1 and text and not re.match(rf"{re.escape(next(iter(properties)))}\s*=", text):
        name = next(iter(properties))
        return {name: value_of(unquoted(text), properties[name])}
    try:
        pieces = shlex.split(text)
    except ValueError:  # an apostrophe is no quotation
        pieces = text.split()
    given = [piece.partition("=") for piece in pieces]
    out = {name: value_of(value, properties.get(name, {})) for name, equals, value in given if equals}
    free = [name for name in properties if name not in out]
    for number, piece in enumerate(piece for piece, equals, _ in given if not equals):
        # One value too many is passed on under a name that no tool has, for the environment to answer.
        name = free[number] if number < len(free) else piece
        out[name] = value_of(piece, properties.get(name, {}))
    return out


def unquoted(text: str) -> str:
    """A text without the quotation marks around it."""
    return text[1:-1] if len(text) > 1 and text[0] == text[-1] and text[0] in "\"'" else text


def value_of(text: str, schema: Mapping[str, Any]) -> Any:
    """A typed value from text: strings as they are, everything else as JSON if it is JSON."""
    if schema.get("type") == "string" or "enum" in schema:
        return text
    try:
        return json.loads(text)
    except ValueError:
        return text
