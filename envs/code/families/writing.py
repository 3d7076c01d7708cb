"""How families of functions and scripts are put together from a reference, examples, inputs and properties.

Invariant: the reference, filled in from a template, answers for the examples as well as for the hidden tests, no
hidden test repeats an example or another test, and a property is false of whatever it cannot be evaluated on.
"""

from __future__ import annotations

import random
import re
from collections.abc import Callable, Sequence
from textwrap import dedent, indent
from typing import Any, TypeAlias

from agentrl.envs.code.task import Call, Problem, Raises, Run, Test, expect, load, outcomes

Step: TypeAlias = tuple[Any, ...]  # the name of a function, then its arguments
Property: TypeAlias = tuple[str, Sequence[Step], Callable[[list[Any]], bool]]

WORDS = (
    "amber", "basil", "cedar", "delta", "ember", "fjord", "gravel", "harbor", "island", "jasper", "kettle",
    "lantern", "meadow", "nickel", "orchid", "pepper", "quartz", "river", "saddle", "timber", "umbra",
    "velvet", "willow", "yonder", "zephyr", "Atlas", "Boreal", "Cobalt", "Drift", "Echo", "Fable", "moss",
    "oak", "elm", "fig", "ivy", "ash", "rye", "an", "io", "tea", "sea", "pi",
)  # fmt: skip
FOREIGN = ("café", "naïve", "Zürich", "Ångström", "日本", "żółw", "señor", "übung")


def fill(template: str, **parts: Any) -> str:
    """Source text: `<<name>>` stands for a piece of code or text, `<<name!r>>` for the literal of a value."""

    def piece(match: re.Match[str]) -> str:
        value = parts[match[1]]
        return repr(value) if match[2] else str(value)

    return re.sub(r"<<(\w+)(!r)?>>", piece, dedent(template).lstrip("\n"))


def words(rng: random.Random, count: int, pool: Sequence[str] = WORDS) -> list[str]:
    """So many words, repetitions included."""
    return [rng.choice(pool) for _ in range(count)]


def letters(rng: random.Random, alphabet: str, count: int) -> str:
    """A string of so many characters of an alphabet."""
    return "".join(rng.choice(alphabet) for _ in range(count))


def prose(text: str) -> str:
    """A statement from an indented literal: paragraphs (at empty lines) on one line each, lists and code as they are."""
    blocks = re.split(r"\n\s*\n", dedent(text).strip())
    return "\n\n".join(b if re.search(r"^(- |    )", b, re.M) else " ".join(b.split()) for b in blocks)


def guarded(check: Callable[[list[Any]], bool]) -> Callable[[list[Any]], bool]:
    """The same property, false of answers that have the wrong types for it."""

    def judge(answers: list[Any]) -> bool:
        try:
            return bool(check(answers))
        except Exception:
            return False

    return judge


def shown(step: Step, outcome: Any) -> str:
    """One example as a line of a statement."""
    call = f"{step[0]}({', '.join(map(repr, step[1:]))})"
    return f"{call} raises {outcome.name}" if isinstance(outcome, Raises) else f"{call} == {outcome!r}"


def functions(
    statement: str,
    source: str,
    examples: Sequence[Step],
    inputs: Sequence[Step | list[Step]],
    properties: Sequence[Property] = (),
) -> Problem:
    """A problem about functions of `solution.py`.

    Args:
        statement: without the examples, which are appended.
        source: the reference.
        examples: calls that the statement shows.
        inputs: a call, or a list of calls, for each hidden test; repetitions and examples are left out.
        properties: name, calls and a function from the list of answers to whether they are right.
    """
    calls = [Call(name, arguments) for name, *rest in examples for arguments in (tuple(rest),)]
    lines = [shown(step, answer) for step, answer in zip(examples, outcomes(source, calls), strict=True)]
    seen = {repr(step) for step in examples}
    tests: list[Test] = []
    for entry in inputs:
        steps = [step for step in (entry if isinstance(entry, list) else [entry]) if repr(step) not in seen]
        seen.update(map(repr, steps))
        if steps:
            group = [Call(step[0], tuple(step[1:])) for step in steps]
            tests.append(expect(f"{steps[0][0]}-{len(tests)}", source, *group))
    for name, steps, check in properties:
        fresh = tuple(Call(step[0], tuple(step[1:])) for step in steps)
        tests.append(Test(name, fresh, check=guarded(check)))
    text = f"{prose(statement)}\n\nExamples:\n\n{indent(chr(10).join(lines), '    ')}"
    return Problem(text, {"solution.py": source}, tuple(tests))


def scripts(
    statement: str,
    source: str,
    examples: Sequence[str],
    inputs: Sequence[str],
    properties: Sequence[tuple[str, str, Callable[[str], bool]]] = (),
) -> Problem:
    """A problem about a script `main.py` from standard input to standard output.

    Args:
        source: the reference; its function `report(text)` gives the output that the script prints.
        examples, inputs: texts of standard input.
        properties: name, standard input, and a function from the output to whether it is right.
    """
    report = load(source)["report"]
    blocks = [
        f"For the input\n\n{indent(text.rstrip(), '    ')}\n\nit prints\n\n{indent(report(text).rstrip(), '    ')}"
        for text in examples
    ]
    seen = set(examples)
    tests: list[Test] = []
    for text in inputs:
        if text not in seen:
            seen.add(text)
            tests.append(Test(f"run-{len(tests)}", (Run(stdin=text),), (report(text).rstrip(),)))
    for name, text, check in properties:
        tests.append(
            Test(name, (Run(stdin=text),), check=guarded(lambda answers, check=check: check(answers[0])))
        )
    body = "\n\n".join((prose(statement), *blocks))
    return Problem(body, {"main.py": source}, tuple(tests), submit=("main.py",))
