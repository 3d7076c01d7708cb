from __future__ import annotations

import asyncio
import json
import math

import gymnasium
import pytest

from agentrl.core.env import ToolEnv, digest, reward_parts
from agentrl.core.failures import InfrastructureFailure, ToolError, UnknownName, UserError
from agentrl.core.messages import Message, ToolCall, assistant, call, system, user
from agentrl.core.tool import tool


class Guess(ToolEnv):
    """Guess a number between 1 and 100."""

    instructions = "Use the tool."
    max_turns = 4

    def task(self) -> str:
        self.secret = int(self.np_random.integers(1, 101))
        self.log: list[int] = []
        return f"Guess my number ({self.split})."

    @tool
    def guess(self, number: int) -> str:
        """Guess. Args: number: your guess."""
        self.log.append(number)
        self.add_reward(-0.1, "cost")
        if number == self.secret:
            self.finish(1.0)
            return "Right!"
        return "higher" if number < self.secret else "lower"

    @tool
    def give_up(self) -> None:
        self.finish()

    @tool
    def facts(self, tags: list[str]) -> dict[str, int]:
        return {tag: len(tag) for tag in tags}

    @tool
    def breaks(self) -> str:
        raise KeyError("a bug")

    @tool
    def refuses(self) -> str:
        raise ToolError("not now")


class Words(ToolEnv):
    """Acts on text alone."""

    def task(self) -> tuple[Message, ...]:
        return (system("Be brief."), user("Say stop."))

    def on_text(self, text: str) -> str:
        if text == "stop":
            self.finish(0.5, success=False)
        return f"you said {text}"


class Slow(ToolEnv):
    safety = "async"

    async def task(self) -> str:
        await asyncio.sleep(0)
        return "wait"

    @tool
    async def wait(self, name: str) -> str:
        await asyncio.sleep(0)
        if name == "end":
            self.finish(1.0)
        return name

    @tool
    def quick(self) -> str:
        return "quick"


def started(env: ToolEnv, seed: int = 1) -> ToolEnv:
    env.reset(seed=seed)
    return env


def contents(observation) -> list[str]:
    return [message.content for message in observation]


def test_reset_shows_the_instructions_and_the_task():
    env = Guess()
    observation, info = env.reset(seed=7)
    assert observation == (system("Use the tool."), user("Guess my number (train)."))
    assert info == {"turn": 0, "split": "train", "task_seed": 7}
    assert Words().reset(seed=1)[0] == (system("Be brief."), user("Say stop."))


def test_the_seed_decides_the_episode():
    def secrets(seeds):
        env = Guess()
        return [(env.reset(seed=seed), env.secret)[1] for seed in seeds]

    assert secrets([5, 6, 5]) == secrets([5, 6, 5])
    assert secrets([5, 6])[0] == secrets([5])[0]
    assert len(set(secrets(range(20)))) > 10


def test_an_unseeded_reset_is_the_episode_of_a_drawn_seed():
    env = started(Guess(), 3)
    _, info = env.reset()
    assert info["task_seed"] != 3
    assert started(Guess(), info["task_seed"]).secret == env.secret
    again = started(Guess(), 3)
    assert again.reset()[1]["task_seed"] == info["task_seed"]


def test_a_turn():
    env = started(Guess())
    wrong = env.secret - 1 or 2
    observation, reward, terminated, truncated, info = env.step(call("guess", number=wrong))
    assert observation[0].role == "tool"
    assert (observation[0].name, observation[0].tool_call_id) == ("guess", "call_0_0")
    assert observation[0].content in ("higher", "lower")
    assert (reward, terminated, truncated) == (-0.1, False, False)
    assert info == {"turn": 1, "reward_parts": {"cost": -0.1}, "tool_errors": [], "tool_recoveries": []}
    observation, reward, terminated, truncated, info = env.step(call("guess", number=env.secret))
    assert (contents(observation), terminated, truncated) == (["Right!"], True, False)
    assert math.isclose(reward, 0.9)
    assert info["success"] is True
    assert info["reward_parts"] == {"cost": -0.1, "outcome": 1.0}
    assert reward_parts([{"reward_parts": {"cost": -0.1}}, info]) == {"cost": -0.2, "outcome": 1.0}


def test_all_calls_of_a_message_are_answered_in_order():
    env = started(Guess())
    low, secret = env.secret - 1, env.secret
    calls = [
        ToolCall.make("guess", number=low),
        ToolCall.make("guess", number="x"),
        ToolCall("nothing", "{}", "mine"),
    ]
    calls += [ToolCall.make("guess", number=secret), ToolCall.make("guess", number=low)]
    observation, _, terminated, _, info = env.step(assistant("thinking", *calls))
    assert [message.tool_call_id for message in observation] == [
        "call_0_0",
        "call_0_1",
        "mine",
        "call_0_3",
        "call_0_4",
    ]
    assert env.log == [low, secret]
    assert terminated
    assert observation[4].content == "error: not executed: the episode is over"
    assert [(error["tool"], error["kind"]) for error in info["tool_errors"]] == [
        ("guess", "invalid_arguments"),
        ("nothing", "unknown_tool"),
        ("guess", "not_allowed"),
    ]
    json.dumps(info)


@pytest.mark.parametrize(
    ("action", "kind", "text"),
    [
        (
            call("gues", number=1),
            "unknown_tool",
            "error: unknown tool 'gues'; did you mean 'guess' or 'refuses'? Known tools: guess, give_up",
        ),
        (
            assistant("", ToolCall("guess", '{"number": 1')),
            "malformed_json",
            "error: guess: the arguments are not valid JSON: the text ends too early",
        ),
        (
            assistant("", ToolCall("guess", '{"number": "1"}')),
            "invalid_arguments",
            "error: guess: argument 'number' must be an integer",
        ),
        (call("refuses"), "tool_failed", "error: not now"),
        ("just text", "no_tool_call", "error: call one of the tools: guess, give_up, facts, breaks, refuses"),
    ],
)
def test_a_wrong_action_is_answered_and_the_episode_goes_on(action, kind, text):
    env = started(Guess())
    observation, reward, terminated, truncated, info = env.step(action)
    assert observation[0].content.startswith(text)
    assert observation[0].role == ("user" if kind == "no_tool_call" else "tool")
    assert (reward, terminated, truncated) == (0.0, False, False)
    assert [error["kind"] for error in info["tool_errors"]] == [kind]
    assert env.step(call("give_up"))[2]


def test_a_repaired_call_is_counted():
    env = started(Guess())
    double = assistant(
        "", ToolCall("guess", json.dumps('{"number": 1}')), ToolCall("facts", '{"tags": "[\'ab\']"}')
    )
    observation, *_, info = env.step(double)
    assert observation[1].content == '{"ab": 2}'
    assert info["tool_recoveries"] == [
        {"tool": "guess", "kind": "double_encoded"},
        {"tool": "facts", "kind": "encoded_value"},
    ]
    assert info["tool_errors"] == []


def test_a_broken_tool_is_not_the_policys_fault():
    env = started(Guess())
    with pytest.raises(InfrastructureFailure, match="breaks: tool failed: KeyError: 'a bug'") as caught:
        env.step(call("breaks"))
    assert isinstance(caught.value.__cause__, KeyError)


def test_truncation_and_giving_up():
    env = started(Guess(max_turns=2))
    assert env.step("a")[2:4] == (False, False)
    _, _, terminated, truncated, info = env.step("b")
    assert (terminated, truncated, info["success"]) == (False, True, False)
    env.reset()
    env.step("a")
    observation, reward, terminated, truncated, info = env.step(call("give_up"))
    assert (contents(observation), reward, terminated, truncated, info["success"]) == (
        [""],
        0.0,
        True,
        False,
        False,
    )
    with pytest.raises(UserError, match="max_turns must be at least 1"):
        Guess(max_turns=0)


class Fuse(ToolEnv):
    """Burns down after two pulls, which is no outcome."""

    def task(self) -> str:
        self.pulls = 0
        return "Pull."

    @tool
    def pull(self) -> str:
        """Pull."""
        self.pulls += 1
        self.add_reward(0.5)
        if self.pulls == 2:
            self.truncate()
        return f"pull {self.pulls}"


def test_an_environment_truncates_itself():
    env = started(Fuse())
    assert env.step(call("pull"))[2:4] == (False, False)
    observation, reward, terminated, truncated, info = env.step(
        assistant("", ToolCall("pull", "{}"), ToolCall("pull", "{}"))
    )
    assert contents(observation) == ["pull 2", "error: not executed: the episode is over"]
    assert (reward, terminated, truncated, info["success"]) == (0.5, False, True, False)
    with pytest.raises(gymnasium.error.ResetNeeded):
        env.step(call("pull"))
    env.reset()
    assert env.step(call("pull"))[2:4] == (False, False)


def test_step_needs_a_running_episode():
    env = Guess()
    with pytest.raises(gymnasium.error.ResetNeeded, match=r"Guess: reset\(\) before step\(\)"):
        env.step("a")
    started(env).step(call("give_up"))
    with pytest.raises(gymnasium.error.ResetNeeded):
        env.step("a")
    with pytest.raises(TypeError, match="an action is an assistant Message or a str"):
        started(env).step(user("a"))


def test_text_actions():
    env = started(Words())
    assert env.step("hello")[0] == (user("you said hello"),)
    observation, reward, terminated, _, info = env.step(assistant("stop"))
    assert (observation, reward, terminated, info["success"]) == ((user("you said stop"),), 0.5, True, False)


def test_splits():
    env = Guess(split="test")
    assert env.reset(seed=1)[1]["split"] == "test"
    assert env.reset(seed=1, options={"split": "validation"})[1]["split"] == "validation"
    assert env.reset(seed=1)[1]["split"] == "test"
    with pytest.raises(UnknownName, match="unknown split of Guess 'tset'; did you mean 'test'"):
        Guess(split="tset")


def test_a_reward_is_finite():
    env = started(Guess())
    with pytest.raises(
        InfrastructureFailure, match="Guess: reward failed: a reward is finite, 'bonus' is nan"
    ):
        env.add_reward(float("nan"), "bonus")


def test_close_is_idempotent_and_final():
    env = started(Guess())
    env.close()
    env.close()
    with pytest.raises(InfrastructureFailure, match="the environment is closed"):
        env.reset(seed=1)


def test_async_tools_through_the_sync_face():
    env = Slow()
    assert env.reset(seed=1)[0] == (user("wait"),)
    observation, *_ = env.step(assistant("", ToolCall.make("wait", name="a"), ToolCall("quick")))
    assert contents(observation) == ["a", "quick"]
    assert env.step(call("wait", name="end"))[2]


async def test_async_tools_in_the_callers_loop():
    async def play(name: str) -> list[str]:
        env = Slow()
        await env.areset(seed=1)
        seen = contents(
            (await env.astep(assistant("", ToolCall.make("wait", name=name), ToolCall("quick"))))[0]
        )
        await env.aclose()
        assert env.closed
        return seen

    assert await asyncio.gather(*map(play, "abc")) == [[name, "quick"] for name in "abc"]


@pytest.mark.parametrize("safety", ["inline", "thread"])
async def test_sync_environments_in_a_loop(safety, monkeypatch):
    monkeypatch.setattr(Guess, "safety", safety)
    env = Guess()
    assert (await env.areset(seed=7)) == Guess().reset(seed=7)
    assert (await env.astep(call("give_up")))[2]


def test_waiting_needs_to_be_declared():
    class Hidden(ToolEnv):
        def task(self) -> str:
            return "go"

        @tool
        def sleep(self) -> str:
            return asyncio.sleep(0)  # type: ignore[return-value]

    with pytest.raises(InfrastructureFailure, match="declare safety = 'async'"):
        started(Hidden()).step(call("sleep"))


def test_state_keys_and_digests():
    assert started(Guess(), 1).state_key() == started(Guess(), 2).state_key()
    one, two = started(Guess(), 1), started(Guess(), 1)
    two.step("a")
    assert one.state_key() != two.state_key()
    assert digest("a") == "1ba3c523e770f3313cc91ab1"
    assert digest("\ud800") != digest("a")
