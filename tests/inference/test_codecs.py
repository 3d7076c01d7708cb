"""Codecs on the rules of three families' tokenizers: ChatML (SmolLM2), Qwen3, Llama-3.

The tokenizers are byte-level with the families' own special tokens, so that every id can be read: what is tested
is where the special tokens stand and which ids are added, kept and sampled.
"""

from __future__ import annotations

import json

import pytest
from families import SPECIAL
from hypothesis import given, settings
from hypothesis import strategies as st
from tokenizers import Tokenizer, decoders, models, pre_tokenizers
from transformers import PreTrainedTokenizerFast

from agentrl.core.failures import UserError
from agentrl.core.messages import Message, ToolCall, assistant, system, user
from agentrl.core.tree import RolloutTree, Task, Turn, fed_ids
from agentrl.inference.codec import Codec
from agentrl.inference.codecs import codec_of, load_codec
from agentrl.inference.engine import Completion, ContextOverflow, Sampling
from agentrl.inference.policy import ModelPolicy, View

CHATML = ["<|endoftext|>", "<|im_start|>", "<|im_end|>"]
QWEN3 = [*CHATML, "<think>", "</think>", "<tool_call>", "</tool_call>", "<tool_response>", "</tool_response>"]
TOOLS = [
    {
        "type": "function",
        "function": {
            "name": "search",
            "description": "Find facts.",
            "parameters": {
                "type": "object",
                "properties": {"query": {"type": "string"}},
                "required": ["query"],
            },
        },
    }
]


def bytes_tokenizer(special: list[str]) -> PreTrainedTokenizerFast:
    """One token a byte, and the special tokens."""
    alphabet = sorted(pre_tokenizers.ByteLevel.alphabet())
    raw = Tokenizer(models.BPE(vocab={char: i for i, char in enumerate(alphabet)}, merges=[]))
    raw.pre_tokenizer = pre_tokenizers.ByteLevel(add_prefix_space=False)
    raw.decoder = decoders.ByteLevel()
    raw.add_special_tokens(special)
    return PreTrainedTokenizerFast(tokenizer_object=raw)


@pytest.fixture(scope="module", params=["chatml", "qwen3", "llama3"])
def family(request) -> tuple[str, Codec]:
    return request.param, codec_for(request.param)


def codec_for(name: str) -> Codec:
    return codec_of(bytes_tokenizer({"chatml": CHATML, "qwen3": QWEN3, "llama3": SPECIAL["llama3"]}[name]))


def text(codec: Codec, ids) -> str:
    return codec.decode(ids)


def test_chatml_prompts_are_as_the_format_says():
    codec = codec_for("chatml")
    assert text(codec, codec.start((system("Be brief."), user("Hi")), [])) == (
        "<|im_start|>system\nBe brief.<|im_end|>\n<|im_start|>user\nHi<|im_end|>\n<|im_start|>assistant\n"
    )
    shown = text(codec, codec.start((user("Hi"),), TOOLS))
    assert shown.startswith("<|im_start|>system\nYou may call these functions.")
    assert json.dumps(TOOLS[0]) in shown
    action = Message("assistant", "Let me see.", (ToolCall.make("search", query="Mali"),))
    said = codec.encode_action(action, TOOLS)
    assert text(codec, said) == (
        'Let me see.\n<tool_call>\n{"name": "search", "arguments": {"query": "Mali"}}\n</tool_call><|im_end|>'
    )
    added = codec.extend(
        codec.start((user("Hi"),), TOOLS), said, (Message("tool", "Bamako", name="search"),), TOOLS
    )
    assert text(codec, added) == (
        "\n<|im_start|>user\n<tool_response>\nBamako\n</tool_response><|im_end|>\n<|im_start|>assistant\n"
    )


def test_qwen3_prompts_are_as_the_template_says():
    codec = codec_for("qwen3")
    assert (
        text(codec, codec.start((user("Hi"),), []))
        == "<|im_start|>user\nHi<|im_end|>\n<|im_start|>assistant\n"
    )
    shown = text(codec, codec.start((system("S"), user("Hi")), TOOLS))
    assert "\n<tools>\n" + json.dumps(TOOLS[0]) + "\n</tools>" in shown
    said = codec.encode_action(assistant("", ToolCall.make("search", query="Mali")), TOOLS)
    assert text(codec, said).endswith(
        '<tool_call>\n{"name": "search", "arguments": {"query": "Mali"}}\n</tool_call><|im_end|>'
    )
    added = codec.extend(
        codec.start((user("Hi"),), TOOLS), said, (Message("tool", "Bamako", name="search"),), TOOLS
    )
    assert text(codec, added) == (
        "\n<|im_start|>user\n<tool_response>\nBamako\n</tool_response><|im_end|>\n<|im_start|>assistant\n"
    )


def test_llama3_prompts_are_as_the_template_says():
    codec = codec_for("llama3")
    shown = text(codec, codec.start((user("Hi"),), []))
    assert shown.startswith(
        "<|begin_of_text|><|start_header_id|>system<|end_header_id|>\n\nCutting Knowledge Date: "
    )
    assert shown.endswith(
        "<|eot_id|><|start_header_id|>user<|end_header_id|>\n\nHi<|eot_id|><|start_header_id|>assistant<|end_header_id|>\n\n"
    )
    said = codec.encode_action(assistant("", ToolCall.make("search", query="Mali")), TOOLS)
    assert text(codec, said) == '{"name": "search", "parameters": {"query": "Mali"}}<|eot_id|>'
    added = codec.extend(
        codec.start((user("Hi"),), TOOLS), said, (Message("tool", "Bamako", name="search"),), TOOLS
    )
    assert text(codec, added).startswith("<|start_header_id|>ipython<|end_header_id|>\n\n")
    assert text(codec, added).endswith("<|eot_id|><|start_header_id|>assistant<|end_header_id|>\n\n")


def test_actions_survive_encoding_and_parsing(family):
    name, codec = family
    for action in (
        assistant("The capital is Bamako."),
        assistant("", ToolCall.make("search", query='a "b" {c}\nd')),
    ):
        parsed = codec.parse(codec.encode_action(action, TOOLS), TOOLS)
        assert parsed.content == action.content
        assert [(c.name, json.loads(c.arguments)) for c in parsed.tool_calls] == [
            (c.name, json.loads(c.arguments)) for c in action.tool_calls
        ], name


def test_an_encoded_action_ends_with_the_stop_token_and_holds_no_other(family):
    _, codec = family
    ids = codec.encode_action(assistant("Hello"), [])
    assert ids[-1] in codec.stop_ids
    assert not set(ids[:-1]) & set(codec.stop_ids)


def test_what_was_cut_off_is_closed_by_context_not_by_the_policy(family):
    _, codec = family
    prompt = codec.start((user("Hi"),), TOOLS)
    cut = codec.encode_action(assistant("Hello there"), TOOLS)[:-4]
    added = codec.extend(prompt, cut, (user("Go on"),), TOOLS)
    assert added is None or added[0] in codec.stop_ids


BROKEN = [
    ('<tool_call>\n{"name": "search", "arguments": {"query": "Mal', "search"),
    ('<tool_call>\n{"name": "search", "arguments": {"query": }}\n</tool_call>', "search"),
    ('<tool_call>\n{"arguments": {"query": "x"}}\n</tool_call>', ""),
    ("<tool_call>\n[]\n</tool_call>", ""),
    ("<tool_call>\n</tool_call>", ""),
]


@pytest.mark.parametrize("family_name", ["chatml", "qwen3"])
@pytest.mark.parametrize(("said", "name"), BROKEN)
def test_a_malformed_call_is_kept_for_the_decoder_to_refuse(family_name, said, name):
    codec = codec_for(family_name)
    parsed = codec.parse(codec.tokenizer.encode(said, add_special_tokens=False), TOOLS)
    assert [call.name for call in parsed.tool_calls] == [name]
    from agentrl import make

    env = make("Search-v0")
    env.reset(seed=0)
    observation, *_, info = env.step(parsed)
    assert len(observation) == 1
    assert info["tool_errors"][0]["kind"] in ("malformed_json", "invalid_arguments", "unknown_tool")


@pytest.mark.parametrize("family_name", ["chatml", "qwen3"])
def test_several_calls_zero_arguments_and_double_encoding(family_name):
    codec = codec_for(family_name)
    said = (
        '<tool_call>\n{"name": "finish", "arguments": {}}\n</tool_call>\n'
        '<tool_call>\n{"name": "finish"}\n</tool_call>\n'
        '<tool_call>\n{"name": "search", "arguments": "{\\"query\\": \\"Mali\\"}"}\n</tool_call>'
    )
    parsed = codec.parse(codec.tokenizer.encode(said, add_special_tokens=False), TOOLS)
    assert [call.name for call in parsed.tool_calls] == ["finish", "finish", "search"]
    assert parsed.tool_calls[0].arguments == "{}"
    # As it was written: the decoder repairs it, and counts that.
    assert json.loads(json.loads(parsed.tool_calls[2].arguments)) == {"query": "Mali"}
    assert len({call.id for call in parsed.tool_calls}) == 3


@pytest.mark.parametrize("family_name", ["chatml", "qwen3", "llama3"])
@pytest.mark.parametrize("name", ["3", "null", "[1]", '{"a": 1}', "1" * 5000])
def test_a_name_that_is_no_name_is_survived(family_name, name):
    codec = codec_for(family_name)
    said = f'<tool_call>\n{{"name": {name}, "arguments": {{}}}}\n</tool_call>'
    parsed = codec.parse(codec.tokenizer.encode(said, add_special_tokens=False), TOOLS)
    assert all(isinstance(call.name, str) for call in parsed.tool_calls)


def test_reasoning_is_its_own_channel():
    codec = codec_for("chatml")
    parsed = codec.parse(
        codec.tokenizer.encode("<think>\nhm\n</think>\nBamako", add_special_tokens=False), []
    )
    assert (parsed.reasoning, parsed.content) == ("hm", "Bamako")
    said = '<think>\nhm\n<tool_call>\n{"name": "search", "arguments": {"query": "x"}}\n</tool_call>'
    assert (
        codec.parse(codec.tokenizer.encode(said, add_special_tokens=False), TOOLS).tool_calls[0].name
        == "search"
    )


words = st.text(
    st.characters(exclude_categories=["Cs"], exclude_characters="<>{}[]"), min_size=1, max_size=12
)
turns = st.lists(st.tuples(words, st.booleans(), words), min_size=1, max_size=5)


@settings(max_examples=40, deadline=None)
@given(first=words, turns=turns, cut=st.integers(0, 3))
@pytest.mark.parametrize("family_name", ["chatml", "qwen3", "llama3"])
def test_a_conversation_only_ever_grows(family_name, first, turns, cut):
    """Along any conversation: the next prompt is the last prompt, what was sampled, and what was added."""
    codec = codec_for(family_name)
    prompt = codec.start((user(first),), TOOLS)
    for said, calls, shown in turns:
        action = assistant("", ToolCall.make("search", query=said)) if calls else assistant(said)
        completion = codec.encode_action(action, TOOLS)
        completion = completion[: len(completion) - cut] or completion
        codec.parse(completion, TOOLS, prompt)
        new = Message("tool", shown, name="search") if calls else user(shown)
        added = codec.extend(prompt, completion, (new,), TOOLS)
        if added is None:
            return
        assert len(added) > 0
        prompt = (*prompt, *completion, *added)
    assert text(codec, prompt).endswith(text(codec, codec.start((user("x"),), TOOLS))[-len("assistant\n") :])


@settings(max_examples=60, deadline=None)
@given(st.lists(st.integers(0, 255), max_size=40))
@pytest.mark.parametrize("family_name", ["chatml", "qwen3", "llama3"])
def test_parsing_never_raises(family_name, ids):
    parsed = codec_for(family_name).parse(ids, TOOLS)
    json.dumps(parsed.to_dict()).encode()


class Echo:
    """An engine that says one thing and remembers what it was fed."""

    max_context = 4000

    def __init__(self, codec: Codec, actions: list[Message]) -> None:
        self.codec, self.actions, self.fed = codec, list(actions), []

    async def generate(self, prompt_ids: tuple[int, ...], sampling: Sampling) -> Completion:
        self.fed.append(prompt_ids)
        ids = self.codec.encode_action(self.actions.pop(0), TOOLS)[: sampling.max_tokens]
        reason = "stop" if ids[-1] in sampling.stop_ids else "length"
        return Completion(ids, (-0.5,) * len(ids), reason, 1, len(prompt_ids))


async def test_the_tree_holds_exactly_what_the_engine_was_fed(family):
    _, codec = family
    search = assistant("", ToolCall.make("search", query="Mali"))
    engine = Echo(codec, [search, search, assistant("Bamako it is, and that is all there is to say")])
    policy = ModelPolicy(engine, codec, Sampling(max_tokens=200))
    tree = RolloutTree(Task("e", 0))
    shown = (user("Capital of Mali?"),)
    for index in range(3):
        sampled = await policy.act(View(tree.path(index - 1) if index else (), shown, TOOLS))
        assert sampled.action is not None
        tree.add(
            Turn(
                id=0,
                parent=index - 1 if index else None,
                observation=shown,
                action=sampled.action,
                context_ids=sampled.context_ids,
                completion_ids=sampled.completion_ids,
                logprobs=sampled.logprobs,
                handoff=sampled.handoff,
            )
        )
        shown = (Message("tool", f"answer {index}", name="search"),)
    assert [tree.prompt_ids(node) for node in range(3)] == engine.fed
    assert policy.handoffs == {"clean": 3, "fresh": 0, "refused": 0}
    assert tuple(fed_ids(tree.path(2)))[: len(engine.fed[2])] == engine.fed[2]


async def test_a_full_context_is_refused_and_counted_and_a_first_prompt_raises():
    codec = codec_for("chatml")
    engine = Echo(codec, [assistant("hello"), assistant("hello")])
    policy = ModelPolicy(engine, codec, Sampling(max_tokens=50))
    first = await policy.act(View((), (user("Hi"),), []))
    turn = Turn(0, None, (user("Hi"),), first.action, first.context_ids, first.completion_ids, first.logprobs)
    engine.max_context = len(first.context_ids) + len(first.completion_ids) + 3
    assert (await policy.act(View((turn,), (user("more"),), []))).action is None
    assert policy.handoffs["refused"] == 1
    engine.max_context = 5
    with pytest.raises(ContextOverflow, match="outgrows the model's 5"):
        await policy.act(View((), (user("Hi"),), []))


def test_folders_that_cannot_speak_are_one_sentence(tmp_path):
    with pytest.raises(UserError, match="no tokenizer at"):
        load_codec(tmp_path)
    plain = bytes_tokenizer(["<pad>"])
    plain.save_pretrained(tmp_path / "plain")
    (tmp_path / "plain" / "config.json").write_text('{"model_type": "llama"}')
    with pytest.raises(UserError, match="no chat template"):
        load_codec(tmp_path / "plain")


def test_an_unknown_template_starts_fresh_segments():
    tokenizer = bytes_tokenizer(["<s>", "</s>"])
    tokenizer.eos_token = "</s>"
    tokenizer.chat_template = "{% for m in messages %}[{{ m.role }}] {{ m.content }}</s>{% endfor %}{% if add_generation_prompt %}[assistant] {% endif %}"
    codec = codec_of(tokenizer)
    prompt = codec.start((user("Hi"),), [])
    assert text(codec, prompt) == "[user] Hi</s>[assistant] "
    assert codec.extend(prompt, codec.encode_action(assistant("yes"), []), (user("and?"),), []) is None
    assert text(codec, codec.encode_action(assistant("yes"), [])) == "yes</s>"


async def test_a_history_of_two_turns_shows_the_first_prompt_and_the_last_two(family):
    """Clean while nothing is left out; then every turn is a segment of its own, fed exactly what the template shows."""
    _, codec = family
    search = assistant("", ToolCall.make("search", query="Mali"))
    engine = Echo(codec, [search] * 4)
    policy = ModelPolicy(engine, codec, Sampling(max_tokens=200), history=2)
    tree = RolloutTree(Task("e", 0))
    shown = (user("Capital of Mali?"),)
    for index in range(4):
        path = tree.path(index - 1) if index else ()
        sampled = await policy.act(View(path, shown, TOOLS))
        tree.add(
            Turn(
                id=0,
                parent=index - 1 if index else None,
                observation=shown,
                action=sampled.action,
                context_ids=sampled.context_ids,
                completion_ids=sampled.completion_ids,
                logprobs=sampled.logprobs,
                handoff=sampled.handoff,
            )
        )
        shown = (Message("tool", f"answer {index}", name="search"),)
    assert [turn.handoff for turn in tree] == ["clean", "clean", "clean", "fresh"]
    assert [tree.prompt_ids(node) for node in range(4)] == engine.fed
    turns = tree.path(3)
    expected = (
        *turns[0].observation,
        turns[1].action,
        *turns[2].observation,
        turns[2].action,
        *turns[3].observation,
    )
    assert engine.fed[3] == codec.start(expected, TOOLS)
