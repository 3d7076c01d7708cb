from __future__ import annotations

import copy
import pickle
import re

import gymnasium
import jsonschema
import numpy as np
import pytest
from gymnasium.utils.env_checker import check_env
from hypothesis import given
from hypothesis import strategies as st

from agentrl.core.env import ToolEnv
from agentrl.core.failures import UserError
from agentrl.core.messages import Message, ToolCall, assistant, call, user
from agentrl.core.patterns import sample_pattern
from agentrl.core.spaces import ActionSpace, ChoiceSpace, MessagesSpace, TextSpace, ToolCallSpace
from agentrl.core.tool import Tool, tool


def move(direction: str, steps: int = 1) -> str:
    return ""


def look(deep: bool | None = None) -> str:
    return ""


TOOLS = (Tool.of(move), Tool.of(look))
SPACES = [
    MessagesSpace(),
    ActionSpace(TOOLS),
    ActionSpace(()),
    ToolCallSpace(TOOLS[0]),
    TextSpace(8),
    TextSpace(5, min_length=2, charset="ab]-^"),
    TextSpace(12, pattern=r"(go|look) [a-z]{1,4}\d?"),
    ChoiceSpace(["north", "south"]),
]


@pytest.mark.parametrize("space", SPACES, ids=repr)
def test_every_space_keeps_its_promises(space):
    space.seed(3)
    samples = [space.sample() for _ in range(40)]
    assert all(sample in space for sample in samples)
    space.seed(3)
    assert [space.sample() for _ in range(40)] == samples
    as_json = space.to_jsonable(samples)
    validator = jsonschema.Draft202012Validator(space.schema())
    for item in as_json:
        validator.validate(item)
    assert space.from_jsonable(as_json) == samples
    for twin_of in (copy.deepcopy, lambda it: pickle.loads(pickle.dumps(it))):
        twin = twin_of(space)
        assert twin == space
        assert twin.sample() == space.sample()
    assert 3 not in space
    assert None not in space
    assert isinstance(repr(space), str)
    assert not space.is_np_flattenable


def test_spaces_of_different_things_differ():
    for i, one in enumerate(SPACES):
        assert [one == other for other in SPACES] == [i == j for j in range(len(SPACES))]


def test_sampling_leaves_the_global_generators_alone():
    state = np.random.get_state()[1].tolist()
    for space in SPACES:
        space.sample()
    assert np.random.get_state()[1].tolist() == state


def test_what_messages_and_actions_contain():
    assert (user("a"), Message("tool", "b")) in MessagesSpace()
    assert "text" in MessagesSpace()
    assert [user("a")] not in MessagesSpace()
    actions = ActionSpace(TOOLS)
    assert "text" in actions
    assert call("unknown", x=1) in actions
    assert user("a") not in actions
    assert {sample.tool_calls[0].name for sample in (actions.sample() for _ in range(30))} == {"move", "look"}


def test_a_tool_call_space_contains_what_fits_the_schema():
    space = ToolCallSpace(TOOLS[0])
    assert ToolCall("move", '{"direction": "north", "steps": 2}') in space
    for wrong in (
        ToolCall("look", "{}"),
        ToolCall("move", "{}"),
        ToolCall("move", '{"direction": 1}'),
        ToolCall("move", '{"direction": "north"'),
    ):
        assert wrong not in space


def test_texts():
    space = TextSpace(5, min_length=2, charset="ab")
    assert [text in space for text in ("", "a", "ab", "abc", "ababab")] == [False, False, True, False, False]
    assert "go x9" in SPACES[6]
    assert "go x9 " not in SPACES[6]
    for arguments in (
        {"max_length": 1, "min_length": 2},
        {"max_length": 2, "pattern": "abc"},
        {"max_length": 2, "pattern": "("},
    ):
        with pytest.raises(UserError):
            TextSpace(**arguments)
    with pytest.raises(UserError, match="assert has no sampler"):
        TextSpace(5, pattern="a(?=b)b")


def test_choices_take_masks():
    space = ChoiceSpace(["north", "south", "wait"], seed=1)
    assert {space.sample(mask=np.array([0, 1, 1], dtype=np.int8)) for _ in range(50)} == {"south", "wait"}
    assert {space.sample(probability=np.array([0.0, 1.0, 0.0])) for _ in range(5)} == {"south"}
    with pytest.raises(UserError, match="not all 0"):
        space.sample(mask=np.zeros(3))
    with pytest.raises(UserError, match="at least one"):
        ChoiceSpace([])
    with pytest.raises(UserError, match="has no masks"):
        TextSpace(3).sample(mask=1)


@given(
    pattern=st.sampled_from(
        [
            r"[a-f0-9]{4}-\d+",
            r"(yes|no)!?",
            r"[^\W\d]\w*",
            r".{3}",
            r"^a+?b*$",
            r"\s\S",
            r"(?i:ab)[^abc]",
            r"(?P<x>a|b)c",
        ]
    ),
    seed=st.integers(0, 1000),
)
def test_a_sampled_text_matches_its_pattern(pattern, seed):
    assert re.fullmatch(pattern, sample_pattern(pattern, np.random.default_rng(seed)))


class Tiny(ToolEnv):
    """Find the hidden number."""

    max_turns = 5

    def task(self) -> str:
        self.secret = int(self.np_random.integers(10))
        return f"which? {self.np_random.integers(1000)}"

    @tool
    def guess(self, number: int, why: str | None = None) -> str:
        if number == self.secret:
            self.finish(1.0)
        return f"{number} {self.np_random.integers(1000)}"


def test_gymnasiums_own_checker_accepts_it(recwarn):
    gymnasium.register("test/Tiny-v0", Tiny, disable_env_checker=True, order_enforce=False)
    env = gymnasium.make("test/Tiny-v0")
    assert isinstance(env, Tiny)
    check_env(env)
    assert [str(warning.message) for warning in recwarn] == []
    assert (assistant("a"), 3) not in MessagesSpace()
    del gymnasium.registry["test/Tiny-v0"]
