"""Families of tasks about strings, parsing and text: their references pass, trivial answers do not."""

from __future__ import annotations

import random
import re
import subprocess
import sys
from collections.abc import Callable
from functools import cache
from importlib import import_module
from typing import Any

import pytest

from agentrl.envs.code.task import Call, Family, Problem, Raises, Run, load

MODULES = (
    "strings",
    "strings_codes",
    "strings_numerals",
    "strings_search",
    "strings_match",
    "parsing",
    "parsing_columns",
    "parsing_records",
    "parsing_outlines",
    "parsing_languages",
    "parsing_filters",
    "text",
    "text_changes",
    "text_reports",
    "text_folds",
)
FAMILIES: tuple[Family, ...] = tuple(
    family for module in MODULES for family in import_module(f"agentrl.envs.code.families.{module}").FAMILIES
)
NAMES = [family.name for family in FAMILIES]
SEEDS = range(8)
TRIVIAL: dict[str, Callable[..., Any]] = {
    "None": lambda *_: None,
    "first": lambda *arguments: arguments[0] if arguments else None,
    "text": lambda *_: "",
    "zero": lambda *_: 0,
    "list": lambda *_: [],
    "dict": lambda *_: {},
    "true": lambda *_: True,
}


@cache
def problem(name: str, seed: int) -> Problem:
    return FAMILIES[NAMES.index(name)].make(random.Random(seed))


def same(value: Any, expected: Any) -> bool:
    """Equal, and of the same types throughout: 1, 1.0 and True are three answers."""
    return repr(value) == repr(expected) if not isinstance(expected, set) else value == expected


def answer(problem: Problem, step: Call | Run, names: dict[str, Any]) -> Any:
    try:
        if isinstance(step, Run):
            return names["report"](step.stdin).rstrip()
        return names[step.target](*step.args, **step.kwargs)
    except Exception as error:
        return Raises(type(error).__name__)


def passed(problem: Problem, names: dict[str, Any]) -> list[bool]:
    """Which tests are passed by an implementation."""
    results = []
    for test in problem.tests:
        answers = [answer(problem, step, names) for step in test.steps]
        if test.check is not None:
            results.append(test.check(answers))
        else:
            assert test.expected is not None
            results.append(all(map(same, answers, test.expected)))
    return results


def plain(value: Any) -> bool:
    if isinstance(value, dict):
        return all(map(plain, value)) and all(map(plain, value.values()))
    if isinstance(value, list | tuple | set):
        return all(map(plain, value))
    return value is None or type(value) in (bool, int, float, str, bytes)


def test_names_and_numbers() -> None:
    assert len(set(NAMES)) == len(NAMES)
    assert all(re.fullmatch("[a-z]+(-[a-z]+)*", name) for name in NAMES)


@pytest.mark.parametrize("name", NAMES)
def test_family_is_deterministic_and_varied(name: str) -> None:
    make = FAMILIES[NAMES.index(name)].make
    assert len({problem(name, seed).statement for seed in SEEDS}) >= 6
    for seed in (0, 1):
        again, first = make(random.Random(seed)), problem(name, seed)
        assert (again.statement, again.reference, again.files) == (
            first.statement,
            first.reference,
            first.files,
        )
        assert [(t.name, t.steps, t.expected) for t in again.tests] == [
            (t.name, t.steps, t.expected) for t in first.tests
        ]


@pytest.mark.parametrize("name", NAMES)
def test_tests_are_plain_and_fresh(name: str) -> None:
    for seed in SEEDS:
        task = problem(name, seed)
        assert 8 <= len(task.tests) <= 15
        assert len({test.name for test in task.tests}) == len(task.tests)
        assert len({repr(test.steps) for test in task.tests}) == len(task.tests)
        assert 60 <= len(task.statement.split()) <= 330
        assert set(task.submit) == set(task.reference)
        assert "<<" not in "".join(task.reference.values()).replace("'<<'", "")
        for test in task.tests:
            for step in test.steps:
                if isinstance(step, Call):
                    assert plain(step.args)
                    shown = f"{step.target}({', '.join(map(repr, step.args))})"
                    assert f"    {shown} == " not in task.statement
                    assert f"    {shown} raises " not in task.statement
                    assert f"`{step.target}(" in task.statement
            assert all(plain(v) or isinstance(v, Raises) for v in test.expected or ())


@pytest.mark.parametrize("name", NAMES)
def test_reference_passes_and_trivial_answers_fail(name: str) -> None:
    for seed in SEEDS:
        task = problem(name, seed)
        source = task.reference[task.submit[0]]
        assert all(passed(task, load(source))), f"{name}/{seed}"
        targets = {step.target for test in task.tests for step in test.steps if isinstance(step, Call)}
        for trivial, function in TRIVIAL.items():
            score = passed(task, dict.fromkeys([*targets, "report"], function))
            assert sum(score) < len(score) / 2, f"{name}/{seed}: {trivial} passes {score}"


def test_scripts_print_what_their_function_reports(tmp_path: Any) -> None:
    for name in NAMES:
        task = problem(name, 0)
        if task.submit != ("main.py",):
            continue
        (tmp_path / "main.py").write_text(task.reference["main.py"], encoding="utf-8")
        test = next(test for test in reversed(task.tests) if test.expected is not None)
        step = test.steps[0]
        assert isinstance(step, Run)
        command = [sys.executable, "-I", "-X", "utf8", str(tmp_path / "main.py"), *step.args]
        done = subprocess.run(
            command, input=step.stdin, capture_output=True, encoding="utf-8", timeout=20, check=True
        )
        assert test.expected == (done.stdout.rstrip(),)
