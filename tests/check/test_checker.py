import sys
import time
from pathlib import Path

import pytest

sys.path.insert(0, str(Path(__file__).parent))
from faulty_envs import FAULTS

from agentrl.check import check_env, render
from agentrl.check.checker import run_check
from agentrl.check.rules import CHECKS, Subject
from agentrl.check.template import new_env
from agentrl.core.failures import UnknownName, UserError

HERE = Path(__file__).with_name("faulty_envs.py")
BY_NAME = {check.__name__: check for check in CHECKS}


def test_a_good_environment_holds_everything():
    report = check_env(f"{HERE}:Good")
    assert report.ok, [check for check in report.checks if not check.ok]
    assert len(report.checks) == len(CHECKS) >= 14
    document = report.to_dict()
    assert set(document) == {"id", "ok", "checks"}
    assert {"name", "ok", "detail"} <= set(document["checks"][0])
    assert render(report).row_count == len(CHECKS)


@pytest.mark.parametrize(
    ("fault", "rule"), FAULTS.items(), ids=lambda value: getattr(value, "__name__", value)
)
def test_every_fault_is_seen_by_its_rule(fault, rule):
    report = check_env(f"{HERE}:{fault.__name__}", checks=[BY_NAME[rule]])
    assert not report.ok, report.checks
    assert report.checks[0].detail


def test_a_hang_falls_short_and_does_not_hang_the_checker():
    began = time.monotonic()
    report = check_env(f"{HERE}:Hangs", deadline=0.5, checks=[BY_NAME["the_end_is_reported"]])
    assert time.monotonic() - began < 5
    assert "hangs" in report.checks[0].detail


def test_an_exception_is_that_checks_failure_with_its_place():
    def broken(subject: Subject) -> str:
        raise KeyError("missing")

    result = run_check(broken, Subject("x", lambda: None, {}), 5.0)  # type: ignore[arg-type, return-value]
    assert (result.ok, "KeyError at test_checker.py" in result.detail) == (False, True)


def test_unknown_names_and_files(tmp_path):
    with pytest.raises(UnknownName, match="Search-v0"):
        check_env("agentrl/Serch-v0")
    with pytest.raises(UnknownName, match="Good"):
        check_env(f"{HERE}:Goof")
    with pytest.raises(UserError, match="no Python file"):
        check_env(f"{tmp_path}/nothing.py:X")


def test_the_template_keeps_the_rules(tmp_path):
    path = new_env("my_game", tmp_path)
    report = check_env(f"{path}:MyGame")
    assert report.ok, [check for check in report.checks if not check.ok]
    compile((tmp_path / "test_my_game.py").read_text(), "test_my_game.py", "exec")
    with pytest.raises(UserError, match="already there"):
        new_env("my_game", tmp_path)


@pytest.mark.parametrize("name", ["My-Game", "class", "1st", "MyGame", ""])
def test_the_template_refuses_names_that_python_cannot_use(name, tmp_path):
    with pytest.raises(UserError, match="lower-case Python name"):
        new_env(name, tmp_path)
    assert list(tmp_path.iterdir()) == []


def test_the_ten_line_example_keeps_the_rules():
    report = check_env(f"{Path(__file__).parents[2] / 'examples' / 'guess.py'}:Guess")
    assert report.ok, [check for check in report.checks if not check.ok]
