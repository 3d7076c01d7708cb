"""The strict decoder: JSON text in, annotated Python values out, or a `ToolError` that the policy sees.

Invariant: for any text whatsoever `decode` returns values that fit the schema or raises `ToolError`, and
nothing is ever converted that the schema does not allow (`"false"` is not True, 3.7 is not 3). The few forms
that are repaired are those with one possible meaning; each is reported in `Decoded.recovered`.
"""

from __future__ import annotations

import json
from collections.abc import Callable
from dataclasses import dataclass
from itertools import islice
from typing import TYPE_CHECKING, Any, Literal, TypeAlias

from agentrl.core.failures import ToolError, UserError, nearest
from agentrl.core.jsontext import parse_json, printable, python_to_json
from agentrl.core.jsonvalues import types_of
from agentrl.core.kinds import Refused, Unfit
from agentrl.core.schema import Signature, signature_of
from agentrl.core.validate import problems
from agentrl.core.wording import brief, shorten, shown

if TYPE_CHECKING:
    from agentrl.core.tool import Tool

PLAIN = frozenset({str, int, float, bool, type(None)})
REMEMBERED_CHARACTERS, REMEMBERED_TEXTS = 200, 2048
Recovery: TypeAlias = Literal["double_encoded", "python_literal", "encoded_value"]


@dataclass(frozen=True, slots=True)
class Decoded:
    """What a call's arguments mean.

    Attributes:
        values: the arguments that were given, as values of the annotated types; defaults are left to the function.
        recovered: repairs that were needed. `double_encoded`: the object was written as a JSON string.
            `python_literal`: a list or an object in Python's spelling (`['x', True]`). `encoded_value`: a list or
            an object was written as a string, for an argument that cannot be a string.
    """

    values: dict[str, Any]
    recovered: tuple[Recovery, ...] = ()


def decode_arguments(target: Tool | type | Callable[..., Any], raw: str) -> dict[str, Any]:
    """The arguments of a call; see `decode`.

    Raises:
        ToolError: `malformed_json` or `invalid_arguments`; nothing else, whatever `raw` is.
    """
    return decode(target, raw).values


def decode(target: Tool | type | Callable[..., Any], raw: str) -> Decoded:
    """Decode the arguments of a call of a tool (or of a function, or the fields of a dataclass or model).

    An empty text and `null` mean no arguments.

    Raises:
        ToolError: `malformed_json` or `invalid_arguments`; nothing else, whatever `raw` is.
    """
    name, signature = named_signature(target)
    known = signature.decoded.get(raw)
    if known is not None:
        return Decoded(dict(known.values), known.recovered)
    try:
        return _remembered(signature, raw, _decode(signature, raw))
    except _Bad as bad:
        wanted = f"Expected {shorten(brief(signature.schema), 400)}"
        raise ToolError(
            f"{name}: {bad.text}{'' if bad.text.endswith('?') else '.'} {wanted}", bad.kind
        ) from None


def encode_arguments(target: Tool | type | Callable[..., Any], /, **values: Any) -> str:
    """The JSON text of a call with these values: the inverse of `decode_arguments`.

    Raises:
        UserError: a value that is not of the annotated type, a missing or an unknown argument.
    """
    name, signature = named_signature(target)
    written: dict[str, Any] = {}
    for key, value in values.items():
        if key not in signature.kinds:
            close = nearest(key, signature.kinds, 1)
            raise UserError(
                f"{name} has no argument {key!r}" + (f"; did you mean {close[0]!r}?" if close else "")
            )
        try:
            written[key] = signature.kinds[key].write(value)
        except Unfit as error:
            raise UserError(f"argument {key!r} of {name}: {error}") from None
    for problem in problems(signature.schema, written):
        raise UserError(f"{name}: {problem}")
    return json.dumps(written, ensure_ascii=False)


def named_signature(target: Tool | type | Callable[..., Any]) -> tuple[str, Signature]:
    known = getattr(target, "signature", None)
    if isinstance(known, Signature):
        return getattr(target, "name", known.name), known
    signature = signature_of(target)
    return signature.name, signature


def _remembered(signature: Signature, raw: str, found: Decoded) -> Decoded:
    """Moves of a game are the same few texts again and again: what never changes is read once."""
    if len(raw) <= REMEMBERED_CHARACTERS and all(type(value) in PLAIN for value in found.values.values()):
        if len(signature.decoded) >= REMEMBERED_TEXTS:
            signature.decoded.clear()
        signature.decoded[raw] = Decoded(dict(found.values), found.recovered)
    return found


class _Bad(Exception):
    def __init__(self, text: str, kind: Literal["malformed_json", "invalid_arguments"]) -> None:
        self.text, self.kind = text, kind


def _decode(signature: Signature, raw: str) -> Decoded:
    value, recovered = _read_object(raw)
    schema = signature.schema
    for name, item in value.items():
        if isinstance(item, str) and name in signature.kinds:
            types = types_of(signature.kinds[name].schema, schema)
            found = _read_container(item) if "string" not in types and types & {"array", "object"} else None
            if found is not None:
                value[name] = found
                recovered.append("encoded_value")
    wrong = [str(problem) for problem in islice(problems(schema, value), 3)]
    if wrong:
        raise _Bad("; ".join(wrong), "invalid_arguments")
    values: dict[str, Any] = {}
    for name, item in value.items():
        try:
            values[name] = signature.kinds[name].read(item)
        except Refused as error:
            raise _Bad(f"argument {name!r}: {printable(str(error))}", "invalid_arguments") from None
    return Decoded(values, tuple(recovered))


def _read_object(raw: str) -> tuple[dict[str, Any], list[Recovery]]:
    recovered: list[Recovery] = []
    if not raw.strip():
        return {}, recovered
    try:
        value = parse_json(raw)
    except ValueError as error:
        value = _read_container(raw) if raw.lstrip().startswith("{") else None
        if value is None:
            raise _Bad(f"the arguments are not valid JSON: {error}", "malformed_json") from None
        recovered.append("python_literal")
    if isinstance(value, str):
        inner = _read_container(value) if value.lstrip().startswith("{") else None
        if inner is None:
            text = f"the arguments must be a JSON object, not {shown(value)}"
            raise _Bad(
                text, "malformed_json" if value.lstrip().startswith(("{", '"')) else "invalid_arguments"
            )
        value = inner
        recovered.append("double_encoded")
    if value is None:
        value = {}
    if not isinstance(value, dict):
        raise _Bad(f"the arguments must be a JSON object, not {shown(value)}", "invalid_arguments")
    return value, recovered


def _read_container(text: str) -> Any:
    """A list or an object written in JSON or in Python's spelling; None if it is neither."""
    if not text.lstrip().startswith(("[", "{")):
        return None
    for candidate in (str, python_to_json):
        try:
            return parse_json(candidate(text))
        except ValueError:
            continue
    return None
