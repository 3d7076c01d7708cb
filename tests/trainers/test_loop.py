"""Runs that are interrupted, killed or robbed of a checkpoint end with the bits of one that was left alone."""

import asyncio
import os
import random
import resource
import shutil
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from pathlib import Path

import pytest
import torch

from agentrl.core.failures import UserError
from agentrl.core.registry import make
from agentrl.inference.engine import Sampling
from agentrl.store.store import RunStore
from agentrl.trainers.checkpoint import all_checkpoints, load_checkpoint, weights_sha256
from agentrl.trainers.config import Recipe, load_recipe
from agentrl.trainers.demonstrations import language_of
from agentrl.trainers.loop import Trainer, open_model
from agentrl.trainers.models import load_policy, save_policy
from agentrl.trainers.tiny import TinyShape, new_tiny_policy

SMALL = TinyShape(layers=1, hidden=24, heads=2, mlp=24, max_context=160, init_std=0.3)


@pytest.fixture(autouse=True)
def one_thread() -> Iterator[None]:
    before = torch.get_num_threads()
    torch.set_num_threads(1)
    yield
    torch.set_num_threads(before)


@pytest.fixture(scope="module")
def untrained(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A policy that knows the words of Search and nothing else."""
    texts, names = language_of(make("agentrl/Search-v0", world="random", top_k=1))
    model, codec = new_tiny_policy(texts, names, shape=SMALL, show_system=False)
    return save_policy(model, codec, tmp_path_factory.mktemp("policy") / "untrained")


def overrides(policy: Path, *more: str) -> list[str]:
    """Four small steps. The entropy bonus gives every step a gradient, whatever the returns are."""
    return [
        f"model.name={policy}",
        "model.threads=1",
        "steps=4",
        "rollout.tasks_per_step=2",
        "rollout.group_size=4",
        "rollout.concurrency=3",
        "rollout.max_turns=2",
        "rollout.sampling.max_tokens=6",
        "entropy_coef=0.05",
        "eval.episodes=0",
        "checkpoint.every=3",
        *more,
    ]


def recipe_of(policy: Path, *more: str) -> Recipe:
    return load_recipe("search-tiny", overrides(policy, *more))


class Stopping:
    """A listener that stops the run after a step, or while the next one is rolling."""

    def __init__(self, after: int = 99, *, rolling: bool = False) -> None:
        self.after, self.while_rolling, self.stop = after, rolling, asyncio.Event()
        self.hashes: list[str] = []

    def rolling(self, step: int, done: int, total: int) -> None:
        if self.while_rolling and step > self.after and done:
            self.stop.set()

    async def stepped(self, report, trainer: Trainer) -> None:
        self.hashes.append(trainer.weights_sha256())
        if report.step >= self.after and not self.while_rolling:
            self.stop.set()


def go(trainer: Trainer, listener: Stopping | None = None) -> list[str]:
    """Weights after every step of this part of the run."""
    listener = listener or Stopping()

    async def run() -> None:
        try:
            await trainer.run(listener, listener.stop)
        finally:
            await trainer.aclose()

    asyncio.run(run())
    return listener.hashes


def tokens(folder: Path) -> list[tuple]:
    """Everything sampled and every advantage's cause, in order."""
    with RunStore.open(folder) as store:
        return [
            (turn.context_ids, turn.completion_ids, turn.logprobs, turn.reward)
            for tree in store.trees()
            for turn in tree
        ]


def status(folder: Path) -> str:
    with RunStore.open(folder) as store:
        return store.info()["status"]


@pytest.fixture(scope="module")
def whole(untrained: Path, tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, list[str]]:
    """A run that was left alone: its folder and its weights after every step."""
    torch.set_num_threads(1)
    folder = tmp_path_factory.mktemp("whole") / "run"
    return folder, go(Trainer.start(recipe_of(untrained), folder, {}))


def test_every_step_moves_the_weights_and_is_stored(whole):
    folder, hashes = whole
    assert len(set(hashes)) == 4
    assert status(folder) == "done"
    with RunStore.open(folder) as store:
        metrics = store.metrics()
        assert [m["step"] for m in metrics] == [1, 2, 3, 4]
        assert all(m["optimizer_steps"] == 1 and m["sampler_gap"] < 1e-5 for m in metrics)
        assert [len(list(store.trees(step=step))) for step in range(1, 5)] == [2] * 4
        assert {turn.weight_version for tree in store.trees(step=3) for turn in tree} == {2}
    assert [path.name for path in all_checkpoints(folder)] == ["step-000003", "step-000004"]


def test_the_same_recipe_gives_the_same_bits(whole, untrained, tmp_path):
    assert go(Trainer.start(recipe_of(untrained), tmp_path / "run", {})) == whole[1]
    assert tokens(tmp_path / "run") == tokens(whole[0])


@pytest.mark.parametrize("while_rolling", [False, True])
def test_an_interrupted_run_goes_on_to_the_same_bits(whole, untrained, tmp_path, while_rolling):
    folder = tmp_path / "run"
    first = go(Trainer.start(recipe_of(untrained), folder, {}), Stopping(2, rolling=while_rolling))
    assert status(folder) == "interrupted"
    second = go(Trainer.resume(folder))
    assert (first, second) == (whole[1][:2], whole[1][2:])
    assert tokens(folder) == tokens(whole[0])
    assert status(folder) == "done"


@pytest.mark.parametrize("left", [["step-000003"], []])
def test_steps_since_a_lost_checkpoint_are_replayed(whole, tmp_path, left):
    folder = tmp_path / "run"
    shutil.copytree(whole[0], folder)
    for checkpoint in all_checkpoints(folder):
        if checkpoint.name not in left:
            shutil.rmtree(checkpoint)
    trainer = Trainer.resume(folder)
    assert trainer.step == 4
    assert trainer.weights_sha256() == whole[1][-1]
    go(trainer)
    assert tokens(folder) == tokens(whole[0])
    # A kill between the last commit and its checkpoint: the trained policy is still written.
    (*_, newest) = all_checkpoints(folder)
    assert newest.name == "step-000004"
    assert weights_sha256(load_policy(newest / "policy", device="cpu")[0]) == whole[1][-1]


def test_a_half_written_checkpoint_is_none(whole, tmp_path):
    folder = tmp_path / "run"
    shutil.copytree(whole[0], folder)
    newest = all_checkpoints(folder)[-1]
    newest.rename(newest.with_name(newest.name + ".partial"))
    (newest.with_name(newest.name + ".partial") / "state.json").unlink()
    trainer = Trainer.resume(folder)
    assert trainer.weights_sha256() == whole[1][-1]
    go(trainer)


def test_a_damaged_checkpoint_is_said(whole, untrained, tmp_path):
    folder = tmp_path / "run"
    shutil.copytree(whole[0], folder)
    newest = all_checkpoints(folder)[-1]
    save_policy(*load_policy(untrained, device="cpu"), newest / "policy")
    with pytest.raises(UserError, match="damaged"):
        Trainer.resume(folder)


def test_a_checkpoint_is_a_policy(whole):
    newest = all_checkpoints(whole[0])[-1]
    model, codec = load_policy(newest / "policy", device="cpu")
    assert weights_sha256(model) == whole[1][-1]
    assert codec.stop_ids


def test_kl_is_to_the_first_policy_also_after_a_resume(untrained, tmp_path):
    recipe = recipe_of(untrained, "kl.coef=0.3", "kl.name=k2", "steps=3", "optim.lr=0.01")
    hashes = go(Trainer.start(recipe, tmp_path / "whole", {}))
    first = go(Trainer.start(recipe, tmp_path / "run", {}), Stopping(2))
    assert first + go(Trainer.resume(tmp_path / "run")) == hashes


def test_warmup_and_several_optimizer_steps_survive_a_resume(untrained, tmp_path):
    more = ("optim.warmup_steps=3", "optim.minibatches=2", "optim.epochs=2", "steps=3")
    recipe = recipe_of(untrained, *more)
    hashes = go(Trainer.start(recipe, tmp_path / "whole", {}))
    first = go(Trainer.start(recipe, tmp_path / "run", {}), Stopping(1))
    assert first + go(Trainer.resume(tmp_path / "run")) == hashes
    with RunStore.open(tmp_path / "run") as store:
        assert [m["optimizer_steps"] for m in store.metrics()] == [4, 4, 4]
        assert [m["lr"] for m in store.metrics()] == pytest.approx([5e-4 / 3, 1e-3 / 3, 5e-4])


def test_recomputed_activations_and_lora_train_to_the_same_weights(untrained, tmp_path):
    more = ("model.lora_rank=2", "optim.lr=0.02", "steps=2")
    found = []
    for recompute in ("false", "true"):
        recipe = recipe_of(untrained, *more, f"model.gradient_checkpointing={recompute}")
        trainer = Trainer.start(recipe, tmp_path / recompute, {})
        go(trainer)
        found.append([p.detach() for p in trainer.model.parameters() if p.requires_grad])
    for plain, again in zip(*found, strict=True):
        torch.testing.assert_close(plain, again, atol=1e-5, rtol=0)


def test_lora_trains_the_adapter_alone_and_the_engine_follows(untrained, tmp_path):
    recipe = recipe_of(untrained, "model.lora_rank=2", "optim.lr=0.02", "steps=3")
    trainer = Trainer.start(recipe, tmp_path / "whole", {})
    before = {name: value.clone() for name, value in trainer.model.state_dict().items()}
    checked = []

    class Probe(Stopping):
        async def stepped(self, report, trainer):
            await super().stepped(report, trainer)
            changed = {n for n, v in trainer.model.state_dict().items() if not torch.equal(v, before[n])}
            assert changed
            assert all("lora_" in name for name in changed)
            given = (5, 6, 7)
            done = await trainer.engine.generate(given, Sampling(max_tokens=5, seed=1))
            assert done.weight_version == report.step
            with torch.no_grad():
                logits = trainer.model(torch.tensor([[*given, *done.ids]])).logits[0, 2:-1]
            want = torch.log_softmax(logits, -1).gather(-1, torch.tensor(done.ids)[:, None]).squeeze(-1)
            assert list(done.logprobs) == pytest.approx(want.tolist(), abs=1e-5)
            checked.append(report.step)

    hashes = go(trainer, Probe())
    assert checked == [1, 2, 3]
    assert len(set(hashes)) == 3
    first = go(Trainer.start(recipe, tmp_path / "run", {}), Stopping(2))
    assert first + go(Trainer.resume(tmp_path / "run")) == hashes
    # Lost checkpoints: the adapter's first weights are drawn from the recipe's seed.
    shutil.rmtree(tmp_path / "run" / "checkpoints")
    assert Trainer.resume(tmp_path / "run").weights_sha256() == hashes[-1]


def test_the_saved_adapter_is_a_policy(untrained, tmp_path):
    recipe = recipe_of(untrained, "model.lora_rank=2", "optim.lr=0.02", "steps=1")
    hashes = go(Trainer.start(recipe, tmp_path / "run", {}))
    (*_, newest) = all_checkpoints(tmp_path / "run")
    assert (newest / "policy" / "adapter_model.safetensors").is_file()
    model, codec = load_policy(newest / "policy", device="cpu")
    assert weights_sha256(model) == hashes[-1]
    assert codec.stop_ids


def test_a_folder_that_cannot_be_written_is_one_sentence(untrained, tmp_path):
    (tmp_path / "file").write_text("in the way")
    with pytest.raises(UserError, match="cannot be made"):
        Trainer.start(recipe_of(untrained), tmp_path / "file" / "run", {})
    folder = tmp_path / "run"
    folder.mkdir()
    (folder / "checkpoints").write_text("in the way")
    with pytest.raises(UserError, match="checkpoint of step 0"):
        Trainer.start(recipe_of(untrained), folder, {})


@contextmanager
def largest_file(size: int) -> Iterator[None]:
    """Files cannot grow beyond `size` bytes: to a program, a full disk."""
    soft, hard = resource.getrlimit(resource.RLIMIT_FSIZE)
    resource.setrlimit(resource.RLIMIT_FSIZE, (size, hard))
    try:
        yield
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, (soft, hard))


@pytest.mark.parametrize("limit", [300, 50_000, 110_000, 150_000])
def test_a_full_disk_is_one_sentence_and_leaves_the_last_checkpoint(whole, tmp_path, limit):
    # Whatever file is the first to be too large: a configuration, the weights, the tokenizer, the optimizer.
    folder = tmp_path / "run"
    shutil.copytree(whole[0], folder)
    trainer = Trainer.resume(folder)
    trainer.step = 5
    with largest_file(limit), pytest.raises(UserError, match="step 5"):
        trainer.checkpoint()
    asyncio.run(trainer.aclose())
    assert sorted(path.name for path in (folder / "checkpoints").iterdir()) == ["step-000003", "step-000004"]
    model, _ = open_model(trainer.recipe)
    assert load_checkpoint(all_checkpoints(folder)[-1], model, trainer.optimizer) == 4


def test_a_run_whose_disk_fills_goes_on_from_its_last_step(whole, untrained, tmp_path):
    folder = tmp_path / "run"
    with ExitStack() as disk:

        class Filling(Stopping):
            async def stepped(self, report, trainer):
                await super().stepped(report, trainer)
                if report.step == 2:
                    disk.enter_context(largest_file(4096))

        trainer = Trainer.start(recipe_of(untrained), folder, {})
        with pytest.raises(UserError, match="full"):
            go(trainer, Filling())
    assert go(Trainer.resume(folder)) == whole[1][2:]
    assert tokens(folder) == tokens(whole[0])


def info(folder: Path) -> dict:
    with RunStore.open(folder) as store:
        return store.info()


def test_a_run_that_breaks_is_failed_and_says_why_and_can_go_on(whole, untrained, tmp_path):
    class Breaking(Stopping):
        async def stepped(self, report, trainer):
            if report.step == 2:
                raise RuntimeError("the listener broke")

    trainer = Trainer.start(recipe_of(untrained), tmp_path / "run", {})
    with pytest.raises(RuntimeError, match="broke"):
        go(trainer, Breaking())
    assert (info(tmp_path / "run")["status"], info(tmp_path / "run")["error"]) == (
        "failed",
        "the listener broke",
    )
    assert go(Trainer.resume(tmp_path / "run")) == whole[1][2:]
    assert (info(tmp_path / "run")["status"], info(tmp_path / "run")["error"]) == ("done", "")


def test_a_cancelled_run_is_interrupted(untrained, tmp_path):
    class Cancelling(Stopping):
        async def stepped(self, report, trainer):
            raise asyncio.CancelledError

    with pytest.raises(asyncio.CancelledError):
        go(Trainer.start(recipe_of(untrained), tmp_path / "run", {}), Cancelling())
    assert status(tmp_path / "run") == "interrupted"


def test_one_process_trains_a_run(whole, tmp_path):
    folder = tmp_path / "run"
    shutil.copytree(whole[0], folder)
    trainer = Trainer.resume(folder)
    # Another process, and another trainer of this one.
    code = f"from pathlib import Path; from agentrl.trainers.loop import Trainer; Trainer.resume(Path({str(folder)!r}))"
    other = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=False)
    said = f"is being trained by another process (pid {os.getpid()})"
    assert other.returncode == 1
    assert other.stderr.strip().splitlines()[-1].endswith(said)
    with pytest.raises(UserError, match="pid"):
        Trainer.resume(folder)
    asyncio.run(trainer.aclose())
    go(Trainer.resume(folder))


def test_groups_that_can_never_be_used_are_said_before_anything_is_written(untrained, tmp_path):
    with pytest.raises(UserError, match=r"min_group \(5\) must not exceed group_size \(4\)"):
        Trainer.start(recipe_of(untrained, "rollout.min_group=5"), tmp_path / "run", {})
    assert not (tmp_path / "run").exists()


def test_no_run_is_said(tmp_path):
    with pytest.raises(UserError, match="no run"):
        Trainer.resume(tmp_path)


def test_a_run_is_never_overwritten(whole, untrained):
    with pytest.raises(UserError, match="already holds a run"):
        Trainer.start(recipe_of(untrained), whole[0], {})


@pytest.mark.slow
def test_a_killed_run_goes_on_to_the_same_bits(untrained, tmp_path):
    steps = ("steps=16", "checkpoint.every=5")
    want = go(Trainer.start(recipe_of(untrained, *steps), tmp_path / "whole", {}))
    folder = tmp_path / "run"
    command = [sys.executable, "-m", "agentrl.cli", "train", "--json"]
    keys = [item for key in overrides(untrained, *steps) for item in ("--set", key)]
    environment = {**os.environ, "OMP_NUM_THREADS": "1"}
    process = subprocess.Popen([*command, "search-tiny", *keys, "--run", str(folder)], env=environment)
    kills = 0
    rng = random.Random(0)
    for _ in range(2):
        # Somewhere after the first step that this process commits.
        began = last_step(folder)
        while process.poll() is None and last_step(folder) == began:
            time.sleep(0.02)
        time.sleep(rng.uniform(0, 0.3))
        kills += process.poll() is None
        process.kill()
        if process.wait() == 0:
            break
        process = subprocess.Popen([*command, "--resume", str(folder)], env=environment)
    assert process.wait(120) == 0
    assert kills >= 1
    model, _ = load_policy(all_checkpoints(folder)[-1] / "policy", device="cpu")
    assert weights_sha256(model) == want[-1]
    assert tokens(folder) == tokens(tmp_path / "whole")


def last_step(folder: Path) -> int:
    if not all_checkpoints(folder):  # the last thing that a new run makes
        return 0
    with RunStore.open(folder) as store:
        return store.last_step()
