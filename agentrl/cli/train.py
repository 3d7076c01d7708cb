"""`agentrl train`: evaluate, train, evaluate again."""

from __future__ import annotations

import asyncio
import shutil
import sys
import time
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from agentrl.cli.output import Json, emit, err, out, percent, table
from agentrl.cli.progress import Bar, RolloutBar, interruptible
from agentrl.cli.runs import new_run_folder, versions
from agentrl.cli.transcripts import transcript
from agentrl.core.failures import MissingExtra, UserError

if TYPE_CHECKING:
    from agentrl.trainers.loop import StepReport, Trainer


def add_to(app: typer.Typer) -> None:
    app.command("train", help="Train a policy from a recipe, or go on with an interrupted run.")(train)


def train(
    recipe: Annotated[str, typer.Argument(help="A shipped recipe (`search-tiny`) or a TOML file.")] = "",
    set_: Annotated[list[str], typer.Option("--set", help="Override one key: --set credit.name=gigpo")] = [],  # noqa: B006
    model: Annotated[str, typer.Option(help="Short for --set model.name=...")] = "",
    run: Annotated[Path | None, typer.Option(help="Run folder; a new one under runs/ by default.")] = None,
    resume: Annotated[
        Path | None, typer.Option(help="Go on with the interrupted run in this folder.")
    ] = None,
    dry_run: Annotated[bool, typer.Option("--dry-run", help="Print the resolved recipe and stop.")] = False,
    json: Json = False,
) -> None:
    from agentrl.trainers.config import Recipe, load_recipe

    if bool(recipe) == bool(resume):
        raise UserError("name a recipe to start, or pass --resume RUN to go on")
    if resume and (set_ or model or run):
        raise UserError("a resumed run keeps its own recipe and folder: drop --set, --model and --run")
    resolved: Recipe | None = None
    if recipe:
        resolved = load_recipe(recipe, [*set_, *([f"model.name={model}"] if model else [])])
        if dry_run:
            from agentrl.trainers.config import to_toml

            emit(resolved.model_dump(mode="json")) if json else sys.stdout.write(to_toml(resolved))
            return
    try:
        from agentrl.trainers.loop import Trainer
    except ModuleNotFoundError as error:
        raise MissingExtra("train", "Training") from error

    if resolved is None:
        assert resume is not None
        trainer = Trainer.resume(resume)
    else:
        trainer = Trainer.start(
            resolved, run or new_run_folder(f"{resolved.name}-{resolved.seed}"), versions()
        )
    document = asyncio.run(drive(trainer))
    if json:
        emit(document)
    else:
        show(document)
    if document["steps"] < trainer.recipe.steps:
        err.print(
            f"interrupted after step {document['steps']}; go on with: agentrl train --resume {document['run']}"
        )
        raise typer.Exit(130)


async def drive(trainer: Trainer) -> dict[str, Any]:
    """Evaluate, train, evaluate; returns the document that `--json` prints."""
    recipe, began = trainer.recipe, time.perf_counter()
    try:
        async with interruptible() as stop:
            with trainer.store.watched():
                watch = Watch(recipe.steps, stop)
                before = await held_out(trainer, "before", stop)
                with watch.bar:
                    watch.bar.show(trainer.step)
                    await trainer.run(watch, stop)
                finished = trainer.step >= recipe.steps
                after = await held_out(trainer, "after", stop) if finished else None
        return {
            "run": str(trainer.store.folder),
            "steps": trainer.step,
            "before": before,
            "after": after,
            "seconds": round(time.perf_counter() - began, 2),
            "training_seconds": round(sum(row["seconds"] for row in trainer.store.metrics()), 2),
            "weights_sha256": trainer.weights_sha256(),
            "examples": examples(trainer),
        }
    except UserError:
        # Nothing half-written: a run that failed on bad input before its first step leaves no folder.
        if trainer.store.last_step() == 0 and not trainer.store.phases():
            shutil.rmtree(trainer.store.folder, ignore_errors=True)
        raise
    finally:
        await trainer.aclose()


async def held_out(trainer: Trainer, phase: str, stop: asyncio.Event) -> dict[str, Any] | None:
    """Evaluate on the recipe's held-out tasks; what the store already holds is not done again."""
    from agentrl.evaluate.evaluate import evaluate, evaluation_tasks
    from agentrl.trainers.loop import evaluation_policy, evaluation_settings

    section = trainer.recipe.eval
    known = trainer.store.evaluation(phase)
    if known is not None or section.episodes == 0 or stop.is_set():
        return known
    await trainer.sync_weights()
    tasks = evaluation_tasks(
        trainer.recipe.env.id, section.episodes, split=section.split, kwargs=trainer.recipe.env.kwargs
    )
    with RolloutBar(f"evaluate {phase}", len(tasks)) as bar:
        document = await evaluate(
            tasks,
            evaluation_policy(trainer),
            evaluation_settings(trainer.recipe),
            store=trainer.store,
            phase=phase,
            step=trainer.step,
            progress=bar.update,
            stop=stop,
        )
    return None if document["partial"] else document


class Watch:
    """The bar of a training run; evaluates every `eval.every` steps."""

    def __init__(self, steps: int, stop: asyncio.Event) -> None:
        self.bar, self.stop = Bar("train", steps), stop

    def rolling(self, step: int, done: int, total: int) -> None:
        self.bar.show(step - 1 + 0.99 * done / max(1, total))

    async def stepped(self, report: StepReport, trainer: Trainer) -> None:
        metrics = report.metrics
        rate = metrics["completion_tokens"] / max(1e-9, metrics["rollout_seconds"])
        self.bar.show(report.step, f"success {percent(metrics['success'])}  {rate:,.0f} tokens/s")
        every = trainer.recipe.eval.every
        if every and report.step % every == 0 and report.step < report.steps:
            await held_out(trainer, f"step-{report.step:06d}", self.stop)


def examples(trainer: Trainer) -> dict[str, Any]:
    """The same held-out task before and after: one that the trained policy solved and the first did not."""
    before = {tree.task.seed: tree for tree in trainer.store.trees(phase="before")}
    after = {tree.task.seed: tree for tree in trainer.store.trees(phase="after")}
    shared = [seed for seed in before if seed in after and before[seed].episodes() and after[seed].episodes()]
    if not shared:
        return {}

    def gain(seed: int) -> tuple[bool, int]:
        then, now = before[seed].episodes()[0], after[seed].episodes()[0]
        return now.success > then.success, len(now.turns)

    seed = max(shared, key=gain)
    return {"before": transcript(before[seed].episodes()[0]), "after": transcript(after[seed].episodes()[0])}


def show(document: dict[str, Any]) -> None:
    before, after = document["before"], document["after"]
    if before and after:
        rows = []
        for name, item in (("before", before), ("after", after)):
            low, high = item["success_ci95"]
            interval = f"{percent(low)} to {percent(high)}"
            rows.append(
                (
                    name,
                    percent(item["success"]),
                    interval,
                    item["episodes"],
                    item["turns_mean"],
                    item["tool_errors"],
                )
            )
        table(
            "held-out tasks",
            ("", "success", "95% interval", "tasks", "turns", "tool errors"),
            rows,
        )
        for name, lines in document["examples"].items():
            out.print(f"\n[bold]{name}[/bold]")
            for line in lines:
                out.print(f"  {line}", markup=False, highlight=False)
    out.print(
        f"\n{document['steps']} steps, {document['training_seconds']:.0f} s of training, "
        f"{document['seconds']:.0f} s in all. Saved in {document['run']}"
    )
    policy = f"{document['run']}/checkpoints/step-{document['steps']:06d}/policy"
    out.print("\nnext:", markup=False)
    for command, why in (
        (
            f"agentrl eval agentrl/Search-v0 --engine hf --model {policy} --set top_k=1",
            "evaluate the trained policy",
        ),
        (f"agentrl export {document['run']} -o episodes.jsonl", "its episodes as a dataset"),
        ("agentrl play agentrl/Search-v0", "play the same environment yourself"),
        ("agentrl train search-tiny --set extends=gigpo", "the same with another credit method"),
        ("agentrl env new my_game", "an environment of your own"),
    ):
        out.print(f"  {command}", style="bold", markup=False, highlight=False, soft_wrap=True)
        out.print(f"      {why}", style="dim")
