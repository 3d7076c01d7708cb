"""A service: a pure function `(state, request) -> (state, status, body)` with its OpenAPI document.

Invariant: what a request may contain and what an answer contains is what the document says; a request that does not fit
it is answered with 422 and one that is refused (403, 404, 409) changes nothing.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any, TypeAlias
from urllib.parse import unquote

from agentrl.core.validate import problems
from agentrl.envs.api import crud, document
from agentrl.envs.api.openapi import Operation, Request, operations
from agentrl.envs.api.resource import Guard, Handler, Refusal, Resource, Special
from agentrl.envs.api.state import State

Call: TypeAlias = tuple[str, dict[str, Any]]
"""An operation and its arguments."""
Repair: TypeAlias = Callable[[State, State, State], Iterator[Call]]


def unguarded(state: State, resource: Resource, old: Any, new: Any) -> None:
    """Every change is allowed."""


def nothing_special(state: State, goal: State, base: State) -> Iterator[Call]:
    """No calls but those of the resources."""
    return iter(())


@dataclass(frozen=True)
class Service:
    """A service.

    Attributes:
        name, title, about: for people; `policy`: rules that whoever works with it keeps ("" for none).
        resources, specials: its operations; guard: rules on changes (raises `Refusal`).
        extra: operations that a task never needs: offered as distractors only.
        repair: calls, beyond those of the resources, that lead from a state towards a goal.
    """

    name: str
    title: str
    about: str
    resources: tuple[Resource, ...]
    specials: tuple[Special, ...] = ()
    guard: Guard = unguarded
    extra: tuple[str, ...] = ()
    repair: Repair = nothing_special
    policy: str = ""
    document: dict[str, Any] = field(init=False, repr=False)
    operations: dict[str, Operation] = field(init=False, repr=False)
    handlers: dict[str, Handler] = field(init=False, repr=False)
    routes: tuple[tuple[str, re.Pattern[str], Operation], ...] = field(init=False, repr=False)

    def __post_init__(self) -> None:
        put = lambda name, value: object.__setattr__(self, name, value)  # noqa: E731
        put("document", document.build(self.title, self.about, self.resources, self.specials))
        put("operations", {one.id: one for one in operations(self.document)})
        found: dict[str, Handler] = {special.id: special.handler for special in self.specials}
        for resource in self.resources:
            found |= crud.handlers(resource, self.resources, self.guard)
        put("handlers", found)
        put("routes", tuple((one.method, route(one.path), one) for one in self.operations.values()))

    def __deepcopy__(self, memo: Any) -> Service:
        return self  # it never changes

    def handle(self, state: State, request: Request) -> tuple[State, int, Any]:
        """Answer a request. The status is that of success, or 403, 404, 405, 409 or 422 with an `Error` as body."""
        matches = [(one, match) for method, way, one in self.routes if (match := way.fullmatch(request.path))]
        if not matches:
            return state, 404, {"code": "no_such_path", "message": f"there is no {request.path!r:.80}"}
        for one, match in matches:
            if one.method == request.method.upper():
                given = arguments_of(one, match, request)
                return self.perform(state, one, given)
        return state, 405, {"code": "method_not_allowed", "message": f"not {request.method} here"}

    def perform(self, state: State, one: Operation, given: Mapping[str, Any]) -> tuple[State, int, Any]:
        wrong = next(problems(one.parameters, given), None)
        if wrong is not None:
            return state, 422, {"code": "invalid", "message": str(wrong)}
        try:
            return self.handlers[one.id](state, given)
        except Refusal as refusal:
            return state, refusal.status, refusal.body

    def call(self, state: State, name: str, arguments: Mapping[str, Any]) -> tuple[State, int, Any]:
        """The same by operationId and arguments."""
        return self.handle(state, self.operations[name].request_of(arguments))


def route(path: str) -> re.Pattern[str]:
    parts = re.split(r"\{(\w+)\}", path)
    return re.compile(
        "".join(re.escape(part) if i % 2 == 0 else f"(?P<{part}>[^/]+)" for i, part in enumerate(parts))
    )


def arguments_of(one: Operation, match: re.Match[str], request: Request) -> dict[str, Any]:
    """The merged arguments of a request; what is unknown stays in, under its own name, and is refused later."""
    given: dict[str, Any] = {}
    names = {place: name for name, place in one.places.items()}
    for there, value in match.groupdict().items():
        given[names["path", there]] = unquote(value)
    for there, value in request.query.items():
        name = names.get(("query", there), there)
        kind = one.parameters["properties"].get(name, {}).get("type")
        given[name] = number_of(value) if kind in ("integer", "number") else value
    if isinstance(request.body, Mapping):
        for member, value in request.body.items():
            given[names.get(("body", str(member)), str(member))] = value
    return given


def number_of(value: Any) -> Any:
    """A number that came as text in an address."""
    if isinstance(value, str) and re.fullmatch(r"-?\d{1,15}", value):
        return int(value)
    return value
