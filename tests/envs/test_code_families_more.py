"""Families about objects, dates, networks and repairs: references pass, nothing trivial does."""

from __future__ import annotations

import random
from functools import cache
from importlib import import_module
from typing import Any

import pytest

from agentrl.envs.code.families.repairs import answers
from agentrl.envs.code.task import Call, Family, Problem, Raises, load

FAMILIES: tuple[Family, ...] = tuple(
    family
    for module in ("objects", "calendars", "networks", "repairs")
    for family in import_module(f"agentrl.envs.code.families.{module}").FAMILIES
)
NAMES = [family.name for family in FAMILIES]
SEEDS = range(12)


@cache
def problem(name: str, seed: int) -> Problem:
    return FAMILIES[NAMES.index(name)].make(random.Random(seed))


def results(task: Problem, files: dict[str, str]) -> list[bool]:
    """Which tests files pass, run in this process."""
    package = "solution.py" not in files
    names = {} if package else load(files["solution.py"])
    passed = []
    for test in task.tests:
        if package:
            got = answers(files, [step for step in test.steps if isinstance(step, Call)])
        else:
            got, last = [], None
            for step in test.steps:
                try:
                    target = (
                        getattr(last, step.target[1:]) if step.target.startswith(".") else names[step.target]
                    )
                    value = target(*step.args, **step.kwargs)
                    if isinstance(target, type):
                        last, value = value, None
                    got.append(value)
                except Exception as error:
                    got.append(Raises(type(error).__name__))
        passed.append(
            test.check(got) if test.check else list(map(repr, got)) == list(map(repr, test.expected))
        )
    return passed


@pytest.mark.parametrize("name", NAMES)
def test_references_pass_and_statements_vary(name):
    statements = set()
    for seed in SEEDS:
        task = problem(name, seed)
        statements.add(task.statement)
        assert task == FAMILIES[NAMES.index(name)].make(random.Random(seed)) or any(
            t.check for t in task.tests
        )
        assert all(results(task, dict(task.reference))), seed
        assert len({test.name for test in task.tests}) == len(task.tests) >= 8
        assert set(task.submit) == set(task.reference)
    assert len(statements) >= 8


@pytest.mark.parametrize("value", ["None", "a[0] if a else None", "[]", "0", "True", "''"])
@pytest.mark.parametrize("name", [n for n in NAMES if not n.startswith("mend")])
def test_trivial_answers_fail(name, value):
    for seed in SEEDS[:4]:
        task = problem(name, seed)
        targets = {step.target for test in task.tests for step in test.steps}
        classes = {target for target in targets if target[0].isupper()}
        lines = [f"def {t}(*a): return {value}" for t in targets - classes if not t.startswith(".")]
        for target in classes:
            lines.append(f"class {target}:\n    def __init__(self, *a): pass")
            lines += [f"    def {t[1:]}(self, *a): return {value}" for t in targets if t.startswith(".")]
        passed = results(task, {"solution.py": "\n".join(lines)})
        assert sum(passed) < 0.6 * len(passed), (seed, passed)


@pytest.mark.parametrize("name", [n for n in NAMES if n.startswith("mend")])
def test_packages_as_given_fail_some_and_pass_some(name):
    kinds: set[Any] = set()
    for seed in range(30):
        task = problem(name, seed)
        passed = results(task, dict(task.files))
        assert passed.count(False) >= 2
        assert passed.count(True) >= 2
        kinds.add(task.statement.partition("For example")[0])
    assert len(kinds) >= 8
