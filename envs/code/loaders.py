"""Public sets of programming tasks from JSONL files: MBPP, HumanEval and APPS style, told apart by their fields.

A line that is none of them, or is broken, is refused with its file, its line and the field; nothing is skipped silently.
"""

from __future__ import annotations

import ast
import json
from collections.abc import Callable, Mapping
from functools import lru_cache
from pathlib import Path
from typing import Any

from agentrl.core.failures import UserError
from agentrl.core.taskfile import lines_of
from agentrl.envs.code.task import Asserts, Call, CodeTask, Problem, Run, Test

Row = Mapping[str, Any]


@lru_cache(maxsize=8)
def load_jsonl(path: Path) -> tuple[CodeTask, ...]:
    """The tasks of a file, in its order.

    Raises:
        UserError: no such file, no task in it, or a broken line, by its number and field.
    """
    tasks: dict[str, CodeTask] = {}
    for number, line in enumerate(lines_of(path), start=1):
        if line.strip():
            task = parse(line, f"{path}, line {number}")
            if task.id in tasks:
                raise UserError(f"{path}, line {number}: a second task {task.id!r}")
            tasks[task.id] = task
    if not tasks:
        raise UserError(f"the task file {path} holds no task")
    return tuple(tasks.values())


def parse(line: str, where: str) -> CodeTask:
    """One line as a task.

    Raises:
        UserError: what is wrong with it, and where.
    """
    try:
        row = json.loads(line)
    except ValueError as error:
        raise UserError(f"{where}: not JSON: {error}") from None
    if not isinstance(row, dict):
        raise UserError(f"{where}: a task is a JSON object")
    for signs, read in STYLES:
        if signs <= row.keys():
            return read(row, where)
    known = "; ".join(", ".join(sorted(signs)) for signs, _ in STYLES)
    raise UserError(
        f"{where}: neither MBPP, HumanEval nor APPS style: it needs the fields of one of: {known}"
    )


def human_eval(row: Row, where: str) -> CodeTask:
    """`task_id`, `prompt`, `canonical_solution`, `test` (defines `check(candidate)`), `entry_point`."""
    entry, prompt = text(row, "entry_point", where), text(row, "prompt", where)
    source = prompt + text(row, "canonical_solution", where)
    names = functions(source, "canonical_solution", where)
    if entry not in names:
        raise UserError(f"{where}: entry_point {entry!r} is not defined by prompt and canonical_solution")
    code = f"{text(row, 'test', where)}\ncheck({entry})\n"
    well_formed(code, "test", where)
    statement = (
        "Complete this program and write it, whole, to `solution.py`:\n\n"
        f"{indented(prompt)}\n\nHidden tests call `{entry}`."
    )
    test = Test("check", (Asserts(code, names),), expected=(True,))
    problem = Problem(statement, {"solution.py": source}, (test,))
    return CodeTask(text(row, "task_id", where), "humaneval", "strings", "medium", problem)


def mbpp(row: Row, where: str) -> CodeTask:
    """`task_id`, `text` (or `prompt`), `code`, `test_list`, and perhaps `test_setup_code`, `test_imports`,
    `challenge_test_list`. The first assertion is shown, as the set's authors do; the others are hidden."""
    field = "text" if "text" in row else "prompt"
    code = text(row, "code", where)
    names = functions(code, "code", where)
    setup = row.get("test_setup_code") or "\n".join(texts(row, "test_imports", where, optional=True))
    asserts = texts(row, "test_list", where) + texts(row, "challenge_test_list", where, optional=True)
    if not asserts:
        raise UserError(f"{where}: test_list is empty")
    tests = []
    for index, line in enumerate(asserts):
        well_formed(line, f"test_list[{index}]", where)
        tests.append(Test(f"assert-{index}", (Asserts(f"{setup}\n{line}\n", names),), expected=(True,)))
    statement = f"{text(row, field, where)}\n\nWrite it to `solution.py`. For example, this must hold:\n\n{indented(asserts[0])}"
    problem = Problem(statement, {"solution.py": code}, tuple(tests[1:] or tests))
    return CodeTask(f"mbpp/{row['task_id']}", "mbpp", "strings", "easy", problem)


def apps(row: Row, where: str) -> CodeTask:
    """`question`, `solutions` and `input_output` (JSON in text, as the set has them, or plain): programs that read standard
    input, or a function where `fn_name` names one."""
    given = inner(row, "input_output", where)
    solutions = inner(row, "solutions", where)
    if not isinstance(solutions, list) or not solutions or not isinstance(solutions[0], str):
        raise UserError(f"{where}: solutions must be a list of programs, and not empty")
    if not isinstance(given, dict) or not {"inputs", "outputs"} <= given.keys():
        raise UserError(f"{where}: input_output must have inputs and outputs")
    inputs, outputs = given["inputs"], given["outputs"]
    if (
        not isinstance(inputs, list)
        or not isinstance(outputs, list)
        or len(inputs) != len(outputs)
        or not inputs
    ):
        raise UserError(f"{where}: inputs and outputs must be lists of the same length, and not empty")
    name = given.get("fn_name")
    question = text(row, "question", where)
    if name:
        source, path = solutions[0], "solution.py"
        ask = f"Write `{name}` to `solution.py`."
        tests = tuple(
            called(name, source, i, args, out)
            for i, (args, out) in enumerate(zip(inputs, outputs, strict=True))
        )
    else:
        source, path = solutions[0], "main.py"
        ask = "Write a program that reads standard input and prints the answer to `main.py`."
        tests = tuple(
            Test(f"run-{i}", (Run("main.py", (), as_lines(given)),), expected=(as_lines(out),))
            for i, (given, out) in enumerate(zip(inputs, outputs, strict=True))
        )
    problem = Problem(f"{question}\n\n{ask}", {path: source}, tests, submit=(path,))
    identity = row.get("problem_id", row.get("id", row.get("task_id")))
    if identity is None:
        raise UserError(f"{where}: problem_id is missing")
    difficulty = {"introductory": "easy", "competition": "hard"}.get(str(row.get("difficulty")), "medium")
    return CodeTask(f"apps/{identity}", "apps", "text", difficulty, problem)


def called(name: str, source: str, index: int, arguments: Any, output: Any) -> Test:
    """A call of a function, or of a method of `Solution`; an output may be wrapped in a list, as some are."""
    args = tuple(arguments) if isinstance(arguments, list) else (arguments,)
    inside = "class Solution" in source
    steps = (Call("Solution"), Call(f".{name}", args)) if inside else (Call(name, args),)
    accepted = [output, *(output[:1] if isinstance(output, list) and len(output) == 1 else [])]

    def check(outputs: list[Any]) -> bool:
        from agentrl.envs.code.values import same

        return any(same(item, outputs[-1]) for item in accepted)

    return Test(f"call-{index}", steps, check=check)


STYLES: tuple[tuple[frozenset[str], Callable[[Row, str], CodeTask]], ...] = (
    (frozenset({"task_id", "prompt", "canonical_solution", "test", "entry_point"}), human_eval),
    (frozenset({"task_id", "code", "test_list"}), mbpp),
    (frozenset({"question", "solutions", "input_output"}), apps),
)


def text(row: Row, name: str, where: str) -> str:
    value = row.get(name)
    if not isinstance(value, str) or not value.strip():
        raise UserError(f"{where}: {name} must be a text, got {value!r:.60}")
    return value


def texts(row: Row, name: str, where: str, *, optional: bool = False) -> list[str]:
    value = row.get(name, [] if optional else None)
    if not isinstance(value, list) or not all(isinstance(item, str) for item in value):
        raise UserError(f"{where}: {name} must be a list of texts, got {value!r:.60}")
    return list(value)


def inner(row: Row, name: str, where: str) -> Any:
    """A field that holds JSON in a text, or the thing itself."""
    value = row[name]
    if not isinstance(value, str):
        return value
    try:
        return json.loads(value)
    except ValueError as error:
        raise UserError(f"{where}: {name} holds no JSON: {error}") from None


def functions(source: str, field: str, where: str) -> tuple[str, ...]:
    """Functions that a program defines at its top."""
    try:
        tree = ast.parse(source)
    except (SyntaxError, ValueError) as error:
        raise UserError(f"{where}: {field} is no Python program: {error}") from None
    return tuple(node.name for node in tree.body if isinstance(node, ast.FunctionDef))


def well_formed(code: str, field: str, where: str) -> None:
    try:
        ast.parse(code)
    except (SyntaxError, ValueError) as error:
        raise UserError(f"{where}: {field} is no Python program: {error}") from None


def as_lines(value: Any) -> str:
    """Input or output as one text; some sets give lists of lines."""
    return "\n".join(map(str, value)) if isinstance(value, list) else str(value)


def indented(code: str) -> str:
    return "\n".join(f"    {line}" if line else "" for line in code.strip("\n").splitlines())
