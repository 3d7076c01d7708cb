"""The Docker backend, through the `docker` SDK: one container for each sandbox, with a supervisor as its only process.

The host talks to the supervisor over the container's attached standard input, so a call costs no `docker exec`. When the
runner dies, however it dies, that input ends, the supervisor ends, and the engine removes the container.

Invariant: every container carries the label of its owner from its first moment, and is created hardened: nothing is
tightened afterwards.
"""

from __future__ import annotations

import asyncio
import functools
import os
import socket
import time
from collections.abc import Callable
from typing import Any, TypeVar
from weakref import WeakKeyDictionary

from agentrl.core.failures import MissingExtra
from agentrl.core.portal import finish
from agentrl.sandboxes import ledger
from agentrl.sandboxes.base import (
    Backend,
    SandboxFailure,
    SandboxSnapshot,
    SandboxSpec,
    SandboxUnavailable,
)
from agentrl.sandboxes.owner import Label
from agentrl.sandboxes.supervised import FOLDERS, Handle, SupervisedSandbox
from agentrl.sandboxes.surroundings import INSIDE, SUPERVISOR, WORKSPACE, greeted, supervisor_settings

T = TypeVar("T")
WIPED = ("/tmp", "/dev/shm", "/dev/mqueue")
SNAPSHOTS = "agentrl/snapshot"
STARTS = 4  # containers that one process starts at once: more only wait in the engine
START_HINT = "start it with `systemctl start docker` (or `dockerd &` as root), or use --sandbox bubblewrap"


class Docker(Backend):
    """See the module.

    Args:
        client: a `docker.DockerClient`; one from the environment (`DOCKER_HOST`) by default.
    """

    name = "docker"

    def __init__(self, client: Any = None) -> None:
        self.client = client
        self.ready: set[str] = set()  # images that have been seen
        # By event loop, as long as that lives.
        self.starting: WeakKeyDictionary[asyncio.AbstractEventLoop, asyncio.Semaphore] = WeakKeyDictionary()

    async def start(self, spec: SandboxSpec) -> SupervisedSandbox:
        client = await self._engine()
        image = await self.prepare(spec)
        await ledger.sweep(self.name)
        label = Label.new()
        semaphore = self.starting.setdefault(asyncio.get_running_loop(), asyncio.Semaphore(STARTS))
        async with semaphore:
            return await self._start(client, image, spec, label)

    async def _start(self, client: Any, image: str, spec: SandboxSpec, label: Label) -> SupervisedSandbox:
        container, ours = await self._launched(client, image, spec, label)

        async def destroy() -> None:
            await ask(lambda: remove(client, container))

        async def commit() -> str:
            return await ask(lambda: keep(client, container, label))

        async def changes() -> list[str]:
            return await ask(lambda: [item["Path"] for item in client.api.diff(container) or ()])

        link = await greeted(ours, label.sandbox, spec.start_seconds, destroy, Demultiplexed)
        handle = Handle(
            destroy,
            commit=None if spec.read_only else commit,
            changes=None if spec.read_only else changes,
            folders=("/tmp",) if spec.workspace else FOLDERS,
        )
        return SupervisedSandbox(label.sandbox, self.name, spec, link, handle, self.start)

    async def _launched(
        self, client: Any, image: str, spec: SandboxSpec, label: Label
    ) -> tuple[str, socket.socket]:
        """Not abandoned half-way: a container whose caller is cancelled is made, then removed."""
        making = asyncio.ensure_future(ask(lambda: launch(client, image, spec, label)))
        try:
            return await asyncio.shield(making)
        except asyncio.CancelledError:
            await finish(undo(client, making))
            raise

    async def prepare(self, spec: SandboxSpec) -> str:
        """The image, there: the default one is built where it is missing. Returns its name.

        Raises:
            SandboxUnavailable: no engine, or no such image.
        """
        from agentrl.sandboxes import image

        client, name = await self._engine(), spec.image or image.DEFAULT
        if name not in self.ready:  # asking for each of thousands of starts would only cost time
            await ask(lambda: image.ensure(client, spec.image))
            self.ready.add(name)
        return name

    async def discard(self, snapshot: SandboxSnapshot) -> None:
        client = await self._engine()
        if snapshot.image:
            self.ready.discard(snapshot.image)
            await ask(lambda: drop(client, snapshot.image))

    async def check(self, spec: SandboxSpec) -> str:
        client = await self._engine()
        sandbox = await self.start(spec)
        try:
            version = (await ask(client.version))["Version"]
            return f"docker works (engine {version}, python {sandbox.link.hello['python']} in {spec.image or 'the default image'})"
        finally:
            await sandbox.close()

    async def _engine(self) -> Any:
        if self.client is None:
            self.client = await ask(connect)
        return self.client


def connect() -> Any:
    """A client of the engine, which has answered.

    Raises:
        MissingExtra: no `docker` package.
        SandboxUnavailable: no engine, or no permission.
    """
    try:
        import docker
    except ModuleNotFoundError:
        raise MissingExtra("docker", "the docker backend") from None
    try:
        client = docker.from_env(timeout=60, max_pool_size=32)
        client.ping()
    except docker.errors.DockerException as error:
        raise unavailable(error) from None
    except OSError as error:  # the SDK lets the transport's own errors through
        raise unavailable(error) from None
    return client


def unavailable(error: Exception) -> SandboxUnavailable:
    text = str(error)
    where = os.environ.get("DOCKER_HOST", "unix:///var/run/docker.sock")
    if "ermission denied" in text:
        return SandboxUnavailable(
            f"no permission for the Docker engine at {where}: join its group with `sudo usermod -aG docker $USER` and "
            "log in again, or use --sandbox bubblewrap"
        )
    return SandboxUnavailable(f"no Docker engine answers at {where}: {START_HINT}")


async def ask(function: Callable[[], T]) -> T:
    """Call the engine in a thread; what goes wrong in it, in one sentence.

    Raises:
        SandboxUnavailable, SandboxFailure.
    """
    try:
        return await asyncio.to_thread(function)
    except (SandboxUnavailable, SandboxFailure, MissingExtra):
        raise
    except Exception as error:
        raise explained(error) from error


def explained(error: Exception) -> Exception:
    import docker
    import requests

    if isinstance(error, docker.errors.ImageNotFound):
        return SandboxUnavailable(
            f"{error.explanation}: pull or build it, or leave the image out for the default one"
        )
    if isinstance(error, docker.errors.APIError):
        said = str(error.explanation or error)
        if "executable file not found" in said or "no such file or directory" in said:
            return SandboxUnavailable(
                f"the image has no python3, which the sandbox's supervisor needs ({said.splitlines()[0][:200]})"
            )
        if "no space left" in said:
            return SandboxFailure("docker", "the engine's disk is full: `docker system prune` frees some")
        if "unknown runtime" in said or "unknown or invalid runtime" in said:
            return SandboxUnavailable(f"{said}: install it and name it in /etc/docker/daemon.json")
        return SandboxFailure("docker", said)
    if isinstance(error, requests.exceptions.RequestException | OSError):
        return SandboxFailure("docker", f"the engine does not answer ({type(error).__name__}): {START_HINT}")
    return error


@functools.cache
def source() -> str:
    """The supervisor, which travels as an argument: an image need not know of it."""
    return SUPERVISOR.read_text(encoding="utf-8")


def launch(client: Any, image: str, spec: SandboxSpec, label: Label) -> tuple[str, socket.socket]:
    """Create a container, attach to it, start it; its id and the attached socket. Nothing is left if that fails."""
    api, workspace = client.api, spec.workspace or WORKSPACE
    made = api.create_container(
        image,
        entrypoint=["python3", "-I", "-S", "-c", source()],
        # The engine's control group keeps the limits.
        command=[
            repr(supervisor_settings(spec, workspace, wipe=WIPED, own_ipc=True, watched=False)),
            label.text(),
        ],
        name=label.sandbox,
        hostname="sandbox",
        user=f"{spec.user}:{spec.user}",
        working_dir=workspace,
        environment=INSIDE,
        labels=label.labels(),
        stdin_open=True,
        network_disabled=not spec.network,
        host_config=api.create_host_config(**host_settings(spec)),
    )
    container = made["Id"]
    try:
        attached = api.attach_socket(container, params={"stdin": 1, "stdout": 1, "stream": 1})
        try:
            ours = socket.socket(fileno=os.dup(attached.fileno()))
        finally:
            attached.close()
        if ours.family not in (socket.AF_UNIX, socket.AF_INET, socket.AF_INET6):
            raise SandboxUnavailable("the engine must be reached over a unix or tcp socket")
        ours.setblocking(False)
        try:
            api.start(container)
        except BaseException:
            ours.close()
            raise
        return container, ours
    except BaseException:
        remove(client, container)
        raise


def host_settings(spec: SandboxSpec) -> dict[str, Any]:
    """Isolation and limits, in the engine's words."""
    options = f"rw,exec,nosuid,nodev,uid={spec.user},gid={spec.user}"
    given: dict[str, Any] = {
        "auto_remove": True,
        # The supervisor is the first process: no signal from inside reaches it, and no other process holds the
        # container's output, through which a command could answer in its place.
        "init": False,
        "cap_drop": ["ALL"],
        "cap_add": list(spec.capabilities) or None,
        "security_opt": ["no-new-privileges:true", *([] if spec.seccomp else ["seccomp=unconfined"])],
        "read_only": spec.read_only,
        "tmpfs": {
            **({} if spec.workspace else {WORKSPACE: f"{options},mode=0755,size={spec.workspace_bytes}"}),
            "/tmp": f"{options},mode=1777,size={spec.tmp_bytes}",
        },
        "shm_size": spec.tmp_bytes,
        "mem_limit": spec.memory,
        "memswap_limit": spec.memory,
        "nano_cpus": int(spec.cpus * 1e9),
        "pids_limit": spec.processes,
        "network_mode": "bridge" if spec.network else "none",
        "ipc_mode": "private",
        "log_config": {"Type": "none", "Config": {}},
        "ulimits": [{"Name": "core", "Soft": 0, "Hard": 0}],
    }
    if spec.runtime:
        given["runtime"] = spec.runtime
    return given


def remove(client: Any, container: str, seconds: float = 30.0) -> None:
    """Remove a container and wait until it is gone; one that is gone already is fine.

    Raises:
        SandboxFailure: it is still there.
    """
    import docker

    deadline = time.monotonic() + seconds
    while time.monotonic() < deadline:
        try:
            client.api.remove_container(container, force=True, v=True)
        except docker.errors.NotFound:
            return
        except docker.errors.APIError as error:
            if error.status_code != 409:  # 409: its removal is under way
                raise
            time.sleep(0.01)
    raise SandboxFailure(
        container[:12], f"the container is still there after {seconds:g} s: agentrl sandbox gc"
    )


async def undo(client: Any, making: asyncio.Future[tuple[str, socket.socket]]) -> None:
    """End what was made for nobody."""
    await asyncio.wait([making])
    if not making.cancelled() and making.exception() is None:
        container, ours = making.result()
        ours.close()
        await ask(lambda: remove(client, container))


def keep(client: Any, container: str, label: Label) -> str:
    """The root file system as an image with the label of its owner."""
    tag = f"{label.sandbox}-{time.time_ns()}"
    changes = [f"LABEL {key}={value}" for key, value in label.labels().items()]
    return str(client.api.commit(container, SNAPSHOTS, tag, changes=changes)["Id"])


def drop(client: Any, image: str) -> None:
    """Remove an image; one that is gone already is fine."""
    import docker

    try:
        client.api.remove_image(image, force=True)
    except docker.errors.NotFound:
        return


class Demultiplexed:
    """The engine's attached stream without its framing: standard output only."""

    def __init__(self, reader: asyncio.StreamReader) -> None:
        self.reader = reader
        self.held = bytearray()

    async def readexactly(self, n: int) -> bytes:
        while len(self.held) < n:
            head = await self.reader.readexactly(8)
            body = await self.reader.readexactly(int.from_bytes(head[4:], "big"))
            if head[0] == 1:
                self.held += body
        data = bytes(self.held[:n])
        del self.held[:n]
        return data
