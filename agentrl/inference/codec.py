"""The codec contract: between messages and the token ids of one model.

Token in, token out: what was sampled is never tokenised again. `extend` only *adds* ids after
`prompt_ids + completion_ids`; where a template cannot do that, it returns None and the conversation goes
on in a fresh segment, visibly.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, Protocol, TypeAlias, runtime_checkable

from agentrl.core.messages import Message, Messages

ToolSpec: TypeAlias = Mapping[str, Any]
"""A tool as the OpenAI function format describes it: `{"type": "function", "function": {...}}`."""


@runtime_checkable
class Codec(Protocol):
    """Rendering, bridging and parsing for one model."""

    tokenizer: Any
    """The tokenizer behind it; saved beside the weights of a policy."""

    stop_ids: tuple[int, ...]
    """Sampling one of these ends a turn."""

    def start(self, messages: Messages, tools: Sequence[ToolSpec]) -> tuple[int, ...]:
        """Prompt ids of a fresh segment that shows `messages`, ready for an assistant turn."""
        ...

    def extend(
        self,
        prompt_ids: tuple[int, ...],
        completion_ids: tuple[int, ...],
        new: Messages,
        tools: Sequence[ToolSpec],
    ) -> tuple[int, ...] | None:
        """The ids to *add* after `prompt_ids + completion_ids` so that `new` is shown and an assistant turn
        can begin; None if this template cannot extend here (the caller starts a fresh segment)."""
        ...

    def parse(
        self, completion_ids: Sequence[int], tools: Sequence[ToolSpec], prompt_ids: Sequence[int] = ()
    ) -> Message:
        """The assistant message in a completion. Never raises: a malformed call comes out as a `ToolCall`
        with its raw text as arguments, which the strict decoder then answers."""
        ...

    def encode_action(self, action: Message, tools: Sequence[ToolSpec]) -> tuple[int, ...]:
        """The ids that a policy would sample to say `action`, the stop id included (for SFT)."""
        ...

    def decode(self, ids: Sequence[int]) -> str:
        """The text of ids, special tokens included: for people, never for training."""
        ...
