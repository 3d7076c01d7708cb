"""The members of dataclasses and TypedDicts: their annotations, resolved, and their defaults."""

from __future__ import annotations

import dataclasses
import typing
from collections.abc import Mapping
from typing import Any

import typing_extensions

from agentrl.core.kinds import Unsupported


class Marker:
    """Says of a parameter's default that there is none (`REQUIRED`) or that only its class knows it (`UNKNOWN`)."""


REQUIRED, UNKNOWN = Marker(), Marker()


def dataclass_fields(cls: Any, names: Mapping[str, Any]) -> dict[str, tuple[Any, Any]]:
    """`{name: (annotation, default)}` of the fields that the constructor takes."""
    hints = class_hints(cls, names)
    out: dict[str, tuple[Any, Any]] = {}
    if any(isinstance(hint, dataclasses.InitVar) for hint in hints.values()):
        raise Unsupported(f"{cls.__name__} has an InitVar, which cannot be read back")
    for field in dataclasses.fields(cls):
        if not field.init:
            continue
        hint = hints[field.name]
        if text := field.metadata.get("description"):
            hint = typing.Annotated[hint, text]
        default: Any = REQUIRED
        if field.default is not dataclasses.MISSING:
            default = field.default
        elif field.default_factory is not dataclasses.MISSING:
            default = field.default_factory()
        out[field.name] = (hint, default)
    return out


def typed_dict_fields(cls: Any, names: Mapping[str, Any]) -> dict[str, tuple[Any, Any]]:
    """`{key: (annotation, REQUIRED or UNKNOWN)}`; qualifiers win over the class's totality."""
    out: dict[str, tuple[Any, Any]] = {}
    for name, hint in class_hints(cls, names).items():
        required = name in cls.__required_keys__
        while (origin := typing.get_origin(hint)) in QUALIFIERS:
            qualifier = QUALIFIERS[origin]
            required = required if qualifier is None else qualifier
            hint = typing.get_args(hint)[0]
        out[name] = (hint, REQUIRED if required else UNKNOWN)
    return out


QUALIFIERS: dict[Any, bool | None] = {
    typing.Required: True,
    typing.NotRequired: False,
    typing_extensions.ReadOnly: None,
}


def class_hints(cls: Any, names: Mapping[str, Any]) -> dict[str, Any]:
    try:
        return typing_extensions.get_type_hints(
            cls, localns={**names, cls.__name__: cls}, include_extras=True
        )
    except NameError as error:
        raise Unsupported(f"cannot resolve the annotations of {cls.__name__}: {error}") from None


def own_docstring(cls: Any) -> str:
    """The docstring that its author wrote; not the one that `dataclass` or `dict` makes up."""
    text = cls.__dict__.get("__doc__") or ""
    return "" if text.startswith(f"{cls.__name__}(") else text
