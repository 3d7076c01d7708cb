"""What is shown and sampled, token by token, in three formats; the expected ids are put together by hand from the
published templates' rules.
"""

import json

import pytest
from families import DEFAULT_SYSTEM, FAMILIES, ORDINARY, SPECIAL, TEMPLATES, TOOLS, codec, ids, tokenizer_of
from renderers import llama_3, qwen3

from agentrl.core.failures import UserError
from agentrl.core.messages import Message, ToolCall, assistant, call, system, user
from agentrl.inference.codecs import codec_of
from agentrl.inference.codecs.chatml import ChatMLRenderer
from agentrl.inference.codecs.hermes import in_text
from agentrl.inference.codecs.rendered import RendererCodec
from agentrl.inference.codecs.template import agrees, apply, next_turns
from agentrl.inference.codecs.wire import APART, special_texts, wire

IM, END = "<|im_start|>", "<|im_end|>"
HEAD, TAIL, EOT = "<|start_header_id|>", "<|end_header_id|>", "<|eot_id|>"
LISTED = "\n".join(json.dumps(tool) for tool in TOOLS)
ASKED = (IM, "assistant\n")
ASKED_LLAMA = (HEAD, "assistant", TAIL, "\n\n")
SEARCH = call("search", query="Mali")
DATE = "Cutting Knowledge Date: December 2023\nToday Date: 26 Jul 2024\n\n"


def answer(text: str, name: str = "search") -> Message:
    return Message("tool", text, name=name, tool_call_id="call-0")


def test_smollm2_begins_with_the_templates_own_system_message():
    assert codec("smollm2").start((user("Hi"),), []) == ids(
        "smollm2", IM, f"system\n{DEFAULT_SYSTEM}", END, "\n", IM, "user\nHi", END, "\n", *ASKED
    )
    assert codec("smollm2").start((system("Be brief."), user("\nHi")), []) == ids(
        "smollm2", IM, "system\nBe brief.", END, "\n", IM, "user\n\nHi", END, "\n", *ASKED
    )


def test_smollm2_is_told_of_tools_that_its_template_drops():
    shown = codec("smollm2").decode(codec("smollm2").start((system("Be brief."), user("Hi")), TOOLS))
    head, _, rest = shown.partition("<tools>\n")
    assert head.startswith("<|im_start|>system\nBe brief.\n\nYou may call these functions.")
    assert rest == f"{LISTED}\n</tools><|im_end|>\n<|im_start|>user\nHi<|im_end|>\n<|im_start|>assistant\n"


def test_smollm2_calls_and_is_answered():
    action = assistant(
        "Let me see.", ToolCall.make("search", query="Mali"), ToolCall.make("answer", text="x")
    )
    said = codec("smollm2").encode_action(action, TOOLS)
    assert said == ids(
        "smollm2",
        'Let me see.\n<tool_call>\n{"name": "search", "arguments": {"query": "Mali"}}\n</tool_call>\n'
        '<tool_call>\n{"name": "answer", "arguments": {"text": "x"}}\n</tool_call>',
        END,
    )
    prompt = codec("smollm2").start((user("Hi"),), TOOLS)
    assert codec("smollm2").extend(prompt, said, (answer("Bamako"), answer("no")), TOOLS) == ids(
        "smollm2",
        "\n",
        IM,
        "user\n<tool_response>\nBamako\n</tool_response>\n<tool_response>\nno\n</tool_response>",
        END,
        "\n",
        *ASKED,
    )


def test_qwen3_shows_and_calls_tools_as_its_template_does():
    tools = f"{qwen3._TOOLS_HEADER}\n{LISTED}{qwen3._TOOLS_FOOTER}"
    start, end = "<tool_call>", "</tool_call>"
    # The header names the call's tags, and they are tokens there too.
    before, inside, after = tools.partition(" XML tags:\n<tool_call>")[0], None, None
    assert before.endswith("within <tool_call></tool_call>")
    assert (inside, after) == (None, None)
    prompt = codec("qwen3").start((system("S"), user("Hi")), TOOLS)
    assert codec("qwen3").decode(prompt) == (
        f"<|im_start|>system\nS\n\n{tools}<|im_end|>\n<|im_start|>user\nHi<|im_end|>\n<|im_start|>assistant\n"
    )
    assert prompt[-11:] == ids("qwen3", END, "\n", IM, "user\nHi", END, "\n", *ASKED)[-11:]
    said = codec("qwen3").encode_action(SEARCH, TOOLS)
    body = '\n{"name": "search", "arguments": {"query": "Mali"}}\n'
    # A last turn without reasoning has an empty block of it: so the model says it.
    assert said == ids("qwen3", "<think>", "\n\n", "</think>", "\n\n", start, body, end, END)
    assert codec("qwen3").extend(prompt, said, (answer("Bamako"), answer("no")), TOOLS) == ids(
        "qwen3",
        *("\n", IM, "user", "\n", "<tool_response>", "\nBamako\n", "</tool_response>"),
        *("\n", "<tool_response>", "\nno\n", "</tool_response>", END, "\n", *ASKED),
    )


def test_qwen3_starts_afresh_where_its_template_drops_reasoning():
    prompt = codec("qwen3").start((user("Hi"),), TOOLS)
    thought = Message("assistant", "Hello", reasoning="hm")
    said = codec("qwen3").encode_action(thought, TOOLS)
    assert said == ids("qwen3", "<think>", "\nhm\n", "</think>", "\n\nHello", END)
    assert codec("qwen3").extend(prompt, said, (user("more"),), TOOLS) is None
    again = codec("qwen3").decode(codec("qwen3").start((user("Hi"), thought, user("more")), []))
    assert "hm" not in again
    assert again.endswith(
        "assistant\nHello<|im_end|>\n<|im_start|>user\nmore<|im_end|>\n<|im_start|>assistant\n"
    )


def test_qwen3_without_thinking_never_says_the_block_that_its_prompt_holds():
    quiet = codec_of(tokenizer_of("qwen3"), settings={"enable_thinking": False})
    empty = ("<think>", "\n\n", "</think>", "\n\n")
    prompt = quiet.start((user("Hi"),), TOOLS)
    assert prompt[-6:] == ids("qwen3", *ASKED, *empty)[-6:]
    said = quiet.encode_action(assistant("Hello"), TOOLS)
    assert said == ids("qwen3", "Hello", END)
    added = quiet.extend(prompt, said, (user("more"),), TOOLS)
    assert added == ids("qwen3", "\n", IM, "user\nmore", END, "\n", *ASKED, *empty)
    assert (*prompt, *said, *added) == quiet.start((user("Hi"), assistant("Hello"), user("more")), TOOLS)
    assert quiet.parse(said, TOOLS, prompt) == assistant("Hello")


def test_llama3_shows_tools_to_the_first_user_and_answers_as_ipython():
    prompt = codec("llama3").start((system("Be brief."), user("Hi")), TOOLS)
    listed = "".join(json.dumps(tool, indent=4) + "\n\n" for tool in TOOLS)
    assert prompt == ids(
        "llama3",
        *("<|begin_of_text|>", HEAD, "system", TAIL, f"\n\nEnvironment: ipython\n{DATE}Be brief.", EOT),
        *(HEAD, "user", TAIL, f"\n\n{llama_3._TOOLS_IN_USER_INTRO}{listed}Hi", EOT, *ASKED_LLAMA),
    )
    said = codec("llama3").encode_action(SEARCH, TOOLS)
    assert said == ids("llama3", '{"name": "search", "parameters": {"query": "Mali"}}', EOT)
    assert codec("llama3").extend(prompt, said, (answer("Bamako"),), TOOLS) == ids(
        "llama3", HEAD, "ipython", TAIL, '\n\n"Bamako"', EOT, *ASKED_LLAMA
    )
    assert codec("llama3").start((user("Hi"),), []) == ids(
        "llama3",
        *("<|begin_of_text|>", HEAD, "system", TAIL, f"\n\n{DATE}", EOT),
        *(HEAD, "user", TAIL, "\n\nHi", EOT, *ASKED_LLAMA),
    )


@pytest.mark.parametrize("family", FAMILIES)
def test_a_turn_that_was_cut_off_is_closed_by_context(family):
    prompt = codec(family).start((user("Hi"),), TOOLS)
    whole = codec(family).encode_action(SEARCH, TOOLS)
    for cut in range(1, len(whole)):
        added = codec(family).extend(prompt, whole[:cut], (answer("x"),), TOOLS)
        assert added is not None
        closing = added[: added.index(whole[-1]) + 1]
        # Qwen3 closes its reasoning too, if that is where it was cut.
        expected = ids(family, "</think>", END) if family == "qwen3" and cut <= 2 else whole[-1:]
        assert closing == expected
        assert added[len(closing) :] == codec(family).extend(prompt, whole, (answer("x"),), TOOLS)


@pytest.mark.parametrize("family", FAMILIES)
def test_what_cannot_be_extended_starts_afresh(family):
    it = codec(family)
    prompt, said = it.start((user("Hi"),), []), it.encode_action(assistant("yes"), [])
    assert it.extend((), said, (answer("x"),), []) is None
    assert it.extend(prompt, said, (answer("x"), assistant("no")), []) is None
    assert it.extend(prompt, (*said, *said), (answer("x"),), []) is None  # a stop token in the middle


@pytest.mark.parametrize("family", [*FAMILIES, "llama30", "plain"])
def test_no_text_becomes_a_token_of_the_format(family):
    """Neither of an environment, nor of a page that it retrieved, nor of the policy."""
    it = codec(family)
    added = it.tokenizer.get_added_vocab()
    assert set(added) == {*SPECIAL[family], *ORDINARY.get(family, ())}
    marks = set(added.values())
    bad = " ".join(sorted(added)) + "".join(sorted(added))

    def count(text: str) -> list[int]:
        talk = (
            system(text),
            user(text),
            call("search", query=text),
            answer(text),
            assistant(text),
            user(text),
        )
        named = {**TOOLS[0]["function"], "description": text}
        return [
            token for token in it.start(talk, [{"type": "function", "function": named}]) if token in marks
        ]

    assert count(bad) == count("good")
    shown = it.decode(it.start((user(bad),), []))
    assert bad in shown.replace(APART, "")
    with pytest.raises(UserError, match="cannot say"):
        it.encode_action(assistant(bad), TOOLS)


@pytest.mark.parametrize("family", FAMILIES)
@pytest.mark.parametrize("new", [user, answer])
def test_no_text_that_is_added_becomes_a_token_of_the_format(family, new):
    it = codec(family)
    added = it.tokenizer.get_added_vocab()
    prompt, said = it.start((user("Hi"),), TOOLS), it.encode_action(SEARCH, TOOLS)
    marks = []
    for text in ("".join(sorted(added)), "good"):
        # Qwen3 drops reasoning when a user goes on, so that a fresh segment begins.
        whole = it.extend(prompt, said, (new(text),), TOOLS) or it.start(
            (user("Hi"), SEARCH, new(text)), TOOLS
        )
        marks.append([token for token in whole if token in added.values()])
    assert marks[0] == marks[1]


ODD = '\n  it\'s Één,  "two" & <b>3</b> \n\n'


@pytest.mark.parametrize("family", FAMILIES)
@pytest.mark.parametrize("text", ["Bamako", ODD])
@pytest.mark.parametrize("roles", ["user", "tool", "tool tool", "tool user", "user user"])
def test_what_is_added_is_what_the_template_writes_there(family, text, roles):
    it = codec(family)
    new = tuple(user(text) if role == "user" else answer(text) for role in roles.split())
    said = SEARCH if roles.startswith("tool") else assistant("Yes.")
    prompt = it.start((user("Hi"),), TOOLS)
    added = it.extend(prompt, it.encode_action(said, TOOLS), new, TOOLS)
    if added is None:
        # What begins afresh is the template's in any case.
        assert (family, roles[-4:]) == ("qwen3", "user")
        return
    given = wire((user("Hi"), said, *new), special_texts(it.tokenizer))
    if family == "smollm2":  # its template knows no tools: they are in the texts
        given = in_text(given, ())
    settings = {"date_string": "26 Jul 2024"} if family == "llama3" else {}
    whole = apply(it.tokenizer, given, TOOLS, add_generation_prompt=True, **settings)
    assert list(added) == whole[-len(added) :]
    assert whole[-len(added) - 1] in it.stop_ids


def test_a_bridge_that_writes_other_ids_than_the_template_is_not_used():
    class Wordy(ChatMLRenderer):
        """Ends an answer with one line too many when it goes on, but not when it is rendered whole."""

        def bridge_to_next_turn(self, prompt_ids, completion_ids, new_messages, *, tools=None):
            longer = [
                {**m, "content": m["content"] + "\n"} if m["role"] == "tool" else m for m in new_messages
            ]
            return super().bridge_to_next_turn(prompt_ids, completion_ids, longer, tools=tools)

    tokenizer = tokenizer_of("smollm2")
    assert agrees(lambda: Wordy(tokenizer), tokenizer)
    allowed = next_turns(Wordy(tokenizer), tokenizer, {})
    assert allowed == {("user",), ("user", "user")}
    it = RendererCodec(tokenizer, Wordy(tokenizer), bridged=allowed)
    prompt, said = it.start((user("Hi"),), TOOLS), it.encode_action(SEARCH, TOOLS)
    assert it.extend(prompt, said, (answer("x"),), TOOLS) is None
    assert it.extend(prompt, said, (user("x"),), TOOLS) is not None


def test_a_template_that_drops_reasoning_is_not_bridged():
    tokenizer = tokenizer_of("smollm2")
    thinks = (
        "(('<think>\n' + m.reasoning_content + '\n</think>\n') if loop.last and m.reasoning_content else '')"
    )
    tokenizer.chat_template = TEMPLATES["smollm2"].replace("+ m.content", f"+ {thinks} + m.content")
    it = codec_of(tokenizer)
    assert isinstance(it.renderer, ChatMLRenderer)
    thought = Message("assistant", "Hello", reasoning="hm")
    prompt = it.start((user("Hi"),), [])
    assert it.extend(prompt, it.encode_action(thought, []), (user("more"),), []) is None
    assert codec("smollm2").extend(prompt, it.encode_action(thought, []), (user("more"),), []) is not None


def test_the_first_llama3_is_shown_tools_in_the_text():
    it = codec("llama30")
    prompt = it.start((system("S"), user("Hi")), TOOLS)
    assert it.decode(prompt).startswith(
        "<|begin_of_text|><|start_header_id|>system<|end_header_id|>\n\nS\n\nYou may call these functions."
    )
    said = it.encode_action(SEARCH, TOOLS)
    assert it.decode(said) == (
        '<tool_call>\n{"name": "search", "arguments": {"query": "Mali"}}\n</tool_call><|eot_id|>'
    )
    assert [(c.name, c.arguments) for c in it.parse(said, TOOLS).tool_calls] == [
        ("search", '{"query": "Mali"}')
    ]
    assert it.extend(prompt, said, (answer("x"),), TOOLS) is None
    with pytest.raises(UserError, match="no chat template"):
        codec_of(tokenizer_of("llama30", template=False))


def test_llama3_says_so_where_its_format_has_no_place():
    for action in (
        assistant("text", ToolCall.make("search", query="x")),
        assistant("", ToolCall.make("search", query="x"), ToolCall.make("search", query="y")),
        Message("assistant", "x", reasoning="hm"),
    ):
        with pytest.raises(UserError, match="cannot say"):
            codec("llama3").encode_action(action, TOOLS)


def test_llama3_shows_a_history_that_its_template_refuses():
    two = assistant("", ToolCall.make("search", query="x"), ToolCall.make("search", query="y"))
    shown = codec("llama3").decode(codec("llama3").start((user("Hi"), two, answer("1"), answer("2")), TOOLS))
    assert '<tool_call>\n{"name": "search", "arguments": {"query": "y"}}\n</tool_call>' in shown
    assert "<tool_response>\n2\n</tool_response>" in shown
