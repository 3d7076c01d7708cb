"""What sandboxes there are on this machine, whose they are, and the reaper of those whose owner has died.

Nothing is written down in a file that could be lost: the labels on containers, images, volumes, networks, processes,
control groups and folders are the ledger.
"""

from __future__ import annotations

import asyncio
import functools
import os
import signal
import tempfile
import threading
from collections.abc import Iterator
from contextlib import suppress
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

from agentrl.core.failures import UserError
from agentrl.sandboxes import cgroups
from agentrl.sandboxes.owner import OWNER, RUN, SANDBOX, STARTED, Label, Owner

LOCAL = "agentrl-local-"


@dataclass(frozen=True, slots=True)
class Entry:
    """One thing that belongs to a sandbox.

    Attributes:
        kind: `container`, `image`, `volume`, `network`, `process`, `group` or `folder`.
        id: its name to the system.
        sandbox, run, owner, started: from its label.
        alive: whether its owner lives; None where that cannot be known from here.
    """

    kind: str
    id: str
    sandbox: str
    run: str
    owner: str
    started: float
    alive: bool | None

    def to_dict(self) -> dict[str, Any]:
        return asdict(self)


def entries(*, docker: bool | None = None) -> list[Entry]:
    """Everything that carries a label.

    Args:
        docker: look there too; by default if an engine answers.

    Raises:
        SandboxUnavailable: `docker` is true and no engine answers.
    """
    found = [*processes(), *groups(), *folders()]
    if docker is not False:
        try:
            found += docker_entries(engine())
        except UserError:
            if docker:
                raise
    return found


@functools.cache
def engine() -> Any:
    from agentrl.sandboxes.docker import connect

    return connect()


def processes() -> Iterator[Entry]:
    """Processes with a label among their arguments."""
    for path in Path("/proc").iterdir():
        if path.name.isdigit() and (label := label_of(int(path.name))) is not None:
            yield entry("process", path.name, label)


def label_of(pid: int) -> Label | None:
    try:
        words = Path(f"/proc/{pid}/cmdline").read_bytes().split(b"\0")
    except OSError:
        return None
    for word in words[-3:]:
        if word.startswith(b"agentrl-sandbox="):
            return Label.parse(word.decode("utf-8", "replace"))
    return None


def groups() -> Iterator[Entry]:
    """Control groups; their names say whose they are."""
    for group in cgroups.groups():
        sandbox, _, owner = group.name.partition("@")
        yield entry("group", group.name, Label(sandbox, "", owner, 0.0))


def folders() -> Iterator[Entry]:
    """Workspaces of the local backend."""
    for path in Path(tempfile.gettempdir()).glob(f"{LOCAL}*"):
        owner = path.name.removeprefix(LOCAL).rpartition("@")[0]
        yield entry("folder", str(path), Label(path.name, "", owner, 0.0))


def docker_entries(client: Any) -> list[Entry]:
    """Containers (running or not), images, volumes and networks with a label."""
    wanted = {"label": RUN}
    found: list[tuple[str, str, dict[str, str]]] = []
    for item in client.api.containers(all=True, filters=wanted):
        found.append(("container", item["Id"], item["Labels"]))
    for item in client.api.images(filters=wanted):
        found.append(("image", item["Id"], item["Labels"]))
    for item in client.api.volumes(filters=wanted)["Volumes"] or []:
        found.append(("volume", item["Name"], item["Labels"]))
    for item in client.api.networks(filters=wanted):
        found.append(("network", item["Id"], item["Labels"]))
    return [
        entry(
            kind,
            name,
            Label(
                labels.get(SANDBOX, ""),
                labels.get(RUN, ""),
                labels.get(OWNER, ""),
                number(labels.get(STARTED, "")),
            ),
        )
        for kind, name, labels in found
    ]


def number(text: str) -> float:
    try:
        return float(text)
    except ValueError:
        return 0.0


def entry(kind: str, name: str, label: Label) -> Entry:
    owner = Owner.parse(label.owner)
    alive = owner.alive() if owner is not None else None
    return Entry(kind, name, label.sandbox, label.run, label.owner, label.started, alive)


ORDER = ("container", "process", "group", "folder", "network", "volume", "image")


@dataclass(frozen=True, slots=True)
class Reaped:
    """What was removed, and what would not go (with the reason)."""

    removed: tuple[Entry, ...]
    left: tuple[tuple[Entry, str], ...]

    def to_dict(self) -> dict[str, Any]:
        left = [{**item.to_dict(), "reason": reason} for item, reason in self.left]
        return {"removed": [item.to_dict() for item in self.removed], "left": left}


def reap(found: list[Entry], *, unknown: bool = False) -> Reaped:
    """Remove what belongs to dead owners.

    Args:
        unknown: also what belongs to owners of whom nothing can be known from here (another container's processes on
            the same engine, say).
    """
    removed: list[Entry] = []
    left: list[tuple[Entry, str]] = []
    for item in sorted(found, key=lambda item: ORDER.index(item.kind)):
        if item.alive or (item.alive is None and not unknown):
            continue
        try:
            remove(item)
        except Exception as error:
            left.append((item, f"{type(error).__name__}: {error}"))
        else:
            removed.append(item)
    return Reaped(tuple(removed), tuple(left))


def remove(item: Entry) -> None:
    """Remove one thing; one that is gone already is fine."""
    if item.kind == "process":
        label = label_of(int(item.id))
        if label is not None and label.sandbox == item.sandbox:  # or the number is somebody else's by now
            with suppress(ProcessLookupError):
                os.kill(int(item.id), signal.SIGKILL)
    elif item.kind == "group":
        group = cgroups.Group(item.id, tuple(folder / item.id for folder in cgroups.hierarchy()))
        if not group.remove():
            raise OSError("something in it survives")
    elif item.kind == "folder":
        from agentrl.sandboxes.local import remove_tree

        remove_tree(Path(item.id))
    else:
        remove_docker(engine(), item)


def remove_docker(client: Any, item: Entry) -> None:
    import docker

    from agentrl.sandboxes.docker import remove as remove_container

    with suppress(docker.errors.NotFound):
        if item.kind == "container":
            remove_container(client, item.id)
        elif item.kind == "image":
            client.api.remove_image(item.id, force=True)
        elif item.kind == "volume":
            client.api.remove_volume(item.id, force=True)
        else:
            client.api.remove_network(item.id)


_swept: set[str] = set()
_sweeping = threading.Lock()


async def sweep(backend: str) -> None:
    """Before a process starts its first sandbox of a backend: remove what dead owners have left there."""
    if backend not in _swept:
        await asyncio.to_thread(_sweep, backend)


def _sweep(backend: str) -> None:
    with _sweeping:
        if backend in _swept:
            return
        found = docker_entries(engine()) if backend == "docker" else [*processes(), *groups(), *folders()]
        reap(found)
        _swept.add(backend)
