"""The codec of small built-in policies: one token per word or name, one special token per structural need.

    <user> What is the capital of Mali ? <assistant>
    <call> search <arg> capital Mali <end>
    <tool> The capital of Mali is Bamako . <assistant>
    <call> answer <arg> Bamako <end>

Invariants: text never becomes a structural token, whatever it contains (a retrieved `<end>` is three ordinary
words); `extend` only appends; `encode_action(parse(ids)) == ids` for `ids = encode_action(...)` of known words.
Case, line breaks and runs of spaces are not kept; names keep the spelling that they have in the vocabulary.
Words outside the vocabulary become `<unk>` and are counted in `WordCodec.unknown`. Tool descriptions are
not shown: a policy of this kind knows its tools from training.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterable, Mapping, Sequence
from typing import TYPE_CHECKING, Any

from agentrl.core.failures import MissingExtra, UserError
from agentrl.core.messages import Message, Messages, ToolCall
from agentrl.inference.codec import ToolSpec

if TYPE_CHECKING:
    from transformers import PreTrainedTokenizerFast

PAD, UNK, SYSTEM, USER, TOOL, ASSISTANT, CALL, ARG, DEFAULT, END = SPECIALS = (
    "<pad>",
    "<unk>",
    "<system>",
    "<user>",
    "<tool>",
    "<assistant>",
    "<call>",
    "<arg>",
    "<default>",
    "<end>",
)

WORD = r"-?\w+(?:[-/'’.:_&]\w+)*|[^\w\s]"
"""A word keeps the punctuation inside it (`guinea-bissau`, `3.5`, `region/mali`); other marks stand alone."""


def build_tokenizer(texts: Iterable[str], names: Iterable[str] = ()) -> PreTrainedTokenizerFast:
    """A word-level tokenizer, saved as an ordinary `tokenizer.json`.

    Args:
        texts: every word in them gets a token, lower-cased.
        names: each becomes one token however many words it has, and keeps its spelling (`Burkina Faso`).

    Returns:
        A fast tokenizer; ids depend on the *set* of words and names only, not on their order.
    """
    try:
        from tokenizers import AddedToken, Regex, Tokenizer, models, normalizers, pre_tokenizers
        from transformers import PreTrainedTokenizerFast
    except ModuleNotFoundError as error:
        raise MissingExtra("train", "building a tokenizer") from error

    normalizer = normalizers.Sequence(
        [normalizers.NFC(), normalizers.Replace(Regex(r"\s+"), " "), normalizers.Lowercase()]
    )
    spelling: dict[str, str] = {}
    for name in sorted(set(filter(None, (" ".join(name.split()) for name in names)))):
        spelling.setdefault(normalizer.normalize_str(name), name)
    words = {word for text in texts for word in re.findall(WORD, normalizer.normalize_str(text))}
    vocabulary = [*SPECIALS, *sorted(words - spelling.keys() - set(SPECIALS))]
    tokenizer = Tokenizer(
        models.WordLevel({word: index for index, word in enumerate(vocabulary)}, unk_token=UNK)
    )
    tokenizer.normalizer = normalizer
    tokenizer.pre_tokenizer = pre_tokenizers.Split(Regex(WORD), "removed", invert=True)
    tokenizer.add_special_tokens([AddedToken(token, normalized=False) for token in SPECIALS])
    tokenizer.add_tokens([AddedToken(name, single_word=True, normalized=True) for name in spelling.values()])
    return PreTrainedTokenizerFast(
        tokenizer_object=tokenizer,
        unk_token=UNK,
        pad_token=PAD,
        eos_token=END,
        additional_special_tokens=[t for t in SPECIALS if t not in (UNK, PAD, END)],
    )


class WordCodec:
    """Codec over a tokenizer of `build_tokenizer`.

    Args:
        tokenizer: the fast tokenizer.
        show_system: whether system messages are shown to the policy. A policy made for one environment
            does without them; the choice is stored in the model's config as `agentrl_show_system`.

    Attributes:
        unknown: how many words became `<unk>` so far.
    """

    name = "words"

    def __init__(self, tokenizer: Any, *, show_system: bool = True) -> None:
        from tokenizers import Tokenizer

        self.tokenizer = tokenizer
        self.show_system = show_system
        self.unknown = 0
        # A copy of its own: structural tokens in a text are ordinary text here.
        self._text = Tokenizer.from_str(tokenizer.backend_tokenizer.to_str())
        self._text.encode_special_tokens = True
        missing = [token for token in SPECIALS if self._text.token_to_id(token) is None]
        if missing:
            raise UserError(f"not the tokenizer of a words policy: it lacks {', '.join(missing)}")
        self._id: dict[str, int] = {token: int(self._text.token_to_id(token) or 0) for token in SPECIALS}
        self._word = {index: word for word, index in self._text.get_vocab(with_added_tokens=True).items()}
        self.stop_ids: tuple[int, ...] = (self._id[END],)

    # -- the contract ------------------------------------------------------------------------------

    def start(self, messages: Messages, tools: Sequence[ToolSpec]) -> tuple[int, ...]:
        return (*self._render(messages, tools), self._id[ASSISTANT])

    def extend(
        self,
        prompt_ids: tuple[int, ...],
        completion_ids: tuple[int, ...],
        new: Messages,
        tools: Sequence[ToolSpec],
    ) -> tuple[int, ...] | None:
        # A completion that ran out of tokens is closed here: the end token was never sampled.
        closed = bool(completion_ids) and completion_ids[-1] in self.stop_ids
        return (*(() if closed else self.stop_ids), *self._render(new, tools), self._id[ASSISTANT])

    def parse(
        self, completion_ids: Sequence[int], tools: Sequence[ToolSpec], prompt_ids: Sequence[int] = ()
    ) -> Message:
        ids = list(completion_ids)
        if ids and ids[-1] in self.stop_ids:
            ids.pop()
        text, *calls = split(ids, self._id[CALL])
        return Message("assistant", self.words(text), tuple(self._parse_call(call, tools) for call in calls))

    def encode_action(self, action: Message, tools: Sequence[ToolSpec]) -> tuple[int, ...]:
        out = self._encode(action.content)
        for call in action.tool_calls:
            out += [self._id[CALL], *self._encode_call(call, tools)]
        return (*out, *self.stop_ids)

    def decode(self, ids: Sequence[int]) -> str:
        return self.words(ids)

    # -- text --------------------------------------------------------------------------------------

    def words(self, ids: Iterable[int]) -> str:
        """The words of ids, joined by single spaces."""
        return " ".join(self._word.get(index, UNK) for index in ids)

    def _encode(self, text: str) -> list[int]:
        ids = self._text.encode(text, add_special_tokens=False).ids if text else []
        self.unknown += ids.count(self._id[UNK])
        return ids

    def _render(self, messages: Messages, tools: Sequence[ToolSpec]) -> list[int]:
        out: list[int] = []
        for message in messages:
            if message.role == "assistant":
                out += [self._id[ASSISTANT], *self.encode_action(message, tools)]
            elif message.role != "system" or self.show_system:
                out += [self._id[f"<{message.role}>"], *self._encode(message.content)]
        return out

    # -- calls -------------------------------------------------------------------------------------

    def _encode_call(self, call: ToolCall, tools: Sequence[ToolSpec]) -> list[int]:
        parameters = parameters_of(call.name, tools)
        try:
            arguments = json.loads(call.arguments or "{}")
        except json.JSONDecodeError:
            arguments = None
        if parameters is None or not isinstance(arguments, dict) or arguments.keys() - parameters.keys():
            # What no signature explains is shown as one argument of raw text: it comes back as malformed.
            return [*self._encode(call.name), self._id[ARG], *self._encode(call.arguments)]
        last = max((i for i, name in enumerate(parameters) if name in arguments), default=-1)
        out = self._encode(call.name)
        for name in list(parameters)[: last + 1]:
            value = self._encode(as_text(arguments[name])) if name in arguments else [self._id[DEFAULT]]
            out += [self._id[ARG], *value]
        return out

    def _parse_call(self, ids: list[int], tools: Sequence[ToolSpec]) -> ToolCall:
        name_ids, *values = split(ids, self._id[ARG])
        name = self.words(name_ids)
        parameters = parameters_of(name, tools)
        if parameters is None or len(values) > len(parameters):
            return ToolCall(name, f" {ARG} ".join(map(self.words, values)))
        arguments = {
            key: self._value(value, schema)
            for value, (key, schema) in zip(values, parameters.items(), strict=False)
            if value != [self._id[DEFAULT]]
        }
        return ToolCall(name, json.dumps(arguments, ensure_ascii=False))

    def _value(self, ids: list[int], schema: Mapping[str, Any]) -> Any:
        """The value that the words mean under a JSON schema; words that do not fit stay words."""
        text = self.words(ids)
        kinds = [schema, *schema.get("anyOf", ()), *schema.get("oneOf", ())]
        for kind in kinds:
            for choice in kind.get("enum", (kind["const"],) if "const" in kind else ()):
                if self._text.encode(as_text(choice), add_special_tokens=False).ids == ids:
                    return choice
        types = {t for kind in kinds for t in as_list(kind.get("type", ()))}
        if types == {"string"}:
            return text
        try:
            value = json.loads(text)
        except json.JSONDecodeError:
            return text
        kind = json_type(value)
        fits = not types or kind in types or (kind == "integer" and "number" in types)
        return stripped(value) if fits and kind != "string" else text


def split(ids: Sequence[int], mark: int) -> list[list[int]]:
    """The pieces of `ids` between marks; one more piece than there are marks."""
    pieces: list[list[int]] = [[]]
    for index in ids:
        if index == mark:
            pieces.append([])
        else:
            pieces[-1].append(index)
    return pieces


def parameters_of(name: str, tools: Sequence[ToolSpec]) -> dict[str, Mapping[str, Any]] | None:
    """Parameters of a tool and their schemas, in order of declaration; None for an unknown tool."""
    for tool in tools:
        function = tool.get("function", tool)
        if function["name"] == name:
            return dict(function.get("parameters", {}).get("properties", {}))
    return None


def as_text(value: Any) -> str:
    return value if isinstance(value, str) else json.dumps(value, ensure_ascii=False)


def as_list(value: Any) -> list[Any]:
    return [value] if isinstance(value, str) else list(value)


def json_type(value: Any) -> str:
    names = {bool: "boolean", int: "integer", float: "number", list: "array", dict: "object", str: "string"}
    return names.get(type(value), "null")


def stripped(value: Any) -> Any:
    """JSON data without the spaces that word tokens put inside its quotes."""
    if isinstance(value, str):
        return value.strip()
    if isinstance(value, list):
        return [stripped(item) for item in value]
    if isinstance(value, dict):
        return {key.strip(): stripped(item) for key, item in value.items()}
    return value
