"""Wrappers: what each changes, by hand, and that everything else is the inner environment's own."""

import asyncio
import json
import multiprocessing
import os

import gymnasium
import pytest

import agentrl
from agentrl.check import check_env
from agentrl.core.failures import InfrastructureFailure, ToolError, UserError
from agentrl.core.messages import assistant, call, text_of
from agentrl.core.tree import Task
from agentrl.inference.scripted import scripted_policy
from agentrl.rollout import RolloutSettings, rollout
from agentrl.wrappers.actions import TextActions
from agentrl.wrappers.base import Wrapper
from agentrl.wrappers.recorder import Recorder
from agentrl.wrappers.shaping import ShapeReward
from agentrl.wrappers.shorten import Shorten, shortened, spans_by
from agentrl.wrappers.turns import TurnLimit


class Counter(agentrl.ToolEnv):
    """Count to ten, by ones; every step is worth 0.5, the last 1."""

    instructions = "Count."
    safety = "inline"

    def __init__(self, *, goal: int = 10, split: str = "train", max_turns: int | None = None) -> None:
        super().__init__(split=split, max_turns=max_turns)
        self.goal, self.at = goal, 0

    def task(self):
        self.at = 0
        return f"Count to {self.goal} from {self.task_seed}."

    @agentrl.tool
    def add(self, number: int = 1, note: str = "") -> str:
        """Add."""
        if number != 1:
            raise ToolError("by ones")
        self.at += 1
        self.add_reward(0.5, "step")
        if self.at == self.goal:
            self.finish(1.0)
        return f"now {self.at} {note}"

    @agentrl.tool
    def look(self) -> str:
        """Look."""
        return "x" * 100

    def state_key(self) -> str:
        return str(self.at)

    def expert(self):
        return call("add")


agentrl.register("wrapped/Counter-v0", Counter)
ADD = call("add")


def finish(env, seed=0):
    observation, _ = env.reset(seed=seed)
    shown, rewards = [text_of(observation)], []
    while True:
        observation, reward, terminated, truncated, info = env.step(env.expert())
        shown.append(text_of(observation))
        rewards.append(reward)
        if terminated or truncated:
            return shown, rewards, terminated, truncated, info


# -- any wrapper ---------------------------------------------------------------------------------------


def test_a_wrapper_that_changes_nothing_is_the_environment():
    env = Wrapper(Wrapper(Counter(goal=3)))
    bare = Counter(goal=3)
    assert finish(env, 4) == finish(bare, 4)
    assert (env.tools, env.split, env.task_seed, env.turn) == (env.unwrapped.tools, "train", 4, 3)
    assert (env.safety, env.fork, env.max_turns, env.goal) == ("inline", "copy", None, 3)
    assert env.state_key() == "3"
    assert isinstance(env.unwrapped, Counter)
    with pytest.raises(AttributeError, match="nothing"):
        _ = env.nothing
    with pytest.raises(gymnasium.error.ResetNeeded):
        env.step(ADD)
    env.close()
    assert env.closed


@pytest.mark.slow
@pytest.mark.parametrize(
    "wrap",
    [
        [{"name": "turn_limit", "turns": 40}],
        [{"name": "shorten", "characters": 40, "keep": "tail"}],
        ["text_actions"],
        [{"name": "text_actions", "format": "tags"}],
        [
            {"name": "shape_reward", "turn_cost": 0.1, "error_cost": 0.2},
            {"name": "text_actions", "format": "plain"},
        ],
    ],
    ids=str,
)
@pytest.mark.parametrize("name", ["agentrl/Search-v0", "agentrl/Sokoban-v0"])
def test_a_wrapped_environment_keeps_every_rule(name, wrap):
    report = check_env(name, kwargs={"wrap": wrap})
    assert report.ok, [check for check in report.checks if not check.ok]


def test_a_fork_takes_what_the_wrapper_remembers():
    env, other = (ShapeReward(TurnLimit(Counter(), 4), potential=lambda env: env.at) for _ in range(2))
    env.reset(seed=1)
    env.step(ADD)
    snapshot = env.snapshot()
    ends = []
    for twin in (env, other, env):
        twin.restore(snapshot)
        ends.append([twin.step(ADD)[1:4] for _ in range(3)])
    assert ends[0] == ends[1] == ends[2]
    assert ends[0] == [(1.5, False, False), (1.5, False, False), (-2.5, False, True)]
    with pytest.raises(UserError, match="does not fit"):
        TurnLimit(Counter(), 4).restore(snapshot)


def test_coroutines_go_the_same_way():
    async def play():
        env = TurnLimit(Counter(), 2)
        await env.areset(seed=1)
        snapshot = await env.asnapshot()
        await env.astep(ADD)
        first = await env.astep(ADD)
        await env.arestore(snapshot)
        await env.astep(ADD)
        assert await env.astep(ADD) == first
        await env.aclose()
        return first, env.closed

    (_, reward, terminated, truncated, info), closed = asyncio.run(play())
    assert (reward, terminated, truncated, info["truncated_by"], closed) == (
        0.5,
        False,
        True,
        "turn_limit",
        True,
    )


def test_the_rollout_manager_takes_them_by_name():
    wrap = [{"name": "turn_limit", "turns": 3}, {"name": "shape_reward", "turn_cost": 1}]
    tasks = [Task("wrapped/Counter-v0", seed, "train", {"wrap": wrap}) for seed in range(4)]
    out = rollout(tasks, scripted_policy("expert"), RolloutSettings(group_size=2))
    episodes = [episode for tree in out.trees for episode in tree.episodes()]
    assert [episode.total_reward for episode in episodes] == [-1.5] * 8
    assert not any(episode.success for episode in episodes)
    assert episodes[0].leaf.info["unshaped_reward"] == 0.5


def test_a_vector_takes_them_too():
    vector = agentrl.make_vec("wrapped/Counter-v0", 3, wrap=[{"name": "turn_limit", "turns": 2}])
    vector.reset(seed=0)
    vector.step([ADD] * 3)
    assert vector.step([ADD] * 3)[3].all()
    vector.close()


@pytest.mark.parametrize(
    ("wrap", "said"),
    [
        (["turn_limits"], "did you mean 'turn_limit'"),
        (["turn_limit"], "turns"),
        ([{"name": "turn_limit", "turn": 3}], "did you mean 'turns'"),
        ([{"name": "turn_limit", "turns": 0}], "at least 1"),
        ([{"turns": 3}], "a wrapper is a name"),
        ([7], "a wrapper is a name"),
        ([{"name": "shorten"}], "tokens"),
        ([{"name": "shorten", "tokens": 5}], "tokenizer"),
        ([{"name": "shorten", "tokens": 5, "tokenizer": "/nowhere"}], "no tokenizer.json"),
        ([{"name": "shorten", "characters": 5, "keep": "middle"}], "head, tail, both"),
        ([{"name": "text_actions", "format": "xlm"}], "did you mean 'xml'"),
        ([{"name": "shape_reward", "turn_cost": float("nan")}], "finite"),
        ([{"name": "shape_reward", "gamma": 0}], "above 0"),
        ([{"name": "shape_reward", "potential": "nowhere"}], "module:function"),
        ([{"name": "recorder", "file": "x.txt"}], ".jsonl"),
        (["agentrl.core.env:ToolEnv"], "not a Wrapper"),
    ],
    ids=str,
)
def test_what_is_wrong_with_a_wrapper_is_one_sentence(wrap, said):
    with pytest.raises(UserError, match=said.replace("(", r"\(")) as caught:
        agentrl.make("wrapped/Counter-v0", wrap=wrap)
    assert "\n" not in str(caught.value)


# -- shorter observations ------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("keep", "expected"),
    [
        ("head", "abcd[... 6 characters left out ...]"),
        ("tail", "[... 6 characters left out ...]ghij"),
        ("both", "ab[... 6 characters left out ...]ij"),
    ],
)
def test_what_is_kept_of_a_text(keep, expected):
    spans = [(at, at + 1) for at in range(10)]
    assert shortened("abcdefghij", 4, keep, lambda text: spans, "characters") == expected
    assert shortened("abcdefghij", 10, keep, lambda text: spans, "characters") == "abcdefghij"


def test_tokens_are_those_of_the_tokenizer(tmp_path):
    tokenizers = pytest.importorskip("tokenizers")
    made = tokenizers.Tokenizer(tokenizers.models.WordLevel({"?": 0}, unk_token="?"))
    made.pre_tokenizer = tokenizers.pre_tokenizers.Whitespace()
    made.save(str(tmp_path / "tokenizer.json"))
    spans = spans_by(tmp_path)
    assert spans("one  two") == [(0, 3), (5, 8)]
    assert (
        shortened("one two  three four", 2, "both", spans, "tokens") == "one[... 2 tokens left out ...]four"
    )
    (tmp_path / "tokenizer.json").write_text("{}")
    with pytest.raises(UserError, match="is no tokenizer"):
        spans_by(tmp_path)


def test_answers_and_tasks_are_cut_and_system_messages_are_not():
    env = Shorten(Counter(), characters=10)
    observation, _ = env.reset(seed=1)
    assert observation[0].content == "Count."
    assert observation[1].content == "Count[... 9 characters left out ...]om 1."
    shown, *_ = env.step(assistant("", call("look").tool_calls[0], ADD.tool_calls[0]))
    assert [message.content for message in shown] == ["xxxxx[... 90 characters left out ...]xxxxx", "now 1 "]


# -- rewards -------------------------------------------------------------------------------------------


def test_costs_and_a_scale_by_hand():
    env = ShapeReward(Counter(goal=2), turn_cost=0.1, error_cost=0.2, scale=2)
    env.reset(seed=0)
    _, reward, *_, info = env.step(call("add", number=2))
    assert reward == pytest.approx(-0.3)
    assert info["reward_parts"] == {"turn_cost": -0.1, "error_cost": -0.2}
    env.step(ADD)
    _, reward, _, _, info = env.step(ADD)
    assert reward == pytest.approx(2 * 1.5 - 0.1)
    assert (info["unshaped_reward"], info["success"]) == (1.5, True)


@pytest.mark.parametrize("gamma", [1.0, 0.9])
def test_a_potential_adds_up_to_minus_its_beginning(gamma):
    """Discounted, what shaping adds telescopes: -P(s0), whatever is done in between."""
    env = ShapeReward(Counter(goal=4), potential=lambda env: 3.0 + env.at, gamma=gamma)
    env.reset(seed=0)
    added = []
    for action in (ADD, call("look"), ADD, ADD, ADD):
        *_, info = env.step(action)
        added.append(info["reward_parts"]["potential"])
    assert sum(gamma**turn * value for turn, value in enumerate(added)) == pytest.approx(-3.0)


def test_a_potential_that_is_not_finite_is_ours():
    env = ShapeReward(Counter(), potential=lambda env: float("inf"))
    with pytest.raises(InfrastructureFailure, match="finite"):
        env.reset(seed=0)


# -- text actions --------------------------------------------------------------------------------------


@pytest.mark.parametrize("format", ["xml", "tags", "plain"])
def test_the_expert_wins_in_words(format):
    env = TextActions(Counter(goal=3), format)
    shown, rewards, terminated, _, info = finish(env)
    assert env.tools == ()
    assert env.answers_text
    assert shown[0].startswith("Count.\n\n")
    assert "add" in shown[0]
    assert (rewards, terminated, info["success"]) == ([0.5, 0.5, 1.5], True, True)
    assert all(env.action_space.contains(env.action_space.sample()) for _ in range(20))


def test_a_message_without_a_call_is_told_how():
    env = TextActions(Counter(), "tags")
    env.reset(seed=0)
    shown, reward, _, _, info = env.step("I think I shall add.")
    assert text_of(shown) == "error: call one of the tools: add, look\nWrite one of the tags."
    assert ([error["kind"] for error in info["tool_errors"]], reward) == (["no_tool_call"], 0.0)


def test_thoughts_calls_and_answers():
    env = TextActions(Counter(), "plain")
    env.reset(seed=0)
    shown, *_ = env.step("First I look.\nAction: look()\nadd(1, note='a (b)')")
    assert text_of(shown) == "x" * 100 + "\nnow 1 a (b)"
    assert [message.role for message in shown] == ["user"]


# -- recorder ------------------------------------------------------------------------------------------


def test_finished_episodes_are_lines(tmp_path):
    env = Recorder(
        TextActions(agentrl.make("wrapped/Counter-v0", goal=2), "plain"), tmp_path / "new" / "a.jsonl"
    )
    env.reset(seed=0)
    env.step(env.expert())  # broken off
    finish(env, 7)
    finish(env, 8)
    rows = [json.loads(line) for line in env.file.read_text().splitlines()]
    assert [(row["env"], row["seed"], row["turns"], row["success"]) for row in rows] == [
        ("wrapped/Counter-v0", 7, 2, True),
        ("wrapped/Counter-v0", 8, 2, True),
    ]
    assert [message["role"] for message in rows[0]["messages"]] == [
        "system",
        "user",
        "assistant",
        "user",
        "assistant",
        "user",
    ]
    assert rows[0]["messages"][2]["content"] == "add()"
    assert rows[0]["rewards"] == [0.5, 1.5]


def test_only_successes_if_asked(tmp_path):
    file = tmp_path / "a.jsonl"
    finish(Recorder(TurnLimit(Counter(), 2), file, success_only=True))
    assert file.read_text() == ""


def record(file, seed):
    env = Recorder(Counter(goal=3), file)
    for _ in range(50):
        finish(env, seed)


def test_several_processes_share_a_file(tmp_path):
    file = tmp_path / "a.jsonl"
    context = multiprocessing.get_context("fork")
    players = [context.Process(target=record, args=(file, seed)) for seed in range(3)]
    for player in players:
        player.start()
    for player in players:
        player.join(60)
    seeds = [json.loads(line)["seed"] for line in file.read_text().splitlines()]
    assert sorted(seeds) == [0] * 50 + [1] * 50 + [2] * 50


def test_a_full_disk_is_one_sentence_and_leaves_no_half_line(tmp_path, monkeypatch):
    env = Recorder(Counter(goal=1), tmp_path / "a.jsonl")
    finish(env)
    before = env.file.read_bytes()
    whole = os.write
    monkeypatch.setattr(os, "write", lambda handle, line: whole(handle, line[:10]))
    with pytest.raises(UserError, match="No space left"):
        finish(env)
    assert env.file.read_bytes() == before
