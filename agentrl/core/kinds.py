"""How values of one type look in JSON: the record `Kind`, and the kinds of plain values and of choices.

Invariant: `read` is given only values that fit `schema`, and `read(write(x)) == x` for every `x` of the type.
"""

from __future__ import annotations

import enum
import json
import math
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from agentrl.core.jsonvalues import Schema, same


class Unsupported(Exception):
    """An annotation that has no JSON form; the message says why."""


class Unfit(Exception):
    """A Python value that is not of the kind it should be written as."""


class Refused(Exception):
    """A JSON value that fits the schema but that its class refused to be made of."""


@dataclass(frozen=True, slots=True)
class Kind:
    """How values of one annotation look in JSON.

    Attributes:
        schema: JSON Schema.
        read: JSON value -> Python value. Raises `Refused`.
        write: Python value -> JSON value. Raises `Unfit`.
        hashable: whether what `read` returns can be in a set.
    """

    schema: Schema
    read: Callable[[Any], Any]
    write: Callable[[Any], Any]
    hashable: bool = True


def same_value(value: Any) -> Any:
    return value


def any_json(value: Any) -> Any:
    try:
        json.dumps(value, allow_nan=False)
    except (TypeError, ValueError) as error:
        raise Unfit(f"{value!r:.60} is not JSON: {error}") from None
    return value


def scalar(
    name: str, python: type | tuple[type, ...], read: Callable[[Any], Any], write: Callable[[Any], Any]
) -> Kind:
    def checked(value: Any) -> Any:
        if not isinstance(value, python) or (isinstance(value, bool) and python is not bool):
            raise Unfit(f"{value!r:.60} is not of JSON type {name}")
        if isinstance(value, float) and not math.isfinite(value):
            raise Unfit(f"{value} is not a JSON number")
        return write(value)

    return Kind({"type": name}, read, checked)


NULL = scalar("null", type(None), same_value, same_value)
SCALARS: dict[Any, Kind] = {
    str: scalar("string", str, same_value, str.__str__),
    int: scalar("integer", int, int, int),
    float: scalar(
        "number", (int, float), float, lambda value: float(value) if isinstance(value, float) else int(value)
    ),
    bool: scalar("boolean", bool, same_value, same_value),
    None: NULL,
    type(None): NULL,
}
ANYTHING = Kind({}, same_value, any_json, hashable=False)


def array(item: Kind) -> Schema:
    return {"type": "array", "items": item.schema} if item.schema else {"type": "array"}


def literal(options: tuple[Any, ...]) -> Kind:
    """`Literal["a", 1, None]`; enum members are written as their values."""
    pairs = [(option.value if isinstance(option, enum.Enum) else option, option) for option in options]
    return choice(pairs)


def enumeration(cls: type[enum.Enum]) -> Kind:
    return choice([(member.value, member) for member in cls])


def choice(pairs: list[tuple[Any, Any]]) -> Kind:
    """One of a few values: (in JSON, in Python)."""
    for value, option in pairs:
        if not isinstance(value, str | int | float | None) or (
            isinstance(value, float) and not math.isfinite(value)
        ):
            raise Unsupported(f"the option {option!r} has no JSON form")
    if not pairs:
        raise Unsupported("there is nothing to choose from")
    # A str or int mix-in is written as what it is underneath.
    plain = [(value if value is None else type_of(value)(value), option) for value, option in pairs]
    names = {SCALAR_NAMES[type(value)] for value, _ in plain}
    schema: Schema = {"type": names.pop()} if len(names) == 1 else {}
    schema["enum"] = [value for value, _ in plain]

    def read(value: Any) -> Any:
        return next(option for known, option in plain if same(known, value))

    def write(value: Any) -> Any:
        for known, option in plain:
            if type(option) is type(value) and option == value:
                return known
        raise Unfit(f"{value!r:.60} is not one of {', '.join(repr(option) for _, option in plain)}"[:200])

    return Kind(schema, read, write)


SCALAR_NAMES = {str: "string", int: "integer", float: "number", bool: "boolean", type(None): "null"}


def type_of(value: Any) -> type:
    return next(kind for kind in (bool, int, float, str) if isinstance(value, kind))
