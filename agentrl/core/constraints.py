"""From the metadata of an `Annotated` (annotated-types, pydantic's `Field`) to keywords of JSON Schema."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

import annotated_types
from pydantic.fields import FieldInfo

from agentrl.core.jsonvalues import Schema, resolve
from agentrl.core.kinds import Unsupported


def flatten(metadata: Iterable[Any]) -> Iterable[Any]:
    """The metadata of an `Annotated`, with pydantic's `Field` and groups like `Interval` taken apart."""
    for item in metadata:
        if isinstance(item, FieldInfo):
            if item.description:
                yield item.description
            yield from flatten(item.metadata)
        elif isinstance(item, annotated_types.GroupedMetadata):
            yield from flatten(item)
        else:
            yield item


def keywords(item: Any) -> dict[str, Any]:
    """Schema keywords that a piece of metadata stands for; lengths are under `min` and `max`."""
    out: dict[str, Any] = {}
    for attribute, keyword in (
        ("ge", "minimum"),
        ("gt", "exclusiveMinimum"),
        ("le", "maximum"),
        ("lt", "exclusiveMaximum"),
        ("multiple_of", "multipleOf"),
        ("min_length", "min"),
        ("max_length", "max"),
        ("pattern", "pattern"),
    ):
        value = getattr(item, attribute, None)
        if value is not None and not isinstance(item, str | type):
            out[keyword] = getattr(value, "pattern", value)
    return out


LENGTHS = {"string": "Length", "array": "Items", "object": "Properties"}


def constrained(schema: Schema, metadata: Iterable[Any], root: Schema) -> Schema:
    """`schema` with the constraints of the metadata, in each member of a union that they apply to.

    Raises:
        Unsupported: a constraint applies to no member.
    """
    for item in metadata:
        for keyword, bound in keywords(item).items():
            narrowed = narrow(schema, keyword, bound, root)
            if narrowed is None:
                raise Unsupported(f"{item!r} does not apply to this type")
            schema = narrowed
    return schema


def narrow(schema: Schema, keyword: str, bound: Any, root: Schema) -> Schema | None:
    if "anyOf" in schema:
        parts = [narrow(part, keyword, bound, root) for part in schema["anyOf"]]
        if all(part is None for part in parts):
            return None
        return {**schema, "anyOf": [new or old for new, old in zip(parts, schema["anyOf"], strict=True)]}
    kind = resolve(schema["$ref"], root).get("type") if "$ref" in schema else schema.get("type")
    if keyword in ("min", "max"):
        return {**schema, keyword + LENGTHS[kind]: bound} if kind in LENGTHS else None
    if keyword == "pattern":
        return {**schema, keyword: bound} if kind == "string" else None
    return {**schema, keyword: bound} if kind in ("integer", "number") else None
