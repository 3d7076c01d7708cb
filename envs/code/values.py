"""Plain values on their way out of a sandbox, and when two of them are the same.

Invariant: what is decoded is built by us from JSON, of exact built-in types: no object of the submission, and so no
`__eq__` of it, takes part in a comparison.
"""

from __future__ import annotations

import math
from typing import Any

from agentrl.envs.code.task import Raises

TOLERANCE = 1e-9


class Opaque:
    """Stands for a value that is not plain data; equal to nothing, not even to itself."""

    def __init__(self, kind: str) -> None:
        self.kind = kind

    def __repr__(self) -> str:
        return f"<a {self.kind}>"

    def __eq__(self, other: object) -> bool:
        return False

    __hash__ = None  # type: ignore[assignment]


class Missing(Opaque):
    """Stands for an answer that never came; `kind` says why."""

    def __repr__(self) -> str:
        return f"<no answer: {self.kind}>"


def decode(value: Any) -> Any:
    """A value from its encoding: JSON scalars as they are, everything else as `{"type": ..., "value": ...}`.

    Raises:
        ValueError: it is no encoding.
    """
    if value is None or isinstance(value, bool | int | float | str):
        return value
    if isinstance(value, list):
        return [decode(item) for item in value]
    if not isinstance(value, dict) or set(value) != {"type", "value"}:
        raise ValueError("not an encoded value")
    kind, inner = value["type"], value["value"]
    if kind == "opaque":
        return Opaque(str(inner)[:80])
    if kind == "raises":
        return Raises(str(inner)[:200])
    if kind == "float":
        return float(inner)
    if kind == "complex":
        return complex(decode(inner[0]), decode(inner[1]))
    if kind == "bytes":
        return bytes.fromhex(inner)
    items = [decode(item) for item in inner]
    if kind == "tuple":
        return tuple(items)
    if kind == "dict":
        return {hashable(key): item for key, item in items}
    if kind == "set":
        return {hashable(item) for item in items}
    raise ValueError(f"an unknown type {kind!r}")


def hashable(value: Any) -> Any:
    try:
        hash(value)
    except TypeError:
        raise ValueError("a key that cannot be a key") from None
    return value


def encode(value: Any) -> Any:
    """The encoding of an argument: the inverse of `decode`."""
    if value is None or type(value) in (bool, int, str):
        return value
    if type(value) is float:
        return value if math.isfinite(value) else {"type": "float", "value": repr(value)}
    if type(value) is list:
        return [encode(item) for item in value]
    if type(value) is bytes:
        return {"type": "bytes", "value": value.hex()}
    if type(value) is complex:
        return {"type": "complex", "value": [encode(value.real), encode(value.imag)]}
    if type(value) is tuple:
        return {"type": "tuple", "value": [encode(item) for item in value]}
    if type(value) is dict:
        return {"type": "dict", "value": [[encode(key), encode(item)] for key, item in value.items()]}
    if type(value) in (set, frozenset):
        return {"type": "set", "value": [encode(item) for item in sorted(value, key=repr)]}
    raise ValueError(f"a test passes plain data only, not a {type(value).__name__}")


def same(expected: Any, got: Any) -> bool:
    """Whether an answer is the expected one. Numbers by value (floats within 1e-9, relative or absolute; NaN only where
    NaN is expected), lists and tuples alike, a bool only for a bool."""
    if isinstance(expected, bool) or isinstance(got, bool):
        return expected is got
    if isinstance(expected, int | float) and isinstance(got, int | float):
        return same_number(expected, got)
    if isinstance(expected, list | tuple) and isinstance(got, list | tuple):
        return len(expected) == len(got) and all(map(same, expected, got))
    if isinstance(expected, dict) and isinstance(got, dict):
        return expected.keys() == got.keys() and all(same(expected[key], got[key]) for key in expected)
    if isinstance(expected, set | frozenset) and isinstance(got, set | frozenset):
        return expected == got
    if isinstance(expected, Raises) and isinstance(got, Raises):
        return expected.name in got.name.split(" < ")
    return type(expected) is type(got) and bool(expected == got)


def same_number(expected: float, got: float) -> bool:
    if isinstance(expected, int) and isinstance(got, int):
        return expected == got
    if math.isnan(expected) or math.isnan(got):
        return math.isnan(expected) and math.isnan(got)
    try:
        return math.isclose(expected, got, rel_tol=TOLERANCE, abs_tol=TOLERANCE)
    except OverflowError:
        return False


def strange(value: Any) -> set[str]:
    """What in an answer no honest solution gives: `opaque`, `not_finite`."""
    if isinstance(value, Opaque) and not isinstance(value, Missing):
        return {"opaque"}
    if isinstance(value, float) and not math.isfinite(value):
        return {"not_finite"}
    if isinstance(value, dict):
        return set().union(*(strange(key) | strange(item) for key, item in value.items()))
    if isinstance(value, list | tuple | set):
        return set().union(*map(strange, value))
    return set()
