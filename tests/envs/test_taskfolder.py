"""Tasks in folders: what is read, what is refused and how, and that only the tests decide."""

import asyncio
import json
import shutil
import subprocess
from pathlib import Path

import pytest

from agentrl.core.failures import UserError
from agentrl.core.messages import Message, ToolCall
from agentrl.core.portal import run_sync
from agentrl.envs.generated import listed
from agentrl.envs.taskfolder.env import TaskFolderEnv
from agentrl.envs.taskfolder.format import FolderTask, read_folder, read_task
from agentrl.envs.taskfolder.grading import archives, reward_of, whose_fault
from agentrl.envs.taskfolder.images import Image, spec_for
from agentrl.sandboxes import ledger
from agentrl.sandboxes.backends import backend
from agentrl.sandboxes.base import MIB, SandboxFailure, SandboxSpec, SandboxUnavailable
from agentrl.sandboxes.owner import me

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
    assert (task.network, task.workdir, task.user) == (True, "/app", 0)
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
        ("[verifier]\nuser = 7\n", r"line 2: verifier\.user must be root"),
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


# -- what a task may take --------------------------------------------------------------------------

TASK = FolderTask("one", Path("/"), "Do it.", image="some:1", cpus=0.5, memory=300 * MIB, network=True)


def test_a_task_gets_what_it_asks_for_and_the_record_names_what_is_weakened():
    spec = spec_for(TASK, Image("some:1", "/app"), backend("docker"), {})
    assert (spec.cpus, spec.memory, spec.workspace, spec.user) == (0.5, 300 * MIB, "/app", 0)
    assert spec.record()["weakened"] == ["network", "read_only", "user"]
    assert spec_for(TASK, Image("some:1", ""), backend("docker"), {}).workspace == "/workspace"


def test_never_more_than_the_caller_allows():
    settings = {"cpus": 0.25, "memory": 200 * MIB, "network": False, "user": 1000}
    spec = spec_for(TASK, Image("some:1", ""), backend("docker"), settings)
    assert (spec.cpus, spec.memory, spec.network, spec.user) == (0.25, 200 * MIB, False, 1000)
    spec = spec_for(TASK, Image("some:1", ""), backend("docker"), {"memory": 400 * MIB})
    assert spec.memory == 300 * MIB
    with pytest.raises(UserError, match=r"sandbox_settings\.read_only is decided by the task"):
        spec_for(TASK, Image("some:1", ""), backend("docker"), {"read_only": True})


@pytest.mark.parametrize(
    ("sandbox", "dockerfile", "sentence"),
    [
        ("bubblewrap", "FROM scratch\n", "has a Dockerfile, which bubblewrap cannot run"),
        ("local-unsafe", "", "would do that on this machine"),
    ],
)
def test_a_backend_that_cannot_run_a_task_is_refused(tmp_path, sandbox, dockerfile, sentence):
    folder = write_task(tmp_path / "one", dockerfile=dockerfile)
    with pytest.raises(UserError, match=sentence):
        TaskFolderEnv(folder=str(folder), sandbox=sandbox)


def test_a_workspace_of_the_image_needs_a_root_that_can_be_written():
    with pytest.raises(UserError, match="needs read_only=false"):
        SandboxSpec(workspace="/app")
    for path in ("app", "/app/", "/a/../b", "/", "/tmp/x"):
        with pytest.raises(UserError, match="sandbox workspace must be"):
            SandboxSpec(workspace=path, read_only=False)


def test_splits_share_no_task():
    source = tuple(FolderTask(str(index), Path("/"), "") for index in range(20))
    seen = {
        split: {listed(source, split, seed).name for seed in range(100)}
        for split in ("train", "validation", "test")
    }
    assert seen["test"] == {"0", "10"}
    assert seen["validation"] == {"1", "11"}
    assert len(seen["train"]) == 16
    assert listed(source[:1], "train", 5).name == "0"


# -- the reward ------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("text", "document", "expected"),
    [
        ("1\n", None, (1.0, "")),
        (" 0.25 ", None, (0.25, "")),
        ("1e-1", None, (0.1, "")),
        (None, "0.5", (0.5, "")),
        (None, '{"reward": 1, "style": 0.2}', (1.0, "")),
        (None, '{"passed": 0.75}', (0.75, "")),
        ("1", "1.0", (1.0, "")),
        (None, None, (0.0, "reward_missing")),
        ("", None, (0.0, "reward_not_a_number")),
        ("nan", None, (0.0, "reward_not_a_number")),
        ("inf", None, (0.0, "reward_not_a_number")),
        ("1e999", None, (0.0, "reward_not_a_number")),
        ("1 1", None, (0.0, "reward_not_a_number")),
        ("1_0", None, (0.0, "reward_not_a_number")),
        ("yes", None, (0.0, "reward_not_a_number")),
        ("2.0", None, (0.0, "reward_out_of_range")),
        ("-0.1", None, (0.0, "reward_out_of_range")),
        (None, "NaN", (0.0, "reward_not_a_number")),
        (None, "true", (0.0, "reward_not_a_number")),
        (None, '"1"', (0.0, "reward_not_a_number")),
        (None, "{}", (0.0, "reward_not_a_number")),
        (None, "[1]", (0.0, "reward_not_a_number")),
        (None, '{"reward": 1, "x": NaN}', (0.0, "reward_not_a_number")),
        (None, '{"a": 1, "b": 0}', (0.0, "reward_ambiguous")),
        ("0", "1", (0.0, "reward_ambiguous")),
        (None, "{", (0.0, "reward_not_a_number")),
        (None, "[" * 100_000, (0.0, "reward_not_a_number")),
    ],
)
def test_one_finite_number_between_0_and_1_is_a_reward(text, document, expected):
    assert reward_of(text, document) == expected


def test_a_folder_travels_in_pieces_and_links_stay_links(tmp_path):
    (tmp_path / "sub").mkdir()
    (tmp_path / "a").write_bytes(b"a" * (9 << 20))
    (tmp_path / "sub" / "b").hardlink_to(tmp_path / "a")
    (tmp_path / "c").symlink_to("/etc/shadow")
    out = tmp_path.parent / "out"
    out.mkdir()
    pieces = list(archives(tmp_path))
    assert len(pieces) == 3
    for piece in pieces:
        subprocess.run(["tar", "-x", "-o", "-f", "-", "-C", out], input=piece, check=True)
    assert (out / "sub" / "b").read_bytes() == (out / "a").read_bytes() == b"a" * (9 << 20)
    assert (out / "c").readlink() == Path("/etc/shadow")


# -- episodes --------------------------------------------------------------------------------------


def has_engine():
    if shutil.which("docker") is None:
        return False
    return subprocess.run(["docker", "info"], capture_output=True, timeout=20, check=False).returncode == 0


needs_bwrap = pytest.mark.skipif(shutil.which("bwrap") is None, reason="bwrap is not installed")
on_docker = [pytest.mark.docker, pytest.mark.skipif(not has_engine(), reason="no Docker engine answers")]
DOCKERFILE = "FROM agentrl/sandbox:1\nWORKDIR /app\nCOPY Dockerfile /app/data.txt\n"
JSON_TEST = TEST.replace("echo 1", "echo '{\"reward\": 1}'").replace("echo 0", "echo '{\"reward\": 0.25}'")
JSON_TEST = JSON_TEST.replace("reward.txt", "reward.json")


@pytest.fixture(
    params=[pytest.param("bubblewrap", marks=needs_bwrap), pytest.param("docker", marks=on_docker)]
)
def make(request, tmp_path):
    """Makes an environment of one task; on Docker its image is built from a Dockerfile and removed at the end."""
    made, tags = [], []

    def make(**parts):
        if request.param == "docker":
            parts.setdefault("dockerfile", DOCKERFILE)
        folder = write_task(tmp_path / "a-task", **parts)
        if request.param == "docker":
            tags.append(read_task(folder).tag())
        made.append(TaskFolderEnv(folder=str(folder), sandbox=request.param, tool_seconds=10))
        made[-1].reset(seed=0)
        return made[-1]

    yield make
    for env in made:
        env.close()
    if request.param == "docker":
        left = mine("image")
        subprocess.run(["docker", "rmi", "-f", *tags], capture_output=True, check=False)
        assert not left, "an image made for grading is still there"


def calling(name, **arguments):
    return Message("assistant", "", (ToolCall(name, json.dumps(arguments)),))


def ran(env, command):
    observation, *_ = env.step(calling("bash", command=command))
    return observation[0].content


def submitted(env):
    _, reward, terminated, _, info = env.step(calling("submit"))
    assert terminated
    return reward, info["success"], info.get("tamper", [])


def test_the_expert_scores_1(make):
    env = make()
    env.step(env.expert())
    assert ran(env, "head -n 1 answer.txt") == "42"
    assert submitted(env) == (1.0, True, [])


def test_doing_nothing_scores_0(make):
    assert submitted(make()) == (0.0, False, [])


def test_json_rewards_may_be_fractions(make):
    env = make(test=JSON_TEST)
    assert submitted(env) == (0.25, False, [])
    env.reset(seed=0)
    env.step(calling("write_file", path="answer.txt", content="42"))
    assert submitted(env) == (1.0, True, [])


def test_a_planted_reward_is_removed_and_flagged(make):
    env = make(test="#!/bin/sh\nexit 0\n")
    ran(env, "mkdir -p /logs/verifier /tests; echo 1 | tee /logs/verifier/reward.txt; touch conftest.py")
    reward, success, flags = submitted(env)
    assert (reward, success) == (0.0, False)
    assert {"planted_reward", "reward_missing", "looks_for_tests"} <= set(flags)
    assert any(flag.startswith("planted:") and flag.endswith("conftest.py") for flag in flags)


def test_no_process_of_the_policy_sees_the_grading(make):
    slow = "#!/bin/sh\necho 0 > /logs/verifier/reward.txt\nsleep 1\n"
    env = make(test=slow)
    script = "while :; do mkdir -p /logs/verifier; echo 1 > /logs/verifier/reward.txt; done"
    ran(env, f"nohup setsid sh -c '{script}' > /dev/null 2>&1 &")
    reward, _, flags = submitted(env)
    assert reward == 0.0
    assert "background" in flags


@pytest.mark.parametrize(
    ("written", "flag"), [("nan", "reward_not_a_number"), ("2.0", "reward_out_of_range")]
)
def test_what_is_no_reward_is_0_and_flagged(make, written, flag):
    env = make(test=f"echo {written} > /logs/verifier/reward.txt\n")
    assert submitted(env) == (0.0, False, [flag])


def test_tests_that_do_not_end_score_0(make):
    env = make(toml="[verifier]\ntimeout_sec = 0.5\n", test="echo 1 > /logs/verifier/reward.txt\nsleep 60\n")
    assert submitted(env) == (0.0, False, ["tests_timed_out"])


def test_a_fork_goes_its_own_way(make):
    env = make(test=TEST.replace("answer.txt", "/tmp/answer.txt"))
    ran(env, "echo 4 > /tmp/answer.txt; echo kept > kept.txt")
    point = env.snapshot()
    ran(env, "printf 42 > /tmp/answer.txt; rm kept.txt")
    assert submitted(env)[0] == 1.0
    env.restore(point)
    assert ran(env, "cat /tmp/answer.txt kept.txt") == "4\nkept"
    assert submitted(env)[0] == 0.0
    run_sync(env.backend.discard(point.payload[1]))


@needs_bwrap
def test_the_shipped_examples_are_solved_by_their_solutions_and_by_nothing_else():
    env = TaskFolderEnv(sandbox="bubblewrap")
    for task in env.source:
        for expected in (0.0, 1.0):
            env.source = (task,)
            env.reset(seed=0)
            if expected:
                env.step(env.expert())
            assert submitted(env) == (expected, bool(expected), []), task.name
    env.close()


@needs_bwrap
def test_what_breaks_without_the_policy_is_no_score(tmp_path):
    task = read_task(write_task(tmp_path / "one"))
    with pytest.raises(SandboxFailure, match="the tests cannot be put into its image"):
        run_sync(whose_fault(task, backend("bubblewrap"), SandboxSpec()))


@pytest.mark.docker
@pytest.mark.skipif(not has_engine(), reason="no Docker engine answers")
class TestDocker:
    @pytest.fixture
    def env(self, tmp_path):
        made = TaskFolderEnv(folder=str(write_task(tmp_path / "a-task", dockerfile=DOCKERFILE)))
        made.reset(seed=0)
        yield made
        made.close()
        subprocess.run(
            ["docker", "rmi", "-f", read_task(tmp_path / "a-task").tag()], capture_output=True, check=False
        )

    def test_tools_work_in_the_folder_of_the_image(self, env):
        assert ran(env, "pwd; id -u") == "/app\n0"
        observation, *_ = env.step(calling("read_file", path="data.txt"))
        assert "FROM agentrl/sandbox:1" in observation[0].content
        assert env.step(calling("submit"))[4]["sandbox"] == {
            "backend": "docker",
            "weakened": ["read_only", "user"],
        }

    def test_a_policy_that_breaks_its_files_scores_0_and_stops_nobody(self, env):
        ran(env, "rm -f /usr/bin/python3*")
        reward, _, flags = submitted(env)
        assert reward == 0.0
        assert {"breaks_grading", "replaced:/usr/bin/python3"} <= set(flags)

    def test_a_replaced_program_is_flagged_before_and_after_a_fork(self, env):
        ran(env, "cp /bin/true /usr/local/bin/pytest")
        point = env.snapshot()
        env.restore(point)
        assert "replaced:/usr/local/bin/pytest" in submitted(env)[2]
        run_sync(env.backend.discard(point.payload[1]))

    def test_an_image_that_cannot_be_built_is_no_score(self, tmp_path):
        folder = write_task(tmp_path / "broken", dockerfile="FROM agentrl/sandbox:1\nCOPY nothing /\n")
        env = TaskFolderEnv(folder=str(folder))
        with pytest.raises(SandboxUnavailable, match="Dockerfile cannot be built"):
            env.reset(seed=0)
        env.close()

    def test_an_image_in_which_no_sandbox_can_start_is_no_score(self, tmp_path):
        folder = write_task(tmp_path / "bare", dockerfile="FROM scratch\nCOPY Dockerfile /\n")
        env = TaskFolderEnv(folder=str(folder))
        with pytest.raises(SandboxUnavailable, match=r"has no python3.*cannot be added.*install it"):
            env.reset(seed=0)
        env.close()
        subprocess.run(["docker", "rmi", "-f", read_task(folder).tag()], capture_output=True, check=True)

    async def test_a_cancelled_grading_leaves_nothing(self, tmp_path):
        folder = write_task(tmp_path / "slow", dockerfile=DOCKERFILE, test="sleep 60\n")
        env = TaskFolderEnv(folder=str(folder))
        await env.areset(seed=0)
        step = asyncio.create_task(env.astep(calling("submit")))
        while not mine("image"):
            await asyncio.sleep(0.05)
        step.cancel()
        with pytest.raises(asyncio.CancelledError):
            await step
        await env.aclose()
        assert not mine("image")
        assert not mine("container")
        subprocess.run(["docker", "rmi", "-f", read_task(folder).tag()], capture_output=True, check=True)


def mine(kind):
    """What this process has on the engine."""
    entries = ledger.docker_entries(ledger.engine())
    return [item for item in entries if item.kind == kind and item.owner == me().text]
