"""`agentrl sandbox`: what runs where, what is left over, whether it holds."""

from __future__ import annotations

import asyncio
import enum
import time
from pathlib import Path
from typing import Annotated, Any

import typer

from agentrl.cli.output import Json, emit, err, out, table
from agentrl.core.failures import AgentRLError, UserError


class Where(enum.StrEnum):
    bubblewrap = "bubblewrap"
    docker = "docker"
    local = "local-unsafe"


BackendOption = Annotated[Where, typer.Option(help="Which backend.")]


def add_to(app: typer.Typer) -> None:
    group = typer.Typer(no_args_is_help=True, help="Sandboxes: list, clean up, build, prove that they hold.")
    group.command("ls", help="List what belongs to sandboxes on this machine, and whether its owner lives.")(
        ls
    )
    group.command("gc", help="Remove what dead owners have left.")(gc)
    group.command(
        "doctor", help="Say which backends work here, and the command that would fix what does not."
    )(doctor)
    group.command("build", help="Build the default image, or one from a folder with a Dockerfile.")(build)
    group.command("selfcheck", help="Run the conformance suite against a backend.")(selfcheck)
    app.add_typer(group, name="sandbox")


def ls(json: Json = False) -> None:
    from agentrl.sandboxes.ledger import entries

    found = entries()
    if json:
        emit([item.to_dict() for item in found])
        return
    words = {True: "alive", False: "dead", None: "unknown"}
    rows = [
        (item.kind, item.id[:24], item.sandbox, item.run, words[item.alive], age(item.started))
        for item in found
    ]
    table("", ("kind", "id", "sandbox", "run", "owner", "age"), rows)
    err.print(f"{len(found)} in all; `agentrl sandbox gc` removes those of dead owners", style="dim")


def age(started: float) -> str:
    if not started:
        return ""
    seconds = max(0, int(time.time() - started))
    return (
        f"{seconds // 3600}h{seconds % 3600 // 60:02}m"
        if seconds >= 3600
        else f"{seconds // 60}m{seconds % 60:02}s"
    )


def gc(
    unknown: Annotated[
        bool,
        typer.Option("--unknown", help="Also what belongs to owners of whom nothing can be known from here."),
    ] = False,
    json: Json = False,
) -> None:
    from agentrl.sandboxes.ledger import entries, reap

    reaped = reap(entries(), unknown=unknown)
    if json:
        emit(reaped.to_dict())
    else:
        for item in reaped.removed:
            out.print(f"removed {item.kind} {item.id[:24]} (run {item.run or '?'})")
        for item, reason in reaped.left:
            err.print(f"could not remove {item.kind} {item.id[:24]}: {reason}", style="red")
        out.print(f"{len(reaped.removed)} removed, {len(reaped.left)} would not go")
    if reaped.left:
        raise typer.Exit(1)


def doctor(json: Json = False) -> None:
    from agentrl.sandboxes.backends import backend
    from agentrl.sandboxes.base import SandboxSpec

    async def tried(name: str) -> dict[str, Any]:
        began = time.perf_counter()
        try:
            detail, ok = await backend(name).check(SandboxSpec()), True
        except AgentRLError as error:
            detail, ok = str(error), False
        return {"backend": name, "ok": ok, "detail": detail, "seconds": round(time.perf_counter() - began, 3)}

    async def every() -> list[dict[str, Any]]:
        return [await tried(name) for name in ("bubblewrap", "docker")]

    documents = asyncio.run(every())
    if json:
        emit(documents)
    else:
        table("", ("backend", "works", "found"), [(d["backend"], d["ok"], d["detail"]) for d in documents])
    if not any(document["ok"] for document in documents):
        raise typer.Exit(1)


def build(
    image: Annotated[str, typer.Option(help="Name of the image; the default one if empty.")] = "",
    dockerfile: Annotated[
        Path | None, typer.Option(help="A folder with a Dockerfile (needs --image).")
    ] = None,
    source: Annotated[
        str, typer.Option("--from", help="The default image from: debootstrap, registry, or auto.")
    ] = "auto",
    json: Json = False,
) -> None:
    from agentrl.sandboxes import image as images
    from agentrl.sandboxes.docker import connect

    if source not in ("auto", "debootstrap", "registry"):
        raise UserError(f"--from must be debootstrap, registry or auto, got {source!r}")
    if bool(image) != (dockerfile is not None):
        raise UserError(
            "--image and --dockerfile go together: the name, and the folder that it is built from"
        )
    client = connect()
    began = time.perf_counter()
    if dockerfile is not None:
        name = images.build_folder(client, image, dockerfile)
    else:
        name = images.build(client, source=source)
    size = client.images.get(name).attrs["Size"]
    document = {"image": name, "bytes": size, "seconds": round(time.perf_counter() - began, 1)}
    emit(document) if json else out.print(f"built {name}: {size / 1e6:.0f} MB in {document['seconds']} s")


def selfcheck(
    backend: BackendOption = Where.bubblewrap,
    only: Annotated[list[str], typer.Option(help="Only these cases, or cases of these themes.")] = [],  # noqa: B006
    json: Json = False,
) -> None:
    from agentrl.sandboxes import backends
    from agentrl.sandboxes.conformance import run_conformance
    from agentrl.sandboxes.conformance.suite import CaseResult

    def tell(case: CaseResult) -> None:
        word = "skip" if case.skipped else "ok  " if case.ok else "FAIL"
        detail = "" if case.ok and not case.skipped else case.detail
        err.print(f"{word}  {case.name}  {detail}", markup=False, highlight=False)

    report = asyncio.run(run_conformance(backends.backend(backend.value), only=tuple(only), progress=tell))
    document = report.to_dict()
    if json:
        emit(document)
    else:
        skipped = [case for case in document["cases"] if case["skipped"]]
        fallen = [case for case in document["cases"] if not case["ok"]]
        for case in skipped:
            out.print(f"skipped {case['name']}: {case['detail']}", markup=False)
        out.print(
            f"{backend.value}: {len(document['cases']) - len(fallen) - len(skipped)} of {len(document['cases'])} hold, "
            f"{len(skipped)} skipped, {len(fallen)} fall short"
        )
    if not document["ok"]:
        raise typer.Exit(1)
