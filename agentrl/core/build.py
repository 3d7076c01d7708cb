"""From annotations to kinds: the table of what each type looks like in JSON (see docs/tools.md).

Invariant: a union reads the first member that fits; a type that contains itself becomes a `$ref` and nothing
else does. Types that are not in the table are left to pydantic; what pydantic cannot describe in JSON Schema
either is refused.
"""

from __future__ import annotations

import dataclasses
import enum
import types
import typing
from collections.abc import (
    Callable,
    Collection,
    Iterable,
    Mapping,
    MutableMapping,
    MutableSequence,
    MutableSet,
    Sequence,
    Set,
)
from typing import Any

import typing_extensions

from agentrl.core.constraints import constrained, flatten
from agentrl.core.docstrings import parse_docstring
from agentrl.core.foreign import pydantic_kind
from agentrl.core.jsonvalues import Schema, canonical, mixes_bool_and_number
from agentrl.core.kinds import (
    ANYTHING,
    SCALARS,
    Kind,
    Refused,
    Unfit,
    Unsupported,
    any_json,
    array,
    enumeration,
    literal,
    same_value,
)
from agentrl.core.members import REQUIRED, UNKNOWN, dataclass_fields, own_docstring, typed_dict_fields
from agentrl.core.validate import fits, problems

LISTS = (list, Sequence, MutableSequence, Collection, Iterable)
DICTS = (dict, Mapping, MutableMapping)


class Builder:
    """Builds kinds; collects the `$defs` of types that contain themselves.

    Args:
        names: local names that string annotations may refer to, besides the globals of their module.
    """

    def __init__(self, names: Mapping[str, Any] | None = None) -> None:
        self.names = dict(names or {})
        self.defs: dict[str, Schema] = {}
        self._open: dict[Any, str] = {}
        self._made: dict[Any, Kind] = {}
        self._later: list[Callable[[], None]] = []

    @property
    def root(self) -> Schema:
        return {"$defs": self.defs}

    def build(self, hint: Any) -> Kind:
        """The kind of a resolved annotation.

        Raises:
            Unsupported: it has no JSON form.
        """
        origin, arguments = typing.get_origin(hint), typing.get_args(hint)
        if isinstance(hint, str | typing.ForwardRef):
            raise Unsupported(f"cannot resolve {hint!r}")
        if hint is None or (isinstance(hint, type) and hint in SCALARS):
            return SCALARS[hint]
        if hint is Any or hint is object:
            return Kind({}, same_value, any_json, hashable=False)
        if origin is typing.Annotated:
            return self._annotated(hint, arguments)
        if origin is typing.Union or origin is types.UnionType:
            return self._union(arguments)
        if origin is typing.Literal:
            return literal(arguments)
        base = origin or hint
        if base in LISTS:
            return self._list(arguments)
        if base in (set, frozenset, Set, MutableSet):
            return self._set(frozenset if base in (frozenset, Set) else set, arguments)
        if base is tuple:
            return self._tuple(arguments, bare=hint in (tuple, typing.Tuple))  # noqa: UP006
        if base in DICTS:
            return self._dict(arguments)
        if isinstance(hint, typing_extensions.TypeAliasType) or type(hint).__name__ == "TypeAliasType":
            return self._named(hint, hint.__name__, lambda: self.build(hint.__value__))
        if hasattr(hint, "__supertype__"):
            return self.build(hint.__supertype__)
        if isinstance(hint, type) and issubclass(hint, enum.Enum):
            return enumeration(hint)
        if isinstance(hint, type) and dataclasses.is_dataclass(hint):
            return self._named(hint, hint.__name__, lambda: self._dataclass(hint))
        if typing_extensions.is_typeddict(hint):
            return self._named(hint, hint.__name__, lambda: self._typed_dict(hint))
        return pydantic_kind(hint, self.defs)

    def object_schema(
        self, kinds: Mapping[str, Kind], required: Iterable[str], description: str = ""
    ) -> Schema:
        """The schema of an object with exactly these keys."""
        schema: Schema = {"type": "object", "properties": {name: kind.schema for name, kind in kinds.items()}}
        if needed := [name for name in kinds if name in set(required)]:
            schema["required"] = needed
        schema["additionalProperties"] = False
        return {**schema, "description": description} if description else schema

    # -- composed types ------------------------------------------------------------------------------

    def _annotated(self, hint: Any, arguments: tuple[Any, ...]) -> Kind:
        base, *metadata = arguments
        flat = list(flatten(metadata))
        if any(hasattr(item, "__get_pydantic_core_schema__") for item in flat):
            return pydantic_kind(hint, self.defs)
        kind = self.build(base)
        schema = constrained(kind.schema, flat, self.root)
        for item in flat:
            if isinstance(
                text := item if isinstance(item, str) else getattr(item, "documentation", None), str
            ):
                schema = {**schema, "description": text}
        return dataclasses.replace(kind, schema=schema)

    def _union(self, arguments: tuple[Any, ...]) -> Kind:
        kinds = [self.build(argument) for argument in arguments]
        schemas = list({canonical(kind.schema): kind.schema for kind in kinds}.values())

        def read(value: Any) -> Any:
            refused = None
            for kind in kinds:
                if fits(kind.schema, value, self.root):
                    try:
                        return kind.read(value)
                    except Refused as error:
                        refused = error
            raise refused or Refused("fits no member of the union")

        def write(value: Any) -> Any:
            for kind in kinds:
                try:
                    written = kind.write(value)
                except Unfit:
                    continue
                if fits(kind.schema, written, self.root):
                    return written
            raise Unfit(f"{value!r:.60} fits no member of the union")

        return Kind(
            {"anyOf": schemas} if len(schemas) > 1 else schemas[0],
            read,
            write,
            all(k.hashable for k in kinds),
        )

    def _list(self, arguments: tuple[Any, ...]) -> Kind:
        item = self.build(arguments[0]) if arguments else ANYTHING

        def write(value: Any) -> list[Any]:
            if not isinstance(value, Sequence) or isinstance(value, str | bytes):
                raise Unfit(f"{value!r:.60} is not a list")
            return [item.write(one) for one in value]

        return Kind(array(item), lambda value: [item.read(one) for one in value], write, hashable=False)

    def _set(self, make: type, arguments: tuple[Any, ...]) -> Kind:
        item = self.build(arguments[0]) if arguments else SCALARS[str]
        if not item.hashable:
            raise Unsupported("a set holds only hashable items")
        if mixes_bool_and_number(item.schema, self.root):
            raise Unsupported("a Python set cannot tell true from 1, or false from 0")

        def read(value: Any) -> Any:
            items = make(item.read(one) for one in value)
            if len(items) < len(value):
                raise Refused("a set must not repeat an item")
            return items

        def write(value: Any) -> list[Any]:
            if not isinstance(value, Set):
                raise Unfit(f"{value!r:.60} is not a set")
            return sorted((item.write(one) for one in value), key=canonical)

        return Kind({**array(item), "uniqueItems": True}, read, write, hashable=make is frozenset)

    def _tuple(self, arguments: tuple[Any, ...], *, bare: bool) -> Kind:
        if bare or (len(arguments) == 2 and arguments[1] is Ellipsis):
            inner = self._list(arguments[:1])
            hashable = not bare and self.build(arguments[0]).hashable
            return Kind(inner.schema, lambda value: tuple(inner.read(value)), inner.write, hashable)
        items = [self.build(argument) for argument in arguments]
        schema: Schema = {"type": "array", "minItems": len(items), "maxItems": len(items)}
        if items:
            schema = {"type": "array", "prefixItems": [item.schema for item in items], **schema}

        def write(value: Any) -> list[Any]:
            if not isinstance(value, tuple | list) or len(value) != len(items):
                raise Unfit(f"{value!r:.60} is not a tuple of {len(items)}")
            return [item.write(one) for item, one in zip(items, value, strict=True)]

        return Kind(
            schema,
            lambda value: tuple(item.read(one) for item, one in zip(items, value, strict=True)),
            write,
            all(item.hashable for item in items),
        )

    def _dict(self, arguments: tuple[Any, ...]) -> Kind:
        key, item = arguments or (str, Any)
        if key is not str:
            raise Unsupported("the keys of a dict are str")
        kind = self.build(item)
        schema: Schema = {"type": "object", "additionalProperties": kind.schema or True}

        def write(value: Any) -> dict[str, Any]:
            if not isinstance(value, Mapping) or not all(isinstance(name, str) for name in value):
                raise Unfit(f"{value!r:.60} is not a dict with str keys")
            return {name: kind.write(one) for name, one in value.items()}

        return Kind(
            schema, lambda value: {name: kind.read(one) for name, one in value.items()}, write, hashable=False
        )

    # -- classes -------------------------------------------------------------------------------------

    def _dataclass(self, cls: type) -> Kind:
        parameters = dataclass_fields(cls, self.names)
        description, docs = parse_docstring(own_docstring(cls), parameters)
        kinds = self.members(cls.__name__, parameters, docs)

        def read(value: Any) -> Any:
            fields = {name: kinds[name].read(one) for name, one in value.items()}
            try:
                return cls(**fields)
            except Exception as error:
                # Its __post_init__ judges the policy's values, so whatever it raises is an answer to the policy.
                raise Refused(f"{cls.__name__}: {error}") from error

        def write(value: Any) -> dict[str, Any]:
            if not isinstance(value, cls):
                raise Unfit(f"{value!r:.60} is not a {cls.__name__}")
            return {name: kind.write(getattr(value, name)) for name, kind in kinds.items()}

        required = [name for name, (_, default) in parameters.items() if default is REQUIRED]
        hashable = cls.__hash__ is not None and all(kind.hashable for kind in kinds.values())
        return Kind(self.object_schema(kinds, required, description), read, write, hashable)

    def _typed_dict(self, cls: Any) -> Kind:
        parameters = typed_dict_fields(cls, self.names)
        description, docs = parse_docstring(own_docstring(cls), parameters)
        kinds = self.members(cls.__name__, parameters, docs)
        required = [name for name, (_, default) in parameters.items() if default is REQUIRED]

        def write(value: Any) -> dict[str, Any]:
            if not isinstance(value, Mapping) or not set(required) <= set(value) <= set(kinds):
                raise Unfit(f"{value!r:.60} is not a {cls.__name__}")
            return {name: kinds[name].write(one) for name, one in value.items()}

        return Kind(
            self.object_schema(kinds, required, description),
            lambda value: {name: kinds[name].read(one) for name, one in value.items()},
            write,
            hashable=False,
        )

    def members(
        self, owner: str, parameters: Mapping[str, tuple[Any, Any]], docs: Mapping[str, str] | None = None
    ) -> dict[str, Kind]:
        """Kinds of named parameters `{name: (annotation, default)}`, with description and default in their schemas.

        Raises:
            Unsupported: names `owner` and the parameter.
        """
        kinds: dict[str, Kind] = {}
        for name, (hint, default) in parameters.items():
            try:
                kind = self.build(hint)
                schema = dict(kind.schema)
                if docs and name in docs:
                    schema["description"] = docs[name]
                if default is not REQUIRED and default is not UNKNOWN:
                    self._set_default(schema, kind, default)
            except (Unsupported, Unfit) as error:
                raise Unsupported(f"parameter {name!r} of {owner}: {error}") from None
            kinds[name] = dataclasses.replace(kind, schema=schema)
        return kinds

    def _set_default(self, schema: Schema, kind: Kind, default: Any) -> None:
        if self._open:  # the class may be one that contains itself and cannot be written yet
            self._later.append(lambda: self._set_default(schema, kind, default))
            return
        try:
            value = kind.write(default)
        except Unfit as error:
            hint = " (write `| None`)" if default is None else ""
            raise Unsupported(f"the default does not fit the annotation: {error}{hint}") from None
        for problem in problems(kind.schema, value, self.root):
            raise Unsupported(f"the default {problem.text}")
        schema["default"] = value

    def _named(self, key: Any, name: str, make: Callable[[], Kind]) -> Kind:
        """A kind that may contain itself: inside itself it is a `$ref`."""
        if key in self._made:
            return self._made[key]
        if key in self._open:
            name = self._open[key]
            self.defs.setdefault(name, {})
            return Kind(
                {"$ref": f"#/$defs/{name}"},
                lambda value: self._made[key].read(value),
                lambda value: self._made[key].write(value),
                hashable=False,
            )
        taken = {*self.defs, *self._open.values()}
        unique = (
            name
            if name not in taken
            else next(f"{name}{n}" for n in range(2, 1000) if f"{name}{n}" not in taken)
        )
        self._open[key] = unique
        kind = make()
        del self._open[key]
        if unique in self.defs:
            self.defs[unique] = kind.schema
            kind = dataclasses.replace(kind, schema={"$ref": f"#/$defs/{unique}"})
        self._made[key] = kind
        while self._later and not self._open:
            self._later.pop(0)()
        return kind
