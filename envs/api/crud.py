"""List, get, create, update and delete for any resource: pure functions (state, arguments) -> (state, status, body).

Invariant: a refused request changes nothing; every reference in a state leads to a row.
"""

from __future__ import annotations

from collections.abc import Mapping
from functools import partial
from typing import Any

from agentrl.envs.api.resource import Answer, Guard, Handler, Refusal, Resource
from agentrl.envs.api.state import Row, State

PER_PAGE = 10
LARGEST_PAGE = 50


def handlers(resource: Resource, everything: tuple[Resource, ...], guard: Guard) -> dict[str, Handler]:
    """operationId -> handler, for the operations that the resource offers."""
    out: dict[str, Handler] = {}
    if "list" in resource.offers:
        out[f"list{resource.many}"] = partial(do_list, resource)
    if resource.create:
        out[f"create{resource.name}"] = partial(do_create, resource, guard)
    if "get" in resource.offers:
        out[f"get{resource.name}"] = partial(do_get, resource)
    if resource.update:
        out[f"update{resource.name}"] = partial(do_update, resource, guard)
    if resource.delete:
        out[f"delete{resource.name}"] = partial(do_delete, resource, everything, guard)
    return out


def found(state: State, resource: Resource, key: Any) -> Row:
    """Raises: Refusal: 404."""
    row = state.row(resource.table, key)
    if row is None:
        raise Refusal(404, "not_found", f"there is no {resource.name} {key!r:.80}")
    return row


def do_get(resource: Resource, state: State, given: Mapping[str, Any]) -> Answer:
    return state, 200, dict(found(state, resource, given[resource.key]))


def do_list(resource: Resource, state: State, given: Mapping[str, Any]) -> Answer:
    if resource.parent and state.row(resource.refs[resource.parent], given[resource.parent]) is None:
        raise Refusal(404, "not_found", f"there is no {resource.parent} {given[resource.parent]!r:.80}")
    wanted = {name: given[name] for name in (*resource.filters, resource.parent) if name and name in given}
    rows = [
        row
        for row in state.tables[resource.table].values()
        if all(holds(row[name], value) for name, value in wanted.items())
        and speaks_of(row, resource.search, given.get("q", ""))
    ]
    return state, 200, page_of([dict(row) for row in rows], given)


def page_of(rows: list[Any], given: Mapping[str, Any]) -> dict[str, Any]:
    """One page of a list, with the total."""
    page, size = int(given.get("page", 1)), int(given.get("per_page", PER_PAGE))
    return {
        "items": rows[(page - 1) * size : page * size],
        "total": len(rows),
        "page": page,
        "per_page": size,
    }


def holds(value: Any, wanted: Any) -> bool:
    return wanted in value if isinstance(value, list) else value == wanted


def speaks_of(row: Row, fields: tuple[str, ...], words: str) -> bool:
    """Whether every word occurs in one of the fields, whatever its case."""
    whole = " ".join(str(row[name]) for name in fields).casefold() if words else ""
    return all(word in whole for word in words.casefold().split())


def do_create(resource: Resource, guard: Guard, state: State, given: Mapping[str, Any]) -> Answer:
    values = {name: given[name] for name in resource.create if name in given}
    after = state
    if resource.made is None:
        key = str(values[resource.key])
        if state.row(resource.table, key) is not None:
            raise Refusal(409, "exists", f"there is a {resource.name} {key!r:.80} already")
        refer(state, resource, values)
    else:
        refer(state, resource, values)
        key, after = resource.made(state, values)
    stamps = dict.fromkeys(resource.stamps, state.now)
    row = {**resource.defaults, **values, **stamps, resource.key: key}
    row = {name: row[name] for name in resource.fields}
    guard(state, resource, None, row)
    return after.put(resource.table, key, row), 201, dict(row)


def do_update(resource: Resource, guard: Guard, state: State, given: Mapping[str, Any]) -> Answer:
    key = given[resource.key]
    old = found(state, resource, key)
    values = {name: given[name] for name in resource.update if name in given}
    refer(state, resource, values, missing=422)
    row = {**old, **values}
    if "updated_at" in row and row != old:
        row["updated_at"] = state.now
    guard(state, resource, old, row)
    return state.put(resource.table, key, row), 200, dict(row)


def do_delete(
    resource: Resource, everything: tuple[Resource, ...], guard: Guard, state: State, given: Mapping[str, Any]
) -> Answer:
    key = given[resource.key]
    old = found(state, resource, key)
    for other in everything:
        for name, table in other.refs.items():
            if table == resource.table:
                users = [
                    row[other.key] for row in state.tables[other.table].values() if holds(row[name], key)
                ]
                if users:
                    raise Refusal(409, "in_use", f"{key!r} is still used by {other.name} {users[0]!r}")
    guard(state, resource, old, None)
    return state.drop(resource.table, key), 200, {"deleted": key}


def refer(state: State, resource: Resource, values: Mapping[str, Any], *, missing: int = 422) -> None:
    """Raises: Refusal: a reference that leads nowhere: 404 for a parent in the path, else 422."""
    for name, table in resource.refs.items():
        value = values.get(name)
        for key in value if isinstance(value, list) else [value]:
            if key is not None and state.row(table, key) is None:
                status = 404 if name == resource.parent else missing
                code = "not_found" if status == 404 else "unknown_reference"
                raise Refusal(status, code, f"{name}: there is no {key!r:.80} among the {table}")
