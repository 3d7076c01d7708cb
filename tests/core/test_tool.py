from __future__ import annotations

import copy
import pickle
import re
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest

from agentrl.core.env import ToolEnv
from agentrl.core.failures import ToolError, UserError
from agentrl.core.messages import call
from agentrl.core.tool import Tool, as_text, tool, tools_of


@tool
def add(a: int, b: int = 1) -> int:
    """Add two numbers.

    Args:
        a: the first.
        b: the second.
    """
    return a + b


@tool(name="wait-a-moment", description="Waits.")
async def wait(seconds: float) -> str:
    """Not shown."""
    return f"waited {seconds}"


class Base(ToolEnv):
    def task(self) -> str:
        return "go"

    @tool
    def first(self, x: int) -> str:
        """The first. Args: x: a number."""
        return f"base {x}"

    @tool(name="number_two")
    def second(self) -> str:
        """The second."""
        return "two"

    def helper(self) -> None: ...


class Child(Base):
    @tool
    def third(self) -> str:
        return "three"

    def first(self, x: int, y: int = 2) -> str:
        """The first, again."""
        return f"child {x} {y}"

    @staticmethod
    @tool
    def fourth(z: bool) -> bool:
        return z

    second = None  # type: ignore[assignment]


def test_a_tool_stays_a_function():
    assert add(1, b=2) == 3
    assert Base().first(4) == "base 4"


def test_spec_is_openai_function_format():
    assert Tool.of(add).spec == {
        "type": "function",
        "function": {
            "name": "add",
            "description": "Add two numbers.",
            "parameters": {
                "type": "object",
                "properties": {
                    "a": {"type": "integer", "description": "the first."},
                    "b": {"type": "integer", "description": "the second.", "default": 1},
                },
                "required": ["a"],
                "additionalProperties": False,
            },
        },
    }
    assert (Tool.of(wait).name, Tool.of(wait).description) == ("wait-a-moment", "Waits.")


def test_call_decodes_and_executes():
    assert Tool.of(add).call('{"a": 2}') == 3
    assert Tool.of(Base().first).call('{"x": 1.0}') == "base 1"
    with pytest.raises(ToolError, match="missing argument 'a'"):
        Tool.of(add).call("")


async def test_acall_awaits_what_is_to_be_awaited():
    assert Tool.of(wait).is_async
    assert not Tool.of(add).is_async
    assert await Tool.of(wait).acall('{"seconds": 1}') == "waited 1.0"
    assert await Tool.of(add).acall('{"a": 2, "b": 5}') == 7


def test_tools_of_an_instance_are_bound_and_in_order_of_declaration():
    assert [item.name for item in tools_of(Base())] == ["first", "number_two"]
    child = Child()
    tools = tools_of(child)
    assert [item.name for item in tools] == ["first", "third", "fourth"]
    assert tools[0].call('{"x": 1}') == "child 1 2"
    assert tools[0].description == "The first, again."
    assert tools[0].parameters["properties"].keys() == {"x", "y"}
    assert tools[2].call('{"z": true}') is True
    assert tools[0].function.__self__ is child


def test_an_undecorated_function_and_a_callable_object():
    def twice(x: int) -> int:
        """Double."""
        return 2 * x

    class Times:
        def __init__(self, factor: int) -> None:
            self.factor = factor

        def __call__(self, x: int) -> int:
            """Multiply."""
            return self.factor * x

    assert Tool.of(twice, name="double").name == "double"
    assert Tool.of(Times(3), name="triple").call('{"x": 2}') == 6
    assert Tool.of(Times(3), name="triple").description == "Multiply."
    with pytest.raises(UserError, match="no name of its own"):
        Tool.of(Times(3))
    with pytest.raises(UserError, match="tool name '<lambda>' must be"):
        Tool.of(lambda: None)


def test_local_types_are_found_where_the_tool_is_declared():
    @dataclass
    class Local:
        n: int
        next: Local | None = None

    class Holder:
        @dataclass
        class Inner:
            n: int

        @tool
        def use(self, a: Local, b: Inner) -> int:
            return a.n + b.n

    item = tools_of(Holder())[0]
    assert item.call('{"a": {"n": 1, "next": {"n": 2}}, "b": {"n": 3}}') == 4


def test_errors_come_when_a_tool_is_declared():
    with pytest.raises(UserError, match=r"^tool bad: parameter 'x': it has no type annotation"):

        @tool
        def bad(x): ...

    with pytest.raises(UserError, match="tool name 'not good'"):

        @tool(name="not good")
        def fine(x: int): ...


def test_two_tools_of_one_name_are_refused():
    class Double(Base):
        @tool(name="first")
        def other(self) -> None: ...

    with pytest.raises(
        UserError, match=r"Double has two tools called 'first': .*Base\.first and .*Double\.other"
    ):
        Double()


def test_an_environment_takes_further_tools():
    env = Base()
    env.tools = (*env.tools, Tool.of(add))
    assert [item.name for item in env.tools] == ["first", "number_two", "add"]
    assert [name for name, _ in env.action_space.specs] == ["first", "number_two", "add"]
    with pytest.raises(UserError, match="two tools called 'add'"):
        env.tools = (*env.tools, Tool.of(add))
    with pytest.raises(UserError, match=r"async tools \(wait-a-moment\): declare safety = 'async'"):
        env.tools = (Tool.of(wait),)


def test_tools_and_environments_can_be_pickled_and_copied():
    assert pickle.loads(pickle.dumps(Tool.of(add))) == Tool.of(add)
    env = Child()
    env.reset(seed=1)
    for twin in (pickle.loads(pickle.dumps(env)), copy.deepcopy(env)):
        assert twin.tools[0].function.__self__ is twin
        assert twin.tools[0].call('{"x": 5}') == "child 5 2"


@pytest.mark.parametrize(
    ("result", "text"),
    [
        ("as it is", "as it is"),
        (None, ""),
        (3, "3"),
        (True, "true"),
        ({"a": [1, None]}, '{"a": [1, null]}'),
        ({"b", "a"}, '["a", "b"]'),
        ([1.5, "é"], '[1.5, "é"]'),
    ],
)
def test_results_as_text(result: Any, text: str):
    assert as_text(result) == text


def test_the_example_of_the_guide():
    page = (Path(__file__).parents[2] / "docs" / "tools.md").read_text()
    names: dict[str, Any] = {"__name__": "guide"}
    exec(re.search(r"```python\n(.*?)```", page, re.DOTALL)[1], names)  # type: ignore[index]
    assert names["spec"]["function"]["parameters"]["required"] == ["what"]
    env = names["Shop"]()
    env.reset(seed=1)
    (answer,), *_ = env.step(call("buy"))
    assert f"`{answer.content.partition('. ')[2]}`" in page
    assert env.step(call("buy", what="apple", count=2, color="red"))[1:3] == (1.0, True)
