"""`agentrl eval`: roll out held-out tasks and count."""

from __future__ import annotations

import asyncio
import inspect
from pathlib import Path
from typing import Annotated, Any

import typer

from agentrl.cli.output import Json, emit, err, percent, table
from agentrl.cli.policies import Engine, open_policy
from agentrl.cli.progress import RolloutBar, interruptible
from agentrl.cli.runs import new_run_folder, versions
from agentrl.core.failures import UserError
from agentrl.core.registry import EnvEntry, load_class, make_entry, resolve
from agentrl.core.taskfile import read_tasks
from agentrl.evaluate.evaluate import evaluate, evaluation_tasks
from agentrl.rollout import RolloutSettings
from agentrl.rollout.kinds import check_task
from agentrl.store.store import new_run
from agentrl.trainers.config import parse_override


def add_to(app: typer.Typer) -> None:
    app.command(
        "eval", help="Evaluate a policy: success with its interval, failures in columns of their own."
    )(eval_)


def eval_(
    env: Annotated[str, typer.Argument(help="Environment: an id, `file.py:Class` or `module:Class`.")],
    engine: Annotated[Engine, typer.Option(help="Who acts.")] = Engine.expert,
    model: Annotated[
        str, typer.Option(help="For hf: a shipped policy, a folder or a hub name. For server: its model.")
    ] = "",
    base_url: Annotated[str, typer.Option(help="For server: the OpenAI-compatible address.")] = "",
    episodes: Annotated[int, typer.Option(min=1, help="How many different tasks.")] = 100,
    tasks_file: Annotated[
        Path | None,
        typer.Option("--tasks", help="A file of tasks, one JSON object a line, instead of the first ones."),
    ] = None,
    split: Annotated[str, typer.Option(help="Which split.")] = "test",
    set_: Annotated[
        list[str], typer.Option("--set", help="Constructor argument of the environment, key=value.")
    ] = [],  # noqa: B006
    sandbox: Annotated[
        str, typer.Option(help="Where the environment's sandboxes run: bubblewrap, docker, local-unsafe.")
    ] = "",
    temperature: Annotated[float, typer.Option(min=0, help="0 is greedy.")] = 1.0,
    max_tokens: Annotated[int, typer.Option(min=1, help="Most tokens of one turn.")] = 256,
    history: Annotated[
        int,
        typer.Option(
            min=0, help="How many of the last turns a model is shown beside the first prompt; 0 for all."
        ),
    ] = 0,
    max_turns: Annotated[
        int, typer.Option(min=0, help="Turn limit on top of the environment's own; 0 for none.")
    ] = 0,
    concurrency: Annotated[int, typer.Option(min=1, help="Episodes at once.")] = 64,
    seed: Annotated[
        int, typer.Option(help="Seed of the sampling; the tasks are the split's first ones.")
    ] = 0,
    run: Annotated[Path | None, typer.Option(help="Run folder; a new one under runs/ by default.")] = None,
    json: Json = False,
) -> None:
    entry = resolve(env)
    kwargs: dict[str, Any] = dict(parse_override(text) for text in set_)
    if sandbox:
        kwargs["sandbox"] = sandbox
    if tasks_file is not None:
        tasks = read_tasks(tasks_file, entry.id, kwargs=kwargs, split=split)
    else:
        tasks = evaluation_tasks(entry.id, episodes, split=split, kwargs=kwargs)
    settings = RolloutSettings(concurrency=concurrency, max_turns=max_turns or None, seed=(seed, 0))
    folder = run or new_run_folder(f"eval-{entry.id.rpartition('/')[2].rpartition(':')[2]}")
    isolation = prepare_sandbox(entry, kwargs)
    for task in {item.split: item for item in tasks}.values():
        check_task(task)
    opened = open_policy(
        engine,
        model=model,
        base_url=base_url,
        temperature=temperature,
        max_tokens=max_tokens,
        history=history,
    )

    async def main() -> dict[str, Any]:
        recipe = {
            "env": entry.id,
            **({"sandbox": isolation} if isolation else {}),
            "kwargs": kwargs,
            "split": split,
            "engine": engine.value,
            "model": model,
            "history": history,
            "seed": seed,
        }
        async with opened as policy, interruptible() as stop:
            with new_run(folder, name="eval", kind="eval", recipe=recipe, versions=versions()) as store:
                with RolloutBar(f"eval {entry.id}", len(tasks)) as bar:
                    document = await evaluate(
                        tasks, policy, settings, store=store, progress=bar.update, stop=stop
                    )
                store.set_status("interrupted" if document["partial"] else "done")
                return document

    document = asyncio.run(main())
    if isolation:
        document["sandbox"] = isolation
    emit(document) if json else show(document)
    if document["partial"]:
        raise typer.Exit(130)
    if document["episodes"] == 0:
        raise UserError(
            f"no episode of {entry.id} could be finished: {document['infrastructure_failures']} failed"
            + "".join(f" ({reason['message']})" for reason in document["failures"][:1])
        )


def prepare_sandbox(entry: EnvEntry, kwargs: dict[str, Any]) -> dict[str, Any]:
    """See that the environment's sandboxes can be had, before anything is rolled out; what isolates them, for the run's
    record. Empty for an environment without.

    Raises:
        UserError: `--sandbox` for an environment that runs in none.
        SandboxUnavailable: the backend cannot work here; the message names the command that helps.
    """
    from agentrl.envs.sandboxed import SandboxEnv

    env_class = load_class(entry)
    if not (isinstance(env_class, type) and issubclass(env_class, SandboxEnv)):
        if "sandbox" in kwargs:
            raise UserError(f"{entry.id} runs in no sandbox: leave --sandbox out")
        return {}
    from agentrl.sandboxes.backends import backend

    declared = inspect.signature(env_class).parameters.get("sandbox")
    name = kwargs.get("sandbox", declared.default if declared else "bubblewrap")
    env = make_entry(entry, **kwargs)  # it may loosen what its tasks need, and that is what is recorded
    assert isinstance(env, SandboxEnv)
    spec = env.sandbox_spec
    env.close()
    found = asyncio.run(backend(name).check(spec))
    err.print(found, markup=False, highlight=False)
    return {"backend": name, **spec.record()}


def show(document: dict[str, Any]) -> None:
    low, high = document["success_ci95"]
    rows = [
        ("success", f"{percent(document['success'])}  (95% interval {percent(low)} to {percent(high)})"),
        ("episodes", document["episodes"]),
        ("infrastructure failures", document["infrastructure_failures"]),
        ("mean return", document["return_mean"]),
        ("mean turns", document["turns_mean"]),
        ("truncated", document["truncated"]),
        ("tool errors", document["tool_errors"]),
        ("tokens sampled", document["tokens"]),
        ("seconds", document["seconds"]),
        ("run", document["run"]),
    ]
    rows += [
        ("failed at", f"{item['where']}, {item['count']}x: {item['message']}")
        for item in document["failures"]
    ]
    table(document["id"], ("", ""), rows)
    err.print("next: agentrl export RUN -o episodes.jsonl", style="dim")
