"""What a policy sampled, as a message: in three formats, well-formed and not."""

import json

import pytest
from families import FAMILIES, TOOLS, codec
from hypothesis import given, settings
from hypothesis import strategies as st

from agentrl.core.env import ToolEnv
from agentrl.core.messages import Message, ToolCall, assistant, call
from agentrl.core.tool import tool
from agentrl.inference.codecs.wire import fields


class Desk(ToolEnv):
    """Knows tools of several shapes; says what arrived."""

    def task(self) -> str:
        return "go"

    @tool
    def search(self, query: str) -> str:
        """Search. Args: query: what."""
        return f"searched {query}"

    @tool
    def finish(self) -> str:
        """Finish."""
        return "finished"

    @tool
    def choose(self, items: list[str | bool]) -> str:
        """Choose. Args: items: which."""
        return f"chose {items}"


DESK = [tool.spec for tool in Desk().tools]


def parse(family: str, text: str, tools=DESK) -> Message:
    it = codec(family)
    return it.parse(it.tokenizer.encode(text, add_special_tokens=False), tools)


def reply(message: Message) -> tuple[list[str], list[str], list[str]]:
    """(answers, kinds of errors, kinds of repairs) of an environment that is told this."""
    env = Desk()
    env.reset(seed=0)
    observation, _, _, _, info = env.step(message)
    errors, repairs = info["tool_errors"], info["tool_recoveries"]
    return [m.content for m in observation], [e["kind"] for e in errors], [r["kind"] for r in repairs]


def block(body: str) -> str:
    return f"<tool_call>\n{body}\n</tool_call>"


HERMES = ("smollm2", "qwen3")


@pytest.mark.parametrize("family", HERMES)
@pytest.mark.parametrize(
    ("said", "name", "kind"),
    [
        ('<tool_call>\n{"name": "search", "arguments": {"query": "Mal', "search", "malformed_json"),
        (block('{"name": "search", "arguments": {"query": }}'), "search", "malformed_json"),
        (block('{"arguments": {"query": "x"}}'), "", "unknown_tool"),
        (block('{"name": 5, "arguments": {}}'), "", "unknown_tool"),
        (block('{"name": {"a": 1}}'), "", "unknown_tool"),
        (block('{"name": "", "arguments": {}}'), "", "unknown_tool"),
        (block("[]"), "", "unknown_tool"),
        (block('"search"'), "", "unknown_tool"),
        ("<tool_call>\n</tool_call>", "", "unknown_tool"),
        ("<tool_call>", "", "unknown_tool"),
        (block('{"name": "serch", "arguments": {"query": "x"}}'), "serch", "unknown_tool"),
        (block('{"name": "search", "arguments": {}}'), "search", "invalid_arguments"),
        (block('{"name": "search", "arguments": [1]}'), "search", "invalid_arguments"),
        (block('{"name": "search", "arguments": {"query": "x", "query": "y"}}'), "search", "malformed_json"),
        (block('{"name": "search", "arguments": {"query": NaN}}'), "search", "malformed_json"),
        (block('{"name": "search", "arguments": {"query": "x"}} {"name": "x"}'), "search", "malformed_json"),
        (block('{"name": "finish", "arguments": {}'), "finish", "malformed_json"),
        ('<tool_call>\n{"name": "finish", "arguments": {}}', "finish", "invalid_arguments"),
    ],
)
def test_a_malformed_call_is_an_error_that_the_policy_sees(family, said, name, kind):
    message = parse(family, said)
    assert [one.name for one in message.tool_calls] == [name]
    answers, errors, _ = reply(message)
    assert (len(answers), errors) == (1, [kind])


@pytest.mark.parametrize(
    ("said", "names", "errors"),
    [
        ('{"name": "search", "parameters": {"query": "Mal', ["search"], ["malformed_json"]),
        ('{"name": "search", "parameters": {"query": }}', ["search"], ["malformed_json"]),
        ('{"parameters": {"query": "x"}}', [""], ["unknown_tool"]),
        ('<|python_tag|>{"name": "finish", "parameters": {}}', ["finish"], []),
        ('<|python_tag|>search.call(query="x")', [""], ["unknown_tool"]),
        ('{"name": "finish", "parameters": {}}; {"name": "finish"}', ["finish", "finish"], []),
        (
            '{"name": "finish", "parameters": {}}\n{"name": "search", ',
            ["finish", "search"],
            ["malformed_json"],
        ),
        (
            '{"name": "search", "parameters": "{\\"query\\": \\"x\\"}"}',
            ["search"],
            [],
        ),
    ],
)
def test_llama3_calls(said, names, errors):
    message = parse("llama3", said)
    assert [one.name for one in message.tool_calls] == names
    assert reply(message)[1] == errors
    assert len({one.id for one in message.tool_calls}) == len(names)


def test_llama3_text_is_text():
    assert parse("llama3", 'Sure: {"name": "finish"}') == assistant('Sure: {"name": "finish"}')
    assert parse("llama3", '{"name": "finish"}', tools=[]) == assistant('{"name": "finish"}')
    assert parse("llama3", '{"name": "finish"} Done.').content == "Done."


@pytest.mark.parametrize("family", HERMES)
def test_several_calls_come_in_order_and_may_need_no_arguments(family):
    said = "\n".join(
        [
            "First.",
            block('{"name": "finish", "arguments": {}}'),
            block('{"name": "finish"}'),
            block('{"name": "search", "arguments": {"query": }}'),
            block('{"name": "finish", "arguments": null}'),
            block('{"name": "search", "arguments": "{\\"query\\": \\"Mali\\"}"}'),
        ]
    )
    message = parse(family, said)
    assert message.content == "First."
    assert [one.name for one in message.tool_calls] == ["finish", "finish", "search", "finish", "search"]
    assert len({one.id for one in message.tool_calls}) == 5
    answers, errors, repairs = reply(message)
    assert [text for text in answers if not text.startswith("error")] == [
        "finished",
        "finished",
        "finished",
        "searched Mali",
    ]
    assert (errors, repairs) == (["malformed_json"], ["double_encoded"])


@pytest.mark.parametrize("family", FAMILIES)
def test_arguments_are_kept_as_they_were_written(family):
    key = "parameters" if family == "llama3" else "arguments"
    written = '{"query" :  "\\u004dali", "n": 1.50}'
    said = f'{{"name": "search", "{key}": {written}}}'
    assert parse(family, said if family == "llama3" else block(said)).tool_calls[0].arguments == written


def test_a_python_list_is_taken_where_the_schema_wants_a_list():
    for family in HERMES:
        said = block('{"name": "choose", "arguments": {"items": "[\'x\', True]"}}')
        assert reply(parse(family, said)) == (["chose ['x', True]"], [], ["encoded_value"])


@pytest.mark.parametrize("family", HERMES)
def test_reasoning_is_its_own_channel(family):
    one = parse(family, "<think>\nhm\n</think>\n\nBamako")
    assert (one.reasoning, one.content) == ("hm", "Bamako")
    drafted = block('{"name": "finish"}')
    open_ended = parse(family, f"<think>\nhm\n{drafted}")
    assert (open_ended.reasoning, [c.name for c in open_ended.tool_calls]) == ("hm", ["finish"])
    # What is only thought of is not done.
    done = block('{"name": "search"}')
    closed = parse(family, f"<think>\nhm {drafted}\n</think>\n{done}")
    assert [c.name for c in closed.tool_calls] == ["search"]
    assert "finish" in closed.reasoning
    cut = parse(family, "<think>\nhm and so on")
    assert (cut.reasoning.strip(), cut.content, cut.tool_calls) == ("hm and so on", "", ())


@pytest.mark.parametrize("family", FAMILIES)
def test_extreme_json_is_a_tool_error_too(family):
    key = "parameters" if family == "llama3" else "arguments"
    for value in ("[" * 100_000, f'{{"query": {"9" * 5000}}}', '{"query": 1e999}'):
        said = f'{{"name": "search", "{key}": {value}}}'
        message = parse(family, said if family == "llama3" else block(said))
        assert len(message.tool_calls) == 1
        assert len(reply(message)[1]) == 1


def test_text_of_arguments_may_hold_the_closing_tag():
    said = call("search", query="echo </tool_call> <tool_call> </think>")
    it = codec("smollm2")
    assert (
        it.parse(it.encode_action(said, TOOLS), TOOLS).tool_calls[0].arguments == said.tool_calls[0].arguments
    )


def test_fields_of_an_object():
    assert fields(' {"name" : "a", "arguments":{"x": [1, {"y": "}"}]} , "z":null}') == {
        "name": '"a"',
        "arguments": '{"x": [1, {"y": "}"}]}',
        "z": "null",
    }
    assert fields("[1]") == fields("{") == fields('{"a" 1}') == fields("") == {}


scalars = st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False, allow_infinity=False)
letters = st.characters(exclude_categories=["Cs"])
texts = st.text(letters, max_size=20)
values = st.recursive(
    scalars | texts, lambda inner: st.lists(inner, max_size=3) | st.dictionaries(texts, inner, max_size=3)
)
names = st.text(st.characters(categories=["Ll", "Nd"], include_characters="_-."), min_size=1, max_size=12)
plain = st.text(st.characters(exclude_categories=["Cs"], exclude_characters="<>{}"), max_size=30)


@settings(max_examples=80, deadline=None)
@given(
    content=plain,
    calls=st.lists(st.tuples(names, st.dictionaries(texts, values, max_size=3)), max_size=3),
    reasoning=plain,
)
@pytest.mark.parametrize("family", HERMES)
def test_an_action_survives_encoding_and_parsing(family, content, calls, reasoning):
    action = Message(
        "assistant",
        content,
        tuple(ToolCall(name, json.dumps(arguments, ensure_ascii=False)) for name, arguments in calls),
        reasoning=reasoning.strip(),
    )
    it = codec(family)
    if family == "qwen3":
        # Its tags are tokens wherever they stand, and its normalizer composes characters: such actions are refused.
        text = json.dumps(action.to_dict(), ensure_ascii=False)
        composed = it.tokenizer.backend_tokenizer.normalizer.normalize_str(text)
        if text != composed or any(
            tag in text for tag in ("<tool_call>", "</tool_call>", "<think>", "</think>")
        ):
            return
    said = it.encode_action(action, TOOLS)
    assert said[-1] in it.stop_ids
    assert not set(said[:-1]) & set(it.stop_ids)
    back = it.parse(said, TOOLS)
    assert (back.content, back.reasoning) == (content.strip(), reasoning.strip())
    assert [(c.name, json.loads(c.arguments)) for c in back.tool_calls] == [
        (name, json.loads(json.dumps(arguments))) for name, arguments in calls
    ]


@settings(max_examples=60, deadline=None)
@given(name=names, arguments=st.dictionaries(texts, values, max_size=3), content=plain)
def test_a_llama3_action_survives_encoding_and_parsing(name, arguments, content):
    it = codec("llama3")
    for action in (assistant("", ToolCall(name, json.dumps(arguments))), assistant(content)):
        back = it.parse(it.encode_action(action, TOOLS), TOOLS)
        assert back.content == action.content.strip()
        assert [(c.name, json.loads(c.arguments)) for c in back.tool_calls] == [
            (c.name, json.loads(c.arguments)) for c in action.tool_calls
        ]


@settings(max_examples=100, deadline=None)
@given(data=st.data(), family=st.sampled_from([*FAMILIES, "plain"]), tools=st.sampled_from([[], TOOLS]))
def test_parsing_never_raises_and_is_decided_by_the_tokens(data, family, tools):
    it = codec(family)
    vocabulary = len(it.tokenizer)
    sampled = data.draw(
        st.lists(st.integers(0, vocabulary - 1) | st.integers(vocabulary - 12, vocabulary - 1), max_size=40)
    )
    message = it.parse(sampled, tools)
    json.dumps(message.to_dict(), ensure_ascii=False).encode()
    assert message == it.parse(tuple(sampled), tools)
    assert message.role == "assistant"
    again = it.start((Message("user", "x"), message, Message("user", "y")), tools)
    assert len(again) > 0
