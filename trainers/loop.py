"""The loop: sample tasks, roll out, assign credit, update, hand the weights to the engine, commit.

A step is one transaction of the store. Every random draw is a function of (recipe seed, step), and the update
is a function of (weights, stored trees); so a resumed run loads the last checkpoint, replays the updates of
the steps stored since, and goes on to the same bits as a run that was never interrupted.
"""

from __future__ import annotations

import asyncio
import copy
import time
from collections.abc import Iterator, Sequence
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any, Protocol

import torch

from agentrl.core.failures import UserError
from agentrl.core.tree import RolloutTree
from agentrl.inference.codec import Codec
from agentrl.inference.hf import HFEngine
from agentrl.inference.policy import ModelPolicy
from agentrl.rollout import Rollouts, RolloutSettings, collect
from agentrl.rollout.kinds import check_task
from agentrl.store.lock import RunLock
from agentrl.store.store import RunStore
from agentrl.trainers.checkpoint import all_checkpoints, load_checkpoint, save_checkpoint, weights_sha256
from agentrl.trainers.config import Recipe
from agentrl.trainers.models import context_length, load_policy
from agentrl.trainers.tasks import tasks_of
from agentrl.trainers.update import Update, update_policy


@dataclass(frozen=True, slots=True)
class StepReport:
    """What a listener is told after a step."""

    step: int
    steps: int
    metrics: dict[str, Any]
    seconds: float


class Listener(Protocol):
    """Whoever watches a run: the command line's progress bar, a test, a tracker."""

    def rolling(self, step: int, done: int, total: int) -> None:
        """`done` of `total` episodes of this step are finished."""
        ...

    async def stepped(self, report: StepReport, trainer: Trainer) -> None:
        """A step was committed. May evaluate."""
        ...


class Trainer:
    """One run, opened: model, optimizer, engine and store. Close it with `aclose`.

    Attributes:
        step: the last step whose update the weights hold.
        saved: the step of the newest checkpoint on disk, -1 for none.
    """

    def __init__(
        self, recipe: Recipe, store: RunStore, lock: RunLock, model: torch.nn.Module, codec: Codec
    ) -> None:
        self.recipe, self.store, self.lock, self.model, self.codec = recipe, store, lock, model, codec
        self.optimizer = make_optimizer(recipe, model)
        self.reference = frozen_copy(model) if recipe.kl.coef > 0 else None
        self.engine = HFEngine(
            engine_copy(model, recipe),
            max_context=recipe.model.max_context or context_length(model),
            max_batch=max(recipe.rollout.concurrency, recipe.eval.concurrency),
        )
        self.policy = ModelPolicy(
            self.engine, codec, recipe.rollout.sampling.sampling(), history=recipe.rollout.history
        )
        self.step, self.saved = 0, -1

    @classmethod
    def start(cls, recipe: Recipe, folder: Path, versions: dict[str, str]) -> Trainer:
        """A new run in `folder`.

        Raises:
            UserError: a recipe whose environment or rollout settings cannot be, before anything is written.
        """
        rollout_settings(recipe, 1)
        check_task(tasks_of(recipe, 1)[0])
        set_threads(recipe)
        model, codec = open_model(recipe)
        store = RunStore.create(
            folder, name=recipe.name, kind="train", recipe=recipe.model_dump(mode="json"), versions=versions
        )
        with opened(store) as lock, store.watched():
            trainer = cls(recipe, store, lock, model, codec)
            trainer.checkpoint()
            return trainer

    @classmethod
    def resume(cls, folder: Path) -> Trainer:
        """Go on with an interrupted run, with its own recipe. One that is done has no step left to make.

        Raises:
            UserError: no run there, a damaged one, or one that another process trains.
        """
        store = RunStore.open(folder)
        with opened(store) as lock:
            recipe = Recipe.model_validate(store.info()["recipe"])
            set_threads(recipe)
            model, codec = open_model(recipe)
            trainer = cls(recipe, store, lock, model, codec)
            checkpoints = all_checkpoints(folder)
            if checkpoints:
                trainer.step = load_checkpoint(checkpoints[-1], trainer.model, trainer.optimizer)
                trainer.saved = trainer.step
            for step in range(trainer.step + 1, store.last_step() + 1):
                trainer.update(step, list(store.trees(step=step)))
            store.set_status("running")
            return trainer

    async def run(self, listener: Listener, stop: asyncio.Event | None = None) -> None:
        """Train to the recipe's last step, or until `stop` is set (the step in flight is dropped then). Whatever ends
        the run is its status in the store."""
        with self.store.watched():
            await self.train(listener, stop)

    async def train(self, listener: Listener, stop: asyncio.Event | None) -> None:
        await self.sync_weights()
        while self.step < self.recipe.steps and not (stop and stop.is_set()):
            began = time.perf_counter()
            step = self.step + 1
            rollouts = await self.roll_out(step, listener, stop)
            if rollouts.partial:
                break
            sampled = time.perf_counter()
            update = self.update(step, rollouts.trees)
            trained = time.perf_counter()
            await self.sync_weights()
            metrics = {**rollouts.stats.metrics(), **update.metrics}
            metrics["rollout_seconds"], metrics["update_seconds"] = sampled - began, trained - sampled
            metrics["sync_seconds"] = time.perf_counter() - trained
            seconds = time.perf_counter() - began
            self.store.commit_step(
                step, rollouts.trees, update.advantages, metrics, seconds=seconds, weight_version=step
            )
            if step % self.recipe.checkpoint.every == 0:
                self.checkpoint()
            await listener.stepped(StepReport(step, self.recipe.steps, metrics, seconds), self)
        if self.saved != self.step:
            self.checkpoint()
        done = self.step >= self.recipe.steps
        self.store.set_status("done" if done else "interrupted")

    async def roll_out(self, step: int, listener: Listener, stop: asyncio.Event | None) -> Rollouts:
        tasks = tasks_of(self.recipe, step)
        return await collect(
            tasks,
            self.policy,
            rollout_settings(self.recipe, step),
            stop=stop,
            progress=lambda p: listener.rolling(step, p.done, p.total),
        )

    def update(self, step: int, trees: Sequence[RolloutTree]) -> Update:
        """One optimizer update from trees: a function of the weights, the optimizer and the trees alone."""
        for group in self.optimizer.param_groups:
            group["lr"] = learning_rate(self.recipe, step)
        result = update_policy(self.model, self.optimizer, trees, self.recipe, reference=self.reference)
        self.step = step
        return result

    async def sync_weights(self) -> None:
        """Hand the trainer's weights to the engine under the version `step`."""
        await self.engine.load_weights(self.model.named_parameters(), self.step)

    def checkpoint(self) -> None:
        save_checkpoint(
            self.store.folder,
            self.step,
            self.model,
            self.codec,
            self.optimizer,
            keep=self.recipe.checkpoint.keep,
        )
        self.saved = self.step

    def weights_sha256(self) -> str:
        return weights_sha256(self.model)

    async def aclose(self) -> None:
        await self.engine.aclose()
        self.store.close()
        self.lock.release()


@contextmanager
def opened(store: RunStore) -> Iterator[RunLock]:
    """A store and the lock of its folder, both let go if the block raises."""
    with ExitStack() as held:
        held.enter_context(store)
        lock = RunLock(store.folder)
        held.callback(lock.release)
        yield lock
        held.pop_all()


def open_model(recipe: Recipe) -> tuple[torch.nn.Module, Codec]:
    """The policy that the recipe names, trainable. Its weights are float32 whatever `model.dtype` says: steps of RL are
    smaller than bfloat16 can hold. On a GPU arithmetic and the engine's copy are bfloat16."""
    section = recipe.model
    torch.manual_seed(recipe.seed)  # a fresh LoRA adapter starts from random numbers
    return load_policy(
        section.name,
        device=section.device,
        dtype="float32",
        lora_rank=section.lora_rank,
        gradient_checkpointing=section.gradient_checkpointing,
    )


def make_optimizer(recipe: Recipe, model: torch.nn.Module) -> torch.optim.Optimizer:
    """AdamW over the trainable parameters."""
    section = recipe.optim
    trainable = [parameter for parameter in model.parameters() if parameter.requires_grad]
    if not trainable:
        raise UserError(f"model {recipe.model.name!r} has no trainable parameter")
    return torch.optim.AdamW(
        trainable, lr=section.lr, betas=section.betas, eps=section.eps, weight_decay=section.weight_decay
    )


def learning_rate(recipe: Recipe, step: int) -> float:
    """Linear warm-up over `optim.warmup_steps`, then constant."""
    warmup = recipe.optim.warmup_steps
    return recipe.optim.lr * min(1.0, step / warmup) if warmup else recipe.optim.lr


def rollout_settings(recipe: Recipe, step: int) -> RolloutSettings:
    section = recipe.rollout
    return RolloutSettings(
        group_size=section.group_size,
        concurrency=section.concurrency,
        max_turns=section.max_turns or None,
        retries=section.retries,
        min_group=section.min_group,
        step_seconds=section.step_seconds,
        generate_seconds=section.generate_seconds,
        deterministic=section.deterministic,
        seed=(recipe.seed, step),
    )


def evaluation_policy(trainer: Trainer) -> ModelPolicy:
    """The trained policy with the evaluation's sampling settings, on the trainer's engine."""
    sampling = replace(trainer.policy.sampling, temperature=trainer.recipe.eval.temperature)
    return ModelPolicy(trainer.engine, trainer.codec, sampling, history=trainer.recipe.rollout.history)


def evaluation_settings(recipe: Recipe) -> RolloutSettings:
    """Like in training, but with its own seed: the same held-out episodes whenever it is asked."""
    settings = rollout_settings(recipe, 0)
    return replace(settings, concurrency=recipe.eval.concurrency, seed=(recipe.seed, "evaluation"))


def frozen_copy(model: torch.nn.Module) -> torch.nn.Module:
    """A copy that nothing trains: the engine's own, or the reference policy."""
    return copy.deepcopy(model).eval().requires_grad_(False)


def engine_copy(model: torch.nn.Module, recipe: Recipe) -> torch.nn.Module:
    """The engine's own weights, in the dtype that the recipe samples with."""
    on_gpu = next(model.parameters()).device.type == "cuda"
    half = recipe.model.dtype == "bfloat16" or (recipe.model.dtype == "auto" and on_gpu)
    copied = frozen_copy(model)
    return copied.to(torch.bfloat16) if half else copied


def set_threads(recipe: Recipe) -> None:
    """Sums depend on the number of threads: a run keeps its own."""
    if recipe.model.threads:
        torch.set_num_threads(recipe.model.threads)
