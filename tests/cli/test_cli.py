"""The command line: documents, exit codes, and one sentence for bad input."""

import json
import os
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest

from agentrl.cli.app import run
from agentrl.cli.doctor import CHECKS
from agentrl.store.store import RunStore

GUESS = Path(__file__).parents[2] / "examples" / "guess.py"


@pytest.fixture(autouse=True)
def in_a_folder_of_its_own(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)


def document(capsys, *arguments: str, code: int = 0):
    """The one JSON document that a command prints on stdout."""
    assert run([*arguments, "--json"]) == code
    return json.loads(capsys.readouterr().out)


def sentence(capsys, *arguments: str) -> str:
    """What a command says of bad input: exit code 2, nothing on stdout, one line on stderr."""
    assert run(list(arguments)) == 2
    out, err = capsys.readouterr()
    assert out == ""
    assert err.strip().splitlines()[-1].startswith("error: ")
    assert "Traceback" not in err
    return err


def test_envs_lists_what_can_be_made(capsys):
    listed = {item["id"]: item for item in document(capsys, "envs")}
    search = listed["agentrl/Search-v0"]
    assert search["tools"] == ["search", "read", "answer"]
    assert search["splits"] == ["train", "validation", "test"]
    assert {"id", "summary", "tools", "splits", "fork", "extra"} <= set(search)
    assert run(["envs"]) == 0


def test_eval_counts_and_stores(capsys, tmp_path):
    got = document(
        capsys, "eval", "agentrl/Search-v0", "--engine", "expert", "--episodes", "30", "--run", "r"
    )
    assert (got["success"], got["episodes"], got["infrastructure_failures"], got["tool_errors"]) == (
        1.0,
        30,
        0,
        0,
    )
    assert got["success_ci95"][0] > 0.88
    keys = {
        "id",
        "episodes",
        "success",
        "success_ci95",
        "return_mean",
        "turns_mean",
        "tool_errors",
        "infrastructure_failures",
    }
    assert keys | {"tokens", "seconds", "run"} <= set(got)
    with RunStore.open(tmp_path / "r") as store:
        assert store.info()["status"] == "done"
        assert len(list(store.trees(phase="eval"))) == 30
    exported = document(capsys, "export", "r", "-o", "e.jsonl")
    assert exported["episodes"] == 30
    first = json.loads(Path("e.jsonl").read_text().splitlines()[0])
    assert first["messages"][-1]["content"] == "the end"
    assert "no such phase" in sentence(capsys, "export", "r", "-o", "e.jsonl", "--phase", "no such phase")
    assert "already holds a run" in sentence(
        capsys, "eval", "agentrl/Search-v0", "--episodes", "1", "--run", "r"
    )


def test_eval_of_a_random_policy_and_of_an_environment_in_a_file(capsys):
    assert document(capsys, "eval", "Taxi-v0", "--engine", "random", "--episodes", "5")["success"] < 1.0
    got = document(capsys, "eval", f"{GUESS}:Guess", "--engine", "random", "--episodes", "5")
    assert got["id"].endswith("guess.py:Guess")
    assert got["turns_mean"] <= 10


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        (["eval", "agentrl/Serch-v0"], "agentrl/Search-v0"),
        (["eval", "agentrl/Search-v0", "--split", "tst"], "'test'"),
        (["eval", "agentrl/Search-v0", "--set", "topk=1"], "'top_k'"),
        (["eval", "agentrl/Search-v0", "--set", "top_k"], "key=value"),
        (["eval", "agentrl/Search-v0", "--episodes", "none"], "integer"),
        (["eval", "agentrl/Search-v0", "--engine", "server"], "--base-url"),
        (["eval", "agentrl/Search-v0", "--engine", "hf", "--model", "/nowhere"], "/nowhere"),
        (["eval", "agentrl/GymText-v0", "--engine", "expert", "--episodes", "2"], "no expert"),
        (["eval", "nowhere.py:X"], "no Python file"),
        (["evl"], "'eval'"),
        (["train"], "name a recipe"),
        (["train", "serch-tiny"], "search-tiny"),
        (["train", "search-tiny", "--set", "rollout.group_sise=2"], "rollout.group_size"),
        (["train", "search-tiny", "--set", "credit.name=gipgo"], "gigpo"),
        (["train", "search-tiny", "--set", "credit.name=gigpo", "--set", "credit.omga=1"], "omega"),
        (["train", "search-tiny", "--set", "steps=-1"], "steps"),
        (["train", "search-tiny", "--model", "/nowhere"], "/nowhere"),
        (["train", "--resume", "nowhere"], "no run at nowhere"),
        (["train", "search-tiny", "--resume", "x"], "name a recipe"),
        (["export", "nowhere", "-o", "x.jsonl"], "no run at nowhere"),
        (["methods", "gipgo"], "gigpo"),
        (["bench", "enginee"], "engine"),
        (["env", "check"], "name one environment"),
        (["env", "check", "agentrl/Taxy-v0"], "agentrl/Taxi-v0"),
        (["env", "new", "My Game"], "lower-case"),
        (["sft", "serch-tiny", "-o", "x"], "search-tiny"),
    ],
)
def test_bad_input_is_one_clear_sentence(capsys, arguments, said):
    before = sorted(Path.cwd().rglob("*"))
    assert said in sentence(capsys, *arguments)
    left = [path for path in sorted(Path.cwd().rglob("*")) if path not in before]
    assert not [path for path in left if path.suffix in (".jsonl", ".safetensors", ".partial")]


def test_a_run_folder_that_cannot_be_made(capsys):
    Path("file").write_text("")
    assert "cannot be made" in sentence(
        capsys, "eval", "agentrl/Search-v0", "--episodes", "2", "--run", "file/run"
    )


def test_eval_of_a_file_of_tasks(capsys):
    Path("tasks.jsonl").write_text('{"seed": 7}\n{"seed": 9, "split": "train"}\n')
    got = document(capsys, "eval", "agentrl/Search-v0", "--tasks", "tasks.jsonl")
    assert (got["episodes"], got["success"]) == (2, 1.0)
    Path("tasks.jsonl").write_text('{"seed": 7}\n{"seed": 9,}\n')
    assert "tasks.jsonl, line 2" in sentence(capsys, "eval", "agentrl/Search-v0", "--tasks", "tasks.jsonl")


def test_a_context_that_outgrows_the_model_leaves_no_run_behind(capsys):
    said = sentence(capsys, "train", "search-tiny", "--set", "model.max_context=8", "--run", "r")
    assert "outgrows the model's 8" in said
    assert not Path("r").exists()


def test_train_shows_the_whole_recipe(capsys):
    recipe = document(capsys, "train", "search-tiny", "--set", "seed=4", "--dry-run")
    assert (recipe["seed"], recipe["env"]["id"]) == (4, "agentrl/Search-v0")
    assert run(["train", "search-tiny", "--dry-run"]) == 0
    assert "[rollout]" in capsys.readouterr().out


def test_methods_have_papers(capsys):
    for item in document(capsys, "methods"):
        assert item["paper"]
        assert item["fidelity"] in ("reference", "paper", "reading")
    assert document(capsys, "methods", "gigpo")["defaults"]["omega"] == 1.0


def test_env_new_and_check(capsys):
    assert run(["env", "new", "my_game"]) == 0
    assert "agentrl env check my_game.py:MyGame" in " ".join(capsys.readouterr().out.split())
    got = document(capsys, "env", "check", "my_game.py:MyGame")
    assert got["ok"], got
    assert len(got["checks"]) >= 14
    assert "already there" in sentence(capsys, "env", "new", "my_game")


def test_env_check_falls_short_with_exit_code_1(capsys):
    Path("bad.py").write_text(
        GUESS.read_text().replace(
            'return "Guess my',
            'import random\n        self.secret = random.randint(1, 100)\n        return "Guess my',
        )
    )
    got = document(capsys, "env", "check", "bad.py:Guess", code=1)
    assert not got["ok"]


def test_doctor_names_the_fix(capsys):
    found = document(capsys, "doctor")
    assert len(found) == len(CHECKS)
    assert all(item["fix"] for item in found if not item["ok"])
    assert {"python", "environments"} <= {item["name"] for item in found if item["ok"]}


def test_play_with_the_expert(capsys):
    got = document(capsys, "play", "agentrl/Search-v0", "--engine", "expert", "--run", "demo")
    assert (got["reward"], got["success"]) == (1.0, True)
    with RunStore.open(Path("demo")) as store:
        assert store.phases() == ["play"]


def test_version_and_help(capsys):
    assert run(["--version"]) == 0
    assert capsys.readouterr().out.startswith("agentrl ")
    assert run(["--help"]) == 0
    assert run([]) == 2


@pytest.mark.slow
def test_ctrl_c_ends_cleanly_with_what_is_finished(tmp_path):
    slow = tmp_path / "slow.py"
    slow.write_text(
        "import time\nfrom agentrl import ToolEnv, call, tool\n\n\n"
        'class Slow(ToolEnv):\n    """Slow."""\n\n    max_turns = 2\n\n    def task(self):\n        return "go"\n\n'
        '    def expert(self):\n        return call("go")\n\n    @tool\n    def go(self) -> str:\n        """Go."""\n        time.sleep(0.05)\n        return "on"\n'
    )
    command = [
        sys.executable,
        "-m",
        "agentrl.cli",
        "eval",
        f"{slow}:Slow",
        "--episodes",
        "2000",
        "--concurrency",
        "4",
    ]
    process = subprocess.Popen(
        [*command, "--run", str(tmp_path / "r"), "--json"],
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        cwd="/",
    )
    time.sleep(4)
    os.kill(process.pid, signal.SIGINT)
    out, err = process.communicate(timeout=30)
    assert process.returncode == 130, err
    got = json.loads(out)
    assert got["partial"]
    assert 0 < got["episodes"] < 2000
    with RunStore.open(tmp_path / "r") as store:
        assert store.info()["status"] == "interrupted"
        assert sum(len(tree.episodes()) for tree in store.trees(phase="eval")) == got["episodes"]
