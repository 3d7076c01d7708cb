from __future__ import annotations

import copy
import json
import pickle

import pytest
from hypothesis import given
from hypothesis import strategies as st

from agentrl.core.messages import (
    Message,
    ToolCall,
    as_action,
    assistant,
    call,
    from_dicts,
    system,
    text_of,
    to_dicts,
    user,
)

calls = st.builds(ToolCall, st.text(min_size=1), st.text(), st.text())
messages = st.one_of(
    st.builds(Message, st.sampled_from(["system", "user"]), st.text()),
    st.builds(
        Message, st.just("assistant"), st.text(), st.lists(calls, max_size=3).map(tuple), reasoning=st.text()
    ),
    st.builds(Message, st.just("tool"), st.text(), tool_call_id=st.text(), name=st.text()),
)


@given(st.lists(messages, max_size=4).map(tuple))
def test_the_wire_form_goes_there_and_back(conversation):
    assert from_dicts(to_dicts(conversation)) == conversation
    assert from_dicts(json.loads(json.dumps(to_dicts(conversation)))) == conversation
    assert pickle.loads(pickle.dumps(conversation)) == conversation
    assert copy.deepcopy(conversation) == conversation


def test_the_wire_form_is_openais():
    message = Message("assistant", "hm", (ToolCall("f", '{"a": 1}', "c1"),), reasoning="because")
    assert message.to_dict() == {
        "role": "assistant",
        "content": "hm",
        "tool_calls": [{"id": "c1", "type": "function", "function": {"name": "f", "arguments": '{"a": 1}'}}],
        "reasoning_content": "because",
    }
    assert Message("tool", "1", tool_call_id="c1", name="f").to_dict() == {
        "role": "tool",
        "content": "1",
        "tool_call_id": "c1",
        "name": "f",
    }


def test_what_others_write_is_read():
    assert Message.from_dict({"role": "assistant", "content": None, "tool_calls": None}) == assistant()
    assert Message.from_dict(
        {"role": "user", "content": [{"type": "text", "text": "a"}, {"type": "text", "text": "b"}]}
    ) == user("ab")
    assert ToolCall.from_dict({"name": "f", "arguments": {"a": "é"}}) == ToolCall("f", '{"a": "é"}')
    with pytest.raises(ValueError, match="content must be text"):
        Message.from_dict({"role": "user", "content": [{"type": "image_url", "image_url": "x"}]})
    with pytest.raises(ValueError, match="role must be one of"):
        Message.from_dict({"content": "a"})


def test_messages_keep_their_rules():
    with pytest.raises(ValueError, match="role must be one of system, user, assistant, tool, not 'human'"):
        Message("human", "a")  # type: ignore[arg-type]
    with pytest.raises(ValueError, match="only an assistant message calls tools"):
        Message("user", "a", (ToolCall("f"),))
    listed = Message("assistant", "", [ToolCall("f")])  # type: ignore[arg-type]
    assert listed == assistant("", ToolCall("f"))
    assert hash(listed) == hash(assistant("", ToolCall("f")))


def test_actions_and_texts():
    assert as_action("a") == assistant("a")
    assert as_action(call("f", x=1)).tool_calls == (ToolCall("f", '{"x": 1}'),)
    with pytest.raises(TypeError, match="an action is an assistant Message or a str"):
        as_action(user("a"))
    assert text_of((system("a"), call("f"), user("b"))) == "a\nb"
    assert text_of("a") == "a"
