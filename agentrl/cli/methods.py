"""`agentrl methods`: the catalogue of methods, with their papers."""

from __future__ import annotations

from typing import Annotated, Any

import typer

from agentrl.cli.output import Json, emit, out, table


def add_to(app: typer.Typer) -> None:
    app.command("methods", help="List the methods of credit, loss and regularization, with their papers.")(
        methods
    )


def methods(
    name: Annotated[str, typer.Argument(help="Show one method in full.")] = "",
    json: Json = False,
) -> None:
    from agentrl.trainers.methods import all_methods, find_method

    if name:
        document = find_method(name).to_dict()
        emit(document) if json else show(document)
        return
    documents = [method.to_dict() for method in all_methods()]
    if json:
        emit(documents)
        return
    rows = [(d["name"], d["plug_in_point"], d["paper"], d["fidelity"], d["bias"]) for d in documents]
    table("", ("name", "plugs in at", "paper", "fidelity", "bias"), rows)


def show(document: dict[str, Any]) -> None:
    for key, value in document.items():
        out.print(f"[bold]{key}[/bold]: ", end="")
        out.print(str(value), markup=False, highlight=False)
