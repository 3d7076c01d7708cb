"""The demo learns: the shipped policy, the real environment, the real loop."""

import json
import subprocess
import sys

import pytest

from agentrl.trainers.config import load_recipe
from agentrl.trainers.models import ASSETS, load_policy

pytestmark = pytest.mark.learn


def test_the_shipped_policy_is_small_and_an_ordinary_model():
    folder = ASSETS / "tiny-search"
    assert sum(path.stat().st_size for path in folder.iterdir()) <= 4_000_000
    model, codec = load_policy("tiny-search")
    assert type(model).__name__ == "LlamaForCausalLM"
    assert 0.7e6 <= sum(parameter.numel() for parameter in model.parameters()) <= 3e6
    assert codec.stop_ids


def test_reinforcement_learning_mends_the_habit(tmp_path):
    """A quarter of the demo: 12 steps, 150 held-out tasks, another seed than the README's."""
    command = [
        sys.executable,
        "-m",
        "agentrl.cli",
        "train",
        "search-tiny",
        "--set",
        "steps=12",
        "--set",
        "seed=5",
    ]
    command += ["--set", "eval.episodes=150", "--run", str(tmp_path / "run"), "--json"]
    done = subprocess.run(command, capture_output=True, text=True, timeout=500, cwd="/", check=False)
    assert done.returncode == 0, done.stderr
    got = json.loads(done.stdout)
    assert got["steps"] == 12
    assert got["before"]["success"] <= 0.6
    assert got["after"]["success"] >= 0.85
    assert got["before"]["success_ci95"][1] < got["after"]["success_ci95"][0]
    assert got["before"]["infrastructure_failures"] == got["after"]["infrastructure_failures"] == 0


def test_the_demo_trains_and_is_tested_on_different_questions():
    from agentrl import make
    from agentrl.core.messages import text_of
    from agentrl.trainers.tasks import task_at

    recipe = load_recipe("search-tiny")
    env = make(recipe.env.id, **recipe.env.kwargs)
    trained = set()
    for index in range(recipe.steps * recipe.rollout.tasks_per_step):
        task = task_at(recipe, index)
        trained.add(text_of(env.reset(seed=task.seed, options={"split": task.split})[0]))
    tested = {
        text_of(env.reset(seed=seed, options={"split": "test"})[0]) for seed in range(recipe.eval.episodes)
    }
    assert len(tested) == recipe.eval.episodes
    assert not trained & tested
