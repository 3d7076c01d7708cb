"""Between our messages and what templates and parsers handle.

Invariants: no text, whoever wrote it, becomes a special token; every call that a parser saw becomes a `ToolCall`, with
the text of its arguments as it was sampled.
"""

from __future__ import annotations

import json
import re
from typing import Any

from renderers.base import ParsedResponse, ToolCallParseStatus

from agentrl.core.messages import Message, Messages, ToolCall
from agentrl.inference.codecs.hermes import JSON, SPACE, named

APART = "\u200b"
"""A space without width: it keeps the text of a special token from becoming one, and a reader sees no difference."""


MARK = re.compile(r"<[|｜].*[|｜]>|</?\w*(think|tool|arg_)\w*>|\[/?[A-Z_]+\]")
"""Tokens that build a format although their tokenizer calls them ordinary (Qwen3's `<tool_response>`). Others of that
kind are text: runs of spaces, pieces of HTML."""


def special_texts(tokenizer: Any) -> re.Pattern[str]:
    """Matches the text of every token of a tokenizer that builds its format, less its last character."""
    added = getattr(tokenizer, "added_tokens_decoder", {}).values()
    texts = {token.content for token in added if token.special or MARK.fullmatch(token.content)}
    texts |= set(tokenizer.all_special_tokens)
    # A one-character special token would match inside of words; no chat format has one.
    texts = {text for text in texts if len(text) > 1}
    either = "|".join(f"{re.escape(text[:-1])}(?={re.escape(text[-1])})" for text in sorted(texts))
    return re.compile(either or r"(?!)")


def harmless(value: Any, special: re.Pattern[str]) -> Any:
    """JSON data in which no text holds that of a special token."""
    if isinstance(value, str):
        return special.sub(lambda found: found[0] + APART, value)
    if isinstance(value, list | tuple):
        return [harmless(item, special) for item in value]
    if isinstance(value, dict):
        return {harmless(key, special): harmless(item, special) for key, item in value.items()}
    return value


def wire(messages: Messages, special: re.Pattern[str]) -> list[dict[str, Any]]:
    """Messages as templates want them: arguments as objects where they are JSON objects, else as their text."""
    out = []
    for message in messages:
        data = message.to_dict()
        for call in data.get("tool_calls", ()):
            call["function"]["arguments"] = as_object(call["function"]["arguments"])
        out.append(harmless(data, special))
    return out


def as_object(text: str) -> dict[str, Any] | str:
    try:
        value = json.loads(text or "{}")
    except (ValueError, RecursionError):
        return text
    return value if isinstance(value, dict) else text


def as_message(parsed: ParsedResponse) -> Message:
    """What a parser found, as an assistant message."""
    return Message(
        "assistant",
        clean(parsed.content or ""),
        tuple(as_call(call, index) for index, call in enumerate(parsed.tool_calls)),
        reasoning=clean(parsed.reasoning_content or ""),
    )


def as_call(parsed: Any, index: int) -> ToolCall:
    """A parser's attempt as a call. A broken one keeps its raw text as arguments, so that the decoder refuses it."""
    identity = parsed.id or f"call-{index}"
    readable = parsed.status in (ToolCallParseStatus.OK, ToolCallParseStatus.UNKNOWN_TOOL) or (
        # Arguments that are there but do not fit the schema are the strict decoder's to judge.
        parsed.status == ToolCallParseStatus.INVALID_JSON and isinstance(parsed.arguments, dict)
    )
    if not readable or not isinstance(parsed.name, str) or not parsed.name:
        name = parsed.name if isinstance(parsed.name, str) else named(parsed.raw or "")
        return ToolCall(clean(name), clean(parsed.raw or ""), identity)
    sampled = fields(parsed.raw or "")
    if "name" in sampled:
        text = sampled.get("arguments", sampled.get("parameters", "{}"))
    else:
        text = json.dumps({} if parsed.arguments is None else parsed.arguments, ensure_ascii=False)
    return ToolCall(clean(parsed.name), clean(text), identity)


def fields(raw: str) -> dict[str, str]:
    """The text of every value of a JSON object, by key; nothing if `raw` is not one.

    >>> fields('{"name": "a", "arguments": {"x": 1.50}}')["arguments"]
    '{"x": 1.50}'
    """
    out: dict[str, str] = {}
    at = skip(raw, 0)
    if raw[at : at + 1] != "{":
        return {}
    try:
        while raw[at : at + 1] in ("{", ","):
            key, at = JSON.raw_decode(raw, skip(raw, at + 1))
            begin = skip(raw, skip(raw, at) + 1)  # past the colon
            _, at = JSON.raw_decode(raw, begin)
            out[key] = raw[begin:at]
            at = skip(raw, at)
    except (ValueError, RecursionError):
        return {}
    return out


def skip(text: str, at: int) -> int:
    """Where the text goes on after white space."""
    return SPACE.match(text, at).end()  # type: ignore[union-attr]


def clean(text: str) -> str:
    """Text without lone surrogates, which no encoding can write."""
    return text.encode("utf-8", "replace").decode("utf-8")
