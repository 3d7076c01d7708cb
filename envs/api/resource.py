"""Resources: what every table of a service has in common, declared once.

Invariant: a resource says all that is needed to describe its operations (`document`), to serve them (`crud`) and to
compare its rows (`compare`); nothing about a table is written down twice.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any, TypeAlias

from agentrl.core.jsonvalues import Schema
from agentrl.envs.api.state import Row, State

Answer: TypeAlias = tuple[State, int, Any]
Handler: TypeAlias = Callable[[State, Mapping[str, Any]], Answer]
Guard: TypeAlias = Callable[[State, "Resource", Row | None, Row | None], None]
CODES = {403: "Forbidden", 404: "NotFound", 409: "Conflict", 422: "Invalid"}


class Refusal(Exception):
    """A request that the service does not do: status, code and message of the error body."""

    def __init__(self, status: int, code: str, message: str) -> None:
        self.status, self.code, self.message = status, code, message
        super().__init__(message)

    @property
    def body(self) -> dict[str, str]:
        return {"code": self.code, "message": self.message}


@dataclass(frozen=True, slots=True)
class Resource:
    """One table and its operations.

    Attributes:
        table: its name, which is also its path; `name`: of one row, as in `createIssue`.
        plural: as in `listIssues`; `name + "s"` by default.
        key: the field that identifies a row.
        fields: JSON Schema of every field.
        create, required, defaults: what a creation takes, must have, and is filled up with.
        update: what an update may change; delete: whether rows can be deleted.
        filters: fields that a list can be narrowed by (of a list field: one of its items).
        search: fields in which a list looks for `q`.
        refs: field -> table that its value (or each of its values) must be a key of.
        parent: a ref field; lists and creations are under it: `/issues/{issue}/comments`.
        made: how a new key is made: (state, values) -> (key, state); None: the caller gives the key.
        nameless: the key of a row means nothing: rows are compared by what they say.
        volatile: fields that are not compared; unordered: lists whose order means nothing.
        stamps: fields that are set to the state's time when a row is made.
        compared: whether the table is compared at all.
        offers: which of `list`, `get` there are.
    """

    table: str
    name: str
    key: str
    fields: Mapping[str, Schema]
    plural: str = ""
    about: str = ""
    create: tuple[str, ...] = ()
    required: tuple[str, ...] = ()
    defaults: Mapping[str, Any] = field(default_factory=dict)
    update: tuple[str, ...] = ()
    delete: bool = False
    filters: tuple[str, ...] = ()
    search: tuple[str, ...] = ()
    refs: Mapping[str, str] = field(default_factory=dict)
    parent: str = ""
    made: Callable[[State, Mapping[str, Any]], tuple[str, State]] | None = None
    nameless: bool = False
    volatile: tuple[str, ...] = ()
    unordered: tuple[str, ...] = ()
    stamps: tuple[str, ...] = ()
    compared: bool = True
    offers: tuple[str, ...] = ("list", "get")

    @property
    def many(self) -> str:
        return self.plural or self.name + "s"


@dataclass(frozen=True, slots=True)
class Special:
    """An operation of its own.

    Attributes:
        parameters: name -> (`path` or `query`, schema); body: name -> schema; required: names among both.
        returns: JSON Schema (may refer to components); status: of success; errors: statuses that it may answer.
    """

    id: str
    method: str
    path: str
    summary: str
    handler: Handler
    returns: Schema
    parameters: Mapping[str, tuple[str, Schema]] = field(default_factory=dict)
    body: Mapping[str, Schema] = field(default_factory=dict)
    required: tuple[str, ...] = ()
    status: int = 200
    errors: tuple[int, ...] = (404, 422)


def numbered(prefix: str, counter: str) -> Callable[[State, Mapping[str, Any]], tuple[str, State]]:
    """Keys `C-1`, `C-2`, ..."""

    def made(state: State, values: Mapping[str, Any]) -> tuple[str, State]:
        number, after = state.numbered(counter)
        return f"{prefix}{number}", after

    return made


def text(about: str = "", *, least: int = 1, most: int = 2000) -> Schema:
    schema: Schema = {"type": "string", "minLength": least, "maxLength": most}
    return {**schema, "description": about} if about else schema


def one_of(*options: str, about: str = "") -> Schema:
    schema: Schema = {"type": "string", "enum": list(options)}
    return {**schema, "description": about} if about else schema


def many_of(item: Schema, about: str = "", *, least: int = 0) -> Schema:
    schema: Schema = {"type": "array", "items": item, "uniqueItems": True}
    if least:
        schema["minItems"] = least
    return {**schema, "description": about} if about else schema


def amount(about: str = "") -> Schema:
    schema: Schema = {"type": "number", "minimum": 0}
    return {**schema, "description": about} if about else schema


def component(name: str) -> Schema:
    return {"$ref": f"#/components/schemas/{name}"}
