"""Tool calls in the text itself, for formats that have no place of their own for them.

    <tools> ... </tools>                                      in the system message: what may be called
    <tool_call>{"name": ..., "arguments": ...}</tool_call>    in an assistant message: a call
    <tool_response> ... </tool_response>                      in a user message: the answer to one

Invariant: what `said` writes `parse` reads back, whatever the arguments contain. Nothing that a policy writes raises,
and no attempt at a call is lost: a broken one comes out with its raw text and a status.
"""

from __future__ import annotations

import json
import re
from collections.abc import Mapping, Sequence
from typing import Any, TypeAlias

from renderers.base import ParsedResponse, ParsedToolCall, ToolCallParseStatus

Wire: TypeAlias = Mapping[str, Any]
"""A message as templates take it."""

OPEN, CLOSE = "<tool_call>", "</tool_call>"
THINK, THOUGHT = "<think>", "</think>"
LEADING_THINK = re.compile(rf"\s*{THINK}")
SPACE = re.compile(r"\s*")
CLOSING = re.compile(rf"\s*{CLOSE}")
NAME = re.compile(r'"name"\s*:\s*"([^"]*)"')
JSON = json.JSONDecoder()


def describe(tools: Sequence[Wire]) -> str:
    """What the system message says of the tools."""
    listed = "\n".join(json.dumps(tool, ensure_ascii=False) for tool in tools)
    return (
        "You may call these functions. Each call is a JSON object with the keys name and arguments, between "
        f"{OPEN} and {CLOSE}:\n<tools>\n{listed}\n</tools>"
    )


def said(message: Wire) -> str:
    """An assistant message as it is sampled."""
    parts = []
    if message.get("reasoning_content"):
        parts.append(f"{THINK}\n{message['reasoning_content']}\n{THOUGHT}")
    if message.get("content"):
        parts.append(message["content"])
    parts += [f"{OPEN}\n{body(call['function'])}\n{CLOSE}" for call in message.get("tool_calls", ())]
    return "\n".join(parts)


def body(function: Wire) -> str:
    """The inside of a call. A broken call carries the whole of what was said, and is said again as it was."""
    name, arguments = function["name"], function["arguments"]
    if isinstance(arguments, str) and named(arguments) == name:
        return arguments
    text = arguments if isinstance(arguments, str) else json.dumps(arguments, ensure_ascii=False)
    return f'{{"name": {json.dumps(name, ensure_ascii=False)}, "arguments": {text}}}'


def answered(messages: Sequence[Wire]) -> str:
    """Answers of tools, in order, as one user message."""
    return "\n".join(f"<tool_response>\n{message['content']}\n</tool_response>" for message in messages)


def in_text(messages: Sequence[Wire], tools: Sequence[Wire]) -> list[Wire]:
    """A conversation without tools and calls: they are in its texts."""
    out: list[Wire] = []
    for group in grouped(messages):
        if group[0]["role"] == "tool":
            out.append({"role": "user", "content": answered(group)})
        elif group[0]["role"] == "assistant":
            out.append({"role": "assistant", "content": said(group[0])})
        else:
            out.append(group[0])
    if tools and out:
        first = out[0]
        texts = [first["content"], describe(tools)]
        if first["role"] != "system":
            texts.reverse()
        out[0] = {**first, "content": "\n\n".join(filter(None, texts))}
    return out


def grouped(messages: Sequence[Wire]) -> list[list[Wire]]:
    """Messages in order; neighbouring answers of tools together, since they make one turn."""
    out: list[list[Wire]] = []
    for message in messages:
        if out and message["role"] == "tool" and out[-1][-1]["role"] == "tool":
            out[-1].append(message)
        else:
            out.append([message])
    return out


def parse(text: str, *, thinking: bool = False) -> ParsedResponse:
    """Reasoning, text and calls of a completion.

    A closed `<think>` block is reasoning, calls drafted in it included; an unclosed one ends where a call begins.

    Args:
        thinking: whether the prompt has opened a `<think>` block.
    """
    reasoning, rest, complete = split_thought(text, thinking)
    pieces, calls, at = [], [], 0
    while (start := rest.find(OPEN, at)) != -1:
        pieces.append(rest[at:start])
        call, at = read_block(rest, start + len(OPEN))
        calls.append(call)
    pieces.append(rest[at:])
    return ParsedResponse(
        content="".join(pieces).strip(),
        reasoning_content=None if reasoning is None else reasoning.strip(),
        tool_calls=calls,
        reasoning_complete=complete,
    )


def split_thought(text: str, thinking: bool) -> tuple[str | None, str, bool]:
    """(reasoning or None, the rest, whether the reasoning is closed)."""
    opening = LEADING_THINK.match(text)
    if opening is None and not thinking:
        return None, text, True
    start = opening.end() if opening else 0
    close = text.find(THOUGHT, start)
    if close != -1:
        return text[start:close], text[close + len(THOUGHT) :], True
    call = text.find(OPEN, start)
    if call != -1:
        return text[start:call], text[call:], True
    return text[start:], "", False


def read_block(text: str, at: int) -> tuple[ParsedToolCall, int]:
    """The call whose block begins at `at`, and where the text goes on."""
    begin = SPACE.match(text, at).end()  # type: ignore[union-attr]
    try:
        # A value ends where JSON says: a string in it may well contain the closing tag.
        value, end = JSON.raw_decode(text, begin)
    except (ValueError, RecursionError):
        end = begin
    closing = CLOSING.match(text, end) if end > begin else None
    if closing:
        return read_call(text[begin:end], value), closing.end()
    close = text.find(CLOSE, at)
    if close == -1:
        return ParsedToolCall(text[at:].strip(), status=ToolCallParseStatus.UNCLOSED_BLOCK), len(text)
    raw = text[at:close].strip()
    return ParsedToolCall(raw, status=ToolCallParseStatus.INVALID_JSON), close + len(CLOSE)


def read_call(raw: str, value: Any, key: str = "arguments") -> ParsedToolCall:
    """A JSON value as a call; `raw` is its text."""
    if not isinstance(value, dict) or not isinstance(value.get("name"), str) or not value["name"]:
        return ParsedToolCall(raw, status=ToolCallParseStatus.MISSING_NAME)
    return ParsedToolCall(raw, value["name"], value.get(key, {}))


def named(raw: str) -> str:
    """The name that a broken call seems to have; empty if it has none."""
    found = NAME.search(raw)
    return found[1] if found else ""
