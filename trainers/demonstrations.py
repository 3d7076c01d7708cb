"""Demonstrations: an environment's own expert, rolled out through the real environment into token rows.

A row is one contiguous token stream, exactly what an engine would have been fed and would have sampled had
the policy acted like the demonstrator. `Demonstrations` is a pure function of the step number.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, TypeAlias

import numpy as np

from agentrl.core.env import ToolEnv
from agentrl.core.failures import InvariantBroken, UserError
from agentrl.core.messages import Action, as_action
from agentrl.core.registry import make
from agentrl.inference.codec import Codec
from agentrl.trainers.tasks import SEEDS_PER_RUN

Demonstrator: TypeAlias = Callable[[ToolEnv, np.random.Generator], Action | None]
"""The next action in an environment; the generator decides whatever is random about it."""


@dataclass(frozen=True, slots=True)
class Row:
    """One demonstration (or one segment of it).

    Attributes:
        ids: token ids, int64, shape (tokens,).
        sampled: true where the policy speaks, shape (tokens,).
    """

    ids: np.ndarray
    sampled: np.ndarray


def expert(env: ToolEnv, rng: np.random.Generator) -> Action | None:
    """The demonstrator that does what the environment's expert says."""
    return env.expert()


@dataclass(frozen=True, slots=True)
class Hasty:
    """The demonstrator that answers too early with probability `p`, in environments that have one."""

    p: float

    def __call__(self, env: ToolEnv, rng: np.random.Generator) -> Action | None:
        hasty = getattr(env, "hasty_expert", None)
        if hasty is None:
            raise UserError(f"{type(env).__name__} has no hasty expert")
        return hasty(rng, self.p)


def language_of(env: ToolEnv, *, episodes: int = 200) -> tuple[list[str], list[str]]:
    """(texts, names) that a word-level policy must know: the environment's own `vocabulary()`, or else what its
    expert meets in `episodes` episodes; the words of its tools in both cases."""
    texts = [" ".join((tool.name, *tool.spec["function"]["parameters"]["properties"])) for tool in env.tools]
    texts += ["error :", env.instructions]
    vocabulary = getattr(env, "vocabulary", None)
    if vocabulary is not None:
        known = vocabulary()
        return [*texts, " ".join(known.words)], list(known.names)
    for seed in range(episodes):
        observation, _ = env.reset(seed=seed)
        over = False
        while not over:
            texts += [message.content for message in observation]
            action = env.expert()
            if action is None:
                raise UserError(f"{type(env).__name__} has no expert to learn from (at turn {env.turn})")
            message = as_action(action)
            texts += [message.content, *(call.arguments for call in message.tool_calls)]
            observation, _, terminated, truncated, _ = env.step(action)
            over = terminated or truncated
        texts += [message.content for message in observation]
    return texts, []


def demonstrate(
    env: ToolEnv,
    codec: Codec,
    *,
    seed: int,
    options: Mapping[str, Any] | None = None,
    demonstrator: Demonstrator = expert,
    rng: np.random.Generator | None = None,
    max_turns: int = 200,
) -> list[Row]:
    """Play one episode and return its rows; one unless the codec had to start a fresh segment.

    Raises:
        UserError: the demonstrator does not know what to do.
    """
    rng = rng or np.random.default_rng(seed)
    tools = [tool.spec for tool in env.tools]
    observation, _ = env.reset(seed=seed, options=dict(options or {}))
    history = list(observation)
    prompt: tuple[int, ...] = ()
    said: tuple[int, ...] = ()
    rows: list[list[tuple[tuple[int, ...], bool]]] = []
    for _ in range(max_turns):
        added = codec.extend(prompt, said, observation, tools) if said else None
        if added is None:
            added, prompt, said = codec.start(tuple(history), tools), (), ()
            rows.append([])
        action = demonstrator(env, rng)
        if action is None:
            raise UserError(f"{type(env).__name__} has no expert to learn from (at turn {env.turn})")
        prompt, said = (*prompt, *said, *added), codec.encode_action(as_action(action), tools)
        rows[-1] += [(added, False), (said, True)]
        observation, _, terminated, truncated, _ = env.step(action)
        history += [as_action(action), *observation]
        if terminated or truncated:
            return [as_row(row) for row in rows]
    raise InvariantBroken("a demonstration ends", type(env).__name__, f"{max_turns} turns")


def as_row(pieces: Sequence[tuple[tuple[int, ...], bool]]) -> Row:
    ids = np.array([index for piece, _ in pieces for index in piece], np.int64)
    return Row(ids, np.repeat([own for _, own in pieces], [len(piece) for piece, _ in pieces]))


@dataclass(slots=True)
class Demonstrations:
    """Batches of demonstrations for `sft`, by step number: step `n` shows tasks `n * batch` and on.

    Attributes:
        env: registered id.
        codec: of the policy that learns.
        batch: demonstrations per step.
        seed: another seed, other tasks.
        split: whose tasks to show.
        kwargs: constructor arguments of the environment.
        demonstrator: whom to learn from.
    """

    env: str
    codec: Codec
    batch: int = 64
    seed: int = 0
    split: str = "train"
    kwargs: Mapping[str, Any] = field(default_factory=dict)
    demonstrator: Demonstrator = expert
    _made: ToolEnv | None = field(default=None, init=False, repr=False)

    def __call__(self, step: int) -> list[Row]:
        if self._made is None:
            self._made = make(self.env, split=self.split, **self.kwargs)
        rng = np.random.default_rng([self.seed, step])
        rows: list[Row] = []
        for index in range(step * self.batch, (step + 1) * self.batch):
            task = (self.seed * SEEDS_PER_RUN + index) % 2**31
            rows += demonstrate(self._made, self.codec, seed=task, demonstrator=self.demonstrator, rng=rng)
        return rows
