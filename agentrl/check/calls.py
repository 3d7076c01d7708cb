"""Rules on messages: whatever a policy says is answered, whatever it calls is done, in order."""

from __future__ import annotations

import itertools
from collections.abc import Iterator
from typing import Any

import numpy as np

from agentrl.check.conduct import messages_of, readable
from agentrl.check.playing import (
    Broken,
    actions_of,
    ended,
    expert_or_random,
    random_action,
    replay,
    require,
    texts_of,
    transcript,
)
from agentrl.check.subject import Skip, Subject
from agentrl.core.env import ToolEnv
from agentrl.core.messages import Message, ToolCall, assistant
from agentrl.core.sampling import sample_invalid_call

GHOST = ToolCall("no_such_tool", "{}")
WRONG_CALLS = 12  # of each tool
MANY_CALLS = 64  # in one message
LONGEST_ANSWER = 20_000  # characters in answer to a wrong call, which may be a megabyte
EXTREME = (
    "",
    "[" * 100_000,
    '{"a":' * 20_000,
    '{"' + "x" * 1_000_000,
    "\x00",
    '{"a": "\ud800"}',
    "9" * 5000,
)
"""Argument texts that break careless parsers."""
TEXTS = ("", "x" * 1_000_000, "\ud800 \x00 \u202e")
PAIRS = 12  # of calls that are compared with the same calls one by one


def wrong_calls_are_answered(subject: Subject) -> str:
    """Broken JSON, wrong types, unknown tools: answered, counted, and the episode goes on."""
    rng = np.random.default_rng(7)
    tried = 0
    with subject.env() as env:
        for call, counted in subject.paced(wrong_calls(env, rng), least=3 * len(env.tools) + 4):
            env.reset(seed=0)
            what = f"{call.name}({call.arguments[:60]!r})"
            answers, info, terminated = said(env, assistant("", call), what)
            require(len(answers) == 1, f"{what} got {len(answers)} answers")
            require(len(answers[0].content) < LONGEST_ANSWER, f"{what} got a very long answer")
            require(
                len(info["tool_errors"]) == 1 or not counted,
                f"{what} was counted {len(info['tool_errors'])} times",
            )
            require(not (counted and terminated), f"{what} ended the episode")
            tried += 1
    return f"{tried} calls"


def wrong_calls(env: ToolEnv, rng: np.random.Generator) -> Iterator[tuple[ToolCall, bool]]:
    """Calls, and whether each has to be counted as an error: a second encoding may also be read through."""
    for name in ("no_such_tool", "", "x" * 100_000, "\ud800"):
        yield ToolCall(name, "not json"), True
    for text in EXTREME:
        yield from ((ToolCall(tool.name, text), bool(text)) for tool in env.tools)
    for _ in range(WRONG_CALLS):
        for tool in env.tools:
            bad = sample_invalid_call(tool.parameters, rng)
            yield ToolCall(tool.name, bad.arguments), bad.kind != "double_encoded"


def any_text_is_answered(subject: Subject) -> str:
    """Empty, huge and unprintable messages without a call."""
    with subject.env() as env:
        for text in TEXTS:
            env.reset(seed=0)
            answers, info, _ = said(env, assistant(text), f"the text {text[:20]!r}")
            require(len(answers) > 0, f"the text {text[:20]!r} was not answered")
            require(isinstance(info.get("tool_errors"), list), "info has no tool_errors")
    return f"{len(TEXTS)} texts"


def said(env: ToolEnv, message: Message, what: str) -> tuple[Any, dict[str, Any], bool]:
    """What an environment answers to a message that it must survive; (messages, info, terminated)."""
    try:
        observation, _, terminated, _, info = env.step(message)
    except Exception as error:
        raise Broken(f"{what} raised {type(error).__name__}: {str(error)[:120]}") from error
    answers = messages_of(observation)
    for answer in answers:
        readable(answer.content, f"the answer to {what}")
    return answers, info, terminated


def every_call_is_answered(subject: Subject) -> str:
    """Many calls in one message: each is answered under its own id, in order, and each error is counted."""
    with subject.env() as env:
        if not env.tools:
            raise Skip("no tools")
        env.reset(seed=0)
        good = random_action(env, np.random.default_rng(0)).tool_calls[0]
        kinds = [GHOST] * (MANY_CALLS - 1) + [good]
        calls = [ToolCall(call.name, call.arguments, f"call-{i}") for i, call in enumerate(kinds)]
        answers, info, _ = said(env, assistant("", *calls), f"{MANY_CALLS} calls")
        expected = [(call.id, call.name) for call in calls]
        got = [(message.tool_call_id, message.name) for message in answers if message.role == "tool"]
        require(
            got == expected,
            f"{len(got)} answers to {len(expected)} calls, or in another order, or under other ids",
        )
        counted = sum(error["tool"] == GHOST.name for error in info["tool_errors"])
        require(
            counted == MANY_CALLS - 1, f"{MANY_CALLS - 1} unknown tools were called, {counted} are counted"
        )
    return f"{MANY_CALLS} calls in one message"


def every_call_is_executed_in_order(subject: Subject) -> str:
    """Two calls in one message do what they do in two turns: the first sees nothing of the second, the second is
    done where it matters, and an episode ends with it if it ends with it."""
    compared = telling = 0
    with subject.env() as env:
        if not env.tools:
            raise Skip("no tools")
        for seed, before, first, second in subject.paced(
            itertools.islice(pairs(env, subject), PAIRS), least=2
        ):

            def after(*turns: tuple[ToolCall, ...], seed: int = seed, before: list[Message] = before) -> Any:
                env.reset(seed=seed)
                replay(env, before)
                steps = replay(env, [assistant("", *calls) for calls in turns])
                return steps, [] if ended(steps[-1]) else prospects(env, seed)

            alone, _ = after((first, GHOST))
            both, joint = after((first, second))
            apart, future = after((first,), (second,))
            _, without = after((first,), (GHOST,))
            refused = {error["tool"] for error in both[-1]["info"]["tool_errors"]}
            if second.name in refused:  # refusing a second call is an answer, too
                continue
            compared += 1
            what = f"seed {seed}: {first.name}({first.arguments}) and {second.name}({second.arguments})"
            require(
                texts_of(alone[-1])[0] == texts_of(both[-1])[0],
                f"{what} in one message: the first is answered as if the second had come before",
            )
            stopped = [len(apart) == 2 and apart[-1]["terminated"], both[-1]["terminated"]]
            require(
                stopped[0] == stopped[1], f"{what}: ends in two turns: {stopped[0]}, in one: {stopped[1]}"
            )
            if future != without:
                telling += 1
                require(joint != without, f"{what} in one message: the second was not executed")
    return f"{compared} pairs; the second matters in {telling}"


def pairs(env: ToolEnv, subject: Subject) -> Iterator[tuple[int, list[Message], ToolCall, ToolCall]]:
    """(seed, actions before, call, next call) from episodes of the expert and of random calls."""
    for choose in (expert_or_random, random_action):
        for seed in subject.seeds:
            actions = actions_of(transcript(env, seed, choose, turns=6))
            for index in range(len(actions) - 1):
                first, second = actions[index : index + 2]
                if len(first.tool_calls) == len(second.tool_calls) == 1:
                    yield seed, actions[:index], first.tool_calls[0], second.tool_calls[0]


def prospects(env: ToolEnv, seed: int) -> list[Any]:
    """What some fixed calls lead to from here: it tells states apart, whatever they show of themselves."""
    rng = np.random.default_rng(seed)
    out = []
    for _ in range(3):
        step = replay(env, [random_action(env, rng)])[0]
        out.append([texts_of(step), step["reward"], step["terminated"]])
        if ended(step):
            break
    return out
