"""When are two states the same? Facts of a state, their difference, and calls that close it.

Invariant: equal by value means equal facts: 100 and 100.0 are one number, lists without an order are sorted, generated
keys and time stamps say nothing, and a row that refers to a new row refers to what that row says.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping
from typing import Any

from agentrl.core.jsonvalues import canonical
from agentrl.envs.api.resource import Resource
from agentrl.envs.api.service import Call, Service
from agentrl.envs.api.state import Row, State

Facts = Counter[tuple[str, ...]]
DEEPEST = 4


def is_named(resource: Resource, key: str, base: State) -> bool:
    """Whether a key means something: it was chosen by a caller, or was there from the beginning."""
    return not resource.nameless and (resource.made is None or key in base.tables[resource.table])


class Comparison:
    """Comparing states of one service which began as `base`."""

    def __init__(self, service: Service, base: State) -> None:
        self.service, self.base = service, base
        self.resources = {resource.table: resource for resource in service.resources if resource.compared}
        self.every = {resource.table: resource for resource in service.resources}

    def value(self, resource: Resource, name: str, value: Any, state: State, depth: int = 0) -> str:
        """One text for all equal values of a field."""
        if name in resource.refs:
            keys = value if isinstance(value, list) else [value]
            value = [self.reference(resource.refs[name], key, state, depth) for key in keys]
        if name in resource.unordered:
            return canonical(sorted(canonical(rounded(item)) for item in value))
        return canonical(rounded(value))

    def reference(self, table: str, key: Any, state: State, depth: int) -> Any:
        resource, row = self.every[table], state.row(table, key)
        if row is None or is_named(resource, key, self.base) or depth > DEEPEST:
            return key
        return self.content(resource, row, state, depth + 1)

    def content(self, resource: Resource, row: Row, state: State, depth: int = 0) -> str:
        """What a row says, its key and its time stamps aside."""
        return canonical(
            {name: self.value(resource, name, row[name], state, depth) for name in told(resource)}
        )

    def facts_of(self, resource: Resource, key: str, row: Row, state: State) -> Iterator[tuple[str, ...]]:
        if is_named(resource, key, self.base):
            yield (resource.table, key)
            for name in told(resource):
                yield (resource.table, key, name, self.value(resource, name, row[name], state))
        else:
            yield (resource.table, "+", self.content(resource, row, state))

    def difference(self, one: State, other: State) -> int:
        """How many facts hold in one of two states only."""
        return sum(facts.total() for facts in self.apart(one, other))

    def changes(self, state: State) -> list[str]:
        """What holds now and did not at the beginning, and the other way round."""
        gone, come = self.apart(self.base, state)
        return [
            f"{mark}{fact}" for mark, facts in (("-", gone), ("+", come)) for fact in sorted(facts.elements())
        ]

    def apart(self, one: State, other: State) -> tuple[Facts, Facts]:
        """The facts of only the one and only the other state. Rows that both share are not looked at."""
        mine, its = Facts(), Facts()
        for table, resource in self.resources.items():
            a, b = one.tables[table], other.tables[table]
            if a is b and not resource.refs:
                continue
            for key in {**a, **b}:
                row, twin = a.get(key), b.get(key)
                if row is twin and not any(self.moving(resource, name, row) for name in resource.refs):
                    continue
                if row is not None:
                    mine.update(self.facts_of(resource, key, row, one))
                if twin is not None:
                    its.update(self.facts_of(resource, key, twin, other))
        return mine - its, its - mine

    def moving(self, resource: Resource, name: str, row: Row | None) -> bool:
        """Whether a reference leads to a row whose key means nothing: what it says is compared, then."""
        target = self.every[resource.refs[name]]
        if row is None:
            return False
        keys = row[name] if isinstance(row[name], list) else [row[name]]
        return any(isinstance(key, str) and not is_named(target, key, self.base) for key in keys)

    # -- the way to a goal -----------------------------------------------------------------------------

    def calls(self, state: State, goal: State) -> Iterator[Call]:
        """Calls each of which closes a part of the difference, as far as one is known."""
        yield from self.service.repair(state, goal, self.base)
        for resource in self.resources.values():
            yield from self.updates(resource, state, goal)
        for resource in self.resources.values():
            yield from self.creations(resource, state, goal)
        for resource in reversed(self.resources.values()):
            yield from self.deletions(resource, state, goal)

    def updates(self, resource: Resource, state: State, goal: State) -> Iterator[Call]:
        if not resource.update:
            return
        for key, wanted in goal.tables[resource.table].items():
            row = state.tables[resource.table].get(key)
            if row is None or row is wanted or not is_named(resource, key, self.base):
                continue
            changed = {
                name: self.here(resource, name, wanted[name], state, goal)
                for name in told(resource)
                if self.value(resource, name, row[name], state)
                != self.value(resource, name, wanted[name], goal)
            }
            if changed and set(changed) <= set(resource.update):
                yield f"update{resource.name}", {resource.key: key, **changed}

    def creations(self, resource: Resource, state: State, goal: State) -> Iterator[Call]:
        if not resource.create:
            return
        for _, row in self.unmatched(resource, goal, state):
            given = {name: self.here(resource, name, row[name], state, goal) for name in resource.create}
            yield (
                f"create{resource.name}",
                {
                    name: value
                    for name, value in given.items()
                    if name in resource.required
                    or name == resource.key
                    or value != resource.defaults.get(name)
                },
            )

    def deletions(self, resource: Resource, state: State, goal: State) -> Iterator[Call]:
        if not resource.delete:
            return
        for key, _ in self.unmatched(resource, state, goal):
            yield f"delete{resource.name}", {resource.key: key}

    def unmatched(self, resource: Resource, one: State, other: State) -> Iterator[tuple[str, Row]]:
        """The rows of one state that have no equal in the other; each equal there serves one row."""
        left = Counter(
            self.identity(resource, key, row, other) for key, row in other.tables[resource.table].items()
        )
        for key, row in one.tables[resource.table].items():
            identity = self.identity(resource, key, row, one)
            if left[identity]:
                left[identity] -= 1
            else:
                yield key, row

    def identity(self, resource: Resource, key: str, row: Row, state: State) -> str:
        return key if is_named(resource, key, self.base) else "+" + self.content(resource, row, state)

    def here(self, resource: Resource, name: str, value: Any, state: State, goal: State) -> Any:
        """A value of the goal as it is to be written in this state: new rows have other keys here."""
        if name not in resource.refs or value is None:
            return value
        if isinstance(value, list):
            return [self.here_key(resource.refs[name], key, state, goal) for key in value]
        return self.here_key(resource.refs[name], value, state, goal)

    def here_key(self, table: str, key: Any, state: State, goal: State) -> Any:
        resource, row = self.every[table], goal.row(table, key)
        if row is None or is_named(resource, key, self.base):
            return key
        content = self.content(resource, row, goal)
        for mine, twin in state.tables[table].items():
            if not is_named(resource, mine, self.base) and self.content(resource, twin, state) == content:
                return mine
        return key


def told(resource: Resource) -> Iterator[str]:
    """The fields that are compared."""
    return (name for name in resource.fields if name != resource.key and name not in resource.volatile)


def rounded(value: Any) -> Any:
    """Money to the cent, at any depth."""
    if isinstance(value, float):
        return round(value, 2)
    if isinstance(value, list):
        return [rounded(item) for item in value]
    if isinstance(value, Mapping):
        return {key: rounded(item) for key, item in value.items()}
    return value
