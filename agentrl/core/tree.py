"""The rollout tree: everything that is rolled out is a tree of turns.

The root is a task. A node is one turn: what the policy was shown since its parent (`observation`,
`context_ids`), what it sampled (`action`, `completion_ids`), and what the environment answered
(`reward`, flags; the answer's messages are the `observation` of the children, or `final` on a leaf).
A path from the root to a leaf is an episode; `n` independent episodes are a root with `n` children.

Invariant (the token ledger): concatenating `context_ids + completion_ids` along a path, from the last
turn that starts a fresh segment, is exactly what the engine was fed and sampled. Plain, picklable data.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any, Literal, TypeAlias

from agentrl.core.failures import Failure, InvariantBroken
from agentrl.core.messages import Message, Messages

Handoff: TypeAlias = Literal["clean", "fresh"]
FinishReason: TypeAlias = Literal["stop", "length", "abort", "scripted"]


@dataclass(frozen=True, slots=True)
class Task:
    """What an episode is about. Equal tasks give equal first observations.

    Attributes:
        env: registered id, e.g. `agentrl/Search-v0`.
        seed: goes to `reset(seed=...)`.
        split: `train`, `validation` or `test`.
        kwargs: keyword arguments of the environment's constructor.
        options: go to `reset(options=...)`.
    """

    env: str
    seed: int
    split: str = "train"
    kwargs: Mapping[str, Any] = field(default_factory=dict)
    options: Mapping[str, Any] = field(default_factory=dict)

    @property
    def id(self) -> str:
        """A readable name, unique within one run of one recipe."""
        return f"{self.env}:{self.split}:{self.seed}"


@dataclass(frozen=True, slots=True)
class Turn:
    """One node. Ids are token ids; a scripted policy leaves the four token fields empty.

    Attributes:
        id: position in `RolloutTree.turns`.
        parent: id of the parent turn, or None for a first turn.
        observation: messages shown since the parent (for a first turn: the whole first prompt).
        action: the assistant message parsed from the completion.
        context_ids: ids that the observation added, loss mask 0. On a fresh segment: the whole new prompt.
        completion_ids: ids that were sampled, loss mask 1.
        logprobs: behaviour log-probability of each sampled id under the exact sampling distribution.
        weight_version: version of the weights that sampled them.
        handoff: `clean` (extends the parent's tokens) or `fresh` (a new segment).
        finish_reason: why sampling stopped.
        reward: what the environment gave for this turn.
        reward_parts: the named parts of that reward.
        terminated, truncated: Gymnasium's meaning; either makes the turn a leaf.
        final: on a leaf, the messages that the environment answered last.
        state_key: the environment's key of the situation in which the policy acted (before the action).
        success: on a leaf, whether the task was solved, if the environment says so.
        tool_errors: kinds of the tool errors that this turn's calls caused.
        info: JSON-serialisable rest of the environment's info.
        seconds: wall time of (generate, step). A measurement: turns that differ in it alone are equal.
        cached_tokens: prompt tokens that the engine took from its prefix cache.
    """

    id: int
    parent: int | None
    observation: Messages
    action: Message
    context_ids: tuple[int, ...] = ()
    completion_ids: tuple[int, ...] = ()
    logprobs: tuple[float, ...] = ()
    weight_version: int = 0
    handoff: Handoff = "clean"
    finish_reason: FinishReason = "stop"
    reward: float = 0.0
    reward_parts: Mapping[str, float] = field(default_factory=dict)
    terminated: bool = False
    truncated: bool = False
    final: Messages = ()
    state_key: str | None = None
    success: bool | None = None
    tool_errors: tuple[str, ...] = ()
    info: Mapping[str, Any] = field(default_factory=dict)
    seconds: tuple[float, float] = field(default=(0.0, 0.0), compare=False)
    cached_tokens: int = 0

    @property
    def done(self) -> bool:
        return self.terminated or self.truncated


@dataclass(frozen=True, slots=True)
class Episode:
    """A path from the root to a leaf: a view, not a copy."""

    tree: RolloutTree
    turns: tuple[Turn, ...]

    @property
    def leaf(self) -> Turn:
        return self.turns[-1]

    @property
    def total_reward(self) -> float:
        """Undiscounted return: the sum of the rewards along the path."""
        return float(sum(turn.reward for turn in self.turns))

    @property
    def success(self) -> bool:
        """What the environment says of the last turn; where it says nothing, a positive return."""
        return self.total_reward > 0 if self.leaf.success is None else self.leaf.success

    @property
    def completion_tokens(self) -> int:
        return sum(len(turn.completion_ids) for turn in self.turns)

    def messages(self) -> Messages:
        """The whole conversation, as a person reads it."""
        out: list[Message] = []
        for turn in self.turns:
            out.extend(turn.observation)
            out.append(turn.action)
        out.extend(self.leaf.final)
        return tuple(out)


@dataclass(slots=True)
class RolloutTree:
    """A task with all turns that were rolled out for it. Grows by `add`; turns themselves never change.

    Attributes:
        task: the root.
        turns: nodes; `turns[i].id == i` and a parent comes before its children.
        requested: how many episodes were asked for.
        failures: infrastructure failures that dropped an episode (its turns are not in the tree).
    """

    task: Task
    turns: list[Turn] = field(default_factory=list)
    requested: int = 0
    failures: list[Failure] = field(default_factory=list)

    def add(self, turn: Turn) -> Turn:
        """Append a turn under its parent; returns it with its id set.

        Raises:
            InvariantBroken: names the rule and the node it broke on.
        """
        where = f"{self.task.id} turn {len(self.turns)}"
        if turn.id != len(self.turns):
            turn = replace(turn, id=len(self.turns))
        if turn.parent is not None:
            if not 0 <= turn.parent < len(self.turns):
                raise InvariantBroken(
                    "a parent is in the tree before its child", where, f"parent {turn.parent}"
                )
            if self.turns[turn.parent].done:
                raise InvariantBroken("a finished turn has no children", where, f"parent {turn.parent}")
        check_turn(turn, where)
        self.turns.append(turn)
        return turn

    def path(self, node: int) -> tuple[Turn, ...]:
        """Turns from the first to `node`, both included."""
        out: list[Turn] = []
        at: int | None = node
        while at is not None:
            out.append(self.turns[at])
            at = self.turns[at].parent
        return tuple(reversed(out))

    def children(self, node: int | None) -> list[int]:
        return [turn.id for turn in self.turns if turn.parent == node]

    def leaves(self) -> list[int]:
        parents = {turn.parent for turn in self.turns}
        return [turn.id for turn in self.turns if turn.id not in parents]

    def episodes(self) -> list[Episode]:
        """Every finished path, in order of its leaf."""
        return [Episode(self, self.path(leaf)) for leaf in self.leaves() if self.turns[leaf].done]

    def prompt_ids(self, node: int) -> tuple[int, ...]:
        """Exactly what the engine was fed to sample turn `node`."""
        segment = last_segment(self.path(node))
        return tuple(fed_ids(segment)[: -len(self.turns[node].completion_ids) or None])

    def __repr__(self) -> str:
        """Short: a tree holds whole conversations."""
        return f"RolloutTree({self.task.id}, {len(self.turns)} turns)"

    def __iter__(self) -> Iterator[Turn]:
        return iter(self.turns)

    def __len__(self) -> int:
        return len(self.turns)


def check_turn(turn: Turn, where: str) -> None:
    """The invariants of one node, asserted at each hand-off."""
    if len(turn.completion_ids) != len(turn.logprobs):
        raise InvariantBroken(
            "every sampled token has a behaviour log-probability",
            where,
            f"{len(turn.completion_ids)} ids, {len(turn.logprobs)} log-probabilities",
        )
    if any(not (value <= 1e-6) for value in turn.logprobs):
        raise InvariantBroken("a log-probability is a number not above 0", where, f"{max(turn.logprobs)}")
    if turn.completion_ids and not turn.context_ids and turn.parent is None:
        raise InvariantBroken("a first turn was sampled from a prompt", where)
    if turn.reward != turn.reward or turn.reward in (float("inf"), float("-inf")):
        raise InvariantBroken("a reward is finite", where, f"{turn.reward}")


def last_segment(path: Sequence[Turn]) -> Sequence[Turn]:
    """The turns of a path from the last one that starts a fresh segment."""
    start = max((i for i, turn in enumerate(path) if turn.handoff == "fresh"), default=0)
    return path[start:]


def segments(path: Sequence[Turn]) -> list[Sequence[Turn]]:
    """A path cut where a fresh segment starts; each piece is one contiguous token stream."""
    starts = [i for i, turn in enumerate(path) if i == 0 or turn.handoff == "fresh"]
    return [path[a:b] for a, b in zip(starts, [*starts[1:], len(path)], strict=True)]


def fed_ids(segment: Sequence[Turn]) -> list[int]:
    """Context and completion ids of one segment, concatenated."""
    out: list[int] = []
    for turn in segment:
        out.extend(turn.context_ids)
        out.extend(turn.completion_ids)
    return out
