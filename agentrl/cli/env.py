"""`agentrl env`: make one of your own, check it, measure it."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from agentrl.cli.output import Json, emit, err, out, table
from agentrl.core.failures import UserError
from agentrl.core.registry import catalogue


def add_to(app: typer.Typer) -> None:
    group = typer.Typer(no_args_is_help=True, help="Make an environment of your own, check it, measure it.")
    group.command("new", help="Write a working environment and its test from a template.")(new)
    group.command("check", help="Prove that an environment keeps the rules.")(check)
    group.command(
        "audit", help="Try to win without doing the task: trivial policies, attacks on the reward."
    )(audit)
    group.command("bench", help="Measure what reset, step and fork cost.")(bench)
    app.add_typer(group, name="env")


def new(
    name: Annotated[str, typer.Argument(help="Name of the environment, e.g. my_game.")],
    folder: Annotated[Path, typer.Option(help="Where to write it.")] = Path(),
) -> None:
    from agentrl.check.template import class_name, new_env

    path = new_env(name, folder)
    err.print(f"written: {path}")
    out.print(
        f"next: agentrl env check {path}:{class_name(name)}   then: agentrl play {path}:{class_name(name)}"
    )


def check(
    name: Annotated[str, typer.Argument(help="Id, or `file.py:Class`, or `module:Class`.")] = "",
    all_: Annotated[bool, typer.Option("--all", help="Check every registered environment.")] = False,
    json: Json = False,
) -> None:
    from agentrl.check import check_env, render

    if bool(name) == all_:
        raise UserError("name one environment, or pass --all")
    reports = []
    for item in sorted(catalogue()) if all_ else [name]:
        err.print(f"checking {item} ...")
        reports.append(check_env(item))
    if json:
        documents = [report.to_dict() for report in reports]
        emit(documents if all_ else documents[0])
    else:
        for report in reports:
            out.print(render(report))
    if not all(report.ok for report in reports):
        raise typer.Exit(1)


def audit(
    name: Annotated[str, typer.Argument(help="Id, or `file.py:Class`, or `module:Class`.")],
    episodes: Annotated[int, typer.Option(min=1, help="Episodes of each trivial policy.")] = 50,
    set_: Annotated[
        list[str], typer.Option("--set", help="Constructor argument of the environment, key=value.")
    ] = [],  # noqa: B006
    json: Json = False,
) -> None:
    from agentrl.check.audit import audit_env, rows_of
    from agentrl.trainers.config import parse_override

    def tell(text: str) -> None:
        err.print(text, markup=False, highlight=False)

    kwargs = dict(parse_override(text) for text in set_)
    document = audit_env(name, kwargs=kwargs, episodes=episodes, progress=tell)
    emit(document) if json else table(document["id"], ("", "name", "score", "verdict"), rows_of(document))
    if not document["ok"]:
        raise typer.Exit(1)


def bench(name: Annotated[str, typer.Argument(help="Which environment.")], json: Json = False) -> None:
    from agentrl.check.envbench import bench_env

    err.print(f"measuring {name} ...")
    document = bench_env(name)
    emit(document) if json else table(document["id"], ("figure", "value"), document["figures"].items())
