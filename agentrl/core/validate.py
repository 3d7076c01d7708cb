"""A JSON value against the part of JSON Schema (draft 2020-12) that tools use.

Invariant: for the keywords that `agentrl.core.kinds` writes, what passes here is what the draft lets pass
(`1.0` is an integer, `true` is not 1). Keywords that are not known are ignored, as the draft says.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any

from agentrl.core.failures import nearest
from agentrl.core.jsonvalues import Schema, canonical, json_type, of_type, resolve, same, types_of
from agentrl.core.wording import expected, shown

LARGEST = 1.7976931348623157e308


@dataclass(frozen=True, slots=True)
class Problem:
    """One place where a value does not fit. `str()` is a sentence for the policy."""

    path: tuple[str | int, ...]
    text: str

    def __str__(self) -> str:
        return f"argument '{'.'.join(map(str, self.path))}' {self.text}" if self.path else self.text


def problems(
    schema: Mapping[str, Any],
    value: Any,
    root: Mapping[str, Any] | None = None,
    path: tuple[str | int, ...] = (),
) -> Iterator[Problem]:
    """Every place where `value` does not fit `schema`; nothing if it fits. `root` holds the `$defs`."""
    root = schema if root is None else root
    if "$ref" in schema:
        yield from problems(resolve(schema["$ref"], root), value, root, path)
    branches = schema.get("anyOf") or schema.get("oneOf")
    if branches:
        yield from _branches(branches, value, root, path)
    for part in schema.get("allOf", ()):
        yield from problems(part, value, root, path)
    kinds = schema.get("type")
    if kinds is not None and not any(
        of_type(kind, value) for kind in ([kinds] if isinstance(kinds, str) else kinds)
    ):
        yield Problem(path, f"must be {expected(schema, root)}, not {shown(value)}")
        return
    options = schema["enum"] if "enum" in schema else [schema["const"]] if "const" in schema else None
    if options is not None and not any(same(option, value) for option in options):
        hint = (
            nearest(value, [option for option in options if isinstance(option, str)], 1)
            if isinstance(value, str)
            else ()
        )
        text = f"must be {expected(schema, root)}, not {shown(value)}"
        yield Problem(path, f"{text}; did you mean {hint[0]!r}?" if hint else text)
    elif isinstance(value, str):
        yield from _string(schema, value, path)
    elif isinstance(value, int | float) and not isinstance(value, bool):
        yield from _number(schema, value, path)
    elif isinstance(value, list):
        yield from _array(schema, value, root, path)
    elif isinstance(value, dict):
        yield from _object(schema, value, root, path)


def fits(schema: Mapping[str, Any], value: Any, root: Mapping[str, Any] | None = None) -> bool:
    return next(problems(schema, value, root), None) is None


def _branches(
    branches: list[Schema], value: Any, root: Mapping[str, Any], path: tuple[str | int, ...]
) -> Iterator[Problem]:
    found = [list(problems(branch, value, root, path)) for branch in branches]
    if not all(found):
        return
    # Where one branch alone is of the value's type, its own complaint says more than "none of them".
    close = [
        item
        for branch, item in zip(branches, found, strict=True)
        if json_type(value) in types_of(branch, root)
    ]
    if len(close) == 1:
        yield from close[0]
    else:
        yield Problem(path, f"must be {expected({'anyOf': branches}, root)}, not {shown(value)}")


def _string(schema: Mapping[str, Any], value: str, path: tuple[str | int, ...]) -> Iterator[Problem]:
    if len(value) < schema.get("minLength", 0):
        yield Problem(path, f"must have at least {schema['minLength']} characters, not {len(value)}")
    if len(value) > schema.get("maxLength", len(value)):
        yield Problem(path, f"must have at most {schema['maxLength']} characters, not {len(value)}")
    if "pattern" in schema and not re.search(schema["pattern"], value):
        yield Problem(path, f"must match {schema['pattern']}, not {shown(value)}")


def _number(schema: Mapping[str, Any], value: float, path: tuple[str | int, ...]) -> Iterator[Problem]:
    if schema.get("type") == "number" and abs(value) > LARGEST:
        yield Problem(path, "is too large a number")
        return
    for keyword, wrong, text in (
        ("minimum", lambda bound: value < bound, "at least"),
        ("exclusiveMinimum", lambda bound: value <= bound, "more than"),
        ("maximum", lambda bound: value > bound, "at most"),
        ("exclusiveMaximum", lambda bound: value >= bound, "less than"),
        ("multipleOf", lambda step: not _is_multiple(value, step), "a multiple of"),
    ):
        if keyword in schema and wrong(schema[keyword]):
            yield Problem(path, f"must be {text} {schema[keyword]}, not {shown(value)}")


def _is_multiple(value: float, step: float) -> bool:
    if isinstance(value, int) and isinstance(step, int):
        return value % step == 0
    return abs(value) < LARGEST and (float(value) / step).is_integer()


def _array(
    schema: Mapping[str, Any], value: list[Any], root: Mapping[str, Any], path: tuple[str | int, ...]
) -> Iterator[Problem]:
    yield from _size(schema, len(value), ("minItems", "maxItems"), "item", path)
    if schema.get("uniqueItems") and len({canonical(item) for item in value}) < len(value):
        yield Problem(path, "must not repeat an item")
    first = schema.get("prefixItems", ())
    for index, item in enumerate(value):
        part = first[index] if index < len(first) else schema.get("items", {})
        if isinstance(part, dict):
            yield from problems(part, item, root, (*path, index))
        elif part is False:
            yield Problem(path, f"must have at most {len(first)} items, not {len(value)}")
            return


def _object(
    schema: Mapping[str, Any], value: dict[str, Any], root: Mapping[str, Any], path: tuple[str | int, ...]
) -> Iterator[Problem]:
    yield from _size(schema, len(value), ("minProperties", "maxProperties"), "key", path)
    known = schema.get("properties", {})
    for name in schema.get("required", ()):
        if name not in value:
            yield Problem(path, f"lacks the key {name!r}" if path else f"missing argument {name!r}")
    rest = schema.get("additionalProperties", True)
    for name, item in value.items():
        if name in known:
            yield from problems(known[name], item, root, (*path, name))
        elif isinstance(rest, dict):
            yield from problems(rest, item, root, (*path, name))
        elif rest is False:
            close = nearest(name, known, 1)
            hint = f"; did you mean {close[0]!r}?" if close else ""
            what = f"has the unknown key {name[:60]!r}" if path else f"unknown argument {name[:60]!r}"
            yield Problem(path, what + hint)


def _size(
    schema: Mapping[str, Any], size: int, keywords: tuple[str, str], noun: str, path: tuple[str | int, ...]
) -> Iterator[Problem]:
    low, high = schema.get(keywords[0], 0), schema.get(keywords[1], size)
    if size < low:
        yield Problem(path, f"must have at least {low} {noun}{'s' * (low != 1)}, not {size}")
    if size > high:
        yield Problem(path, f"must have at most {high} {noun}{'s' * (high != 1)}, not {size}")
