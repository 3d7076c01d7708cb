from __future__ import annotations

import subprocess
import sys

import gymnasium
import pytest

import agentrl
from agentrl.core.catalogue import catalogue, register
from agentrl.core.env import ToolEnv
from agentrl.core.failures import MissingExtra, UnknownName, UserError
from agentrl.core.registry import make, resolve

SOURCE = '''
"""One environment."""
from agentrl import ToolEnv, tool


class Hello(ToolEnv):
    """Says hello.

    More.
    """

    def __init__(self, greeting: str = "hello", **kwargs):
        super().__init__(**kwargs)
        self.greeting = greeting

    def task(self):
        return self.greeting

NOT_ONE = 3
'''


class Local(ToolEnv):
    """A local one."""

    def task(self) -> str:
        return "go"


@pytest.fixture
def hello(tmp_path):
    path = tmp_path / "hello.py"
    path.write_text(SOURCE)
    return path


@pytest.fixture
def local():
    entry = register("test/Local-v0", Local, kwargs={"max_turns": 3})
    yield entry
    catalogue.__globals__["_catalogue"].pop(entry.id)
    gymnasium.registry.pop(entry.id)


def test_one_name_in_both_registries(local):
    for env in (make("test/Local-v0"), gymnasium.make("test/Local-v0"), agentrl.make("test/Local-v0")):
        assert type(env) is Local
        assert env.max_turns == 3
        assert env.spec.id == "test/Local-v0"
    assert make("test/Local-v0", max_turns=5).max_turns == 5


def test_registering_again_is_allowed_but_not_something_else(local):
    assert register("test/Local-v0", Local).id == local.id
    with pytest.raises(UserError, match=r"environment id 'test/Local-v0' is taken by .*Local"):
        register("test/Local-v0", ToolEnv)


def test_an_environment_in_a_file(hello, tmp_path, monkeypatch):
    env = make(f"{hello}:Hello", greeting="hi", split="test")
    assert env.reset(seed=1)[0][0].content == "hi"
    assert type(make(f"{hello}:Hello")) is type(env)
    assert resolve(f"{hello}:Hello").summary == "Says hello."
    monkeypatch.chdir(tmp_path)
    with pytest.raises(UserError, match=r"no module named 'hello'; did you mean the file hello\.py\?"):
        make("hello:Hello")
    monkeypatch.syspath_prepend(tmp_path)
    assert make("hello:Hello").greeting == "hello"


def test_wrong_names_say_what_is_near(hello, local):
    with pytest.raises(UnknownName, match=r"unknown environment 'Locl-v0'; did you mean .*'test/Local-v0'"):
        make("Locl-v0")
    with pytest.raises(UnknownName, match="'Helo'; did you mean 'Hello'"):
        make(f"{hello}:Helo")
    with pytest.raises(UserError, match="NOT_ONE is not a ToolEnv class"):
        make(f"{hello}:NOT_ONE")
    with pytest.raises(UserError, match="no Python file at"):
        make(f"{hello}x.py:Hello")
    with pytest.raises(
        UnknownName, match="unknown argument of test/Local-v0 'max_turn'; did you mean 'max_turns'"
    ):
        make("test/Local-v0", max_turn=1)


def test_a_file_that_breaks_is_named(tmp_path):
    path = tmp_path / "broken.py"
    path.write_text("import agentrl\n1 / 0\n")
    for _ in range(2):
        with pytest.raises(UserError, match=r"broken\.py cannot be imported: ZeroDivisionError"):
            make(f"{path}:Hello")


def test_a_missing_extra_is_named():
    register("test/Extra-v0", "no_such_module_here:Env", extra="games", needs=("no_such_module_here",))
    try:
        with pytest.raises(
            MissingExtra, match=r"test/Extra-v0 needs an extra: pip install 'agentrl-toolkit\[games\]'"
        ):
            make("test/Extra-v0")
    finally:
        catalogue.__globals__["_catalogue"].pop("test/Extra-v0")
        gymnasium.registry.pop("test/Extra-v0")


def test_gymnasium_alone_knows_our_environments():
    code = "import gymnasium; print(type(gymnasium.make('agentrl/Search-v0')).__name__)"
    done = subprocess.run(
        [sys.executable, "-c", code], capture_output=True, text=True, check=True, timeout=60
    )
    assert done.stdout.strip() == "SearchEnv"
