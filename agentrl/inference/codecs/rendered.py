"""A codec on top of a renderer (`renderers` package, or one of ours that keeps its protocol).

Invariants: what was fed and sampled is never changed, only added to; a renderer that cannot add says so and a fresh
segment begins; nothing raises on what a policy sampled; an action that is encoded reads back as itself.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from agentrl.core.failures import InvariantBroken, UserError
from agentrl.core.messages import Message, Messages, ToolCall, user
from agentrl.inference.codec import ToolSpec
from agentrl.inference.codecs.hermes import in_text
from agentrl.inference.codecs.template import kind
from agentrl.inference.codecs.wire import as_message, as_object, clean, harmless, special_texts, wire


class RendererCodec:
    """A `Codec` around a renderer.

    Args:
        tokenizer: the model's tokenizer.
        renderer: anything that keeps the protocol of `renderers.base.Renderer`.
        bridged: the kinds of messages (`template.kind`) that the renderer may go on with; None is all that it takes.
    """

    def __init__(
        self, tokenizer: Any, renderer: Any, *, bridged: frozenset[tuple[str, ...]] | None = None
    ) -> None:
        self.tokenizer, self.renderer, self.bridged = tokenizer, renderer, bridged
        self.stop_ids: tuple[int, ...] = tuple(renderer.get_stop_token_ids())
        self._special = special_texts(tokenizer)

    def start(self, messages: Messages, tools: Sequence[ToolSpec]) -> tuple[int, ...]:
        """See `Codec.start`.

        Raises:
            UserError: a conversation that the model's template refuses.
        """
        given = wire(messages, self._special)
        # A template may refuse what a policy has said (several calls at once, arguments that are no object): then the
        # history's calls are in its texts.
        for conversation in (given, in_text(given, ())):
            try:
                return tuple(self._render(conversation, tools, ready=True))
            except Exception as error:
                refusal = error
        raise UserError(f"the chat template refuses this conversation: {refusal}") from refusal

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
        if any(token in self.stop_ids for token in completion_ids[:-1]):
            return None  # renderers cut at the stop token: what was sampled behind it would be lost
        fed = (*prompt_ids, *completion_ids)
        shown = wire(new, self._special)
        if self.bridged is not None and kind(shown) not in self.bridged:
            return None
        bridged = self.renderer.bridge_to_next_turn(
            list(prompt_ids), list(completion_ids), shown, tools=self._listed(tools)
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
                list(completion_ids), tools=self._listed(tools), prompt_ids=list(prompt_ids)
            )
        except Exception:
            # Parsers of formats trip over JSON that is legal but extreme (depth, digits): one call that nobody can read.
            return Message("assistant", "", (ToolCall("", clean(self.decode(completion_ids)), "call-0"),))
        return as_message(parsed)

    def encode_action(self, action: Message, tools: Sequence[ToolSpec]) -> tuple[int, ...]:
        """See `Codec.encode_action`.

        Raises:
            UserError: an action that this format cannot say, e.g. two calls where it takes one.
        """
        before = wire((user("?"),), self._special)
        try:
            prompt = self._render(before, tools, ready=True)
            whole = [*before, *wire((action,), self._special)]
            ids = self._sampled(prompt, whole, tools)
        except Exception as error:
            raise UserError(f"this model's chat format cannot say {brief(action)}: {error}") from error
        back = self.parse(ids, tools, prompt)
        if meaning(back) != meaning(action):
            raise UserError(
                f"this model's chat format cannot say {brief(action)}: it reads back as {brief(back)}"
            )
        return tuple(ids)

    def decode(self, ids: Sequence[int]) -> str:
        return self.tokenizer.decode(list(ids), skip_special_tokens=False)

    def _render(self, messages: Sequence[Any], tools: Sequence[ToolSpec], *, ready: bool) -> list[int]:
        return self.renderer.render_ids(
            list(messages), tools=self._listed(tools), add_generation_prompt=ready
        )

    def _listed(self, tools: Sequence[ToolSpec]) -> list[Any] | None:
        """Tools as renderers take them: none is None."""
        return harmless(list(tools), self._special) or None

    def _sampled(self, prompt: list[int], whole: list[Any], tools: Sequence[ToolSpec]) -> list[int]:
        """What stands behind the generation prompt, up to the token that ends the turn."""
        ids = self._render(whole, tools, ready=False)
        if ids[: len(prompt)] == prompt:
            ids = ids[len(prompt) :]
        else:
            # The prompt's last token merges with what follows: the renderer knows what is sampled.
            rendered = self.renderer.render(whole, tools=self._listed(tools))
            if not rendered.sampled_mask:
                raise ValueError("its template writes a finished turn unlike one that is to be sampled")
            own = zip(rendered.token_ids, rendered.message_indices, rendered.sampled_mask, strict=True)
            ids = [token for token, message, sampled in own if sampled and message == len(whole) - 1]
        end = next((index for index, token in enumerate(ids) if token in self.stop_ids), None)
        if end is None:
            raise ValueError("its template puts no stop token behind a turn")
        return ids[: end + 1]


def meaning(message: Message) -> tuple[str, str, list[tuple[str, Any]]]:
    """What two messages have in common that say the same."""
    calls = [(call.name, as_object(call.arguments)) for call in message.tool_calls]
    return message.content.strip(), message.reasoning.strip(), calls


def brief(message: Message) -> str:
    """A message in a few words."""
    calls = [f"{call.name}({call.arguments})" for call in message.tool_calls]
    return repr("; ".join(filter(None, (message.content, *calls))))[:200]
