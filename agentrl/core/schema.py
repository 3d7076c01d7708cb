"""From a function's signature and docstring to the JSON schema of its arguments and a strict model of them."""

from __future__ import annotations

import functools
import inspect
import re
import typing
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from pydantic import BaseModel, ConfigDict, Field, create_model
from pydantic.errors import PydanticSchemaGenerationError, PydanticUserError

from agentrl.core.failures import UserError


@dataclass(frozen=True, slots=True)
class Signature:
    """A function's arguments: description, JSON schema, and the pydantic model that decodes them."""

    description: str
    schema: dict[str, Any]
    model: type[BaseModel]


def signature_of(function: Callable[..., Any]) -> Signature:
    return _signature(getattr(function, "__func__", function))


@functools.cache
def _signature(function: Callable[..., Any]) -> Signature:
    description, documented = parse_doc(inspect.getdoc(function) or "")
    try:
        hints = typing.get_type_hints(function, include_extras=True)
    except NameError:
        hints = {}
    fields: dict[str, Any] = {}
    for name, parameter in inspect.signature(function).parameters.items():
        if name == "self":
            continue
        if parameter.kind in (parameter.VAR_POSITIONAL, parameter.VAR_KEYWORD, parameter.POSITIONAL_ONLY):
            raise UserError(f"tool {function.__name__}: parameter {name!r} must be an ordinary named parameter")
        if name not in hints:
            raise UserError(f"tool {function.__name__}: parameter {name!r} has no type annotation")
        default = ... if parameter.default is parameter.empty else parameter.default
        fields[name] = (hints[name], Field(default, description=documented.get(name)))
    try:
        model = create_model(function.__name__, __config__=ConfigDict(extra="forbid"), **fields)
        schema = model.model_json_schema()
    except (PydanticSchemaGenerationError, PydanticUserError) as error:
        raise UserError(f"tool {function.__name__}: {str(error).splitlines()[0]}") from None
    schema.pop("title", None)
    for item in schema.get("properties", {}).values():
        item.pop("title", None)
    schema.setdefault("properties", {})
    return Signature(description, schema, model)


def parse_doc(doc: str) -> tuple[str, dict[str, str]]:
    """(description, {argument: text}) of a Google-style docstring."""
    head, _, rest = doc.partition("Args:")
    block = re.split(r"\n\s*(?:Returns|Raises|Yields):", rest)[0]
    found = re.findall(r"(?:^|\n)?\s*(\w+)(?:\s*\([^)]*\))?:\s*(.+?)(?=\n\s*\w+(?:\s*\([^)]*\))?:|\Z)", block, re.DOTALL)
    return head.strip(), {name: " ".join(text.split()) for name, text in found}
