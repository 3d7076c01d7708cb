"""Public sets: their three styles, real grading, and what is said of a broken line."""

import json
import shutil

import pytest

from agentrl.core.failures import UserError
from agentrl.core.messages import Message, ToolCall
from agentrl.envs.code.env import CodeEnv
from agentrl.envs.code.loaders import load_jsonl, parse

HUMAN_EVAL = {
    "task_id": "HumanEval/x",
    "prompt": 'def helper(x):\n    return x + 1\n\n\ndef twice(x):\n    """Twice the helper.\n    >>> twice(1)\n    4\n    """\n',
    "canonical_solution": "    return 2 * helper(x)\n",
    "test": "import random\n\nMETADATA = {}\n\n\ndef check(candidate):\n    assert candidate(1) == 4\n    for _ in range(5):\n"
    "        x = random.randint(0, 99)\n        assert candidate(x) == 2 * helper(x), 'wrong'\n    assert abs(candidate(0.5) - 3.0) < 1e-6\n",
    "entry_point": "twice",
}
MBPP = {
    "task_id": 7,
    "text": "Write a function to find the set of letters, or fail on the empty text.",
    "code": "def letters(s):\n    if not s:\n        raise ValueError('empty')\n    return set(s), tuple(sorted(s))\n",
    "test_list": [
        "assert letters('ab') == ({'a', 'b'}, ('a', 'b'))",
        "assert letters(s='ba')[0] == {'b', 'a'}",
        "try:\n    letters('')\n    assert False\nexcept ValueError:\n    pass",
    ],
    "test_setup_code": "",
    "challenge_test_list": [],
}
APPS = {
    "problem_id": 3,
    "question": "Add two numbers.",
    "solutions": json.dumps(["a, b = map(int, input().split())\nprint(a + b)\n"]),
    "input_output": json.dumps({"inputs": ["1 2\n", "5 6\n"], "outputs": ["3\n", "11\n"]}),
    "difficulty": "introductory",
}
APPS_CALL = {
    "problem_id": 4,
    "question": "Concatenate.",
    "solutions": ["class Solution:\n    def cat(self, a, b):\n        return a + b\n"],
    "input_output": {"inputs": [["a", "b"], [[1], [2]]], "outputs": ["ab", [[1, 2]]], "fn_name": "cat"},
}
ROWS = [HUMAN_EVAL, MBPP, APPS, APPS_CALL]


@pytest.fixture
def path(tmp_path):
    file = tmp_path / "tasks.jsonl"
    file.write_text("\n".join(json.dumps(row) for row in ROWS) + "\n\n")
    return file


def test_the_styles_are_told_apart(path):
    tasks = load_jsonl(path)
    assert [task.id for task in tasks] == ["HumanEval/x", "mbpp/7", "apps/3", "apps/4"]
    assert [len(task.problem.tests) for task in tasks] == [1, 2, 2, 2]
    assert "assert letters('ab')" in tasks[1].problem.statement
    assert "letters(s='ba')" not in tasks[1].problem.statement


@pytest.mark.skipif(shutil.which("bwrap") is None, reason="bwrap is not installed")
def test_references_pass_and_cheats_do_not(path):
    env = CodeEnv(tasks=str(path), test_seconds=3)
    cheat = "class E:\n    def __eq__(s, o): return True\n    def __getitem__(s, i): return s\n    def __sub__(s, o): return 0\n"
    cheat += (
        "    def __abs__(s): return 0\ndef helper(x): return E()\ntwice = letters = lambda *a, **k: E()\n"
    )
    cheat += "class Solution:\n    def cat(self, *a): return E()\n"
    try:
        seen = set()
        for seed, split in ((0, "test"), (0, "validation"), (0, "train"), (1, "train")):
            env.reset(seed=seed, options={"split": split})
            env.step(env.expert())
            _, reward, _, _, info = env.step(env.expert())
            assert reward == 1.0, (env.code.id, env.graded)
            assert "tamper" not in info, env.code.id
            seen.add(env.code.id)
            env.reset(seed=seed, options={"split": split})
            for file in env.code.problem.submit:
                write = ToolCall("write_file", json.dumps({"path": file, "content": cheat}))
                env.step(Message("assistant", "", (write,)))
            _, reward, _, _, info = env.step(Message("assistant", "", (ToolCall("submit", "{}"),)))
            assert reward == 0.0
            assert info["tamper"]
        assert len(seen) == 4
    finally:
        env.close()


@pytest.mark.skipif(shutil.which("bwrap") is None, reason="bwrap is not installed")
def test_a_test_that_hangs_does_not_spoil_the_next(tmp_path):
    file = tmp_path / "tasks.jsonl"
    file.write_text(
        json.dumps({**MBPP, "test_list": ["assert True", "while letters('a'): pass", "assert letters('a')"]})
    )
    env = CodeEnv(tasks=str(file), test_seconds=1)
    try:
        env.reset(seed=0)
        env.step(env.expert())
        env.step(env.expert())
        assert [result.passed for result in env.graded.results] == [False, True]
    finally:
        env.close()


@pytest.mark.parametrize(
    ("line", "sentence"),
    [
        ("{", "not JSON"),
        ("[]", "JSON object"),
        ('{"task_id": 1}', "neither MBPP, HumanEval nor APPS"),
        (json.dumps({**HUMAN_EVAL, "entry_point": "thrice"}), "'thrice' is not defined"),
        (json.dumps({**HUMAN_EVAL, "test": "def check(:"}), "test is no Python program"),
        (json.dumps({**HUMAN_EVAL, "prompt": ""}), "prompt must be a text"),
        (json.dumps({**MBPP, "code": "def f(:"}), "code is no Python program"),
        (json.dumps({**MBPP, "test_list": "assert"}), "test_list must be a list"),
        (json.dumps({**MBPP, "test_list": []}), "test_list is empty"),
        (json.dumps({**MBPP, "test_list": ["assert ("]}), r"test_list\[0\] is no Python"),
        (json.dumps({**APPS, "solutions": "[]"}), "solutions must be a list of programs"),
        (json.dumps({**APPS, "input_output": "{"}), "input_output holds no JSON"),
        (json.dumps({**APPS, "input_output": {"inputs": []}}), "inputs and outputs"),
        (json.dumps({**APPS, "input_output": {"inputs": [1], "outputs": []}}), "same length"),
        (json.dumps({k: v for k, v in APPS.items() if k != "problem_id"}), "problem_id is missing"),
    ],
)
def test_a_broken_line_names_its_place_and_field(line, sentence):
    with pytest.raises(UserError, match=f"tasks.jsonl, line 3: .*{sentence}"):
        parse(line, "tasks.jsonl, line 3")


def test_files_that_are_no_use(tmp_path):
    with pytest.raises(UserError, match="cannot be read"):
        load_jsonl(tmp_path / "missing.jsonl")
    empty = tmp_path / "empty.jsonl"
    empty.write_text("\n")
    with pytest.raises(UserError, match="holds no task"):
        load_jsonl(empty)
    twice = tmp_path / "twice.jsonl"
    twice.write_text(json.dumps(MBPP) + "\n" + json.dumps(MBPP))
    with pytest.raises(UserError, match="line 2: a second task 'mbpp/7'"):
        load_jsonl(twice)
