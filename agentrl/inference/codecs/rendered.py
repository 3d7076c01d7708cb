"""A codec on top of the `renderers` package: rendering, bridging and parsing for the model families that it knows.

What a renderer cannot do it says: a bridge that cannot extend gives None (a fresh segment), a call that cannot be
parsed keeps its raw text, which the strict decoder then answers. Nothing raises on what a policy sampled.
"""

from __future__ import annotations

import json
import re
from collections.abc import Sequence
from typing import Any

from renderers.base import ToolCallParseStatus

from agentrl.core.failures import InvariantBroken, UserError
from agentrl.core.messages import Message, Messages, ToolCall, user
from agentrl.inference.codec import ToolSpec

NAME = re.compile(r'"name"\s*:\s*"([^"]*)"')


class RendererCodec:
    """A `Codec` around a renderer.

    Args:
        tokenizer: the model's tokenizer.
        renderer: anything that keeps the protocol of `renderers.base.Renderer`.
    """

    def __init__(self, tokenizer: Any, renderer: Any) -> None:
        self.tokenizer, self.renderer = tokenizer, renderer
        self.stop_ids: tuple[int, ...] = tuple(renderer.get_stop_token_ids())

    def start(self, messages: Messages, tools: Sequence[ToolSpec]) -> tuple[int, ...]:
        """See `Codec.start`.

        Raises:
            UserError: a conversation that the model's template refuses.
        """
        try:
            ids = self.renderer.render_ids(
                wire(messages), tools=list(tools) or None, add_generation_prompt=True
            )
        except Exception as error:
            raise UserError(f"the chat template refuses this conversation: {error}") from error
        return tuple(ids)

    def extend(
        self,
        prompt_ids: tuple[int, ...],
        completion_ids: tuple[int, ...],
        new: Messages,
        tools: Sequence[ToolSpec],
    ) -> tuple[int, ...] | None:
        """See `Codec.extend`.

        Raises:
            InvariantBroken: the renderer changed ids that were fed or sampled.
        """
        fed = (*prompt_ids, *completion_ids)
        bridged = self.renderer.bridge_to_next_turn(
            list(prompt_ids), list(completion_ids), wire(new), tools=list(tools) or None
        )
        if bridged is None:
            return None
        if tuple(bridged.token_ids[: len(fed)]) != fed:
            raise InvariantBroken("a bridge keeps what was fed and sampled", type(self.renderer).__name__)
        return tuple(bridged.token_ids[len(fed) :])

    def parse(
        self, completion_ids: Sequence[int], tools: Sequence[ToolSpec], prompt_ids: Sequence[int] = ()
    ) -> Message:
        """See `Codec.parse`."""
        try:
            parsed = self.renderer.parse_response(
                list(completion_ids), tools=list(tools) or None, prompt_ids=list(prompt_ids)
            )
        except (
            Exception
        ):  # a parser may choke on what was sampled; then it is text, which the environment answers
            return Message("assistant", clean(self.decode(completion_ids)))
        return Message(
            "assistant",
            clean(parsed.content or ""),
            tuple(as_call(call, index) for index, call in enumerate(parsed.tool_calls)),
            reasoning=clean(parsed.reasoning_content or ""),
        )

    def encode_action(self, action: Message, tools: Sequence[ToolSpec]) -> tuple[int, ...]:
        """See `Codec.encode_action`."""
        before = wire((user("?"),))
        rendered = self.renderer.render([*before, *wire((action,))], tools=list(tools) or None)
        if rendered.sampled_mask:
            own = zip(rendered.token_ids, rendered.message_indices, rendered.sampled_mask, strict=True)
            return tuple(token for token, message, sampled in own if message == 1 and sampled)
        # A template that does not say: what it adds after the generation prompt, up to the stop token.
        prompt = self.renderer.render_ids(before, tools=list(tools) or None, add_generation_prompt=True)
        if rendered.token_ids[: len(prompt)] != prompt:
            raise UserError(
                "this chat template rewrites its generation prompt: actions cannot be encoded for it"
            )
        rest = rendered.token_ids[len(prompt) :]
        end = next((i for i, token in enumerate(rest) if token in self.stop_ids), len(rest) - 1)
        return tuple(rest[: end + 1])

    def decode(self, ids: Sequence[int]) -> str:
        return self.tokenizer.decode(list(ids), skip_special_tokens=False)


def wire(messages: Messages) -> list[dict[str, Any]]:
    """Messages as templates want them: arguments as objects where they are JSON objects, else as their text."""
    out = []
    for message in messages:
        data = message.to_dict()
        for call in data.get("tool_calls", ()):
            call["function"]["arguments"] = as_object(call["function"]["arguments"])
        out.append(data)
    return out


def as_object(text: str) -> dict[str, Any] | str:
    try:
        value = json.loads(text)
    except (ValueError, RecursionError):
        return text
    return value if isinstance(value, dict) else text


def as_call(parsed: Any, index: int) -> ToolCall:
    """A parse attempt as a call. A broken one keeps its raw text as arguments, so that the decoder refuses it."""
    found = NAME.search(parsed.raw or "")
    name = parsed.name if isinstance(parsed.name, str) and parsed.name else found[1] if found else ""
    if parsed.status not in (ToolCallParseStatus.OK, ToolCallParseStatus.UNKNOWN_TOOL):
        return ToolCall(clean(name), clean(parsed.raw), parsed.id or f"call-{index}")
    arguments = parsed.arguments
    if not isinstance(arguments, str):
        arguments = json.dumps({} if arguments is None else arguments, ensure_ascii=False)
    return ToolCall(clean(name), clean(arguments), parsed.id or f"call-{index}")


def clean(text: str) -> str:
    """Text without lone surrogates, which no encoding can write."""
    return text.encode("utf-8", "replace").decode("utf-8")
