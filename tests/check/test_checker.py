import asyncio
import random
import sys
import time
from pathlib import Path

import numpy as np
import pytest

sys.path.insert(0, str(Path(__file__).parent))
from faulty_envs import FAULTS, Good, SlowGood

import agentrl.check.process
from agentrl.check import check_env, render
from agentrl.check.checker import run_check
from agentrl.check.process import in_fresh_processes
from agentrl.check.rules import CHECKS
from agentrl.check.subject import Skip, Subject
from agentrl.check.template import new_env
from agentrl.core.failures import UnknownName, UserError
from agentrl.core.portal import run_sync

HERE = Path(__file__).with_name("faulty_envs.py")
BY_NAME = {check.__name__: check for check in CHECKS}
BOTH = pytest.mark.parametrize(
    ("fault", "rule"), FAULTS.items(), ids=lambda value: getattr(value, "__name__", value)
)


@pytest.fixture(autouse=True)
def temporary_files(tmp_path, monkeypatch):
    monkeypatch.setattr("tempfile.tempdir", str(tmp_path))


@pytest.mark.parametrize("name", ["Good", "AsyncGood"])
def test_a_good_environment_holds_everything(name):
    report = check_env(f"{HERE}:{name}")
    assert report.ok, report.failed
    assert len(report.checks) == len(CHECKS) == 31
    document = report.to_dict()
    assert set(document) == {"id", "ok", "checks"}
    assert {"name", "ok", "detail", "skipped"} == set(document["checks"][0])
    assert render(report).row_count == len(CHECKS)
    assert not any(check.skipped for check in report.checks)


def test_every_rule_has_a_faulty_environment():
    assert set(FAULTS.values()) == set(BY_NAME)


@BOTH
def test_every_fault_is_seen_by_its_rule(fault, rule):
    report = check_env(f"{HERE}:{fault.__name__}", checks=[BY_NAME[rule]])
    assert not report.ok, report.checks
    assert report.checks[0].detail


@pytest.mark.slow
@BOTH
def test_and_by_no_other(fault, rule):
    report = check_env(f"{HERE}:{fault.__name__}")
    assert [check.name for check in report.failed] == [rule], report.failed


def test_a_hang_falls_short_and_does_not_hang_the_checker():
    began = time.monotonic()
    report = check_env(f"{HERE}:Hangs", deadline=0.5, checks=[BY_NAME["the_end_is_reported"]])
    assert time.monotonic() - began < 5
    assert report.checks[0].hung
    assert "hangs" in report.checks[0].detail


@pytest.mark.parametrize("name", ["Exits", "AsyncExits"])
def test_an_environment_that_exits_is_no_hang(name):
    report = check_env(f"{HERE}:{name}", deadline=20, checks=[BY_NAME["infos_are_json"]])
    assert not report.checks[0].hung
    assert "SystemExit at faulty_envs.py" in report.checks[0].detail
    assert run_sync(asyncio.sleep(0, "the loop behind it still runs")) == "the loop behind it still runs"


def test_an_exception_is_that_checks_failure_with_its_place():
    def broken(subject: Subject) -> str:
        raise KeyError("missing")

    result = run_check(broken, Subject("x", Good), 5.0)
    assert (result.ok, "KeyError at test_checker.py" in result.detail) == (False, True)


def test_a_rule_that_does_not_apply_says_why():
    def of_another_kind(subject: Subject) -> str:
        raise Skip("no door here")

    report = check_env(Good, checks=[of_another_kind])
    assert (report.ok, report.to_dict()["checks"][0]["skipped"]) == (True, True)
    assert report.checks[0].detail == "no door here"


def test_a_rule_does_less_where_there_is_no_time():
    report = check_env(SlowGood, checks=[BY_NAME["different_seeds_different_tasks"]])
    assert report.checks[0].detail.endswith(" from 6 seeds")
    report = check_env(Good, checks=[BY_NAME["different_seeds_different_tasks"]])
    assert report.checks[0].detail.endswith("from 20 seeds")
    hurried = Subject("x", Good, pace=0.0)
    assert list(hurried.paced(range(9), least=2)) == [0, 1]
    assert list(Subject("x", Good, pace=60.0).paced(range(9), least=2)) == list(range(9))


def test_a_factory_and_seeds():
    made = []

    def factory(**kwargs):
        made.append(Good(**kwargs))
        return made[-1]

    report = check_env("my walk", factory=factory, seeds=(5, 6), kwargs={"max_turns": 7})
    assert report.ok, report.failed
    assert (report.id, made[0].max_turns) == ("my walk", 7)
    assert [check.name for check in report.checks if check.skipped] == ["same_in_other_processes"]
    assert all(env.closed for env in made)
    with pytest.raises(UserError, match="at least one seed"):
        check_env(Good, seeds=())
    with pytest.raises(UserError, match="needs an environment"):
        check_env()
    assert not check_env(factory=lambda: 3, checks=[BY_NAME["declares_itself"]]).ok


def test_the_global_generators_are_as_before():
    random.seed(3)
    np.random.seed(3)
    before = random.getstate(), np.random.get_state(legacy=False)["state"]
    check_env(Good, checks=[BY_NAME["no_global_randomness"]])
    after = random.getstate(), np.random.get_state(legacy=False)["state"]
    assert after[0] == before[0]
    assert str(after[1]) == str(before[1])


def test_fresh_processes_have_the_hash_seeds_that_they_should():
    prints = in_fresh_processes(f"{HERE}:HashOrder", {}, [0], 60.0)
    assert list(prints) == list(agentrl.check.process.HASH_SEEDS) == ["0", "1", "2"]
    assert len({by_seed["0"] for by_seed in prints.values()}) > 1


def test_unknown_names_and_files(tmp_path):
    with pytest.raises(UnknownName, match="Search-v0"):
        check_env("agentrl/Serch-v0")
    with pytest.raises(UnknownName, match="Good"):
        check_env(f"{HERE}:Goof")
    with pytest.raises(UnknownName, match="max_turns"):
        check_env("agentrl/Taxi-v0", kwargs={"max_turn": 3})
    with pytest.raises(UserError, match="no Python file"):
        check_env(f"{tmp_path}/nothing.py:X")


def test_the_template_keeps_the_rules(tmp_path):
    path = new_env("my_game", tmp_path)
    report = check_env(f"{path}:MyGame")
    assert report.ok, report.failed
    compile((tmp_path / "test_my_game.py").read_text(), "test_my_game.py", "exec")
    with pytest.raises(UserError, match="already there"):
        new_env("my_game", tmp_path)


@pytest.mark.parametrize(
    "name",
    [
        *(
            "My-Game",
            "class",
            "1st",
            "MyGame",
            "",
            "_",
            "__",
            "_x",
            "none",
            "true",
            "random",
            "match",
            "type",
        ),
        *("list", "json", "tool_env", "box", "literal", "call", "agentrl", "exception", "stra\u00dfe", "a\n"),
    ],
)
def test_the_template_refuses_names_that_python_cannot_use(name, tmp_path):
    with pytest.raises(UserError, match="lower-case Python name"):
        new_env(name, tmp_path)
    assert list(tmp_path.iterdir()) == []


def test_the_ten_line_example_keeps_the_rules():
    report = check_env(f"{Path(__file__).parents[2] / 'examples' / 'guess.py'}:Guess")
    assert report.ok, report.failed
