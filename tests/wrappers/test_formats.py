"""Calls in plain text: what each format reads, by hand, and that it reads what it writes."""

import json

import pytest
from hypothesis import given
from hypothesis import strategies as st

from agentrl.core.messages import ToolCall
from agentrl.core.tool import Tool
from agentrl.wrappers.formats import FORMATS, closing


def search(query: str, k: int = 3) -> str:
    """Find.

    Args:
        query: words.
        k: how many.
    """
    return query


def look() -> str:
    """Look."""
    return ""


def move(x: int, y: int) -> str:
    """Move."""
    return ""


def add(number: int) -> str:
    """Add."""
    return ""


TOOLS = [Tool.of(function) for function in (search, look, move, add)]
XML, TAGS, PLAIN = (FORMATS[name]() for name in ("xml", "tags", "plain"))


def read(format, text):
    return [(call.name, call.arguments) for call in format.read(text, TOOLS)]


@pytest.mark.parametrize(
    ("format", "text", "calls"),
    [
        (XML, 'I <tool_call>{"name": "look", "arguments": {}}</tool_call>', [("look", "{}")]),
        (XML, '<tool_call>\n{"name": "look"}\n</tool_call>', [("look", "{}")]),
        (XML, '<tool_call>{"name": "add", "arguments": "{\\"number\\": 1}"}', [("add", '{"number": 1}')]),
        (
            XML,
            '<tool_call>{"name": "add", "arguments": {</tool_call>',
            [("add", '{"name": "add", "arguments": {')],
        ),
        (XML, "<tool_call>look</tool_call>", [("tool_call", "look")]),
        (XML, "look()", []),
        (TAGS, "so <search> Mali </search> it is", [("search", '{"query": "Mali"}')]),
        (TAGS, '<search>{"query": "a", "k": 1}</search>', [("search", '{"query": "a", "k": 1}')]),
        (TAGS, "<look/><look></look>", [("look", "{}"), ("look", "{}")]),
        (TAGS, '<move>{"x": 1, "y": 2}</move>', [("move", '{"x": 1, "y": 2}')]),
        (TAGS, "<move>1, 2</move>", [("move", "1, 2")]),
        (TAGS, "<add>3</add><add>", [("add", '{"number": 3}'), ("add", '{"number": null}')]),
        (TAGS, "<search>unclosed", [("search", '{"query": "unclosed"}')]),
        (TAGS, "<b>bold</b>", []),
        (PLAIN, 'search(query="Mali", k=2)', [("search", '{"query": "Mali", "k": 2}')]),
        (PLAIN, "Action: move(1, y=-2)", [("move", '{"x": 1, "y": -2}')]),
        (PLAIN, "look()\n look()", [("look", "{}"), ("look", "{}")]),
        (PLAIN, "I could look() or not", []),
        (PLAIN, 'search("a) b")', [("search", '{"query": "a) b"}')]),
        (PLAIN, "search(query=Mali)", [("search", "(query=Mali)")]),
        (PLAIN, "add(1, 2)", [("add", "(1, 2)")]),
        (PLAIN, "add(1, number=2)", [("add", "(1, number=2)")]),
        (PLAIN, "add(1", [("add", '{"number": 1}')]),
        (PLAIN, "add(**{})", [("add", "(**{})")]),
    ],
    ids=lambda value: value if isinstance(value, str) else "",
)
def test_what_is_read(format, text, calls):
    assert read(format, text) == calls


VALUES = st.one_of(st.text(max_size=12), st.sampled_from(["<b>", "{", "a\nb", ' "q" ', "</search>x", "é\\"]))


@given(query=VALUES, k=st.none() | st.integers(-5, 5))
@pytest.mark.parametrize("format", [XML, TAGS, PLAIN], ids=["xml", "tags", "plain"])
def test_what_was_written_is_read(format, query, k):
    if "</search" in query or "</tool_call>" in query:
        return  # a tag within its own tag: no such format can carry it
    values = {"query": query, **({} if k is None else {"k": k})}
    written = format.write(ToolCall.make("search", **values), TOOLS)
    calls = format.read(written, TOOLS)
    assert [(call.name, json.loads(call.arguments)) for call in calls] == [("search", values)]


@given(st.text(max_size=60))
@pytest.mark.parametrize("format", [XML, TAGS, PLAIN], ids=["xml", "tags", "plain"])
def test_any_text_is_read(format, text):
    for begin in ("", "<tool_call>", "<search>", "search("):
        for call in format.read(begin + text, TOOLS):
            assert isinstance(call.arguments, str)


def test_where_a_bracket_closes():
    assert closing("(a(b)c) d", 1) == 7
    assert closing("(')')", 1) == 5
    assert closing("(open", 1) == 6


@pytest.mark.parametrize("format", [XML, TAGS, PLAIN], ids=["xml", "tags", "plain"])
def test_the_tools_are_told(format):
    told = format.told(TOOLS)
    assert all(name in told for name in ("search", "look", "move", "add", "Find."))
