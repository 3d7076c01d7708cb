"""What a tokenizer's own chat template does: asked with small conversations, never by reading it.

Invariants: a renderer that `agrees` writes the same ids as the template for everything that was asked; it goes on after
a turn only with messages for which it adds what the template writes there (`next_turns`). Every other template is only
ever rendered whole (`TemplateRenderer`), so that nothing is guessed about its turns.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any

from renderers.base import ParsedResponse
from renderers.configs import DefaultRendererConfig
from renderers.default import DefaultRenderer
from renderers.reasoning import prompt_ends_in_reasoning

from agentrl.inference.codecs.hermes import THINK, THOUGHT, Wire, in_text, parse

NAME = "probe_tool"
ARGUMENTS = {"text": "a b", "number": 7}
PROPERTIES = {"text": {"type": "string"}, "number": {"type": "integer"}}
PROBE_TOOL: Wire = {
    "type": "function",
    "function": {
        "name": NAME,
        "description": "A probe.",
        "parameters": {"type": "object", "properties": PROPERTIES, "required": ["text", "number"]},
    },
}
SYSTEM = {"role": "system", "content": "Be brief."}
ASK, AGAIN = {"role": "user", "content": "One?"}, {"role": "user", "content": "Two?"}
SAY = {"role": "assistant", "content": "Yes."}
CALL: Wire = {
    "role": "assistant",
    "content": "",
    "tool_calls": [
        {"id": "call00000", "type": "function", "function": {"name": NAME, "arguments": ARGUMENTS}}
    ],
}
ANSWER = {"role": "tool", "content": "an answer", "tool_call_id": "call00000", "name": NAME}

TALKS: Sequence[Sequence[Wire]] = ((ASK,), (SYSTEM, ASK, SAY, AGAIN), (ASK, SAY, AGAIN, SAY))
WORKS: Sequence[Sequence[Wire]] = ((SYSTEM, ASK, CALL, ANSWER), (ASK, CALL, ANSWER, ANSWER, SAY))
ODD_ASK = {"role": "user", "content": '\n  it\'s Één,  "two" & 3 \n\n'}
ODD_ANSWER = {**ANSWER, "content": '\n  it\'s Één,  "two" & 3 \n\n'}
IDEA = "an idea"
NEXT: Sequence[Sequence[Wire]] = (
    *((ask,) for ask in (AGAIN, ODD_ASK)),
    (AGAIN, ODD_ASK),
    *((answer,) for answer in (ANSWER, ODD_ANSWER)),
    (ANSWER, ODD_ANSWER),
    (ANSWER, AGAIN),
    (ANSWER, ODD_ANSWER, AGAIN),
)


def apply(tokenizer: Any, messages: Sequence[Wire], tools: Sequence[Wire] | None, **settings: Any) -> Any:
    """What the template makes of a conversation: its ids, or with `tokenize=False` its text.

    Raises:
        Exception: whatever the template raises on what it does not know.
    """
    given = list(tools) if tools else None
    return tokenizer.apply_chat_template(list(messages), tools=given, return_dict=False, **settings)


def agrees(make: Callable[[], Any], tokenizer: Any, **settings: Any) -> bool:
    """Whether the renderer that `make` makes writes what the template writes: talk, and calls with their answers unless
    the template does not know such (`renderer.template_shows_tools`)."""
    try:
        renderer = make()
        shows_tools = getattr(renderer, "template_shows_tools", True)
        asked = [*((talk, None) for talk in TALKS), *((work, [PROBE_TOOL]) for work in WORKS if shows_tools)]
        for messages, tools in asked:
            for ready in (True, False):
                theirs = apply(tokenizer, messages, tools, add_generation_prompt=ready, **settings)
                ours = renderer.render_ids(list(messages), tools=tools, add_generation_prompt=ready)
                if list(theirs) != ours:
                    return False
    except Exception:
        # Templates raise what they like on what they do not know.
        return False
    return True


def kind(messages: Sequence[Wire]) -> tuple[str, ...]:
    """The roles of what is shown next; more than two alike in a row are as two."""
    roles = [message["role"] for message in messages]
    return tuple(role for at, role in enumerate(roles) if at < 2 or roles[at - 2 : at] != [role, role])


def next_turns(renderer: Any, tokenizer: Any, settings: Mapping[str, Any]) -> frozenset[tuple[str, ...]]:
    """The kinds of messages after which the renderer's bridge may be used: behind the stop token it adds the ids that
    the template writes there, and keeps no reasoning that the template drops."""
    outcomes: dict[tuple[str, ...], bool] = {}
    for new in NEXT:
        same = bridges_alike(renderer, tokenizer, new, settings)
        outcomes[kind(new)] = outcomes.get(kind(new), True) and same
    return frozenset(roles for roles, same in outcomes.items() if same)


def bridges_alike(renderer: Any, tokenizer: Any, new: Sequence[Wire], settings: Mapping[str, Any]) -> bool:
    """Whether a bridge to `new` is the template's, or refused."""
    called = new[0]["role"] == "tool"
    tools, said = ([PROBE_TOOL], CALL) if called else (None, SAY)
    try:
        prompt = renderer.render_ids([SYSTEM, ASK], tools=tools, add_generation_prompt=True)
        thinks = prompt_ends_in_reasoning(tokenizer, prompt, initial_only=False)
        closed = tokenizer.decode(prompt).rstrip().endswith(THOUGHT)
        thought = "" if closed else f"{'' if thinks else THINK}\n{IDEA}\n{THOUGHT}\n\n"
        stops = renderer.get_stop_token_ids()
        sampled = [*tokenizer.encode(f"{thought}Yes.", add_special_tokens=False), stops[0]]
        bridged = renderer.bridge_to_next_turn(prompt, sampled, list(new), tools=tools)
        if bridged is None:
            return True
        added = bridged.token_ids[len(prompt) + len(sampled) :]
        last: list[Wire] = [SYSTEM, ASK, {**said, "reasoning_content": IDEA}]
        whole: list[Wire] = [*last, *new]
        if called and not getattr(renderer, "template_shows_tools", True):
            whole, last, tools = in_text(whole, ()), in_text(last, ()), None
        theirs = list(apply(tokenizer, whole, tools, add_generation_prompt=True, **settings))
        drops = IDEA not in tokenizer.decode(theirs)
        if thought and drops and IDEA in tokenizer.decode(list(apply(tokenizer, last, tools, **settings))):
            return False
    except Exception:
        # Templates raise what they like on what they do not know.
        return False
    return theirs[-len(added) :] == added and theirs[-len(added) - 1] in stops


class TemplateRenderer(DefaultRenderer):
    """Any chat template, rendered whole every turn: it never bridges.

    The template shows tools, calls and answers where it can and where its calls can be read back; else they are in the
    texts (`hermes`). A system message goes into the first user message where the template does not show it.

    Args:
        tokenizer: one with a chat template.
        settings: go to the template.
    """

    def __init__(self, tokenizer: Any, settings: Mapping[str, Any] | None = None) -> None:
        super().__init__(tokenizer, DefaultRendererConfig.model_validate(dict(settings or {})))
        self.takes_system = self.takes_tools = True
        self.stops = self._ends_of_turn()
        self.takes_system = self._shows((SYSTEM, ASK), SYSTEM["content"])
        self.takes_tools = self._reads_back()

    def get_stop_token_ids(self) -> list[int]:
        return list(self.stops)

    def _apply(self, messages: Any, *, tools: Any = None, add_generation_prompt: bool = False) -> list[int]:
        given: list[Wire] = list(messages)
        if not self.takes_tools:
            given, tools = in_text(given, tools or ()), None
        if not self.takes_system:
            given = without_system(given)
        return super()._apply(given, tools=tools, add_generation_prompt=add_generation_prompt)

    def parse_response(
        self, token_ids: list[int], *, tools: Any = None, prompt_ids: list[int] | None = None
    ) -> ParsedResponse:
        stops = set(self.stops)
        end = next((i for i, token in enumerate(token_ids) if token in stops), len(token_ids))
        thinking = prompt_ends_in_reasoning(self._tokenizer, prompt_ids, stop_ids=stops, initial_only=False)
        return parse(self._text(token_ids[:end]), thinking=thinking)

    def _ends_of_turn(self) -> list[int]:
        """The token that the template puts behind an assistant's words, and the tokenizer's end of text."""
        ids = self._apply([ASK, SAY])
        special = {index for index, token in self._tokenizer.added_tokens_decoder.items() if token.special}
        said = next(end for end in range(len(ids) + 1) if SAY["content"] in self._text(ids[:end]))
        own = next((token for token in ids[said:] if token in special), None)
        eos = self._tokenizer.eos_token_id
        return [token for token in dict.fromkeys((own, eos)) if token is not None]

    def _shows(self, messages: Sequence[Wire], text: str, tools: Sequence[Wire] | None = None) -> bool:
        try:
            return text in self._text(self._apply(messages, tools=tools, add_generation_prompt=True))
        except Exception:
            return False

    def _reads_back(self) -> bool:
        """Whether the template lists tools, shows answers, and writes calls that our parser reads."""
        tools = [PROBE_TOOL]
        if not self._shows((ASK,), NAME, tools) or not self._shows(
            (ASK, CALL, ANSWER), ANSWER["content"], tools
        ):
            return False
        prompt = self._apply([ASK], tools=tools, add_generation_prompt=True)
        whole = self._apply([ASK, CALL], tools=tools)
        calls = self.parse_response(whole[len(prompt) :], prompt_ids=prompt).tool_calls
        return whole[: len(prompt)] == prompt and [(c.name, c.arguments) for c in calls] == [
            (NAME, ARGUMENTS)
        ]

    def _text(self, ids: Sequence[int]) -> str:
        return self._tokenizer.decode(list(ids), skip_special_tokens=False)


def without_system(messages: Sequence[Wire]) -> list[Wire]:
    """The same conversation with the system message at the head of the first user message."""
    if not messages or messages[0]["role"] != "system":
        return list(messages)
    system, rest = messages[0]["content"], list(messages[1:])
    if rest and rest[0]["role"] == "user":
        return [{"role": "user", "content": f"{system}\n\n{rest[0]['content']}"}, *rest[1:]]
    return [{"role": "user", "content": system}, *rest]
