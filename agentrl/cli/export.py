"""`agentrl export`: a run's episodes as a dataset."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from agentrl.cli.output import Json, emit, err
from agentrl.core.failures import UnknownName
from agentrl.store.export import episode_rows, write_rows
from agentrl.store.store import RunStore


def add_to(app: typer.Typer) -> None:
    app.command("export", help="Write a run's episodes as conversational JSONL or Parquet.")(export)


def export(
    run: Annotated[Path, typer.Argument(help="Run folder.")],
    output: Annotated[Path, typer.Option("-o", "--output", help="File to write: .jsonl or .parquet.")],
    phase: Annotated[str, typer.Option(help="`train`, or the name of an evaluation; all by default.")] = "",
    success_only: Annotated[
        bool, typer.Option("--success-only", help="Only episodes that solved their task.")
    ] = False,
    json: Json = False,
) -> None:
    with RunStore.open(run) as store:
        phases = store.phases()
        if phase and phase not in phases:
            raise UnknownName("phase", phase, phases)
        trees = store.numbered_trees([phase] if phase else phases)
        count = write_rows(episode_rows(trees, success_only=success_only), output)
    if json:
        emit({"run": str(run), "file": str(output), "episodes": count})
    else:
        err.print(f"{count} episodes written to {output}")
