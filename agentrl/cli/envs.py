"""`agentrl envs`: what can be made."""

from __future__ import annotations

from typing import Any

import typer

from agentrl.cli.output import Json, emit, table
from agentrl.core.failures import MissingExtra
from agentrl.core.registry import EnvEntry, catalogue, load_class, make_entry


def add_to(app: typer.Typer) -> None:
    app.command("envs", help="List the environments.")(envs)


def envs(json: Json = False) -> None:
    documents = [describe(entry) for _, entry in sorted(catalogue().items())]
    if json:
        emit(documents)
        return
    rows = [
        (d["id"], d["summary"], ", ".join(d["tools"]), d["fork"], d["extra"] and f"[{d['extra']}]")
        for d in documents
    ]
    table("", ("id", "what", "tools", "fork", "extra"), rows)


def describe(entry: EnvEntry) -> dict[str, Any]:
    """The listing of one environment; one whose extra is missing is listed with what is known without it."""
    known: dict[str, Any] = {
        "id": entry.id,
        "summary": entry.summary,
        "extra": entry.extra,
        "installed": True,
    }
    try:
        env_class = load_class(entry)
        env = make_entry(entry)
    except MissingExtra:
        return {**known, "tools": [], "splits": [], "fork": "", "installed": False}
    tools = [tool.name for tool in env.tools]
    env.close()
    return {**known, "tools": tools, "splits": list(getattr(env_class, "splits", ())), "fork": env.fork}
