"""Generated tasks: a world, what is asked, and a gold plan that leads to the state that is wanted.

Invariant: the goal is what the gold plan's writes make of the world, done by the service itself; it differs from the
world unless the right thing is to refuse. A seed and a split mean one task.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from random import Random
from typing import Any, TypeAlias

from agentrl.core.failures import UserError
from agentrl.core.jsonvalues import canonical
from agentrl.envs.api.compare import Comparison
from agentrl.envs.api.names import Draw
from agentrl.envs.api.service import Call, Service
from agentrl.envs.api.state import State
from agentrl.envs.generated import TRIES, turn_of

COMPLETED = "completed"


@dataclass(frozen=True, slots=True)
class Draft:
    """What a template makes.

    Attributes:
        text: what the policy is asked. base: the state at the beginning.
        writes: the gold plan's changes; reads: the look-ups before them, in which everything is found that they need.
        required: reads without which the task is not solved (the text or the policy document asks for them);
            forbidden: calls after which it cannot be solved any more. Arguments that are not named may be anything.
        outcome: what `done` must say.
    """

    text: str
    base: State
    writes: Sequence[Call]
    reads: Sequence[Call]
    required: Sequence[Call] = ()
    forbidden: Sequence[Call] = ()
    outcome: str = COMPLETED


@dataclass(frozen=True, slots=True)
class Task:
    """A draft with its goal; `name`: template, split and seed; `away`: facts between its world and its goal."""

    name: str
    template: str
    draft: Draft
    goal: State
    away: int

    def __deepcopy__(self, memo: Any) -> Task:
        return self  # it never changes


Template: TypeAlias = Callable[[Draw], Draft | None]
"""None: this world does not fit, draw another one."""


def draw_task(
    service: Service, templates: Mapping[str, Template], chosen: Sequence[str], split: str, seed: int
) -> Task:
    """The task of a seed; neighbouring seeds go through the templates in turn.

    Raises:
        UserError: a template that never fits.
    """
    name = turn_of(chosen, split, seed)
    for attempt in range(TRIES):
        draft = templates[name](Draw(Random(f"{service.name}/{name}/{split}/{seed}/{attempt}"), split))
        task = None if draft is None else settled(service, f"{name}/{split}/{seed}", name, draft)
        if task is not None:
            return task
    raise UserError(f"template {name!r} has no task in split {split!r}")


def settled(service: Service, name: str, template: str, draft: Draft) -> Task | None:
    """The task of a draft; None if its plan is refused or changes nothing (or, for a refusal, changes something)."""
    goal = draft.base
    for operation, arguments in draft.writes:
        goal, status, _ = service.call(goal, operation, arguments)
        if status >= 400:
            return None
    away = Comparison(service, draft.base).difference(draft.base, goal)
    if bool(away) != bool(draft.writes) or (not draft.writes and draft.outcome == COMPLETED):
        return None
    return Task(name, template, draft, goal, away)


def pages(service: Service, state: State, operation: str, arguments: Mapping[str, Any]) -> list[Call]:
    """The calls that read all pages of a list."""
    _, _, first = service.call(state, operation, arguments)
    number = max(1, -(-first["total"] // first["per_page"]))
    more = [{**arguments, "page": page} for page in range(2, number + 1)]
    return [(operation, dict(arguments)), *((operation, item) for item in more)]


def spelled(operation: str, arguments: Mapping[str, Any]) -> str:
    """One text for all equal calls."""
    return f"{operation} {canonical(dict(arguments))}"


def is_like(operation: str, arguments: Mapping[str, Any], pattern: Call) -> bool:
    """Whether a call is the one that is meant: what the pattern names must be as it says."""
    name, wanted = pattern
    return operation == name and all(
        key in arguments and canonical(arguments[key]) == canonical(value) for key, value in wanted.items()
    )
