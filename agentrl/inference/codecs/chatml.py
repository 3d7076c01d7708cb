"""ChatML, with the system message of the model's own template and tool calls in the text (`hermes`).

    <|im_start|>system            the tools are listed here: by the template if it can, else by us (SmolLM2's drops them)
    <|im_start|>assistant         text, then <tool_call>{"name": ..., "arguments": ...}</tool_call> for each call
    <|im_start|>user              <tool_response>...</tool_response> for each answer of a tool

Invariant: only appended to. A conversation that goes on keeps every token that it had, and a full render of it has the
same ones. Written against the protocol of `renderers.base.Renderer`, usable there as a custom renderer.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, ClassVar, Literal

from renderers.base import ParsedResponse, RenderedTokens
from renderers.configs import BaseRendererConfig

from agentrl.core.failures import UserError
from agentrl.inference.codecs.hermes import Wire, answered, describe, grouped, parse, said
from agentrl.inference.codecs.template import ASK, CALL, NAME, PROBE_TOOL, apply

START, END = "<|im_start|>", "<|im_end|>"
OTHER_ENDS = ("<|endoftext|>",)


class ChatMLConfig(BaseRendererConfig):
    """`settings` go to the model's own chat template, which writes the system message."""

    name: Literal["chatml"] = "chatml"
    settings: dict[str, Any] = {}  # noqa: RUF012

    _internal_fields = frozenset({"settings"})


class ChatMLRenderer:
    """Renders, bridges and parses ChatML.

    Args:
        tokenizer: must hold `<|im_start|>` and `<|im_end|>` as single tokens.

    Raises:
        UserError: it does not.
    """

    config_class: ClassVar[type[BaseRendererConfig]] = ChatMLConfig
    is_prefix_stable = True
    effective_thinking_retention = "all"

    def __init__(self, tokenizer: Any, config: ChatMLConfig | None = None) -> None:
        self.config = config or ChatMLConfig()
        self._tokenizer = tokenizer
        vocabulary = tokenizer.get_vocab()
        if START not in vocabulary or END not in vocabulary:
            raise UserError(f"not a ChatML tokenizer: {START} and {END} are not tokens of it")
        self._start, self._end = vocabulary[START], vocabulary[END]
        self._stops = [self._end, *(vocabulary[token] for token in OTHER_ENDS if token in vocabulary)]
        self._newline = self._encode("\n")
        self._template = bool(getattr(tokenizer, "chat_template", None))
        self.template_shows_tools = self._template and self._shows_tools()

    def get_stop_token_ids(self) -> list[int]:
        return list(self._stops)

    def render(
        self,
        messages: Sequence[Wire],
        *,
        tools: Sequence[Wire] | None = None,
        add_generation_prompt: bool = False,
    ) -> RenderedTokens:
        """All messages; the tools go into the system message, which is made if there is none."""
        out = RenderedTokens(message_roles=[message["role"] for message in messages])
        system = messages[0] if messages and messages[0]["role"] == "system" else None
        self._add(out, self._encode(self._head(system, tools or ())), 0 if system else -1)
        index = 1 if system else 0
        for group in grouped(messages[index:]):
            self._render_group(out, group, index)
            index += len(group)
        if add_generation_prompt:
            self._add(out, [self._start, *self._encode("assistant\n")], -1)
        return out

    def render_ids(self, messages: Sequence[Wire], **options: Any) -> list[int]:
        return self.render(messages, **options).token_ids

    def bridge_to_next_turn(
        self,
        previous_prompt_ids: list[int],
        previous_completion_ids: list[int],
        new_messages: Sequence[Wire],
        *,
        tools: Sequence[Wire] | None = None,
    ) -> RenderedTokens | None:
        """Everything so far, the end of the turn where it was cut off, the new messages, a new turn's beginning."""
        roles = [message["role"] for message in new_messages]
        if not previous_prompt_ids or not roles or not {"user", "tool"}.issuperset(roles):
            return None
        out = RenderedTokens(message_roles=roles)
        closed = bool(previous_completion_ids) and previous_completion_ids[-1] in self._stops
        self._add(out, [*previous_prompt_ids, *previous_completion_ids], -1)
        self._add(out, self._newline if closed else [self._end, *self._newline], -1)
        index = 0
        for group in grouped(new_messages):
            self._render_group(out, group, index)
            index += len(group)
        self._add(out, [self._start, *self._encode("assistant\n")], -1)
        return out

    def parse_response(
        self,
        token_ids: list[int],
        *,
        tools: Sequence[Wire] | None = None,
        prompt_ids: list[int] | None = None,
    ) -> ParsedResponse:
        end = next((i for i, token in enumerate(token_ids) if token in self._stops), len(token_ids))
        return parse(self._tokenizer.decode(token_ids[:end], skip_special_tokens=False))

    def _head(self, system: Wire | None, tools: Sequence[Wire]) -> str:
        """The system turn, or nothing."""
        by_template = not tools or self.template_shows_tools
        if self._template:
            text = self._apply([system, ASK] if system else [ASK], tools if by_template else ())
            head = text[: text.rindex(f"{START}user\n{ASK['content']}")]
        else:
            head = f"{START}system\n{system['content']}{END}\n" if system else ""
            by_template = not tools
        if by_template:
            return head
        own = head.removeprefix(f"{START}system\n").removesuffix(f"{END}\n")
        text = f"{own}\n\n{describe(tools)}" if own else describe(tools)
        return f"{START}system\n{text}{END}\n"

    def _shows_tools(self) -> bool:
        """Whether the template lists tools, and calls of them, instead of dropping them."""
        return NAME in self._apply([ASK], [PROBE_TOOL]) and NAME in self._apply([ASK, CALL], ())

    def _apply(self, messages: Sequence[Wire], tools: Sequence[Wire]) -> str:
        return str(apply(self._tokenizer, messages, tools, tokenize=False, **self.config.settings))

    def _render_group(self, out: RenderedTokens, group: Sequence[Wire], index: int) -> None:
        role = group[0]["role"]
        if role == "assistant":
            # What was sampled begins a new token, as it does behind the generation prompt.
            self._add(out, [self._start, *self._encode("assistant\n")], index)
            self._add(out, [*self._encode(said(group[0])), self._end], index, sampled=True)
        else:
            role, text = ("user", answered(group)) if role == "tool" else (role, group[0]["content"])
            self._add(out, [self._start, *self._encode(f"{role}\n{text}"), self._end], index)
        self._add(out, self._newline, index)

    def _add(self, out: RenderedTokens, ids: Sequence[int], index: int, *, sampled: bool = False) -> None:
        out.token_ids.extend(ids)
        out.message_indices.extend([index] * len(ids))
        out.sampled_mask.extend([sampled] * len(ids))

    def _encode(self, text: str) -> list[int]:
        return list(self._tokenizer.encode(text, add_special_tokens=False)) if text else []
