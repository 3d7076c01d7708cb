"""Llama-3.1 and later: the renderer of the `renderers` package, with calls read as those models write them.

Invariant: where there are tools, a message that begins like a call is one (or several), well-formed or not: the
package's own parser takes everything but a single well-formed object for text, and the policy never learns what it
did wrong.
"""

from __future__ import annotations

from typing import Any

from renderers.base import ParsedResponse, ParsedToolCall, ToolCallParseStatus
from renderers.llama_3 import Llama3Renderer

from agentrl.inference.codecs.hermes import JSON, read_call
from agentrl.inference.codecs.wire import skip

PYTHON = "<|python_tag|>"


class LlamaRenderer(Llama3Renderer):
    """`Llama3Renderer` that reads `{"name": ..., "parameters": ...}`, also several of them (`;` between), behind a
    `<|python_tag|>`, or broken."""

    def parse_response(
        self, token_ids: list[int], *, tools: Any = None, prompt_ids: list[int] | None = None
    ) -> ParsedResponse:
        stops = set(self.get_stop_token_ids())
        end = next((i for i, token in enumerate(token_ids) if token in stops), len(token_ids))
        text = self._tokenizer.decode(token_ids[:end], skip_special_tokens=False).strip()
        body = text.removeprefix(PYTHON).lstrip()
        if not tools or (not body.startswith("{") and body == text):
            return ParsedResponse(content=text)
        calls, rest = read_calls(body)
        return ParsedResponse(content=rest, tool_calls=calls)


def read_calls(text: str) -> tuple[list[ParsedToolCall], str]:
    """The calls at the beginning of a text, and the text behind them."""
    calls: list[ParsedToolCall] = []
    at = 0
    while True:
        try:
            value, end = JSON.raw_decode(text, at)
        except (ValueError, RecursionError):
            return [*calls, ParsedToolCall(text[at:], status=ToolCallParseStatus.INVALID_JSON)], ""
        calls.append(read_call(text[at:end], value, "parameters"))
        at = skip(text, end)
        if text[at : at + 1] in (";", ","):
            at = skip(text, at + 1)
        if text[at : at + 1] != "{":
            return calls, text[at:].strip()
