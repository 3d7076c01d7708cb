"""From a function's signature and docstring to the JSON Schema of its arguments and the kinds that read them.

Invariant: every parameter of a tool has a name, a type with a JSON form, and a default that fits it; a function
of which this does not hold is refused when it is declared, with one sentence that names it and the parameter.
"""

from __future__ import annotations

import dataclasses
import inspect
import types
import typing
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any

import pydantic
import typing_extensions

from agentrl.core.build import Builder
from agentrl.core.docstrings import parse_docstring
from agentrl.core.failures import UserError
from agentrl.core.jsonvalues import Schema
from agentrl.core.kinds import Kind, Unsupported
from agentrl.core.members import REQUIRED, UNKNOWN, dataclass_fields, own_docstring, typed_dict_fields


@dataclass(frozen=True, slots=True)
class Signature:
    """The arguments of a tool, or the fields of a class.

    Attributes:
        name: of the function or class.
        description: the docstring without its sections.
        schema: of the object of all arguments: `type`, `properties`, `required`, `additionalProperties: false`.
        kinds: how to read and write each argument.
        decoded: texts that the decoder has read before, and what they mean.
    """

    name: str
    description: str
    schema: Schema
    kinds: Mapping[str, Kind]
    decoded: dict[str, Any] = field(default_factory=dict, repr=False, compare=False)


def signature_of(target: Any, names: Mapping[str, Any] | None = None) -> Signature:
    """The signature of a function, a bound method, or of a dataclass, TypedDict or pydantic model.

    Args:
        names: local names that string annotations may refer to.

    Raises:
        UserError: names the function and the parameter that cannot be described.
    """
    builder = Builder(names)
    name = getattr(target, "__name__", type(target).__name__)
    what = "tool" if not isinstance(target, type) else "class"
    try:
        parameters = parameters_of(target, builder.names)
        doc = own_docstring(target) if isinstance(target, type) else inspect.getdoc(target)
        description, docs = parse_docstring(doc, parameters)
        kinds = builder.members(what, parameters, docs)
    except Unsupported as error:
        raise UserError(f"{what} {name}: {str(error).replace(f' of {what}: ', ': ', 1)}") from None
    schema = builder.object_schema(
        kinds, [key for key, (_, default) in parameters.items() if default is REQUIRED]
    )
    if builder.defs:
        schema["$defs"] = dict(builder.defs)
    return Signature(name, description, schema, kinds)


def schema_of(annotation: Any, names: Mapping[str, Any] | None = None) -> Schema:
    """The JSON Schema of one annotation.

    Raises:
        UserError: it has no JSON form.
    """
    builder = Builder(names)
    try:
        schema = builder.build(annotation).schema
    except Unsupported as error:
        raise UserError(str(error)) from None
    return {**schema, "$defs": dict(builder.defs)} if builder.defs else schema


def parameters_of(target: Any, names: Mapping[str, Any]) -> dict[str, tuple[Any, Any]]:
    """`{name: (resolved annotation, default)}`; the default is `REQUIRED` where there is none."""
    if isinstance(target, type) and dataclasses.is_dataclass(target):
        return dataclass_fields(target, names)
    if typing_extensions.is_typeddict(target):
        return typed_dict_fields(target, names)
    if isinstance(target, type) and issubclass(target, pydantic.BaseModel):
        return {
            name: (typing.Annotated[field.annotation, field], REQUIRED if field.is_required() else UNKNOWN)
            for name, field in target.model_fields.items()
        }
    return function_parameters(target, names)


def function_parameters(function: Callable[..., Any], names: Mapping[str, Any]) -> dict[str, tuple[Any, Any]]:
    out: dict[str, tuple[Any, Any]] = {}
    plain = inspect.unwrap(getattr(function, "__func__", function))
    for position, parameter in enumerate(inspect.signature(function).parameters.values()):
        name, hint = parameter.name, parameter.annotation
        if position == 0 and name in ("self", "cls") and hint is parameter.empty:
            continue
        if parameter.kind in (parameter.VAR_POSITIONAL, parameter.VAR_KEYWORD):
            star = "*" if parameter.kind is parameter.VAR_POSITIONAL else "**"
            raise Unsupported(
                f"parameter '{star}{name}' of tool: a policy cannot fill {star}{name}; name each argument"
            )
        if parameter.kind is parameter.POSITIONAL_ONLY:
            raise Unsupported(
                f"parameter {name!r} of tool: arguments are passed by name, it must not be positional-only"
            )
        if hint is parameter.empty:
            raise Unsupported(f"parameter {name!r} of tool: it has no type annotation")
        default = REQUIRED if parameter.default is parameter.empty else parameter.default
        out[name] = (resolved(name, hint, getattr(plain, "__globals__", {}), names), default)
    return out


def resolved(name: str, hint: Any, globals: Mapping[str, Any], names: Mapping[str, Any]) -> Any:
    """An annotation with its strings evaluated; one parameter at a time, so that an error can name it."""
    holder = types.SimpleNamespace(__annotations__={name: hint})
    try:
        return typing.get_type_hints(holder, dict(globals), dict(names), include_extras=True)[name]
    except (NameError, SyntaxError, TypeError, AttributeError) as error:
        raise Unsupported(
            f"parameter {name!r} of tool: cannot resolve its annotation {hint!r}: {error}"
        ) from None
