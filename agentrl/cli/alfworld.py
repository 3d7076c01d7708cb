"""`agentrl alfworld`: games of the household environment, made ahead."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from agentrl.cli.output import Json, emit, out
from agentrl.cli.progress import Bar


def add_to(app: typer.Typer) -> None:
    group = typer.Typer(no_args_is_help=True, help="ALFWorld games, made ahead.")
    group.callback()(lambda: None)
    group.command("generate", help="Make games of all task types, each proved solvable.")(generate)
    app.add_typer(group, name="alfworld")


def generate(
    games: Annotated[int, typer.Option(min=1, help="How many.")] = 1000,
    split: Annotated[
        str, typer.Option(help="train, validation (seen rooms) or test (unseen rooms).")
    ] = "train",
    first_seed: Annotated[int, typer.Option(min=0, help="Seed of the first game.")] = 0,
    tasks: Annotated[list[str], typer.Option("--task", help="A task type; all six by default.")] = [],  # noqa: B006
    output: Annotated[
        Path | None,
        typer.Option(help="A folder for $ALFWORLD_DATA; the cache that resets read by default."),
    ] = None,
    workers: Annotated[int, typer.Option(min=0, help="Engines at work at once; 0: one a core.")] = 0,
    json: Json = False,
) -> None:
    from agentrl.envs.alfworld import generate as making

    with Bar("games", games) as bar:
        made = making.generate(
            split,
            games,
            first_seed=first_seed,
            tasks=tasks,
            output=output,
            workers=workers or None,
            progress=bar.show,
        )
    if json:
        emit(made.document())
        return
    types = ", ".join(f"{count} {task}" for task, count in made.by_type.items())
    out.print(
        f"{made.games} games ({made.made} new) in {made.seconds:g} s in {made.folder}: {types}",
        soft_wrap=True,
    )
