"""The contract of a sandbox: a place where untrusted commands run, with an end to everything they can take.

Three things are told apart and never confused: *the command failed* (an `ExecResult` with its exit code), *the request was
refused* (`SandboxRefusal`, the policy's fault: a path outside, a missing file), and *the sandbox died* (`SandboxDied`, an
infrastructure failure: nothing that it said since is believed).
"""

from __future__ import annotations

import abc
import builtins
import posixpath
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, fields
from typing import Any

from agentrl.core.failures import InfrastructureFailure, ToolError, UserError

MIB = 1 << 20


class SandboxUnavailable(UserError):
    """This backend cannot run here; the message names the command that helps."""


class SandboxFailure(InfrastructureFailure):
    """A sandbox could not be made, or could not do what it must be able to do."""

    def __init__(self, subject: str, message: str) -> None:
        super().__init__("sandbox", subject, message)


class SandboxDied(SandboxFailure):
    """A live sandbox ended or stopped answering. Whatever runs in it is gone; so is the episode."""


class SandboxRefusal(ToolError):
    """A request that this sandbox cannot meet and that another one would not meet either.

    `reason` is one of: `outside` (a path that leads out of the workspace), `file` (missing, a folder, not readable),
    `large`, `full` (no space left), `path`, `cwd`, `exec` (no such program), `exhausted` (no processes left), `gone`.
    """

    def __init__(self, reason: str, message: str) -> None:
        self.reason = reason
        super().__init__(message)


@dataclass(frozen=True, slots=True)
class ExecResult:
    """What a command did.

    Attributes:
        stdout, stderr: decoded as UTF-8 with replacement; head and tail where something was omitted between.
        exit_code: 128 + n after signal n, as shells say it.
        timed_out: the deadline passed and the whole process tree was killed.
        truncated_bytes: bytes of both streams that were counted and not kept.
        oom_killed: something of it was killed for want of memory.
        seconds: from start to end, measured inside.
    """

    stdout: str
    stderr: str
    exit_code: int
    timed_out: bool = False
    truncated_bytes: int = 0
    oom_killed: bool = False
    seconds: float = 0.0

    @property
    def ok(self) -> bool:
        return self.exit_code == 0 and not self.timed_out


@dataclass(frozen=True, slots=True)
class FileInfo:
    """An entry of the workspace: `kind` is `file`, `dir`, `link` or `other`; `size` in bytes."""

    path: str
    kind: str
    size: int
    mode: int


@dataclass(frozen=True, slots=True)
class SandboxSpec:
    """What a sandbox may take. Every default is the strict one; `weakened()` names what a user has loosened.

    Attributes:
        image: Docker only: the image. Empty for the default one (`agentrl sandbox build`).
        network: reach the network of the host.
        memory: bytes for all processes and temporary files together; swap is not added.
        cpus: cores' worth of time.
        processes: processes at once, with those of the supervisor.
        open_files: descriptors of one process.
        workspace_bytes, tmp_bytes: sizes of `/workspace` and `/tmp`.
        workspace: Docker only: a folder of the image's own, which must be writable, in place of an empty `/workspace`.
            What is in it counts as part of the root file system: no size, kept by a snapshot, not emptied by a reset.
        output_bytes: bytes that are kept of each stream of a command, half head, half tail.
        read_only: the root file system cannot be written.
        seccomp: filter system calls (Docker: the engine's default profile; bubblewrap: our own list).
        user: uid and gid of all processes; never 0 unless asked for.
        capabilities: Linux capabilities that are kept. Docker only.
        runtime: Docker only: another OCI runtime of the engine, e.g. `runsc` (gVisor).
        env: environment variables of commands, added to the few that are set.
        start_seconds: deadline of a start.
    """

    image: str = ""
    network: bool = False
    memory: int = 512 * MIB
    cpus: float = 1.0
    processes: int = 128
    open_files: int = 1024
    workspace_bytes: int = 128 * MIB
    tmp_bytes: int = 64 * MIB
    workspace: str = ""
    output_bytes: int = 64 << 10
    read_only: bool = True
    seccomp: bool = True
    user: int = 1000
    capabilities: tuple[str, ...] = ()
    runtime: str = ""
    env: Mapping[str, str] = field(default_factory=dict)
    start_seconds: float = 60.0

    def __post_init__(self) -> None:
        for name, least in LEAST.items():
            value = getattr(self, name)
            if isinstance(value, bool) or not isinstance(value, int | float) or value < least:
                raise UserError(f"sandbox {name} must be at least {least}, got {value!r}")
        if self.output_bytes > MIB:
            raise UserError(f"sandbox output_bytes must be at most {MIB}, got {self.output_bytes!r}")
        if self.workspace and (
            not self.workspace.startswith("/") or posixpath.normpath(self.workspace) != self.workspace
        ):
            raise UserError(f"sandbox workspace must be an absolute path, got {self.workspace!r}")
        if (
            self.workspace.strip("/").partition("/")[0] in {"tmp", "dev", "proc", "sys", ""}
            and self.workspace
        ):
            raise UserError(f"sandbox workspace must be a folder of its own, got {self.workspace!r}")
        if self.workspace and self.read_only:
            raise UserError("sandbox workspace is a folder of the image, which needs read_only=false")
        held = self.tmp_bytes + (0 if self.workspace else self.workspace_bytes)
        if held > self.memory:
            raise UserError(
                f"sandbox workspace_bytes + tmp_bytes ({held}) must fit in memory ({self.memory}): temporary files are "
                "held in memory"
            )

    def weakened(self) -> tuple[str, ...]:
        """Names of the settings that isolate less than the defaults do."""
        loose = {
            "network": self.network,
            "read_only": not self.read_only,
            "seccomp": not self.seccomp,
            "user": self.user == 0,
            "capabilities": bool(self.capabilities),
        }
        return tuple(name for name, is_loose in loose.items() if is_loose)

    def record(self) -> dict[str, Any]:
        """Plain data for a run's record, with what was weakened in it."""
        values = {item.name: getattr(self, item.name) for item in fields(self)}
        return {
            **values,
            "env": dict(self.env),
            "capabilities": list(self.capabilities),
            "weakened": list(self.weakened()),
        }


LEAST: dict[str, float] = {
    "memory": 32 * MIB,
    "cpus": 0.01,
    "processes": 8,
    "open_files": 32,
    "workspace_bytes": MIB,
    "tmp_bytes": MIB,
    "output_bytes": 64,
    "user": 0,
    "start_seconds": 0.1,
}


@dataclass(frozen=True, slots=True)
class SandboxSnapshot:
    """The files of a sandbox at one moment. Processes are not part of it.

    Attributes:
        backend: name of the backend that made it.
        spec: of the sandbox it was taken from.
        batches: entries and their bytes, as the supervisor packs them.
        image: Docker with a writable root: the committed image.
    """

    backend: str
    spec: SandboxSpec
    batches: tuple[tuple[list[dict[str, Any]], bytes], ...] = field(repr=False)
    image: str = ""

    @property
    def size(self) -> int:
        """Bytes held."""
        return sum(len(data) for _, data in self.batches)


class Process(abc.ABC):
    """A command that is talked to over a descriptor of its own (number 3), apart from its output."""

    @abc.abstractmethod
    async def send(self, data: bytes) -> None:
        """Write to the process. Raises: SandboxRefusal `gone`: it has closed the channel."""

    @abc.abstractmethod
    async def receive(self, timeout: float) -> bytes:
        """What has come since, at least one byte; b"" when the process has closed the channel or ended.

        Raises:
            TimeoutError: nothing came in time.
        """

    @abc.abstractmethod
    async def wait(self) -> ExecResult:
        """The result, once it has ended."""

    @abc.abstractmethod
    async def kill(self) -> ExecResult:
        """Kill its whole tree; the result."""


class Sandbox(abc.ABC):
    """A live sandbox. Everything that it runs ends with `close`. Not shared between event loops."""

    id: str
    backend: str
    spec: SandboxSpec
    workspace: str = "/workspace"

    @property
    @abc.abstractmethod
    def alive(self) -> bool:
        """Whether it still answers, as far as is known."""

    @abc.abstractmethod
    async def exec(
        self,
        command: str | Sequence[str],
        *,
        timeout: float = 30.0,
        stdin: bytes | str | None = None,
        cwd: str | None = None,
        env: Mapping[str, str] | None = None,
        output_bytes: int | None = None,
    ) -> ExecResult:
        """Run a command and wait for it (not for what it leaves in the background).

        Args:
            command: a shell command line (`bash -c`, else `sh -c`), or a program and its arguments.
            timeout: seconds; then its whole process tree is killed, also what detached itself.
            stdin: what it reads; nothing (`/dev/null`) if None.
            cwd: relative to the workspace.

        Raises:
            SandboxRefusal: no such program or folder; no processes left.
            SandboxDied: the sandbox ended meanwhile, or did not answer.
        """

    @abc.abstractmethod
    async def open(
        self,
        command: Sequence[str],
        *,
        timeout: float,
        cwd: str | None = None,
        env: Mapping[str, str] | None = None,
        output_bytes: int | None = None,
    ) -> Process:
        """Start a command with a channel (descriptor 3), killed after `timeout` seconds at the latest."""

    @abc.abstractmethod
    async def read(self, path: str, *, limit: int = 16 * MIB) -> bytes:
        """A file of the workspace. Raises: SandboxRefusal."""

    @abc.abstractmethod
    async def write(self, path: str, data: bytes | str, *, mode: int | None = None) -> None:
        """Write a file of the workspace, with its folders. Raises: SandboxRefusal."""

    @abc.abstractmethod
    async def list(self, path: str = ".") -> builtins.list[FileInfo]:
        """Everything under a folder of the workspace, sorted by path; links are not followed."""

    @abc.abstractmethod
    async def snapshot(self) -> SandboxSnapshot:
        """The files as they are now."""

    @abc.abstractmethod
    async def fork(self, n: int = 1) -> builtins.list[Sandbox]:
        """`n` new sandboxes with the files of this one, which goes on. They do not see each other."""

    @abc.abstractmethod
    async def restore(self, snapshot: SandboxSnapshot) -> None:
        """Put the files of a snapshot in place of all that is here. Background processes are killed."""

    @abc.abstractmethod
    async def reset(self) -> None:
        """As if fresh: no processes, no files."""

    @abc.abstractmethod
    async def calm(self) -> None:
        """Kill every command and everything in the background; files stay."""

    @abc.abstractmethod
    async def ping(self, timeout: float = 5.0) -> int:
        """How many processes of commands run in it. Raises: SandboxDied."""

    @abc.abstractmethod
    async def close(self) -> None:
        """End it and everything in it; idempotent; returns when nothing is left."""

    async def __aenter__(self) -> Sandbox:
        return self

    async def __aexit__(self, *_: object) -> None:
        await self.close()


class Backend(abc.ABC):
    """A way of making sandboxes."""

    name: str

    @abc.abstractmethod
    async def start(self, spec: SandboxSpec) -> Sandbox:
        """A fresh sandbox.

        Raises:
            SandboxUnavailable: it can never work here (no daemon, no permission, no image).
            SandboxFailure: it did not work this time.
        """

    async def discard(self, snapshot: SandboxSnapshot) -> None:
        """Free what a snapshot keeps outside of this process; nothing can be made from it afterwards."""
        return None

    async def check(self, spec: SandboxSpec) -> str:
        """Whether `start` could work, without leaving anything behind; one sentence of what was found.

        Raises:
            SandboxUnavailable: what is missing, and the command that helps.
        """
        sandbox = await self.start(spec)
        await sandbox.close()
        return f"{self.name} works"
