"""Whatever the types of a tool's parameters: sample, encode and decode agree, and the schema says the truth."""

from __future__ import annotations

import json

import jsonschema
import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from signatures import annotations, function_of, functions, json_values

from agentrl.core.decode import decode, decode_arguments, encode_arguments
from agentrl.core.failures import ToolError
from agentrl.core.sampling import sample_arguments, sample_invalid_call
from agentrl.core.schema import schema_of
from agentrl.core.tool import Tool
from agentrl.core.validate import fits


@given(function=functions, seed=st.integers(0, 2**32))
def test_a_sampled_call_decodes_encodes_and_decodes_to_the_same_values(function, seed):
    tool = Tool.of(function)
    arguments = sample_arguments(tool.parameters, np.random.default_rng(seed))
    jsonschema.Draft202012Validator(tool.parameters).validate(arguments)
    decoded = decode(tool, json.dumps(arguments))
    assert decoded.recovered == ()
    assert decoded.values.keys() == arguments.keys()
    again = decode(tool, encode_arguments(tool, **decoded.values))
    assert again.values == decoded.values
    assert again.recovered == ()


@given(function=functions)
def test_the_schema_is_a_schema(function):
    parameters = Tool.of(function).parameters
    jsonschema.Draft202012Validator.check_schema(parameters)
    assert parameters["additionalProperties"] is False
    assert json.loads(json.dumps(parameters)) == parameters


@given(annotation=annotations, value=json_values)
def test_what_we_accept_is_what_json_schema_accepts(annotation, value):
    schema = schema_of(annotation)
    assert fits(schema, value) == jsonschema.Draft202012Validator(schema).is_valid(value)


@given(annotation=annotations, value=json_values)
def test_the_decoder_accepts_what_the_schema_accepts(annotation, value):
    tool = Tool.of(function_of([annotation]))
    valid = jsonschema.Draft202012Validator(tool.parameters).is_valid({"p0": value})
    outcome = outcome_of(tool, json.dumps({"p0": value}))
    if isinstance(outcome, ToolError):
        assert not valid
        assert outcome.kind == "invalid_arguments"
    else:
        assert valid or outcome.recovered == ("encoded_value",)


def outcome_of(target, raw):
    try:
        return decode(target, raw)
    except ToolError as error:
        return error


@given(function=functions, seed=st.integers(0, 2**32))
def test_an_invalid_call_is_answered_with_a_tool_error(function, seed):
    tool = Tool.of(function)
    kind, arguments = sample_invalid_call(tool.parameters, np.random.default_rng(seed))
    if kind == "double_encoded":
        assert decode(tool, arguments).recovered == ("double_encoded",)
    else:
        with pytest.raises(ToolError):
            decode_arguments(tool, arguments)


@given(function=functions, seed=st.integers(0, 2**32))
def test_the_generator_is_the_only_chance(function, seed):
    parameters = Tool.of(function).parameters
    for draw in (sample_arguments, sample_invalid_call):
        assert draw(parameters, np.random.default_rng(seed)) == draw(parameters, np.random.default_rng(seed))


def pay(
    amount: int, tags: list[str], who: dict[str, int], urgent: bool = False, note: str | None = None
) -> str:
    return ""


jsonish = st.text(alphabet="{}[]\",:'\\ \n0123456789.eE+-truefalsnNIiTFamountags\ud800é", max_size=60)
near = st.tuples(
    st.sampled_from(
        ['{"amount": 3, "tags": ["a"], "who": {"b": 1}}', "{'amount': 3, 'tags': ['x', True], 'who': None}"]
    ),
    st.integers(0, 60),
    st.integers(0, 5),
    jsonish,
).map(lambda t: t[0][: t[1]] + t[3] + t[0][t[1] + t[2] :])


@settings(max_examples=400)
@given(raw=st.text() | jsonish | near | st.text(alphabet=st.characters(codec=None)))
def test_decoding_any_text_gives_values_or_a_tool_error_that_can_be_written(raw):
    outcome = outcome_of(pay, raw)
    if isinstance(outcome, ToolError):
        assert outcome.kind in ("malformed_json", "invalid_arguments")
        assert len(str(outcome).encode()) < 3000
    else:
        values = outcome.values
        assert type(values["amount"]) is int
        assert all(type(tag) is str for tag in values["tags"])
        assert all(type(count) is int for count in values["who"].values())
        json.dumps(values).encode()
