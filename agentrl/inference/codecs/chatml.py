"""ChatML with Hermes-style tool calls, for models whose own template drops tools (SmolLM2 and its like).

    <|im_start|>system            tools are listed in the system message
    <|im_start|>assistant         text, then <tool_call>{"name": ..., "arguments": ...}</tool_call> for each call
    <|im_start|>user              <tool_response>...</tool_response> for each answer of a tool

Only appended to: a conversation that goes on keeps every token that it had. Written against the protocol of
`renderers.base.Renderer`.
"""

from __future__ import annotations

import json
import re
from collections.abc import Mapping, Sequence
from typing import Any

from renderers.base import ParsedResponse, ParsedToolCall, RenderedTokens, ToolCallParseStatus

START, END = "<|im_start|>", "<|im_end|>"
CALL = re.compile(r"<tool_call>(.*?)(</tool_call>|\Z)", re.DOTALL)
THINK = re.compile(r"\A\s*<think>(.*?)(</think>|\Z)", re.DOTALL)
TOOLS_HEAD = (
    "You may call these functions. Each call is a JSON object with the keys name and arguments, inside "
    "<tool_call></tool_call>:\n<tools>"
)
TOOLS_TAIL = "</tools>"


class ChatMLRenderer:
    """Renders, bridges and parses ChatML.

    Args:
        tokenizer: must hold `<|im_start|>` and `<|im_end|>` as single tokens.
    """

    is_prefix_stable = True

    def __init__(self, tokenizer: Any) -> None:
        self._tokenizer = tokenizer
        self._start = int(tokenizer.convert_tokens_to_ids(START))
        self._end = int(tokenizer.convert_tokens_to_ids(END))
        self._newline = self._encode("\n")

    def get_stop_token_ids(self) -> list[int]:
        return [self._end]

    def render(
        self,
        messages: Sequence[Mapping[str, Any]],
        *,
        tools: Sequence[Mapping[str, Any]] | None = None,
        add_generation_prompt: bool = False,
    ) -> RenderedTokens:
        """All messages; the tools go into the system message, which is made if there is none."""
        out = RenderedTokens(message_roles=[message["role"] for message in messages])
        rest = list(enumerate(messages))
        if tools:
            first = messages[0] if messages and messages[0]["role"] == "system" else None
            own = f"{first['content']}\n\n" if first and first["content"] else ""
            listed = "\n".join(json.dumps(tool, ensure_ascii=False) for tool in tools)
            text = f"{own}{TOOLS_HEAD}\n{listed}\n{TOOLS_TAIL}"
            self._turn(out, "system", text, 0 if first else -1)
            rest = rest[1:] if first else rest
        for group in grouped(rest):
            index, message = group[0]
            if message["role"] == "tool":
                answers = [f"<tool_response>\n{item['content']}\n</tool_response>" for _, item in group]
                self._turn(out, "user", "\n".join(answers), index)
            elif message["role"] == "assistant":
                self._turn(out, "assistant", said(message), index, sampled=True)
            else:
                self._turn(out, message["role"], str(message["content"]), index)
        if add_generation_prompt:
            self._add(out, [self._start, *self._encode("assistant\n")], -1)
        return out

    def render_ids(self, messages: Sequence[Mapping[str, Any]], **options: Any) -> list[int]:
        return self.render(messages, **options).token_ids

    def bridge_to_next_turn(
        self,
        previous_prompt_ids: list[int],
        previous_completion_ids: list[int],
        new_messages: Sequence[Mapping[str, Any]],
        *,
        tools: Sequence[Mapping[str, Any]] | None = None,
    ) -> RenderedTokens | None:
        """Everything so far, the end of the turn where it was cut off, the new messages, a new turn's beginning."""
        if any(message["role"] in ("assistant", "system") for message in new_messages):
            return None
        added = self.render(new_messages, add_generation_prompt=True)
        closed = bool(previous_completion_ids) and previous_completion_ids[-1] == self._end
        joint = self._newline if closed else [self._end, *self._newline]
        before = [*previous_prompt_ids, *previous_completion_ids, *joint]
        return RenderedTokens(
            token_ids=[*before, *added.token_ids],
            message_indices=[*[-1] * len(before), *added.message_indices],
            sampled_mask=[False] * (len(before) + len(added.token_ids)),
            message_roles=added.message_roles,
        )

    def parse_response(
        self,
        token_ids: list[int],
        *,
        tools: Sequence[Mapping[str, Any]] | None = None,
        prompt_ids: list[int] | None = None,
    ) -> ParsedResponse:
        """Text outside of the calls is the content; a leading `<think>` block the reasoning. A call in an unclosed
        `<think>` block is a call all the same."""
        ids = list(token_ids)
        if self._end in ids:
            ids = ids[: ids.index(self._end)]
        text = self._tokenizer.decode(ids, skip_special_tokens=False)
        calls = [parsed_call(match[1], closed=bool(match[2])) for match in CALL.finditer(text)]
        text = CALL.sub("", text)
        thought = THINK.match(text)
        content = text[thought.end() :] if thought else text
        return ParsedResponse(
            content=content.strip(),
            reasoning_content=thought[1].strip() if thought else None,
            tool_calls=calls,
            reasoning_complete=not thought or bool(thought[2]),
        )

    def _turn(self, out: RenderedTokens, role: str, text: str, index: int, *, sampled: bool = False) -> None:
        self._add(out, [self._start, *self._encode(f"{role}\n")], index)
        self._add(out, self._encode(text), index, sampled)
        self._add(out, [self._end], index, sampled)
        self._add(out, self._newline, index)

    def _add(self, out: RenderedTokens, ids: list[int], index: int, sampled: bool = False) -> None:
        out.token_ids.extend(ids)
        out.message_indices.extend([index] * len(ids))
        out.sampled_mask.extend([sampled] * len(ids))

    def _encode(self, text: str) -> list[int]:
        return list(self._tokenizer.encode(text, add_special_tokens=False))


def said(message: Mapping[str, Any]) -> str:
    """What an assistant message looks like as it is sampled."""
    parts = [f"<think>\n{message['reasoning_content']}\n</think>"] if message.get("reasoning_content") else []
    parts += [message["content"]] if message["content"] else []
    for call in message.get("tool_calls", ()):
        function = call["function"]
        arguments = function["arguments"]
        body = arguments if isinstance(arguments, str) else json.dumps(arguments, ensure_ascii=False)
        name = json.dumps(function["name"], ensure_ascii=False)
        parts.append(f'<tool_call>\n{{"name": {name}, "arguments": {body}}}\n</tool_call>')
    return "\n".join(parts)


def parsed_call(body: str, *, closed: bool) -> ParsedToolCall:
    """One `<tool_call>` block."""
    raw = body.strip()
    try:
        value = json.loads(raw)
    except (ValueError, RecursionError):
        status = ToolCallParseStatus.INVALID_JSON if closed else ToolCallParseStatus.UNCLOSED_BLOCK
        return ParsedToolCall(raw, status=status)
    if not isinstance(value, dict) or not isinstance(value.get("name"), str):
        return ParsedToolCall(raw, status=ToolCallParseStatus.MISSING_NAME)
    return ParsedToolCall(raw, value["name"], value.get("arguments", {}))


def grouped(messages: Sequence[tuple[int, Mapping[str, Any]]]) -> list[list[tuple[int, Mapping[str, Any]]]]:
    """Messages in order; neighbouring answers of tools together, since they make one turn."""
    out: list[list[tuple[int, Mapping[str, Any]]]] = []
    for item in messages:
        if out and item[1]["role"] == "tool" and out[-1][-1][1]["role"] == "tool":
            out[-1].append(item)
        else:
            out.append([item])
    return out
