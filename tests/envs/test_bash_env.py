"""Bash-v0: references, everything that must not count, and the state that decides."""

import json
import shutil

import pytest

from agentrl.core.failures import UnknownName, UserError
from agentrl.core.messages import Message, ToolCall
from agentrl.envs.bash import generator
from agentrl.envs.bash.env import BashEnv, packed, unpacked
from agentrl.envs.bash.task import File, Gone, Lines, Link, ShellProblem, Text, judge
from agentrl.sandboxes.base import SandboxSnapshot, SandboxSpec

needs_bwrap = pytest.mark.skipif(shutil.which("bwrap") is None, reason="bwrap is not installed")
PROBLEM = ShellProblem(
    "",
    {"a": File(b"1\n"), "run": File(b"x", 0o755), "l": Link("a"), "old": File(b"o")},
    "",
    {"answer": Text("x\ny\n"), "list": Lines(("b", "a", "a")), "old": Gone(), "run": File(b"x", 0o700)},
)
RIGHT = {
    "a": File(b"1\n"),
    "l": Link("a"),
    "run": File(b"x", 0o700),
    "answer": File(b"x  \ny\n\n", 0o600),
    "list": File(b"a\nb\na"),
}


def test_the_judge_accepts_what_is_right():
    verdict = judge(PROBLEM, RIGHT)
    assert verdict.passed
    assert verdict.parts == {"answer": True, "list": True, "old": True, "run": True, "untouched": True}


@pytest.mark.parametrize(
    ("change", "part"),
    [
        ({"answer": File(b"y\nx\n")}, "answer"),
        ({"answer": Link("a")}, "answer"),
        ({"answer": None}, "answer"),
        ({"list": File(b"a\nb\n")}, "list"),
        ({"old": File(b"o")}, "old"),
        ({"run": File(b"x", 0o755)}, "run"),
        ({"a": File(b"2\n")}, "untouched"),
        ({"a": File(b"1\n", 0o755)}, "untouched"),
        ({"a": None}, "untouched"),
        ({"l": Link("b")}, "untouched"),
        ({"l": File(b"1\n")}, "untouched"),
        ({"litter": File(b"")}, "untouched"),
    ],
)
def test_the_judge_refuses_everything_else(change, part):
    state = {path: item for path, item in {**RIGHT, **change}.items() if item is not None}
    verdict = judge(PROBLEM, state)
    assert not verdict.passed
    assert [name for name, right in verdict.parts.items() if not right] == [part]


def test_trees_survive_packing():
    entries, body = packed(PROBLEM.files)
    assert unpacked(SandboxSnapshot("x", SandboxSpec(), ((entries, body),))) == PROBLEM.files


@pytest.mark.slow
def test_every_family_has_many_tasks_and_splits_share_none():
    prints = {}
    for split in ("train", "validation", "test"):
        tasks = [generator.generate(split, seed, generator.FAMILIES) for seed in range(72)]
        assert {task.family for task in tasks} == {family.name for family in generator.FAMILIES}
        prints[split] = {generator.fingerprint(task.problem) for task in tasks}
        assert len(prints[split]) == 72
    assert not prints["train"] & prints["test"]
    assert not prints["validation"] & prints["test"]
    for family in generator.FAMILIES:
        tasks = [generator.generate("train", seed, (family,)) for seed in range(24)]
        assert len({task.problem.statement for task in tasks}) >= 6, family.name
        assert len({generator.fingerprint(task.problem) for task in tasks}) == 24


@pytest.mark.slow
@pytest.mark.parametrize("name", ["find-by-size", "find-by-content", "find-scripts", "rename-endings"])
def test_no_task_is_solved_by_nothing_or_by_an_empty_answer(name):
    family = next(family for family in generator.FAMILIES if family.name == name)
    for seed in range(150):
        problem = generator.generate("train", seed, (family,)).problem
        assert not judge(problem, problem.files).passed
        empty = {path: File(b"") for path, item in problem.expected.items() if isinstance(item, Text)}
        assert not judge(problem, {**problem.files, **empty}).passed, problem.statement


def test_a_seed_is_the_same_task_when_it_is_made_again():
    first = generator.generate("test", 5, generator.FAMILIES)
    generator.generate.cache_clear()
    assert generator.generate("test", 5, generator.FAMILIES).problem == first.problem


def calling(name, **arguments):
    return Message("assistant", "", (ToolCall(name, json.dumps(arguments)),))


@pytest.fixture
def env():
    made = BashEnv()
    yield made
    made.close()


@needs_bwrap
def test_references_of_every_family(env):
    for seed in range(len(generator.FAMILIES)):
        env.reset(seed=seed)
        env.step(env.expert())
        _, reward, terminated, _, info = env.step(env.expert())
        assert (reward, terminated) == (1.0, True), (env.current.id, info)


@needs_bwrap
@pytest.mark.parametrize(
    "command",
    [
        "true",
        "rm -rf -- * .[!.]*",
        "for f in $(find . -type f); do echo x > $f; done",
        "yes | head -100 > answer.txt",
        "(while true; do touch later-$RANDOM; sleep 0.01; done) & true",
    ],
)
@pytest.mark.slow
def test_what_is_no_solution(env, command):
    for seed in range(len(generator.FAMILIES)):
        env.reset(seed=seed)
        env.step(calling("bash", command=command))
        assert env.step(calling("done"))[1] == 0.0, env.current.id


@needs_bwrap
def test_the_reference_and_one_more_file_is_no_solution(env):
    for seed in range(6):
        env.reset(seed=seed)
        env.step(env.expert())
        env.step(calling("bash", command="touch one-more"))
        assert env.step(calling("done"))[1] == 0.0


@needs_bwrap
def test_partial_reward_counts_what_is_right():
    env = BashEnv(partial=True, kinds="repair")
    try:
        env.reset(seed=1)
        _, reward, _, _, info = env.step(calling("done"))
        assert 0 < reward < 1
        assert info["success"] is False
    finally:
        env.close()


@needs_bwrap
def test_branches_do_not_see_each_other(env):
    env.reset(seed=3)
    env.step(env.expert())
    snapshot = env.snapshot()
    env.step(calling("bash", command="rm -rf *"))
    assert env.step(calling("done"))[1] == 0.0
    env.restore(snapshot)
    assert env.step(calling("done"))[1] == 1.0


@pytest.mark.docker
def test_in_docker():
    env = BashEnv(sandbox="docker")
    try:
        for seed in range(4):
            env.reset(seed=seed)
            env.step(env.expert())
            assert env.step(env.expert())[1] == 1.0
    finally:
        env.close()


@pytest.mark.parametrize(
    ("settings", "error", "sentence"),
    [
        ({"kinds": ["search"]}, UnknownName, "kind"),
        ({"difficulties": "trivial"}, UnknownName, "difficulty"),
        ({"tool_seconds": -1}, UserError, "tool_seconds"),
    ],
)
def test_bad_settings(settings, error, sentence):
    with pytest.raises(error, match=sentence):
        BashEnv(**settings)
