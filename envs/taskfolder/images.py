"""From a task to the sandbox it runs in: its image, built once, and what its policy may take.

Invariant: a task loosens isolation only where its format needs it (a root file system that can be written, the user
that images expect, the network where it asks for it), and never beyond what the caller has set.
"""

from __future__ import annotations

import os
import tempfile
import threading
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from agentrl.core.failures import UserError
from agentrl.envs.taskfolder.format import FolderTask
from agentrl.sandboxes.backends import spec_of
from agentrl.sandboxes.base import Backend, SandboxSpec, SandboxUnavailable
from agentrl.sandboxes.bubblewrap import PATH
from agentrl.sandboxes.docker import Docker, ask
from agentrl.sandboxes.owner import Label

WORKSPACE = "/workspace"
OWN = ("image", "workspace", "read_only")  # what the task decides
ADD_PYTHON = """FROM {image}
USER 0
RUN if command -v apt-get; then apt-get update && apt-get install -y --no-install-recommends python3 \\
      && rm -rf /var/lib/apt/lists/*; \\
    elif command -v apk; then apk add --no-cache python3; \\
    else dnf install -y python3 || microdnf install -y python3; fi
"""
_building = threading.Lock()


@dataclass(frozen=True, slots=True)
class Image:
    """An image that is there.

    Attributes:
        name: empty for the default one.
        workdir: its working folder; empty if it names none.
    """

    name: str
    workdir: str


def check_backend(task: FolderTask, backend: Backend) -> None:
    """Raises: UserError: a backend that this task cannot run on."""
    if backend.name == "local-unsafe" or backend.name == "local":
        raise UserError(
            "TaskFolder-v0 writes to /tests and /logs: the local backend would do that on this machine, use docker"
        )
    if backend.name != "docker" and not task.plain:
        what = f"the image {task.image}" if task.image else "a Dockerfile"
        raise UserError(
            f"the task {task.name} has {what}, which {backend.name} cannot run: use --sandbox docker"
        )


async def image_of(task: FolderTask, backend: Backend) -> Image:
    """The image of a task, built if it is not there.

    Raises:
        SandboxUnavailable: no engine, no such image, or it cannot be built.
    """
    if not isinstance(backend, Docker):
        return Image("", "")
    client = await backend._engine()
    return await ask(lambda: found(client, task))


def found(client: Any, task: FolderTask) -> Image:
    """See `image_of`; one build at a time."""
    import docker

    from agentrl.sandboxes import image

    name = task.tag() if task.dockerfile else task.image
    with _building:
        if task.dockerfile:
            try:
                client.images.get(name)
            except docker.errors.ImageNotFound:
                image.complain(f"building the image {name} of the task {task.name} (once)")
                image.build_folder(client, name, task.folder / "environment", seconds=task.build_seconds)
        there = client.images.get(image.ensure(client, name))
        config = there.attrs.get("Config") or {}
        if name and not has_python(client, there.id, config.get("Env") or ()):
            name = with_python(client, name, there.id)
    return Image(name, str(config.get("WorkingDir") or "").rstrip("/"))


def has_python(client: Any, image: str, env: Iterable[str]) -> bool:
    """Whether there is a `python3` on an image's path. Nothing of the image runs."""
    import docker

    found = dict(pair.partition("=")[::2] for pair in env).get("PATH") or PATH
    probe = client.api.create_container(image, ["true"], labels=Label.new().labels(), network_disabled=True)[
        "Id"
    ]
    try:
        for folder in found.split(":"):
            try:
                client.api.get_archive(probe, f"{folder}/python3")[0].close()
            except docker.errors.NotFound:
                continue
            return True
    finally:
        client.api.remove_container(probe, force=True, v=True)
    return False


def with_python(client: Any, name: str, id: str) -> str:
    """The name of an image with `python3` added, which the supervisor inside a sandbox needs; built once.

    Raises:
        SandboxUnavailable: it cannot be added.
    """
    import docker

    from agentrl.sandboxes import image

    tag = f"agentrl/task-python:{id.removeprefix('sha256:')[:16]}"
    try:
        client.images.get(tag)
    except docker.errors.ImageNotFound:
        image.complain(f"the image {name} has no python3, which sandboxes need: adding it as {tag} (once)")
        with tempfile.TemporaryDirectory(prefix="agentrl-image-") as folder:
            Path(folder, "Dockerfile").write_text(ADD_PYTHON.format(image=name), encoding="utf-8")
            try:
                image.build_folder(client, tag, Path(folder))
            except SandboxUnavailable as error:
                raise SandboxUnavailable(
                    f"the image {name} has no python3, which sandboxes need, and it cannot be added ({error}): install it "
                    "in the task's Dockerfile"
                ) from None
    return tag


def spec_for(task: FolderTask, image: Image, backend: Backend, settings: Mapping[str, Any]) -> SandboxSpec:
    """What a task's sandbox may take: as its `task.toml` says, within the caller's settings.

    Raises:
        UserError: settings that are none, that the task decides, or that do not fit it.
    """
    for name in OWN:
        if name in settings:
            raise UserError(f"sandbox_settings.{name} is decided by the task: leave it out")
    spec = spec_of(settings)
    given: dict[str, Any] = {"read_only": False}
    if task.memory is not None:
        given["memory"] = min(task.memory, spec.memory) if "memory" in settings else task.memory
    if task.cpus is not None:
        limit = spec.cpus if "cpus" in settings else float(os.cpu_count() or 1)
        given["cpus"] = min(task.cpus, limit)
    if "network" not in settings:
        given["network"] = bool(task.network)
    if backend.name == "docker":
        given["image"] = image.name
        given["workspace"] = task.workdir or image.workdir or WORKSPACE
        if "user" not in settings:
            given["user"] = task.user or 0
    home = {"HOME": "/root", "USER": "root"} if given.get("user", spec.user) == 0 else {}
    given["env"] = {**home, **task.env, **spec.env}
    try:
        return replace(spec, **given)
    except UserError as error:
        raise UserError(f"the task {task.name} does not fit its sandbox: {error}") from None


def for_tests(spec: SandboxSpec) -> SandboxSpec:
    """The sandbox in which tests run: that of the policy, as the user that may write everywhere."""
    if spec.workspace and spec.user != 0:
        return replace(spec, user=0, env={**spec.env, "HOME": "/root", "USER": "root"})
    return spec
