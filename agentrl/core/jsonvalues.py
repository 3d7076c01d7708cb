"""JSON values as Python holds them: their types, their equality, references between schemas."""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import Any, TypeAlias

Schema: TypeAlias = dict[str, Any]
NAMES = {
    "null": "null",
    "boolean": "a boolean",
    "integer": "an integer",
    "number": "a number",
    "string": "a string",
    "array": "a list",
    "object": "an object",
}


def json_type(value: Any) -> str:
    """JSON's name for the type of a decoded value; 3.0 is a number."""
    if value is None:
        return "null"
    return {bool: "boolean", int: "integer", float: "number", str: "string", list: "array", dict: "object"}[
        type(value)
    ]


def of_type(kind: str, value: Any) -> bool:
    mine = json_type(value)
    if mine == "number" and kind == "integer":
        return float(value).is_integer()
    return mine == kind or (mine == "integer" and kind == "number")


def types_of(schema: Mapping[str, Any], root: Mapping[str, Any]) -> set[str]:
    """The JSON types that a value of this schema may have; all of them if it does not say."""
    if "$ref" in schema:
        return types_of(resolve(schema["$ref"], root), root)
    if branches := schema.get("anyOf") or schema.get("oneOf"):
        return set().union(*(types_of(branch, root) for branch in branches))
    if "type" in schema:
        kinds = schema["type"]
        found = {kinds} if isinstance(kinds, str) else set(kinds)
        return found | {"integer"} if "number" in found else found
    options = schema.get("enum", [schema["const"]] if "const" in schema else None)
    return set(NAMES) if options is None else {json_type(option) for option in options}


def mixes_bool_and_number(schema: Mapping[str, Any], root: Mapping[str, Any]) -> bool:
    """Whether one place in a value may hold a truth value as well as a number."""
    found = types_of(schema, root)
    if len(found) < len(NAMES) and "boolean" in found and found & {"integer", "number"}:
        return True
    parts = [*schema.get("anyOf", ()), *schema.get("prefixItems", ()), *schema.get("properties", {}).values()]
    parts += [schema[key] for key in ("items", "additionalProperties") if isinstance(schema.get(key), dict)]
    return any(mixes_bool_and_number(part, root) for part in parts)


def same(a: Any, b: Any) -> bool:
    """Equality of JSON values: 1 and 1.0 are equal, 1 and true are not."""
    if isinstance(a, list | dict) or isinstance(b, list | dict):
        return canonical(a) == canonical(b)
    return isinstance(a, bool) == isinstance(b, bool) and a == b


def canonical(value: Any) -> str:
    """One text for all equal JSON values."""
    return json.dumps(integral(value), sort_keys=True)


def integral(value: Any) -> Any:
    """The same JSON value with 3.0 written as 3, at any depth."""
    if isinstance(value, float) and value.is_integer():
        return int(value)
    if isinstance(value, list):
        return [integral(item) for item in value]
    if isinstance(value, dict):
        return {key: integral(item) for key, item in value.items()}
    return value


def resolve(ref: str, root: Mapping[str, Any]) -> Schema:
    """The schema behind `#/$defs/Name`."""
    return root["$defs"][ref.rpartition("/")[2]]
