"""The state of a service: tables of rows, by key.

Invariant: nothing in a state is ever changed; a change is a new state that shares what did not change. So a copy of a
state is the state itself, and what a policy did can be compared with what it began with.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Any, TypeAlias

Row: TypeAlias = Mapping[str, Any]
Table: TypeAlias = Mapping[str, Row]


@dataclass(frozen=True, slots=True)
class State:
    """Attributes: tables: name -> key -> row (JSON values). next: name -> number of the next generated key.
    now: date and time of every change in an episode."""

    tables: Mapping[str, Table]
    next: Mapping[str, int]
    now: str

    def __deepcopy__(self, memo: Any) -> State:
        return self  # it never changes

    def row(self, table: str, key: Any) -> Row | None:
        return self.tables[table].get(key) if isinstance(key, str) else None

    def put(self, table: str, key: str, row: Row) -> State:
        return replace(self, tables={**self.tables, table: {**self.tables[table], key: row}})

    def drop(self, table: str, key: str) -> State:
        rows = {name: row for name, row in self.tables[table].items() if name != key}
        return replace(self, tables={**self.tables, table: rows})

    def numbered(self, name: str) -> tuple[int, State]:
        """The next number of a counter, and the state after it was taken."""
        number = self.next.get(name, 1)
        return number, replace(self, next={**self.next, name: number + 1})

    def to_dict(self) -> dict[str, Any]:
        return {"tables": self.tables, "next": self.next, "now": self.now}

    @classmethod
    def from_dict(cls, data: Mapping[str, Any]) -> State:
        return cls(data["tables"], data["next"], data["now"])
