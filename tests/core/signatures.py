"""Hypothesis strategies: annotations of every kind that a tool may have, functions with such parameters, JSON."""

from __future__ import annotations

import dataclasses
import enum
import functools
import inspect
import operator
from collections.abc import Callable
from typing import Annotated, Any, Literal, NotRequired

import annotated_types as at
from hypothesis import strategies as st
from pydantic import Field
from typing_extensions import TypedDict


class Color(enum.Enum):
    RED = "red"
    BLUE = "blue"


class Level(enum.IntEnum):
    LOW = 1
    HIGH = 2


class Mixed(enum.Enum):
    ONE = 1
    TEXT = "1"
    NOTHING = None


@dataclasses.dataclass(frozen=True)
class Point:
    x: int
    y: float = 0.5


@dataclasses.dataclass
class Node:
    name: str
    children: list[Node] = dataclasses.field(default_factory=list)


settable = st.sampled_from([str, int, float, bool, Color, Point, Literal[0, 2], str | int, tuple[bool, int]])
plain = st.sampled_from(
    [
        str,
        int,
        float,
        bool,
        Color,
        Level,
        Mixed,
        Literal["a", "b"],
        Literal[1, "1", True, None],
        Literal[0, False],
        Annotated[int, at.Ge(1), at.Le(6)],
        Annotated[int, at.Gt(-3), at.Lt(9), at.MultipleOf(3)],
        Annotated[float, at.Interval(ge=-1, lt=1)],
        Annotated[str, at.MinLen(2), at.MaxLen(5)],
        Annotated[str, Field(pattern=r"^[a-c]+\d?$", description="a code")],
        Point,
        str | int,
        int | None,
        bool | int | str,
    ]
)


def composed(inner: st.SearchStrategy[Any]) -> st.SearchStrategy[Any]:
    names = st.lists(st.sampled_from(["a", "b", "class", "json"]), min_size=1, max_size=3, unique=True)
    return st.one_of(
        inner.map(lambda t: list[t]),
        inner.map(lambda t: Annotated[list[t], at.Len(1, 3), "some"]),
        inner.map(lambda t: dict[str, t]),
        inner.map(lambda t: tuple[t, ...]),
        st.lists(inner, max_size=3).map(lambda ts: tuple[tuple(ts)]),
        st.lists(inner, min_size=2, max_size=3).map(lambda ts: functools.reduce(operator.or_, ts)),
        inner.map(lambda t: t | None),
        settable.map(lambda t: set[t]),
        settable.map(lambda t: frozenset[t]),
        st.tuples(st.uuids(), st.lists(inner, min_size=1, max_size=3)).map(
            lambda pair: dataclasses.make_dataclass(
                f"Data{pair[0].hex[:8]}", [(f"field{i}", t) for i, t in enumerate(pair[1])]
            )
        ),
        st.tuples(st.uuids(), names, inner).map(
            lambda triple: TypedDict(
                f"Keys{triple[0].hex[:8]}",
                {name: NotRequired[triple[2]] if i % 2 else triple[2] for i, name in enumerate(triple[1])},
            )
        ),
        st.just(Node),
    )


annotations = st.recursive(plain, composed, max_leaves=5)


def function_of(hints: list[Any]) -> Callable[..., Any]:
    """A function that takes one keyword per annotation; every third may be left out."""

    def echo(**values: Any) -> dict[str, Any]:
        return values

    keyword = inspect.Parameter.KEYWORD_ONLY
    echo.__signature__ = inspect.Signature(  # type: ignore[attr-defined]
        [
            inspect.Parameter(
                f"p{i}", keyword, annotation=(hint | None) if i % 3 == 2 else hint, default=None
            )
            if i % 3 == 2
            else inspect.Parameter(f"p{i}", keyword, annotation=hint)
            for i, hint in enumerate(hints)
        ]
    )
    return echo


functions = st.lists(annotations, max_size=4).map(function_of)

json_values = st.recursive(
    st.none()
    | st.booleans()
    | st.integers(-3, 10)
    | st.sampled_from([0.0, 1.0, 2.5, -1.0, 1e300])
    | st.sampled_from(["", "a", "1", "red", "true", "ab1", "None", "[1]", "x" * 9]),
    lambda inner: (
        st.lists(inner, max_size=4)
        | st.dictionaries(st.sampled_from(["ab", "xy", "p0", "p1", "name"]), inner, max_size=3)
    ),
    max_leaves=6,
)
