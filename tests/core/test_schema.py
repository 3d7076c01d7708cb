from __future__ import annotations

import dataclasses
import enum
import typing
from collections.abc import Sequence
from datetime import date
from typing import Annotated, Any, Literal, Optional, Union

import annotated_types as at
import pydantic
import pytest
import typing_extensions
from pydantic import Field

from agentrl.core.docstrings import parse_docstring
from agentrl.core.failures import UserError
from agentrl.core.schema import schema_of, signature_of


class Color(enum.Enum):
    RED = "red"
    BLUE = "blue"


class Level(enum.IntEnum):
    LOW = 1
    HIGH = 2


@dataclasses.dataclass
class Point:
    """A point.

    Attributes:
        x: across.
    """

    x: int
    y: float = 0.5


@dataclasses.dataclass
class Tree:
    name: str
    children: list[Tree]


class Options(typing.TypedDict, total=False):
    limit: int
    query: typing.Required[str]


class Base(typing_extensions.TypedDict):
    a: int


class Derived(Base, total=False):
    b: Annotated[str, "the b"]
    c: typing_extensions.Required[bool]


@dataclasses.dataclass
class Partial:
    a: int
    b: dataclasses.InitVar[int]


class Model(pydantic.BaseModel):
    when: date
    count: int = Field(3, ge=1, description="how many")


def obj(properties: dict[str, Any], required: list[str]) -> dict[str, Any]:
    return {"type": "object", "properties": properties, "required": required, "additionalProperties": False}


STRING, INTEGER, NUMBER, NULL = {"type": "string"}, {"type": "integer"}, {"type": "number"}, {"type": "null"}


@pytest.mark.parametrize(
    ("annotation", "schema"),
    [
        (str, STRING),
        (int, INTEGER),
        (float, NUMBER),
        (bool, {"type": "boolean"}),
        (None, NULL),
        (Any, {}),
        (Optional[int], {"anyOf": [INTEGER, NULL]}),  # noqa: UP045
        (Union[int, str], {"anyOf": [INTEGER, STRING]}),  # noqa: UP007
        (int | str | None, {"anyOf": [INTEGER, STRING, NULL]}),
        (Literal["a", "b"], {"type": "string", "enum": ["a", "b"]}),
        (Literal[1, True, None], {"enum": [1, True, None]}),
        (Color, {"type": "string", "enum": ["red", "blue"]}),
        (Level, {"type": "integer", "enum": [1, 2]}),
        (Literal[Color.RED, "x"], {"type": "string", "enum": ["red", "x"]}),
        (Annotated[int, "how many"], {"type": "integer", "description": "how many"}),
        (Annotated[int, at.Ge(1), at.Lt(5)], {"type": "integer", "minimum": 1, "exclusiveMaximum": 5}),
        (Annotated[int, at.Interval(gt=1, le=5)], {"type": "integer", "exclusiveMinimum": 1, "maximum": 5}),
        (Annotated[int | None, Field(ge=1)], {"anyOf": [{"type": "integer", "minimum": 1}, NULL]}),
        (
            Annotated[str, Field(pattern="^a+$", max_length=3)],
            {"type": "string", "maxLength": 3, "pattern": "^a+$"},
        ),
        (
            Annotated[list[int], at.Len(1, 3)],
            {"type": "array", "items": INTEGER, "minItems": 1, "maxItems": 3},
        ),
        (Annotated[str, typing_extensions.Doc("a name")], {"type": "string", "description": "a name"}),
        (list, {"type": "array"}),
        (list[str], {"type": "array", "items": STRING}),
        (Sequence[int], {"type": "array", "items": INTEGER}),
        (set[int], {"type": "array", "items": INTEGER, "uniqueItems": True}),
        (tuple[int, str], {"type": "array", "prefixItems": [INTEGER, STRING], "minItems": 2, "maxItems": 2}),
        (tuple[int, ...], {"type": "array", "items": INTEGER}),
        (tuple[()], {"type": "array", "minItems": 0, "maxItems": 0}),
        (tuple, {"type": "array"}),
        (dict, {"type": "object", "additionalProperties": True}),
        (dict[str, int], {"type": "object", "additionalProperties": INTEGER}),
        (
            dict[str, list[Color]],
            {
                "type": "object",
                "additionalProperties": {
                    "type": "array",
                    "items": {"type": "string", "enum": ["red", "blue"]},
                },
            },
        ),
        (
            Point,
            obj({"x": {**INTEGER, "description": "across."}, "y": {**NUMBER, "default": 0.5}}, ["x"])
            | {"description": "A point."},
        ),
        (Options, obj({"limit": INTEGER, "query": STRING}, ["query"])),
        (
            Derived,
            obj(
                {"a": INTEGER, "b": {**STRING, "description": "the b"}, "c": {"type": "boolean"}}, ["a", "c"]
            ),
        ),
        (typing.NewType("UserId", int), INTEGER),
        (date, {"type": "string", "format": "date"}),
        (
            Model,
            obj(
                {
                    "when": {"type": "string", "format": "date"},
                    "count": {"type": "integer", "minimum": 1, "default": 3, "description": "how many"},
                },
                ["when"],
            ),
        ),
    ],
    ids=str,
)
def test_each_type_has_its_schema(annotation, schema):
    assert schema_of(annotation) == schema


def test_a_type_that_contains_itself_is_a_reference():
    node = obj(
        {"name": STRING, "children": {"type": "array", "items": {"$ref": "#/$defs/Tree"}}},
        ["name", "children"],
    )
    assert schema_of(Tree) == {"$ref": "#/$defs/Tree", "$defs": {"Tree": node}}


def test_two_types_of_one_name_keep_apart():
    def make() -> type:
        @dataclasses.dataclass
        class Link:
            next: Link | None = None

        return Link

    schema = schema_of(tuple[make(), make()])
    assert schema["prefixItems"] == [{"$ref": "#/$defs/Link"}, {"$ref": "#/$defs/Link2"}]
    assert schema["$defs"].keys() == {"Link", "Link2"}


def test_a_function_with_defaults_and_a_docstring():
    def search(query: str, limit: int = 5, color: Color = Color.RED, tags: tuple[str, ...] = ("a",)) -> str:
        """Find facts.

        Looks everywhere.

        Args:
            query: the words
                to look for.
            limit (int): how many.
            nothing: not a parameter.

        Returns:
            The facts.
        """
        return ""

    signature = signature_of(search)
    assert signature.description == "Find facts.\n\nLooks everywhere."
    assert signature.schema == obj(
        {
            "query": {"type": "string", "description": "the words to look for."},
            "limit": {"type": "integer", "description": "how many.", "default": 5},
            "color": {"type": "string", "enum": ["red", "blue"], "default": "red"},
            "tags": {"type": "array", "items": STRING, "default": ["a"]},
        },
        ["query"],
    )


def test_a_function_without_parameters():
    def wait() -> None: ...

    assert signature_of(wait).schema == {"type": "object", "properties": {}, "additionalProperties": False}


@pytest.mark.parametrize(
    ("doc", "names", "description", "arguments"),
    [
        ("Guess. Args: number: your guess.", ["number"], "Guess.", {"number": "your guess."}),
        ("Go. Args: a: one. b: two: 2.", ["a", "b"], "Go.", {"a": "one.", "b": "two: 2."}),
        (
            "Go.\n\n    Args:\n        a: one\n          more\n        b (int, optional): two\n    Raises:\n        X: y",
            ["a", "b"],
            "Go.",
            {"a": "one more", "b": "two"},
        ),
        ("Go.\n\nReturns:\n  a: b\n\nArgs:\n  a: one", ["a"], "Go.", {"a": "one"}),
        (
            "Args:\n    a: note that b: is not meant here\n    b: two",
            ["a", "b"],
            "",
            {"a": "note that b: is not meant here", "b": "two"},
        ),
        ("Nothing of the kind.", ["a"], "Nothing of the kind.", {}),
        (None, ["a"], "", {}),
    ],
)
def test_docstrings(doc, names, description, arguments):
    assert parse_docstring(doc, names) == (description, arguments)


def untyped(a, b: int): ...
def starred(a: int, *rest: int): ...
def keywords(**rest: int): ...
def positional(a: int, /): ...
def unknown_name(a: NotThere): ...  # noqa: F821
def function_typed(a: typing.Callable[[int], int]): ...
def int_keys(a: dict[int, str]): ...
def deep(a: list[dict[str, tuple[int, complex]]]): ...
def wrong_default(a: int = None): ...  # type: ignore[assignment]  # noqa: RUF013
def false_default(a: Annotated[int, at.Ge(1)] = 0): ...
def misplaced(a: Annotated[str, at.Ge(1)]): ...
def set_of_lists(a: set[list[int]]): ...
def any_class(a: type[int]): ...
def with_init_var(a: Partial): ...
def set_of_both(a: set[int | bool]): ...


@pytest.mark.parametrize(
    ("function", "message"),
    [
        (untyped, "tool untyped: parameter 'a': it has no type annotation"),
        (starred, r"tool starred: parameter '\*rest': a policy cannot fill \*rest; name each argument"),
        (keywords, r"tool keywords: parameter '\*\*rest'"),
        (positional, "tool positional: parameter 'a': .*positional-only"),
        (unknown_name, "tool unknown_name: parameter 'a': cannot resolve its annotation 'NotThere'"),
        (function_typed, "tool function_typed: parameter 'a': the type .* has no JSON form"),
        (int_keys, "tool int_keys: parameter 'a': the keys of a dict are str"),
        (wrong_default, r"tool wrong_default: parameter 'a': the default does not fit .*write `\| None`"),
        (false_default, "tool false_default: parameter 'a': the default must be at least 1, not 0"),
        (misplaced, r"tool misplaced: parameter 'a': Ge\(ge=1\) does not apply"),
        (any_class, "tool any_class: parameter 'a': the type type has no JSON form"),
        (with_init_var, "tool with_init_var: parameter 'a': Partial has an InitVar"),
        (set_of_lists, "tool set_of_lists: parameter 'a': a set holds only hashable items"),
        (set_of_both, "tool set_of_both: parameter 'a': a Python set cannot tell true from 1"),
    ],
)
def test_what_a_policy_could_not_fill_is_refused_by_name(function, message):
    with pytest.raises(UserError, match=f"^{message}"):
        signature_of(function)


def test_a_member_of_a_class_is_named_too():
    @dataclasses.dataclass
    class Broken:
        what: typing.Callable[[], int]

    def use(it: Broken): ...

    with pytest.raises(
        UserError,
        match=r"^tool use: parameter 'it': parameter 'what' of Broken: the type .* has no JSON form",
    ):
        signature_of(use, {"Broken": Broken})
