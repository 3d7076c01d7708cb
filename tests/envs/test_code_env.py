"""Code-v0 in real sandboxes: what is asked, what is judged, and that the judge cannot be reached."""

import asyncio
import json
import os
import shutil
import signal
from contextlib import asynccontextmanager

import pytest

from agentrl.check.audit import attacked
from agentrl.core.failures import InfrastructureFailure, UnknownName, UserError
from agentrl.core.messages import Message, ToolCall
from agentrl.envs.code import generator
from agentrl.envs.code.attacks import ATTACKS
from agentrl.envs.code.env import CodeEnv
from agentrl.envs.code.grading import grade
from agentrl.envs.code.task import Call, CodeTask, Problem, Raises, Run, Test, cases, expect
from agentrl.sandboxes import ledger
from agentrl.sandboxes.backends import backend
from agentrl.sandboxes.base import SandboxDied, SandboxFailure, SandboxSpec

needs_bwrap = pytest.mark.skipif(shutil.which("bwrap") is None, reason="bwrap is not installed")
pytestmark = needs_bwrap

REFERENCE = """
def double(x):
    return [x] * 2


class Counter:
    def __init__(self, start):
        self.value = start

    def add(self, n):
        self.value += n
        return (self.value, {self.value}, {"now": self.value / 2})

    def fail(self):
        raise KeyError("no")
"""
PROBLEM = Problem(
    "Write double and Counter in solution.py.",
    {"solution.py": REFERENCE},
    (
        *cases(REFERENCE, "double", [(1,), ("a",), ([1, None],), (b"\x00",), (1.5,)]),
        expect(
            "counter",
            REFERENCE,
            Call("Counter", (3,)),
            Call(".add", (4,)),
            Call(".add", (), {"n": 1}),
            Call(".fail"),
        ),
        Test("twice-as-long", (Call("double", ("zz",)),), check=lambda outputs: len(outputs[0]) == 2),
    ),
)


@pytest.fixture
def env():
    made = CodeEnv()
    made.assignment = lambda: pose(made, PROBLEM)
    yield made
    made.close()


def pose(env, problem):
    env.code, env.graded = CodeTask("test/0", "test", "strings", "easy", problem), None
    env.flags = set()
    return problem.statement


def calling(name, **arguments):
    return Message("assistant", "", (ToolCall(name, json.dumps(arguments)),))


def submit(env, source, seed=0):
    env.reset(seed=seed)
    env.step(calling("write_file", path="solution.py", content=source))
    return env.step(calling("submit"))


@asynccontextmanager
async def fresh():
    async with await backend("bubblewrap").start(SandboxSpec()) as box:
        yield box


async def graded(source, problem=PROBLEM, **settings):
    return await grade(problem, {"solution.py": source.encode()}, fresh, **settings)


def test_the_reference_is_right(env):
    _, reward, terminated, _, info = submit(env, REFERENCE)
    assert (reward, terminated, info["success"]) == (1.0, True, True)
    assert info["tests"] == {"passed": 7, "of": 7}
    assert "tamper" not in info


def test_one_wrong_test_is_no_success(env):
    wrong = REFERENCE.replace("[x] * 2", "[x] * (3 if x == 1 else 2)")
    _, reward, terminated, _, info = submit(env, wrong)
    assert (reward, terminated, info["success"]) == (0.0, True, False)
    assert info["tests"] == {"passed": 6, "of": 7}


def test_partial_reward_is_the_fraction(env):
    env.partial = True
    _, reward, _, _, info = submit(env, REFERENCE.replace("[x] * 2", "[x] * (3 if x == 1 else 2)"))
    assert reward == pytest.approx(6 / 7)
    assert info["success"] is False


def test_nothing_to_submit_is_said_and_the_episode_goes_on(env):
    env.reset(seed=0)
    observation, reward, terminated, _, info = env.step(calling("submit"))
    assert (reward, terminated) == (0.0, False)
    assert info["tool_errors"][0]["kind"] == "tool_failed"
    assert "nothing was submitted" in observation[0].content
    env.step(calling("write_file", path="solution.py", content=REFERENCE))
    assert env.step(calling("submit"))[1] == 1.0


def test_no_sandbox_before_a_tool_and_none_after_the_end(env):
    env.reset(seed=0)
    assert env._box is None
    env.step(calling("bash", command="true"))
    assert env._box is not None
    env.step(calling("write_file", path="solution.py", content=REFERENCE))
    env.step(calling("submit"))
    assert env._box is None


def test_what_was_left_running_is_gone_before_grading(env):
    """A process of the episode rewrites the solution for ever: what is graded is what was read at submission."""
    env.reset(seed=0)
    env.step(calling("write_file", path="solution.py", content="def double(x): return 0"))
    env.step(calling("bash", command="(while true; do cp solution.py /tmp/x; sleep 0.01; done) & true"))
    _, reward, *_ = env.step(calling("submit"))
    assert reward == 0.0


@pytest.mark.parametrize("attack", ATTACKS, ids=lambda attack: attack.name)
@pytest.mark.slow
def test_every_attack_scores_nothing_and_is_seen(env, attack):
    score = attacked(env, attack, 1, 0)
    assert (score.failures, score.score, score.flagged) == (0, 0.0, True), (score.seen, env.graded)


async def test_expected_values_never_enter_the_sandbox():
    """A submission that returns everything it can find in its memory and files does not find the secret."""
    secret = "the-expected-value-8f3a"
    problem = Problem("", {}, (Test("secret", (Call("find"),), expected=(secret,)),))
    hunter = """
import gc, os, sys
def find():
    found = [repr(frame.f_locals) for frame in sys._current_frames().values()]
    found += [repr(item)[:5000] for item in gc.get_objects() if isinstance(item, (dict, list))][:2000]
    with open("/proc/self/cmdline", "rb") as file:
        found.append(repr(file.read()))
    for folder, _, names in os.walk("/tmp"):
        found += names
    assert len(found) > 100
    return "-value-" + "8f" + "3a" in " ".join(found)
"""
    result = await graded(hunter, problem)
    assert not result.solved
    assert "got False" in result.results[0].detail


async def test_a_late_test_fails_and_the_others_count():
    slow = REFERENCE.replace("return [x] * 2", "return [x] * 2 if x != 'a' else __import__('time').sleep(60)")
    result = await graded(slow, seconds=0.5)
    assert [r.name for r in result.results if not r.passed] == ["double-1"]
    assert "too slow" in result.results[1].detail


async def test_all_tests_together_have_a_deadline():
    began = asyncio.get_running_loop().time()
    result = await graded(
        "import time\n\n\ndef double(x):\n    time.sleep(60)\n", seconds=0.6, total_seconds=1.0
    )
    assert asyncio.get_running_loop().time() - began < 8
    assert result.passed == 0
    assert len(result.results) == 7


async def test_a_syntax_error_fails_every_test_without_a_sign():
    result = await graded("def double(x:\n")
    assert (result.passed, result.flags) == (0, ())


@pytest.mark.slow
async def test_a_deep_or_endless_answer_is_only_wrong():
    deep = "def double(x):\n    a = []\n    for _ in range(10**5):\n        a = [a]\n    return a\n"
    circle = "def double(x):\n    a = []\n    a.append(a)\n    return a\n"
    endless = "def double(x):\n    while True:\n        yield x\n"
    for source in (deep, circle, endless):
        assert (await graded(source, seconds=1.0)).passed == 0


async def test_scripts_are_judged_by_what_they_print():
    source = "import sys\n\nwords = sys.stdin.read().split()\nprint(len(words), *sys.argv[1:])\n"
    problem = Problem(
        "",
        {"main.py": source},
        (
            Test("words", (Run("main.py", ("a", "b"), "x y\nz ü\n"),), expected=("4 a b\n",)),
            Test("none", (Run(),), expected=("0",)),
        ),
        submit=("main.py",),
    )
    result = await grade(problem, {"main.py": source.encode()}, fresh)
    assert result.solved
    assert result.flags == ()
    other = await grade(problem, {"main.py": b"print(4, 'a', 'b')"}, fresh)
    assert other.passed == 1


async def test_exceptions_count_with_their_bases():
    problem = Problem("", {}, (Test("raises", (Call("f"),), expected=(Raises("LookupError"),)),))
    assert (await graded("def f():\n    raise KeyError", problem)).solved
    assert not (await graded("def f():\n    raise ValueError", problem)).solved
    assert not (await graded("def f():\n    return 'KeyError < LookupError'", problem)).solved


async def test_our_own_failure_is_nobodys_score(monkeypatch):
    monkeypatch.setattr("agentrl.envs.code.grading.SUBJECT", "raise RuntimeError('ours')")
    with pytest.raises(SandboxFailure, match="grader did not start"):
        await graded(REFERENCE)


async def test_an_engine_that_dies_is_nobodys_score():
    starts = 0

    @asynccontextmanager
    async def dying():
        nonlocal starts
        starts += 1
        if starts > 1:
            raise SandboxFailure("engine", "gone")
        async with fresh() as box:
            await box.close()
            yield box

    with pytest.raises(SandboxFailure, match="gone"):
        await grade(PROBLEM, {"solution.py": b""}, dying)


def test_a_sandbox_that_dies_in_a_tool_is_infrastructure(env):
    env.reset(seed=0)
    env.step(calling("bash", command="true"))
    for entry in ledger.processes():
        if entry.sandbox == env._box.id:
            os.kill(int(entry.id), signal.SIGKILL)
    with pytest.raises(SandboxDied) as caught:
        env.step(calling("bash", command="true"))
    assert isinstance(caught.value, InfrastructureFailure)
    assert submit(env, REFERENCE)[1] == 1.0


def test_a_command_that_kills_all_it_can_only_kills_itself(env):
    env.reset(seed=0)
    observation, *_ = env.step(calling("bash", command="kill -9 1; kill -9 -1; echo still"))
    assert "exit code 137" in observation[0].content
    observation, *_ = env.step(calling("bash", command="echo still"))
    assert observation[0].content == "still"


def test_branches_do_not_see_each_other(env):
    env.reset(seed=0)
    env.step(calling("write_file", path="solution.py", content=REFERENCE))
    snapshot = env.snapshot()
    env.step(calling("write_file", path="solution.py", content="def double(x): return 0"))
    assert env.step(calling("submit"))[1] == 0.0
    other = CodeEnv()
    try:
        other.restore(snapshot)
        assert other.turn == 1
        assert other.step(calling("submit"))[1] == 1.0
        env.restore(snapshot)
        assert env.step(calling("submit"))[1] == 1.0
    finally:
        other.close()


@pytest.mark.slow
def test_tasks_of_splits_differ_and_seeds_are_stable():
    families = generator.families()
    assert len(families) >= 30
    statements = {
        split: {generator.generate(split, seed, families).problem.statement for seed in range(60)}
        for split in ("train", "validation", "test")
    }
    assert all(len(found) == 60 for found in statements.values())
    assert not statements["train"] & statements["test"]
    assert not statements["train"] & statements["validation"]
    assert not statements["validation"] & statements["test"]


@pytest.mark.slow
def test_every_family_is_solved_by_its_reference_and_by_nothing_trivial():
    env = CodeEnv()
    count = len(generator.families())
    try:
        for seed in range(count):
            env.reset(seed=seed)
            env.step(env.expert())
            _, reward, _, _, info = env.step(env.expert())
            assert (reward, info.get("tamper")) == (1.0, None), (env.code.id, env.graded)
    finally:
        env.close()


@pytest.mark.docker
def test_in_docker():
    env = CodeEnv(sandbox="docker")
    try:
        for seed in range(3):
            env.reset(seed=seed)
            env.step(env.expert())
            assert env.step(env.expert())[1] == 1.0
    finally:
        env.close()


@pytest.mark.parametrize(
    ("settings", "error", "sentence"),
    [
        ({"sandbox": "dokcer"}, UnknownName, "docker"),
        ({"kinds": "string"}, UnknownName, "strings"),
        ({"difficulties": ["simple"]}, UnknownName, "difficulty"),
        ({"kinds": 3}, UserError, "list of names"),
        ({"tool_seconds": 0}, UserError, "tool_seconds"),
        ({"test_seconds": 500}, UserError, "test_seconds"),
        ({"sandbox_settings": {"memmory": 1}}, UnknownName, "memory"),
        ({"max_turns": 0}, UserError, "max_turns"),
    ],
)
def test_bad_settings(settings, error, sentence):
    with pytest.raises(error, match=sentence):
        CodeEnv(**settings)
