"""`agentrl play`: a person plays, on the same path as a policy."""

from __future__ import annotations

import asyncio
from pathlib import Path
from typing import Annotated, Any

import typer

from agentrl.cli.output import Json, emit, err, out
from agentrl.cli.policies import Engine, open_policy
from agentrl.cli.runs import versions
from agentrl.cli.transcripts import transcript
from agentrl.core.registry import resolve
from agentrl.core.tree import Task
from agentrl.rollout import RolloutSettings, collect
from agentrl.store.store import RunStore
from agentrl.trainers.config import parse_override

PATIENCE = 24 * 3600.0  # seconds; a person may think


def add_to(app: typer.Typer) -> None:
    app.command("play", help="Play an environment yourself, or watch its expert or a model play it.")(play)


def play(
    env: Annotated[str, typer.Argument(help="Environment: an id, `file.py:Class` or `module:Class`.")],
    seed: Annotated[int, typer.Option(help="Which task.")] = 0,
    split: Annotated[str, typer.Option(help="Which split.")] = "train",
    set_: Annotated[
        list[str], typer.Option("--set", help="Constructor argument of the environment, key=value.")
    ] = [],  # noqa: B006
    engine: Annotated[Engine, typer.Option(help="Who plays.")] = Engine.human,
    model: Annotated[str, typer.Option(help="For hf and server: the model.")] = "",
    base_url: Annotated[str, typer.Option(help="For server: the OpenAI-compatible address.")] = "",
    run: Annotated[
        Path | None, typer.Option(help="Keep the episode as a run in this folder (a demonstration).")
    ] = None,
    json: Json = False,
) -> None:
    entry = resolve(env)
    kwargs: dict[str, Any] = dict(parse_override(text) for text in set_)
    task = Task(entry.id, seed, split, kwargs)
    settings = RolloutSettings(group_size=1, min_group=1, generate_seconds=PATIENCE)

    async def main() -> Any:
        async with open_policy(engine, model=model, base_url=base_url) as policy:
            return await collect([task], policy, settings)

    rollouts = asyncio.run(main())
    if run is not None:
        recipe = {"env": entry.id, "engine": engine.value, "seed": seed, "split": split}
        with RunStore.create(run, name="play", kind="play", recipe=recipe, versions=versions()) as store:
            store.commit_evaluation("play", 0, rollouts.trees, {})
            store.set_status("done")
    for tree in rollouts.trees:
        for failure in tree.failures:
            err.print(f"{failure.where}: {failure.message}", style="red", markup=False)
        for episode in tree.episodes():
            if json:
                emit(
                    {"reward": episode.total_reward, "success": episode.success, "turns": len(episode.turns)}
                )
            else:
                show_end(episode)


def show_end(episode: Any) -> None:
    for line in transcript(episode):
        out.print(line, markup=False, highlight=False)
