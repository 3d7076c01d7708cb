"""The engine contract: token ids in, token ids and their exact log-probabilities out.

An engine never sees text. `Completion.logprobs` belong to the distribution that was sampled from, after
temperature, top-k, top-p and min-p (the *behaviour policy*), so that importance ratios are exact.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from typing import TYPE_CHECKING, Literal, Protocol, TypeAlias, runtime_checkable

from agentrl.core.failures import UserError

if TYPE_CHECKING:
    import torch

FinishReason: TypeAlias = Literal["stop", "length", "abort"]


@dataclass(frozen=True, slots=True)
class Sampling:
    """How to sample. Settings that change the support are part of the recorded log-probability.

    Attributes:
        temperature: > 0 samples; 0 is greedy (log-probability 0 by definition of a point mass).
        top_k: keep the k most likely tokens; 0 keeps all.
        top_p: keep the smallest set of most likely tokens with at least this mass, in (0, 1].
        min_p: drop tokens less likely than `min_p` times the most likely one, in [0, 1).
        max_tokens: the most tokens to sample, >= 1.
        stop_ids: a sampled token of these ends the completion and belongs to it.
        seed: makes the sampling of this request reproducible whatever else is in the batch.
    """

    temperature: float = 1.0
    top_k: int = 0
    top_p: float = 1.0
    min_p: float = 0.0
    max_tokens: int = 256
    stop_ids: tuple[int, ...] = ()
    seed: int | None = None

    def __post_init__(self) -> None:
        rules = (
            (self.temperature >= 0, "temperature >= 0"),
            (self.top_k >= 0, "top_k >= 0"),
            (0 < self.top_p <= 1, "0 < top_p <= 1"),
            (0 <= self.min_p < 1, "0 <= min_p < 1"),
            (self.max_tokens >= 1, "max_tokens >= 1"),
        )
        for holds, rule in rules:
            if not holds:
                raise UserError(f"sampling needs {rule}, got {self}")


@dataclass(frozen=True, slots=True)
class Completion:
    """What was sampled for one request.

    Attributes:
        ids: sampled token ids, the stop token included if one was sampled.
        logprobs: log-probability of each id under the exact sampling distribution; same length.
        finish_reason: `stop` (a stop id was sampled), `length` (max_tokens or the context is full), `abort`.
        weight_version: version of the weights that sampled every one of these tokens.
        prompt_tokens: length of the prompt.
        cached_tokens: how many prompt tokens came from a prefix cache.
    """

    ids: tuple[int, ...]
    logprobs: tuple[float, ...]
    finish_reason: FinishReason
    weight_version: int = 0
    prompt_tokens: int = 0
    cached_tokens: int = 0

    def __post_init__(self) -> None:
        if len(self.ids) != len(self.logprobs):
            raise ValueError(f"{len(self.ids)} ids but {len(self.logprobs)} log-probabilities")


class ContextOverflow(UserError):
    """The prompt leaves no room for a single token in the model's context."""

    def __init__(self, prompt_tokens: int, limit: int) -> None:
        self.prompt_tokens, self.limit = prompt_tokens, limit
        super().__init__(f"the context of {prompt_tokens} tokens outgrows the model's {limit}")


@runtime_checkable
class Engine(Protocol):
    """Anything that samples tokens. Calls are concurrent; each is one turn of one episode."""

    max_context: int
    """The most tokens that prompt and completion may have together."""

    async def generate(self, prompt_ids: tuple[int, ...], sampling: Sampling) -> Completion:
        """Sample one completion.

        Raises:
            ContextOverflow: the prompt fills the context.
            InfrastructureFailure: the engine broke.
        Cancelling the awaiting task aborts the request and frees what it held.
        """
        ...

    async def load_weights(self, named_tensors: Iterable[tuple[str, torch.Tensor]], version: int) -> None:
        """Replace the weights between turns; prefix caches of older weights are never used again."""
        ...

    async def aclose(self) -> None:
        """Stop and free everything; idempotent."""
        ...
