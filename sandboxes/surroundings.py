"""What every backend puts around a command: where it works, its environment, what its supervisor is told.

A backend only starts and ends a sandbox; that one behaves like another is decided here and in the supervisor.
"""

from __future__ import annotations

import asyncio
import socket
from collections.abc import Awaitable, Callable, Sequence
from pathlib import Path
from typing import Any

from agentrl.core.portal import finish
from agentrl.sandboxes.base import SandboxSpec, SandboxUnavailable
from agentrl.sandboxes.link import Link, Reader

SUPERVISOR = Path(__file__).with_name("supervisor.py")
WORKSPACE = "/workspace"
COMMON = {"LANG": "C.UTF-8", "PYTHONDONTWRITEBYTECODE": "1", "PYTHONHASHSEED": "0"}
INSIDE = {**COMMON, "HOME": WORKSPACE, "USER": "sandbox", "TMPDIR": "/tmp"}
"""Environment of commands where the sandbox has a file system of its own; a spec's variables come with each command."""


def supervisor_settings(
    spec: SandboxSpec, workspace: str, *, wipe: Sequence[str] = (), own_ipc: bool, watched: bool
) -> dict[str, Any]:
    """What the supervisor is told.

    Args:
        wipe: folders besides the workspace that a reset empties.
        own_ipc: System V objects that are seen are the sandbox's own.
        watched: no control group keeps memory and processes, so it counts them itself.
    """
    return {
        "workspace": workspace,
        "wipe": list(wipe),
        "own_ipc": own_ipc,
        "watch": watched,
        "memory": spec.memory,
        "processes": spec.processes,
        "rlimits": {"NOFILE": spec.open_files, "CORE": 0},
    }


def refuse_docker_only(spec: SandboxSpec, name: str) -> None:
    """Raises: SandboxUnavailable: a setting that only the docker backend has."""
    for setting in ("image", "runtime", "capabilities", "workspace"):
        if getattr(spec, setting):
            raise SandboxUnavailable(
                f"{setting} is a setting of the docker backend, {name} has none: use --sandbox docker"
            )


async def greeted(
    ours: socket.socket,
    subject: str,
    seconds: float,
    destroy: Callable[[], Awaitable[None]],
    unframed: Callable[[asyncio.StreamReader], Reader] = lambda reader: reader,
) -> Link:
    """The link to a supervisor that has said that it is there. A start that fails or is given up is undone: first its
    connection, so that the supervisor ends by itself, then what `destroy` ends.

    Raises:
        SandboxFailure: it has not said so in time.
    """
    link: Link | None = None

    async def undo() -> None:
        try:
            await link.close() if link is not None else ours.close()
        finally:
            await destroy()

    try:
        reader, writer = await asyncio.open_connection(sock=ours)
        link = Link(unframed(reader), writer, subject)
        await link.greet(seconds)
        return link
    except BaseException:
        await finish(undo())
        raise
