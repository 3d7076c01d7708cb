"""Ways to write a tool call in plain text: how it is told, how it is read, how it is written.

Invariant: reading what `write` wrote gives the same call; a call of a tool's name whose arguments cannot be read is a call all
the same, with the text as its arguments, so that the strict decoder answers it. Everything outside of calls is thought, not action.
"""

from __future__ import annotations

import ast
import json
import re
from collections.abc import Mapping, Sequence
from typing import Any, Protocol

from agentrl.core.messages import ToolCall
from agentrl.core.tool import Tool


class ActionFormat(Protocol):
    """One way to write calls.

    Attributes:
        hint: what a policy is told that wrote no call.
    """

    hint: str

    def told(self, tools: Sequence[Tool]) -> str:
        """What a system message says of the tools and of how to call them."""
        ...

    def read(self, text: str, tools: Sequence[Tool]) -> tuple[ToolCall, ...]:
        """The calls of a message, in order; none if there is none."""
        ...

    def write(self, call: ToolCall, tools: Sequence[Tool]) -> str:
        """The text of a call."""
        ...

    def answered(self, name: str, text: str) -> str:
        """What the policy is shown of a call's answer."""
        ...


class Xml:
    """`<tool_call>{"name": "search", "arguments": {"query": "Mali"}}</tool_call>`, as many open models are trained to write."""

    hint = 'Write <tool_call>{"name": ..., "arguments": {...}}</tool_call>.'
    BLOCK = re.compile(r"<tool_call>\s*(.*?)\s*(?:</tool_call>|\Z)", re.DOTALL)

    def told(self, tools: Sequence[Tool]) -> str:
        specs = "\n".join(json.dumps(tool.spec["function"], ensure_ascii=False) for tool in tools)
        return f"You have these tools:\n{specs}\nTo call one: {self.hint.removeprefix('Write ')}"

    def read(self, text: str, tools: Sequence[Tool]) -> tuple[ToolCall, ...]:
        return tuple(self._call(block, tools) for block in self.BLOCK.findall(text))

    def _call(self, block: str, tools: Sequence[Tool]) -> ToolCall:
        try:
            data = json.loads(block)
        except ValueError:
            name = re.search(r'"name"\s*:\s*"([^"]*)"', block)
            # The name is known, the rest is not JSON: the decoder says what is wrong with it.
            return ToolCall(name[1] if name else "tool_call", block)
        if not isinstance(data, dict) or not isinstance(data.get("name"), str):
            return ToolCall("tool_call", block)
        arguments = data.get("arguments", {})
        return ToolCall(
            data["name"],
            arguments if isinstance(arguments, str) else json.dumps(arguments, ensure_ascii=False),
        )

    def write(self, call: ToolCall, tools: Sequence[Tool]) -> str:
        return f'<tool_call>{{"name": {json.dumps(call.name)}, "arguments": {call.arguments}}}</tool_call>'

    def answered(self, name: str, text: str) -> str:
        return f"<tool_response>{text}</tool_response>"


class Tags:
    """`<search>Mali</search>`: one tag a tool, as Search-R1 has it. What is inside is the argument of a tool with one, else a JSON
    object."""

    hint = "Write one of the tags."

    def told(self, tools: Sequence[Tool]) -> str:
        lines = [f"{self._example(tool)}  {tool.description}".rstrip() for tool in tools]
        return "Act by writing one of these tags:\n" + "\n".join(lines)

    def _example(self, tool: Tool) -> str:
        parameters = tool.parameters.get("properties", {})
        if not parameters:
            return f"<{tool.name}></{tool.name}>"
        inside = (
            next(iter(parameters))
            if single(tool)
            else "{" + ", ".join(f'"{name}": ...' for name in parameters) + "}"
        )
        return f"<{tool.name}>{inside}</{tool.name}>"

    def read(self, text: str, tools: Sequence[Tool]) -> tuple[ToolCall, ...]:
        known = {tool.name: tool for tool in tools}
        names = "|".join(re.escape(name) for name in sorted(known, key=len, reverse=True))
        if not names:
            return ()
        found = re.finditer(rf"<({names})\s*(?:/>|>(.*?)(?:</\1\s*>|\Z))", text, re.DOTALL)
        return tuple(ToolCall(m[1], self._arguments(known[m[1]], (m[2] or "").strip())) for m in found)

    def _arguments(self, tool: Tool, inside: str) -> str:
        name = single(tool)
        if name is None:
            return inside or "{}"
        schema = tool.parameters["properties"][name]
        if inside.startswith("{") and object_with(inside, name):
            return inside
        if schema.get("type") == "string" or "enum" in schema:
            return json.dumps({name: inside}, ensure_ascii=False)
        return f"{{{json.dumps(name)}: {inside or 'null'}}}"

    def write(self, call: ToolCall, tools: Sequence[Tool]) -> str:
        tool = next((tool for tool in tools if tool.name == call.name), None)
        name = single(tool) if tool else None
        inside = "" if call.arguments in ("", "{}") else call.arguments
        if tool is not None and name is not None and inside:
            values = json.loads(inside)
            value = values.get(name)
            plain = isinstance(value, str) and value == value.strip() and not set("<{") & set(value)
            if plain and json.loads(self._arguments(tool, value)) == values:
                inside = value
        return f"<{call.name}>{inside}</{call.name}>"

    def answered(self, name: str, text: str) -> str:
        return f"<result>{text}</result>"


class Plain:
    """`search(query="Mali")` on a line of its own, as one writes a call in Python; a word like `Action:` may stand before it."""

    hint = 'Write a call on a line of its own, like name(argument="value").'

    def told(self, tools: Sequence[Tool]) -> str:
        lines = [f"{signature(tool)}  {tool.description}".rstrip() for tool in tools]
        return "Act by writing a call on a line of its own:\n" + "\n".join(lines)

    def read(self, text: str, tools: Sequence[Tool]) -> tuple[ToolCall, ...]:
        known = {tool.name: tool for tool in tools}
        names = "|".join(re.escape(name) for name in sorted(known, key=len, reverse=True))
        if not names:
            return ()
        found, at = [], 0
        begins = re.compile(rf"^[ \t]*(?:Action\s*:\s*)?({names})\(", re.MULTILINE)
        while match := begins.search(text, at):
            at = closing(text, match.end())
            found.append(ToolCall(match[1], keywords(known[match[1]], text[match.end() : at - 1])))
        return tuple(found)

    def write(self, call: ToolCall, tools: Sequence[Tool]) -> str:
        values: Mapping[str, Any] = json.loads(call.arguments or "{}")
        return f"{call.name}({', '.join(f'{name}={value!r}' for name, value in values.items())})"

    def answered(self, name: str, text: str) -> str:
        return text


FORMATS: Mapping[str, type[Xml] | type[Tags] | type[Plain]] = {"xml": Xml, "tags": Tags, "plain": Plain}


def single(tool: Tool | None) -> str | None:
    """The name of a tool's only required argument, if it has no more than that one that must be given."""
    if tool is None:
        return None
    names = list(tool.parameters.get("properties", {}))
    required = tool.parameters.get("required", [])
    return names[0] if len(names) == 1 else required[0] if len(required) == 1 else None


def object_with(text: str, name: str) -> bool:
    try:
        data = json.loads(text)
    except ValueError:
        return False
    return isinstance(data, dict) and name in data


def signature(tool: Tool) -> str:
    required = tool.parameters.get("required", [])
    names = [name if name in required else f"{name}=..." for name in tool.parameters.get("properties", {})]
    return f"{tool.name}({', '.join(names)})"


def closing(text: str, at: int) -> int:
    """Behind the bracket that closes the one before `at`; the end of the text if none does."""
    depth, quote = 1, ""
    while at < len(text):
        mark = text[at]
        if quote:
            if mark == "\\":
                at += 1
            elif mark == quote:
                quote = ""
        elif mark in "\"'":
            quote = mark
        elif mark in "([{":
            depth += 1
        elif mark in ")]}":
            depth -= 1
            if depth == 0:
                return at + 1
        at += 1
    return len(text) + 1


def keywords(tool: Tool, inside: str) -> str:
    """The JSON object of the arguments of a call in Python's spelling; what cannot be read goes on as it is."""
    names = list(tool.parameters.get("properties", {}))
    try:
        node = ast.parse(f"f({inside})", mode="eval").body
    except (SyntaxError, ValueError, RecursionError, MemoryError):
        return f"({inside})"
    if not isinstance(node, ast.Call) or len(node.args) > len(names):
        return f"({inside})"
    try:
        values = {name: ast.literal_eval(value) for name, value in zip(names, node.args, strict=False)}
        for keyword in node.keywords:
            if keyword.arg is None or keyword.arg in values:
                return f"({inside})"
            values[keyword.arg] = ast.literal_eval(keyword.value)
        return json.dumps(values, ensure_ascii=False)
    except (ValueError, TypeError, SyntaxError, RecursionError):
        return f"({inside})"
