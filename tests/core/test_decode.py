from __future__ import annotations

import dataclasses
import enum
import json
from typing import Annotated, Any, Literal, TypedDict

import pydantic
import pytest
from pydantic import Field

from agentrl.core.decode import decode, decode_arguments, encode_arguments
from agentrl.core.failures import ToolError, UserError
from agentrl.core.jsontext import parse_json, python_to_json


class Color(enum.Enum):
    RED = "red"
    BLUE = "blue"


@dataclasses.dataclass(frozen=True)
class Point:
    x: int
    y: float = 0.5

    def __post_init__(self) -> None:
        if self.x > 100:
            raise ValueError("x is off the map")


class Where(TypedDict, total=False):
    city: str


class Query(pydantic.BaseModel):
    text: str
    limit: int = Field(5, le=10)


def pay(amount: int, urgent: bool = False, note: str | None = None) -> str:
    """Pay."""
    return ""


def one(x: Any) -> Any: ...


def typed(annotation: Any) -> Any:
    def f(x): ...

    f.__annotations__ = {"x": annotation}
    return f


def error_of(target: Any, raw: str) -> ToolError:
    with pytest.raises(ToolError) as caught:
        decode_arguments(target, raw)
    return caught.value


@pytest.mark.parametrize(
    ("annotation", "text", "value"),
    [
        (str, '"None"', "None"),
        (int, "3", 3),
        (int, "3.0", 3),
        (int, "-1e2", -100),
        (float, "3", 3.0),
        (bool, "true", True),
        (int | None, "null", None),
        (Color, '"red"', Color.RED),
        (Literal[1, True], "true", True),
        (Literal[1, True], "1.0", 1),
        (list[int], "[1, 2.0]", [1, 2]),
        (tuple[int, str], '[1, "a"]', (1, "a")),
        (tuple[int, ...], "[1, 2]", (1, 2)),
        pytest.param(set[str], '["a", "b"]', {"a", "b"}, id="set"),
        (frozenset[int], "[1]", frozenset({1})),
        (dict[str, Color], '{"a": "blue"}', {"a": Color.BLUE}),
        (Point, '{"x": 1}', Point(1, 0.5)),
        (list[Point], '[{"x": 1, "y": 2}]', [Point(1, 2.0)]),
        (Where, "{}", {}),
        (Query, '{"text": "a"}', Query(text="a", limit=5)),
        (int | str, '"1"', "1"),
        (float | int, "3", 3.0),
        (str, json.dumps("naïve 日本 \U0001f600"), "naïve 日本 \U0001f600"),
        (int, str(10**400), 10**400),
        (Any, "[1, null]", [1, None]),
    ],
    ids=str,
)
def test_values_come_out_as_the_annotated_types(annotation, text, value):
    decoded = decode(typed(annotation), f'{{"x": {text}}}')
    assert decoded.values == {"x": value}
    assert type(decoded.values["x"]) is type(value)
    assert decoded.recovered == ()


@pytest.mark.parametrize(
    ("annotation", "text", "message"),
    [
        (bool, '"false"', "argument 'x' must be a boolean, not the string \"false\""),
        (bool, "1", "argument 'x' must be a boolean, not 1"),
        (int, "3.7", "argument 'x' must be an integer, not 3.7"),
        (int, "true", "argument 'x' must be an integer, not true"),
        (int, '"3"', "argument 'x' must be an integer, not the string \"3\""),
        (float, '"3"', "argument 'x' must be a number, not the string \"3\""),
        (float, "false", "argument 'x' must be a number, not false"),
        (float, str(10**400), "argument 'x' is too large a number"),
        (str, "null", "argument 'x' must be a string, not null"),
        (str, "3", "argument 'x' must be a string, not 3"),
        (int | None, '"None"', "argument 'x' must be an integer or null, not the string \"None\""),
        (
            Color,
            '"rad"',
            'argument \'x\' must be one of "red", "blue", not the string "rad"; did you mean \'red\'?',
        ),
        (Literal[1], "true", "argument 'x' must be 1, not true"),
        (list[int], '[1, "2"]', "argument 'x.1' must be an integer, not the string \"2\""),
        (tuple[int, str], "[1]", "argument 'x' must have at least 2 items, not 1"),
        (tuple[int, str], '[1, "a", 2]', "argument 'x' must have at most 2 items, not 3"),
        (set[int], "[1, 1.0]", "argument 'x' must not repeat an item"),
        (Annotated[int, Field(ge=1, le=6)], "7", "argument 'x' must be at most 6, not 7"),
        (Annotated[str, Field(pattern="^a+$")], '"b"', "argument 'x' must match ^a+$, not the string \"b\""),
        (Point, "{}", "argument 'x' lacks the key 'x'"),
        (Point, '{"x": 1, "why": 2}', "argument 'x' has the unknown key 'why'; did you mean 'y'?"),
        (Point, '{"x": 101}', "argument 'x': Point: x is off the map"),
        (Point | None, '{"x": "1"}', "argument 'x.x' must be an integer, not the string \"1\""),
        (Query, '{"text": "a", "limit": 11}', "argument 'x.limit' must be at most 10, not 11"),
        (Query, '{"text": "a", "n": 1}', "argument 'x' has the unknown key 'n'"),
        (dict[str, int], '{"a": "b"}', "argument 'x.a' must be an integer, not the string \"b\""),
    ],
    ids=str,
)
def test_nothing_is_converted_that_the_schema_does_not_allow(annotation, text, message):
    error = error_of(typed(annotation), f'{{"x": {text}}}')
    assert error.kind == "invalid_arguments"
    assert message in str(error)


def test_numbers_and_strings_have_one_rule():
    assert encode_arguments(pay, **decode_arguments(pay, '{"amount": 100}')) == encode_arguments(
        pay, **decode_arguments(pay, '{"amount": 100.0}')
    )
    error = error_of(pay, '{"amount": "100", "urgent": "false"}')
    assert str(error) == (
        "pay: argument 'amount' must be an integer, not the string \"100\"; argument 'urgent' must be a boolean, "
        'not the string "false". Expected {"amount": integer, "urgent"?: boolean, "note"?: string | null}'
    )


@pytest.mark.parametrize("raw", ["{}", "", "  \n", "null"])
def test_a_call_without_arguments(raw):
    def wait() -> None: ...

    assert decode(wait, raw).values == {}
    assert str(error_of(pay, raw)).startswith("pay: missing argument 'amount'. Expected {")


def test_unknown_arguments_name_the_nearest():
    assert "unknown argument 'amonut'; did you mean 'amount'?" in str(error_of(pay, '{"amonut": 1}'))


@pytest.mark.parametrize(
    ("raw", "message"),
    [
        ('{"amount": 1', "the text ends too early, after 12 characters"),
        ('{"amount": tr', "the text ends too early"),
        ('{"note": "abc', "the text ends too early"),
        ('{}""', "extra text after the end at character 2: '\"\"'"),
        ('{"amount": 1}}', "extra text after the end at character 13: '}'"),
        ('{"amount": 1,}', "at character"),
        ('{"amount": NaN}', "NaN is not a JSON number"),
        ('{"amount": -Infinity}', "-Infinity is not a JSON number"),
        ('{"amount": 1e999}', "the number 1e999 is too large"),
        ('{"amount": ' + "9" * 5000 + "}", "a number has too many digits"),
        ('{"amount": 1, "amount": 2}', "the key 'amount' is given twice"),
        ('{"note": "\\ud800"}', "\\ud800 alone is not a character"),
        ('{"note": "\ud800"}', "\\ud800 alone is not a character"),
        ('{"\ud800": 1}', "\\ud800 alone is not a character"),
        ('{"note": ' + "[" * 101 + "]" * 101 + "}", "nested more than 100 levels deep"),
        ("[" * 100_000, "nested more than 100 levels deep"),
        ('{"a":' * 100_000, "nested more than 100 levels deep"),
        ("pay(3)", "expecting value at character 0, near 'pay(3)'"),
        ('"{\\"amount\\": 1"', "the arguments must be a JSON object, not the string"),
    ],
    ids=lambda text: text[:24].encode("ascii", "replace").decode(),
)
def test_what_is_not_json_is_answered_with_what_is_wrong(raw, message):
    error = error_of(pay, raw)
    assert error.kind == "malformed_json"
    assert message in str(error)
    assert str(error).endswith('Expected {"amount": integer, "urgent"?: boolean, "note"?: string | null}')


@pytest.mark.parametrize("raw", ["[]", "[1]", "3", "true", '"Mali"', '""', '"null"'])
def test_arguments_are_an_object(raw):
    error = error_of(pay, raw)
    assert error.kind == "invalid_arguments"
    assert "the arguments must be a JSON object" in str(error)


def test_a_doubly_encoded_object_is_recovered_once():
    once = json.dumps({"amount": 1})
    assert decode(pay, json.dumps(once)).values == {"amount": 1}
    assert decode(pay, json.dumps(once)).recovered == ("double_encoded",)
    assert error_of(pay, json.dumps(json.dumps(once))).kind == "malformed_json"
    assert "argument 'amount' must be an integer" in str(
        error_of(pay, json.dumps(json.dumps({"amount": "1"})))
    )


@pytest.mark.parametrize(
    ("annotation", "raw", "values", "recovered"),
    [
        (list[Any], '{"x": "[\'x\', True]"}', ["x", True], ("encoded_value",)),
        (list[Any], '{"x": "[1, null]"}', [1, None], ("encoded_value",)),
        (list[Any], "{'x': ['x', True, None, \"it's\"]}", ["x", True, None, "it's"], ("python_literal",)),
        (dict[str, bool], '{"x": "{\'a\': False}"}', {"a": False}, ("encoded_value",)),
        (list[int] | None, '{"x": "[1]"}', [1], ("encoded_value",)),
        (Point, '{"x": "{\\"x\\": 1}"}', Point(1), ("encoded_value",)),
        (str, '{"x": "[\'x\', True]"}', "['x', True]", ()),
        (list[int] | str, '{"x": "[1]"}', "[1]", ()),
        (str, "{'x': 'a \\\\'b\\\\' \\\\n'}".replace("\\\\", "\\"), "a 'b' \n", ("python_literal",)),
    ],
)
def test_literals_are_read_only_where_a_string_cannot_be_meant(annotation, raw, values, recovered):
    decoded = decode(typed(annotation), raw)
    assert (decoded.values["x"], decoded.recovered) == (values, recovered)


def test_a_literal_is_not_executed_or_guessed():
    for text in ("['a'", "[x]", "[1 + 1]", "[__import__('os')]", "{'a', 'b'}", "a", "true"):
        assert "argument 'x' must be a list" in str(error_of(typed(list[Any]), json.dumps({"x": text})))


def test_python_spelling_to_json():
    text = r"""{'a': "it's", 'b': 'say "hi"\n', 'c': [True, None], "d": 'True \x41\u00e9\d'}"""
    assert json.loads(python_to_json(text)) == {
        "a": "it's",
        "b": 'say "hi"\n',
        "c": [True, None],
        "d": "True Aé\\d",
    }
    with pytest.raises(ValueError, match="does not end"):
        python_to_json("['" + "\\'" * 200_000)  # in linear time


def test_deep_but_allowed():
    text = "[" * 99 + "]" * 99
    assert decode_arguments(typed(Any), f'{{"x": {text}}}')["x"] == parse_json(text)


def test_fields_of_classes_can_be_decoded():
    assert decode_arguments(Point, '{"x": 3, "y": 1}') == {"x": 3, "y": 1.0}
    assert decode_arguments(Query, '{"text": "a"}') == {"text": "a"}
    assert decode_arguments(Where, '{"city": "Oslo"}') == {"city": "Oslo"}
    assert "missing argument 'text'" in str(error_of(Query, "{}"))


def test_encoding_is_strict_too():
    assert encode_arguments(typed(Color), x=Color.RED) == '{"x": "red"}'
    assert encode_arguments(typed(set[int]), x={3, 1}) == '{"x": [1, 3]}'
    assert encode_arguments(typed(Point), x=Point(1)) == '{"x": {"x": 1, "y": 0.5}}'
    for target, values, message in [
        (pay, {"amount": "1"}, "argument 'amount' of pay: '1' is not of JSON type integer"),
        (pay, {"amount": True}, "argument 'amount' of pay: True is not"),
        (pay, {"amuont": 1}, "pay has no argument 'amuont'; did you mean 'amount'"),
        (pay, {}, "pay: missing argument 'amount'"),
        (typed(float), {"x": float("nan")}, "nan is not a JSON number"),
        (typed(Annotated[int, Field(ge=1)]), {"x": 0}, "must be at least 1"),
        (typed(Color), {"x": "red"}, "'red' is not one of"),
        (typed(Any), {"x": object()}, "is not JSON"),
    ]:
        with pytest.raises(UserError, match=message):
            encode_arguments(target, **values)
