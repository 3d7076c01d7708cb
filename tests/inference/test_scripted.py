import asyncio
import json

import pytest

import agentrl
from agentrl.core.failures import UnknownName, UserError
from agentrl.core.messages import Message, call, user
from agentrl.core.tree import Task
from agentrl.inference.human import HumanPolicy, help_text, parse_line
from agentrl.inference.policy import View
from agentrl.inference.scripted import RandomPolicy, ReplayPolicy, scripted_policy
from agentrl.rollout import RolloutSettings, rollout

SPECS = [tool.spec for tool in agentrl.make("Search-v0").tools]
TAXI = [tool.spec for tool in agentrl.make("Taxi-v0").tools]


def test_the_expert_solves_and_random_is_decided_by_the_seed():
    tasks = [Task("agentrl/Search-v0", seed, "test") for seed in range(20)]
    assert rollout(tasks, scripted_policy("expert")).stats.success == 1.0
    one, two = (rollout(tasks, RandomPolicy(), RolloutSettings(seed=(1,))).trees for _ in range(2))
    assert [t.action for tree in one for t in tree] == [t.action for tree in two for t in tree]
    other = rollout(tasks, RandomPolicy(), RolloutSettings(seed=(2,))).trees
    assert [t.action for tree in one for t in tree] != [t.action for tree in other for t in tree]


def test_a_replayed_episode_is_the_same_episode():
    task = Task("agentrl/Search-v0", 4, "test")
    first = rollout([task], scripted_policy("expert")).trees[0]
    again = rollout([task], ReplayPolicy([turn.action for turn in first])).trees[0]
    assert again.episodes()[0].messages() == first.episodes()[0].messages()
    with pytest.raises(UserError, match="1 turns"):
        rollout([task], ReplayPolicy([first.turns[0].action]))


def test_unknown_policies_and_environments_without_an_expert():
    with pytest.raises(UnknownName, match="expert"):
        scripted_policy("exprt")
    with pytest.raises(UserError, match="no expert"):
        rollout([Task("agentrl/GymText-v0", 0)], scripted_policy("expert"))


@pytest.mark.parametrize(
    ("line", "specs", "expected"),
    [
        ("search capital Mali", SPECS, call("search", query="capital Mali")),
        ('search query="capital Mali"', SPECS, call("search", query="capital Mali")),
        ("search '42'", SPECS, call("search", query="42")),
        ("move north", TAXI, call("move", direction="north")),
        ("pick_up", TAXI, Message("assistant", "", (agentrl.ToolCall("pick_up", "{}"),))),
        ("hello there", SPECS, Message("assistant", "hello there")),
        ('{"name": "answer", "arguments": {"text": "x"}}', SPECS, call("answer", text="x")),
        ("{broken", SPECS, Message("assistant", "{broken")),
    ],
)
def test_what_a_person_types(line, specs, expected):
    got = parse_line(line, specs)
    assert got.content == expected.content
    assert [(c.name, json.loads(c.arguments)) for c in got.tool_calls] == [
        (c.name, json.loads(c.arguments)) for c in expected.tool_calls
    ]


def test_a_person_plays_on_the_same_path():
    typed = iter(["help", "", "search capital Mali", "answer Bamako"])
    shown: list[str] = []
    policy = HumanPolicy(lambda prompt: next(typed), shown.append)
    tree = rollout([Task("agentrl/Search-v0", 0, "train")], policy).trees[0]
    assert [turn.action.tool_calls[0].name for turn in tree] == ["search", "answer"]
    assert shown[0].startswith("system:")
    assert shown.count(help_text(SPECS)) == 2


def test_the_end_of_input_ends_the_game():
    def read(prompt: str) -> str:
        raise EOFError

    with pytest.raises(KeyboardInterrupt):
        asyncio.run(HumanPolicy(read, lambda line: None).act(View((), (user("q"),), SPECS)))
