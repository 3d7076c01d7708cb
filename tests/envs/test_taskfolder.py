"""Tasks in folders: what is read, what is refused and how, and that only the tests decide."""

import pytest

from agentrl.core.failures import UserError
from agentrl.envs.taskfolder.format import read_folder, read_task
from agentrl.sandboxes.base import MIB

TOML = """version = "1.0"

[metadata]
difficulty = "easy"
tags = ["tiny"]

[verifier]
timeout_sec = 20.0
"""
TEST = """#!/bin/bash
if [ "$(cat answer.txt 2>/dev/null)" = 42 ]; then echo 1; else echo 0; fi > /logs/verifier/reward.txt
"""


def write_task(folder, *, toml=TOML, dockerfile="", test=TEST, solve="echo 42 > answer.txt\n"):
    files = {
        "task.toml": toml,
        "instruction.md": "Write 42 into answer.txt.\n",
        "tests/test.sh": test,
        "solution/solve.sh": solve,
        "environment/Dockerfile": dockerfile,
    }
    for name, text in files.items():
        if text:
            path = folder / name
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_text(text)
    return folder


# -- the format ------------------------------------------------------------------------------------


def test_a_task_is_read(tmp_path):
    toml = TOML + (
        '\n[agent]\ntimeout_sec = 30\nuser = "root"\n[environment]\ncpus = 2\nmemory = "1.5G"\nallow_internet = true\n'
        'workdir = "/app"\nnew_key = [1]\n[environment.env]\nA = "x${B:-y}"\n[later]\nz = 1\n'
    )
    task = read_task(write_task(tmp_path / "one", toml=toml, dockerfile="FROM scratch\n"))
    assert (task.name, task.instruction) == ("one", "Write 42 into answer.txt.\n")
    assert (task.difficulty, task.tags) == ("easy", ("tiny",))
    assert (task.verifier_seconds, task.agent_seconds, task.cpus, task.memory) == (
        20.0,
        30.0,
        2.0,
        1536 * MIB,
    )
    assert (task.network, task.workdir, task.user, task.verifier_user) == (True, "/app", 0, None)
    assert task.env == {"A": "xy"}
    assert task.dockerfile
    assert not task.plain


def test_a_folder_of_tasks_is_sorted_and_other_folders_are_left_alone(tmp_path):
    for name in ("b", "a", "c"):
        write_task(tmp_path / name)
    (tmp_path / "notes").mkdir()
    assert [task.name for task in read_folder(tmp_path)] == ["a", "b", "c"]
    assert [task.name for task in read_folder(tmp_path / "b")] == ["b"]


def test_the_image_is_named_after_its_content(tmp_path):
    one = read_task(write_task(tmp_path / "A Task_1", dockerfile="FROM scratch\n"))
    tag = one.tag()
    assert tag.startswith("agentrl/task-a-task-1:")
    (one.folder / "tests" / "more.py").write_text("x")
    assert one.tag() == tag
    (one.folder / "environment" / "data").write_text("x")
    assert one.tag() != tag


@pytest.mark.parametrize(
    ("toml", "sentence"),
    [
        ('version = "1.0"\n[agent\n', r"task\.toml: .*\(at line 2, column"),
        ("[verifier]\n\ntimeout_sec = '5'\n", r"task\.toml line 3: verifier\.timeout_sec .* got '5'"),
        ("[verifier]\ntimeout_sec = nan\n", r"task\.toml line 2: verifier\.timeout_sec "),
        (
            "[verifier]\ntimeout_sec = -1\n",
            r"task\.toml line 2: verifier\.timeout_sec should be greater than 0",
        ),
        ("[environment]\ncpus = 1\nmemory_mb = true\n", r"line 3: environment\.memory_mb "),
        ("[environment]\nmemory = 'lots'\n", r"line 2: environment\.memory must be a size"),
        (
            "environment.allow_internet = 'yes'\n",
            r"line 1: environment\.allow_internet should be a valid boolean",
        ),
        ("[metadata]\ntags = ['a', 1]\n", r"line 2: metadata\.tags\.1 should be a valid string"),
        ("version = 1\n", r"line 1: version should be a valid string"),
        ("agent = 3\n", r"line 1: agent "),
        ("[environment]\nos = 'windows'\n", r"line 2: environment\.os must be linux"),
        (
            "[environment]\nnetwork_mode = 'allowlist'\n",
            r"line 2: environment\.network_mode allowlist cannot",
        ),
        ("[verifier.env]\nKEY = '${SECRET}'\n", r"verifier\.env wants SECRET of the host in KEY"),
        ("[agent]\nuser = 'bob'\n", r"line 2: agent\.user must be a uid or root"),
        ("[environment]\nworkdir = 'app'\n", r"line 2: environment\.workdir must be an absolute path"),
        ("[[steps]]\nname = 'a'\n", r"line 1: tasks of several steps"),
    ],
)
def test_a_malformed_task_toml_is_refused_with_file_line_and_field(tmp_path, toml, sentence):
    write_task(tmp_path, toml=toml)
    with pytest.raises(UserError, match=sentence) as caught:
        read_task(tmp_path)
    assert "\n" not in str(caught.value)
    assert str(tmp_path) in str(caught.value)


@pytest.mark.parametrize("name", ["instruction.md", "tests/test.sh", "task.toml"])
def test_a_missing_part_is_named(tmp_path, name):
    write_task(tmp_path)
    (tmp_path / name).unlink()
    with pytest.raises(UserError, match=rf"{name} is missing"):
        read_folder(tmp_path)


def test_an_environment_needs_a_dockerfile_or_an_image(tmp_path):
    write_task(tmp_path)
    (tmp_path / "environment").mkdir()
    with pytest.raises(UserError, match=r"no Dockerfile and .*task\.toml no docker_image"):
        read_task(tmp_path)
    (tmp_path / "task.toml").write_text("[environment]\ndocker_image = 'debian:12'\n")
    assert read_task(tmp_path).image == "debian:12"


def test_other_layouts_and_empty_folders_are_refused(tmp_path):
    with pytest.raises(UserError, match="no task in"):
        read_folder(tmp_path)
    with pytest.raises(UserError, match="no folder"):
        read_folder(tmp_path / "nowhere")
    (tmp_path / "old").mkdir()
    (tmp_path / "old" / "task.yaml").write_text("instruction: x\n")
    with pytest.raises(UserError, match="older layout"):
        read_folder(tmp_path)
