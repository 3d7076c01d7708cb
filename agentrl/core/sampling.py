"""Random calls of a tool, right and wrong ones, from its schema and one random generator.

Invariant: `sample_arguments` fits the schema; `sample_invalid_call` draws a text of a named kind of wrongness
that the decoder answers with a `ToolError` (or, for `double_encoded`, repairs and reports). The generator is
the only source of chance: same state, same call.
"""

from __future__ import annotations

import json
import math
from collections.abc import Mapping
from typing import Any, Literal, NamedTuple, TypeAlias

import numpy as np

from agentrl.core.failures import UserError
from agentrl.core.jsonvalues import Schema, canonical, resolve, types_of
from agentrl.core.patterns import sample_pattern
from agentrl.core.validate import fits

DEEPEST = 4
"""Levels of nesting below which a sample stops growing."""
WORDS = (
    "red",
    "Mali",
    "42",
    "true",
    "null",
    "a b",
    "x",
    "naïve",
    "日本",
    'say "hi"',
    "it's",
    "line\nbreak",
    "\\",
    "",
    "{}",
    "[1]",
)
FORMATS = {
    "date": "2024-02-29",
    "time": "12:30:00Z",
    "date-time": "2024-02-29T12:30:00Z",
    "duration": "P1DT2H",
    "uuid": "12345678-1234-4234-8234-123456789abc",
    "uri": "https://example.org/a",
    "email": "ada@example.org",
    "path": "a/b.txt",
    "binary": "bytes",
    "ipv4": "192.0.2.1",
    "ipv6": "2001:db8::1",
}
InvalidKind: TypeAlias = Literal[
    "truncated",
    "junk",
    "not_an_object",
    "not_a_number",
    "duplicate",
    "missing",
    "unknown",
    "wrong_type",
    "double_encoded",
]


class InvalidCall(NamedTuple):
    """A raw argument text and what is wrong with it."""

    kind: InvalidKind
    arguments: str


def sample_arguments(schema: Mapping[str, Any], rng: np.random.Generator) -> dict[str, Any]:
    """Arguments that fit a tool's `parameters`, as JSON values; an optional one is left out half of the time.

    Raises:
        UserError: a pattern or format that has no sampler.
    """
    return sample_json(schema, rng)


def sample_json(
    schema: Mapping[str, Any], rng: np.random.Generator, root: Mapping[str, Any] | None = None, depth: int = 0
) -> Any:
    """A JSON value that fits `schema`; `root` holds the `$defs`."""
    root = schema if root is None else root
    if "$ref" in schema:
        return sample_json(resolve(schema["$ref"], root), rng, root, depth + 1)
    if branches := schema.get("anyOf") or schema.get("oneOf"):
        flat = [branch for branch in branches if not types_of(branch, root) & {"array", "object"}]
        return sample_json(pick(flat if flat and depth >= DEEPEST else branches, rng), rng, root, depth + 1)
    if "const" in schema:
        return schema["const"]
    if "enum" in schema:
        return pick(schema["enum"], rng)
    kind = schema.get("type")
    kind = pick(kind, rng) if isinstance(kind, list) else kind
    if kind == "object":
        return _object(schema, rng, root, depth)
    if kind == "array":
        return _array(schema, rng, root, depth)
    if kind == "string":
        return _string(schema, rng)
    if kind in ("integer", "number"):
        return _number(schema, rng, kind)
    if kind == "boolean":
        return bool(rng.integers(2))
    if kind == "null":
        return None
    return pick((None, True, 3, 2.5, "text", [1, "a"], {"key": None}), rng)


def sample_invalid_call(schema: Mapping[str, Any], rng: np.random.Generator) -> InvalidCall:
    """A wrong argument text for a tool with these `parameters`; every kind that the schema allows is equally likely."""
    good = sample_arguments(schema, rng)
    text = json.dumps(good, ensure_ascii=False)
    calls: dict[InvalidKind, str] = {
        "truncated": text[: int(rng.integers(1, len(text)))],
        "junk": text + pick(('""', "}", " {}", "</tool_call>", ","), rng),
        "not_an_object": pick(("[]", "3", "true", '"text"', "[1, 2]"), rng),
        "not_a_number": f'{{"{pick([*schema.get("properties", {}), "x"], rng)}": {pick(("NaN", "Infinity", "-Infinity", "1e999"), rng)}}}',
        "duplicate": '{"x": 1, "x": 2}',
        "unknown": json.dumps({**good, unknown_name(schema): 1}, ensure_ascii=False),
        "double_encoded": json.dumps(text),
    }
    if needed := schema.get("required"):
        gone = pick(needed, rng)
        calls["missing"] = json.dumps({name: value for name, value in good.items() if name != gone})
    wrong = [
        (name, value)
        for name in schema.get("properties", {})
        for value in wrong_values(schema["properties"][name], schema)
    ]
    if wrong:
        name, value = pick(wrong, rng)
        calls["wrong_type"] = json.dumps({**good, name: value})
    kind = pick(sorted(calls), rng)
    return InvalidCall(kind, calls[kind])


def unknown_name(schema: Mapping[str, Any]) -> str:
    """A name like the tool's own that is not one of them."""
    known = schema.get("properties", {})
    name = next(iter(known), "argument") + "s"
    while name in known:
        name += "s"
    return name


def wrong_values(schema: Schema, root: Mapping[str, Any]) -> list[Any]:
    """Values that do not fit, among the usual confusions."""
    candidates: tuple[Any, ...] = (
        "false",
        "3",
        "None",
        "",
        None,
        True,
        1,
        3.7,
        -(10**12),
        [],
        [None],
        {},
        {"zz": 0},
    )
    return [value for value in candidates if not fits(schema, value, root)]


# -- values of one type ------------------------------------------------------------------------------


def _object(
    schema: Mapping[str, Any], rng: np.random.Generator, root: Mapping[str, Any], depth: int
) -> dict[str, Any]:
    needed = schema.get("required", ())
    out = {
        name: sample_json(item, rng, root, depth + 1)
        for name, item in schema.get("properties", {}).items()
        if name in needed or (depth < DEEPEST and rng.integers(2))
    }
    rest = schema.get("additionalProperties", not schema.get("properties"))
    if rest is not False:
        size = _size(schema, rng, ("minProperties", "maxProperties"), depth)
        names = iter(range(1000))
        while len(out) < size:
            out[f"{pick(('key', 'a b', 'ключ'), rng)}{next(names)}"] = sample_json(
                rest if isinstance(rest, dict) else {}, rng, root, depth + 1
            )
    return out


def _array(
    schema: Mapping[str, Any], rng: np.random.Generator, root: Mapping[str, Any], depth: int
) -> list[Any]:
    first = schema.get("prefixItems", [])
    size = (
        len(first)
        if schema.get("items") is False
        else max(len(first), _size(schema, rng, ("minItems", "maxItems"), depth))
    )
    out: list[Any] = []
    seen: set[str] = set()
    for _ in range(50 * size):
        if len(out) == size:
            break
        part = first[len(out)] if len(out) < len(first) else schema.get("items", {})
        value = sample_json(part, rng, root, depth + 1)
        if not schema.get("uniqueItems") or canonical(value) not in seen:
            out.append(value)
            seen.add(canonical(value))
    if len(out) < schema.get("minItems", 0):
        raise UserError(f"no {schema['minItems']} different items were found for {json.dumps(schema)[:80]}")
    return out


def _size(schema: Mapping[str, Any], rng: np.random.Generator, keywords: tuple[str, str], depth: int) -> int:
    low = schema.get(keywords[0], 0)
    high = low if depth >= DEEPEST else min(schema.get(keywords[1], low + 3), low + 3)
    return int(rng.integers(low, high + 1))


def _string(schema: Mapping[str, Any], rng: np.random.Generator) -> str:
    low, high = schema.get("minLength", 0), schema.get("maxLength", math.inf)
    if pattern := schema.get("pattern"):
        for _ in range(50):
            text = sample_pattern(pattern, rng)
            if low <= len(text) <= high:
                return text
        raise UserError(f"no text of {low} to {high} characters that matches {pattern!r} was found")
    if name := schema.get("format"):
        if name not in FORMATS:
            raise UserError(f"texts of the format {name!r} cannot be drawn")
        return FORMATS[name]
    text = pick(WORDS, rng)
    while len(text) < low:
        text += pick("abcdefgh", rng)
    return text if len(text) <= high else text[: int(high)]


def _number(schema: Mapping[str, Any], rng: np.random.Generator, kind: str) -> int | float:
    step = schema.get("multipleOf")
    whole = kind == "integer" or step is not None
    unit = step or 1
    low, high = _bounds(schema, unit, whole)
    if low is None:
        low = -100 if high is None else high - 200
    if high is None:
        high = low + 200
    if not whole:
        value = low + (high - low) * float(rng.random())
        rounded = round(value, 3)
        return rounded if fits(schema, rounded) else value if fits(schema, value) else (low + high) / 2
    if low > high:
        raise UserError(f"no number fits {json.dumps(schema)[:80]}")
    value = (
        low + int(rng.random() * (high - low + 1))
        if high - low > 2**62
        else int(rng.integers(0, high - low + 1)) + low
    )
    return value * unit


def _bounds(schema: Mapping[str, Any], unit: float, whole: bool) -> tuple[Any, Any]:
    """The least and the largest value (in units, if whole); None where there is no bound."""
    lows, highs = [], []
    if (bound := schema.get("minimum")) is not None:
        lows.append(math.ceil(bound / unit) if whole else bound)
    if (bound := schema.get("exclusiveMinimum")) is not None:
        lows.append(math.floor(bound / unit) + 1 if whole else bound)
    if (bound := schema.get("maximum")) is not None:
        highs.append(math.floor(bound / unit) if whole else bound)
    if (bound := schema.get("exclusiveMaximum")) is not None:
        highs.append(math.ceil(bound / unit) - 1 if whole else bound)
    return max(lows, default=None), min(highs, default=None)


def pick(options: Any, rng: np.random.Generator) -> Any:
    return options[int(rng.integers(len(options)))]
