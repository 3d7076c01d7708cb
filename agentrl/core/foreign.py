"""Types that are left to pydantic: its JSON Schema in our form, its strict validation.

Invariant: a number like 3.0 is an integer here too, and an unknown key is refused unless the model allows it.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import Any

import pydantic
from pydantic.errors import PydanticInvalidForJsonSchema, PydanticSchemaGenerationError, PydanticUserError

from agentrl.core.jsonvalues import Schema, integral
from agentrl.core.kinds import Kind, Refused, Unfit, Unsupported


def pydantic_kind(hint: Any, defs: dict[str, Schema]) -> Kind:
    """The kind of a type that pydantic knows: a model, a date, a UUID. Adds to `defs` what contains itself.

    Raises:
        Unsupported: pydantic has no JSON Schema of it either.
    """
    try:
        adapter: pydantic.TypeAdapter[Any] = pydantic.TypeAdapter(hint)
        schema = adapter.json_schema()
    except (PydanticSchemaGenerationError, PydanticInvalidForJsonSchema, PydanticUserError) as error:
        raise Unsupported(f"the type {getattr(hint, '__name__', hint)} has no JSON form") from error
    if not schema:
        raise Unsupported(f"the type {getattr(hint, '__name__', hint)} has no JSON form")
    own = schema.pop("$defs", {})
    schema = tidy(schema, own, defs, ())

    def read(value: Any) -> Any:
        try:
            return adapter.validate_json(json.dumps(integral(value)), strict=True)
        except pydantic.ValidationError as error:
            first = error.errors(include_url=False, include_context=False)[0]
            where = "".join(f"{part}: " for part in first["loc"])
            raise Refused(f"{where}{first['msg']}") from None

    def write(value: Any) -> Any:
        try:
            return adapter.dump_python(
                adapter.validate_python(value, strict=True), mode="json", by_alias=True
            )
        except (pydantic.ValidationError, ValueError) as error:
            raise Unfit(f"{value!r:.60}: {str(error).splitlines()[0]}") from None

    return Kind(schema, read, write, hashable=getattr(hint, "__hash__", None) is not None)


def tidy(schema: Any, own: Mapping[str, Any], defs: dict[str, Schema], inside: tuple[str, ...]) -> Any:
    """A pydantic schema in our form: no titles, no unknown keys, references only where a type contains itself."""
    if isinstance(schema, list):
        return [tidy(item, own, defs, inside) for item in schema]
    if not isinstance(schema, dict):
        return schema
    if ref := schema.get("$ref"):
        name = ref.rpartition("/")[2]
        rest = {key: value for key, value in schema.items() if key != "$ref"}
        if name in inside:
            defs.setdefault(name, {})
            return {"$ref": ref, **rest}
        inner = tidy(own[name], own, defs, (*inside, name))
        if name in defs:
            defs[name] = inner
            return {"$ref": ref, **rest}
        return {**inner, **rest}
    out: Schema = {}
    for key, value in schema.items():
        if key == "title" and isinstance(value, str):
            continue
        if key in ("properties", "$defs"):
            out[key] = {name: tidy(item, own, defs, inside) for name, item in value.items()}
        elif key in ("enum", "const", "default", "examples", "required", "discriminator"):
            out[key] = value
        else:
            out[key] = tidy(value, own, defs, inside)
    if "properties" in out:
        out.setdefault("additionalProperties", False)
    return out
