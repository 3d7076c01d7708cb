"""Tools in a real sandbox: what the policy reads, and what it may get wrong."""

import shutil
import time

import pytest

from agentrl.core.failures import ToolError
from agentrl.sandboxes.backends import backend
from agentrl.sandboxes.base import ExecResult, SandboxRefusal, SandboxSpec
from agentrl.tools.files import files
from agentrl.tools.repl import PythonSession
from agentrl.tools.running import bash, python, shown

pytestmark = pytest.mark.skipif(shutil.which("bwrap") is None, reason="bwrap is not installed")


@pytest.fixture
async def box():
    async with await backend("bubblewrap").start(SandboxSpec()) as sandbox:
        yield sandbox


def giving(box):
    async def give():
        return box

    return give


@pytest.mark.parametrize(
    ("result", "text"),
    [
        (ExecResult("a\n", "", 0), "a"),
        (ExecResult("", "", 0), "[no output]"),
        (ExecResult("a\n", "b\n", 3), "a\n[stderr]\nb\n[exit code 3]"),
        (ExecResult("", "b\n", 1), "b\n[exit code 1]"),
        (ExecResult("a\n", "", 137, timed_out=True), "a\n[killed: not finished after 2 s]"),
        (ExecResult("", "", 137, oom_killed=True), "[killed: out of memory, exit code 137]"),
    ],
)
def test_what_is_shown_of_a_result(result, text):
    assert shown(result, 2) == text


async def test_bash(box):
    tool = bash(giving(box), seconds=1)
    assert await tool.acall('{"command": "echo $((6*7)); false"}') == "42\n[exit code 1]"
    assert await tool.acall('{"command": "sleep 9"}') == "[killed: not finished after 1 s]"
    assert tool.parameters["required"] == ["command"]


async def test_output_is_cut_in_the_middle(box):
    tool = bash(giving(box), output_bytes=20)
    text = await tool.acall('{"command": "seq 1000"}')
    assert text.startswith("1\n2\n3\n")
    assert text.endswith("\n999\n1000")
    assert "bytes omitted" in text


async def test_python_is_fresh_every_time(box):
    tool = python(giving(box))
    assert await tool.acall('{"code": "x = 1\\nprint(x)"}') == "1"
    assert "NameError" in await tool.acall('{"code": "print(x)"}')


async def test_a_session_remembers(box):
    session = PythonSession(giving(box))
    assert await session.run("import math\nx = 20") == "[no output]"
    assert await session.run("print('hi')\nx + math.floor(1.5)") == "hi\n21"
    assert await session.run("def f(y):\n    return y * x") == "[no output]"
    assert await session.run("f('ab')[:4]") == "'abab'"
    with pytest.raises(ToolError, match="ZeroDivisionError"):
        await session.run("1 / 0")
    assert await session.run("x") == "20"


async def test_a_session_is_fast_once_open(box):
    session = PythonSession(giving(box))
    await session.run("x = 0")
    times = []
    for _ in range(20):
        began = time.perf_counter()
        await session.run("x += 1")
        times.append(time.perf_counter() - began)
    assert sorted(times)[10] < 0.02


async def test_a_session_that_is_late_or_ends_begins_anew(box):
    session = PythonSession(giving(box), seconds=0.5)
    await session.run("x = 1")
    with pytest.raises(ToolError, match=r"not finished after 0\.5 s"):
        await session.run("while True: ...")
    with pytest.raises(ToolError, match="NameError"):
        await session.run("x")
    with pytest.raises(ToolError, match=r"ended \(exit code 7\)"):
        await session.run("import os; os._exit(7)")
    assert await session.run("2 + 2") == "4"
    assert await box.ping() == 1


async def test_a_session_is_not_fooled_by_what_is_written_into_its_channel(box):
    session = PythonSession(giving(box))
    with pytest.raises(ToolError, match="the interpreter ended"):
        await session.run("import os; os.write(3, b'\\0\\0\\0\\2{}')")
    assert await session.run("1") == "1"


async def test_session_output_is_bounded_while_it_is_printed(box):
    session = PythonSession(giving(box), output_bytes=100)
    text = await session.run("for i in range(100000): print(i)")
    assert len(text) < 300
    assert text.endswith("99999")


async def test_files(box):
    read, write, edit = files(giving(box), shown_lines=3)
    assert await write.acall('{"path": "a/b.txt", "content": "one\\ntwo\\nthree\\nfour\\n"}') == (
        "wrote 19 bytes to a/b.txt"
    )
    text = await read.acall('{"path": "a/b.txt"}')
    assert text == (
        "    1  one\n    2  two\n    3  three\n[lines 4 to 4 not shown: ask for them with first_line]"
    )
    assert await read.acall('{"path": "a/b.txt", "first_line": 4}') == "    4  four"
    assert await edit.acall('{"path": "a/b.txt", "old": "two", "new": "2"}') == "edited a/b.txt"
    assert await box.read("a/b.txt") == b"one\n2\nthree\nfour\n"
    await write.acall('{"path": "empty", "content": ""}')
    assert await read.acall('{"path": "empty"}') == "[empty file]"


@pytest.mark.parametrize(
    ("index", "arguments", "sentence"),
    [
        (0, '{"path": "missing"}', "missing"),
        (0, '{"path": "."}', "not a file"),
        (0, '{"path": ""}', "not a file"),
        (0, '{"path": "../etc/passwd"}', "out of the workspace"),
        (0, '{"path": "/etc/passwd"}', "out of the workspace"),
        (0, '{"path": "f", "first_line": 9}', "has 2 lines"),
        (0, '{"path": "f", "first_line": 2, "last_line": 1}', "before first_line"),
        (0, '{"path": "binary"}', "not text"),
        (1, '{"path": "../x", "content": ""}', "out of the workspace"),
        (1, '{"path": "f/x", "content": ""}', "f/x"),
        (1, '{"path": ".", "content": ""}', "directory"),
        (2, '{"path": "f", "old": "same", "new": "x"}', "occurs 2 times"),
        (2, '{"path": "f", "old": "nowhere", "new": "x"}', "does not occur"),
        (2, '{"path": "f", "old": "", "new": "x"}', "old is empty"),
        (2, '{"path": "gone", "old": "a", "new": "x"}', "gone"),
    ],
)
async def test_what_cannot_be_done_with_files(box, index, arguments, sentence):
    await box.write("f", "same\nsame\n")
    await box.write("binary", b"\xff\xfe\x00")
    with pytest.raises((ToolError, SandboxRefusal), match=sentence):
        await files(giving(box))[index].acall(arguments)
    assert await box.read("f") == b"same\nsame\n"
