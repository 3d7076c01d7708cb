"""`agentrl sft`: from nothing to a policy that can act, by supervised fine-tuning on an expert's demonstrations."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from agentrl.cli.output import Json, emit, err
from agentrl.cli.progress import Bar


def add_to(app: typer.Typer) -> None:
    app.command("sft", help="Cold start: make a small policy learn from an environment's expert.")(sft)


def sft(
    plan: Annotated[
        str, typer.Argument(help="A shipped plan (`search-tiny`), or an environment with an expert.")
    ],
    output: Annotated[Path, typer.Option("-o", "--output", help="Folder for the policy.")],
    seed: Annotated[int, typer.Option(help="Another seed, another policy.")] = 0,
    steps: Annotated[int, typer.Option(min=0, help="Optimizer steps; 0 takes the plan's own.")] = 0,
    json: Json = False,
) -> None:
    from agentrl.trainers.cold_start import cold_start, find_plan

    chosen = find_plan(plan, steps=steps or None)
    with Bar(f"sft {plan}", chosen.steps) as bar:
        document = cold_start(
            chosen,
            output,
            seed=seed,
            progress=lambda p: bar.show(p.step, f"loss {p.loss:.3f}  {p.tokens:,} tokens"),
        )
    if json:
        emit(document)
    else:
        err.print(f"{document['steps']} steps in {document['seconds']:.0f} s; the policy is in {output}")
        err.print(f"next: agentrl train search-tiny --model {output}")
