"""A policy acts: it is shown an episode and answers with a message (and the tokens it sampled, if any).

The rollout manager knows only this protocol, so that a model behind an engine, an environment's expert,
a person at the terminal and a replayed trace all go the same way.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Protocol, runtime_checkable

from agentrl.core.failures import InfrastructureFailure, InvariantBroken
from agentrl.core.messages import Message, Messages
from agentrl.core.tree import FinishReason, Handoff, Turn, fed_ids, last_segment
from agentrl.inference.codec import Codec, ToolSpec
from agentrl.inference.engine import Completion, ContextOverflow, Engine, Sampling

if TYPE_CHECKING:
    from agentrl.core.env import ToolEnv


@dataclass(frozen=True, slots=True)
class View:
    """What a policy may look at when it acts.

    Attributes:
        path: the turns so far, oldest first.
        observation: the messages shown now, since the last turn.
        tools: the tools that may be called.
        env: the live environment; only scripted policies (expert, random) touch it.
        seed: a number that belongs to this turn of this episode: the same run gives the same one.
    """

    path: Sequence[Turn]
    observation: Messages
    tools: Sequence[ToolSpec]
    env: ToolEnv | None = None
    seed: int = 0


@dataclass(frozen=True, slots=True)
class Sampled:
    """An action with its token record, ready to become a `Turn`. `action=None`: the context is full and
    nothing could be sampled; the episode ends truncated."""

    action: Message | None
    context_ids: tuple[int, ...] = ()
    completion_ids: tuple[int, ...] = ()
    logprobs: tuple[float, ...] = ()
    weight_version: int = 0
    handoff: Handoff = "clean"
    finish_reason: FinishReason = "scripted"
    cached_tokens: int = 0


@runtime_checkable
class Policy(Protocol):
    async def act(self, view: View) -> Sampled: ...


def conversation(view: View, history: int = 0) -> Messages:
    """The messages so far: all of them, or the first prompt and the last `history` turns, each with what it was answered."""
    if not view.path:
        return view.observation
    answers = (*(turn.observation for turn in view.path[1:]), view.observation)
    kept = list(zip(view.path, answers, strict=True))[-history:]  # -0: all
    told = (message for turn, answer in kept for message in (turn.action, *answer))
    return (*view.path[0].observation, *told)


class ModelPolicy:
    """A model: a codec and an engine.

    Args:
        history: how many of the last turns the model is shown beside the first prompt; 0 for all. Once a turn is left out,
            every turn starts a fresh segment: what was sampled is still exactly what is trained.

    Attributes:
        handoffs: from one turn to the next: `clean` (tokens were added), `fresh` (a new segment), `refused` (no room).
    """

    def __init__(self, engine: Engine, codec: Codec, sampling: Sampling, *, history: int = 0) -> None:
        self.engine, self.codec, self.history = engine, codec, history
        # A turn always ends at its format's stop token: what is sampled behind it, no template can show.
        stops = dict.fromkeys((*codec.stop_ids, *sampling.stop_ids))
        self.sampling = replace(sampling, stop_ids=tuple(stops))
        self.handoffs: dict[str, int] = {"clean": 0, "fresh": 0, "refused": 0}

    async def act(self, view: View) -> Sampled:
        """Sample the next message.

        Raises:
            ContextOverflow: the first prompt does not fit.
            InfrastructureFailure: the engine broke, or gave up.
            InvariantBroken: the engine saw other tokens than the path's.
        """
        fed, context_ids, handoff = self._context(view)
        prompt_ids = (*fed, *context_ids)
        room = self.engine.max_context - len(prompt_ids)
        if room < 1:
            if not view.path:
                raise ContextOverflow(len(prompt_ids), self.engine.max_context)
            self.handoffs["refused"] += 1
            return Sampled(None, finish_reason="length")
        self.handoffs[handoff] += 1
        sampling = replace(self.sampling, max_tokens=min(self.sampling.max_tokens, room), seed=view.seed)
        completion = await self.engine.generate(prompt_ids, sampling)
        self._check(completion, prompt_ids, f"turn {len(view.path)}")
        return Sampled(
            action=self.codec.parse(completion.ids, view.tools, prompt_ids),
            context_ids=context_ids,
            completion_ids=completion.ids,
            logprobs=completion.logprobs,
            weight_version=completion.weight_version,
            handoff=handoff,
            finish_reason=completion.finish_reason,
            cached_tokens=completion.cached_tokens,
        )

    def _context(self, view: View) -> tuple[tuple[int, ...], tuple[int, ...], Handoff]:
        """(ids already fed, ids to add, kind of hand-off)."""
        if not view.path:
            return (), self.codec.start(view.observation, view.tools), "clean"
        last = view.path[-1]
        whole = not self.history or len(view.path) <= self.history
        if whole and last.completion_ids:
            fed = tuple(fed_ids(last_segment(view.path)))
            prompt = fed[: len(fed) - len(last.completion_ids)]
            added = self.codec.extend(prompt, last.completion_ids, view.observation, view.tools)
            if added is not None:
                return fed, added, "clean"
        # The template cannot go on here, a turn is left out, or the last one was nobody's tokens (a script's).
        return (), self.codec.start(conversation(view, self.history), view.tools), "fresh"

    def _check(self, completion: Completion, prompt_ids: tuple[int, ...], where: str) -> None:
        """The ledger's side of a completion."""
        if completion.finish_reason == "abort":
            raise InfrastructureFailure("generate", type(self.engine).__name__, f"aborted at {where}")
        if completion.prompt_tokens and completion.prompt_tokens != len(prompt_ids):
            raise InvariantBroken(
                "the engine was fed exactly the path's tokens",
                where,
                f"{completion.prompt_tokens} != {len(prompt_ids)}",
            )
        stop = next((i for i, token in enumerate(completion.ids) if token in self.sampling.stop_ids), None)
        if stop is not None and stop != len(completion.ids) - 1:
            raise InvariantBroken(
                "a completion ends at its first stop token",
                where,
                f"token {stop} of {len(completion.ids)}",
            )
