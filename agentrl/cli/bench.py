"""`agentrl bench`: benchmarks against a baseline in the same run."""

from __future__ import annotations

from typing import Annotated

import typer

from agentrl.cli.output import Json, emit, err, table


def add_to(app: typer.Typer) -> None:
    app.command("bench", help="Run a benchmark and hold its figures against their targets.")(bench)


def bench(
    name: Annotated[str, typer.Argument(help="Which; without one they are listed.")] = "",
    quick: Annotated[bool, typer.Option("--quick", help="A short run, for a first look.")] = False,
    json: Json = False,
) -> None:
    from agentrl.benchmarks.harness import bench_names, run_bench

    if not name:
        emit(bench_names()) if json else table("", ("benchmark",), [(item,) for item in bench_names()])
        return
    err.print(f"running {name} ...")
    document = run_bench(name, quick=quick)
    if json:
        emit(document)
    else:
        table(name, ("figure", "value"), document["figures"].items())
        rows = [
            (t["figure"], f"{t['op']} {t['target']:g}", "holds" if t["ok"] else "FALLS SHORT")
            for t in document["targets"]
        ]
        table("", ("figure", "target", ""), rows)
    if not all(target["ok"] for target in document["targets"]):
        raise typer.Exit(1)
