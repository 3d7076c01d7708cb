"""Engine processes as an environment sees them: one fork server for this process, one engine for each game in use.

Invariant: every request ends within its deadline; an engine that failed is killed and never asked again; when the last
user has gone, no process is left.
"""

from __future__ import annotations

import contextlib
import os
import signal
import socket
import subprocess
import sys
import threading
from typing import Any

from agentrl.core.failures import Boundary, DeadlineExceeded, InfrastructureFailure
from agentrl.envs.alfworld import rules, wire

START_SECONDS = 90.0  # importing the engine on a machine that has other things to do
PREPARE_SECONDS = 60.0
ANSWER_SECONDS = 20.0
NAME = "ALFWorld"


class EngineProcess:
    """One forked engine. One request at a time: its user holds a lock."""

    def __init__(self, link: socket.socket, pid: int) -> None:
        self.link, self.pid, self.owner = link, pid, os.getpid()
        self._alive = True

    @property
    def alive(self) -> bool:
        """Whether it can be asked: a forked copy of this process must leave its parent's engines alone."""
        return self._alive and self.owner == os.getpid()

    def ask(self, where: Boundary, request: dict[str, Any], seconds: float = ANSWER_SECONDS) -> Any:
        """Send a request, wait for its answer.

        Raises:
            InfrastructureFailure: the engine died, said that it broke, or did not answer in time; it is gone then.
        """
        try:
            self.link.settimeout(seconds)
            wire.send(self.link, request)
            answer = wire.receive(self.link, seconds=seconds)
        except TimeoutError as error:
            self.close()
            raise DeadlineExceeded(where, f"{NAME} engine {self.pid}", seconds) from error
        except (EOFError, OSError) as error:
            self.close()
            raise InfrastructureFailure(where, f"{NAME} engine {self.pid}", "the process has died") from error
        if "error" in answer:
            self.close()
            raise InfrastructureFailure(where, f"{NAME} engine {self.pid}", answer["error"])
        return answer["ok"]

    def fork(self, seconds: float = ANSWER_SECONDS) -> EngineProcess:
        """A second engine at the point where this one is."""
        try:
            wire.send(self.link, {"do": "fork"})
            self.link.settimeout(seconds)
            answer, descriptor = wire.receive_with_descriptor(self.link)
        except (EOFError, OSError) as error:
            self.close()
            raise InfrastructureFailure(
                "snapshot", f"{NAME} engine {self.pid}", "it could not be forked"
            ) from error
        return EngineProcess(socket.socket(fileno=descriptor), answer["ok"])

    def close(self) -> None:
        """End it; idempotent."""
        if self._alive:
            mine, self._alive = self.alive, False
            self.link.close()
            if not mine:
                return
            with contextlib.suppress(ProcessLookupError, PermissionError):
                os.kill(self.pid, signal.SIGKILL)


class ForkServer:
    """The process that has the engine imported; it forks one for each socket that it is handed."""

    def __init__(self) -> None:
        rules.root()
        ours, theirs = socket.socketpair(socket.AF_UNIX, socket.SOCK_STREAM)
        self.link, self.lock = ours, threading.Lock()
        with theirs:
            self.process = subprocess.Popen(
                [sys.executable, "-m", "agentrl.envs.alfworld.server", str(theirs.fileno())],
                pass_fds=(theirs.fileno(),),
                stdin=subprocess.DEVNULL,
                stdout=subprocess.DEVNULL,
                # The engine lists what it sees in the order of its sets: one order for all.
                env={**os.environ, "PYTHONHASHSEED": "0", "OMP_NUM_THREADS": "1"},
            )
        try:
            wire.receive(self.link, seconds=START_SECONDS)
        except (EOFError, TimeoutError) as error:
            self.close()
            raise InfrastructureFailure("make", f"{NAME} fork server", "it did not start") from error

    def spawn(self) -> EngineProcess:
        """A new engine process, with no game yet; about 10 ms."""
        ours, theirs = socket.socketpair(socket.AF_UNIX, socket.SOCK_STREAM)
        try:
            with self.lock, theirs:
                wire.send(self.link, {}, descriptor=theirs.fileno())
            return EngineProcess(ours, wire.receive(ours, seconds=ANSWER_SECONDS)["pid"])
        except (EOFError, TimeoutError, OSError) as error:
            ours.close()
            raise InfrastructureFailure("reset", f"{NAME} fork server", "it forked no engine") from error

    @property
    def alive(self) -> bool:
        return self.process.poll() is None

    def close(self) -> None:
        """End it; its engines end when their own sockets close."""
        self.link.close()
        self.process.kill()
        self.process.wait()


class Shared:
    """The fork server of this process and who uses it. A forked copy of this process starts its own."""

    def __init__(self) -> None:
        self.lock = threading.Lock()
        self.users: set[int] = set()
        self.server: ForkServer | None = None
        self.pid = os.getpid()

    def enter(self, user: int) -> None:
        with self.lock:
            self._mine()
            self.users.add(user)

    def leave(self, user: int) -> bool:
        """True if that was the last user; the server has ended then."""
        with self.lock:
            self._mine()
            self.users.discard(user)
            if self.users:
                return False
            if self.server is not None:
                self.server.close()
                self.server = None
            return True

    def spawn(self) -> EngineProcess:
        """A new engine process; the server is started, or started again if it has died."""
        with self.lock:
            self._mine()
            if self.server is not None and not self.server.alive:
                self.server.close()
                self.server = None
            if self.server is None:
                self.server = ForkServer()
            server = self.server
        return server.spawn()

    def _mine(self) -> None:
        if self.pid != os.getpid():  # a fork: the server is the parent's
            self.pid, self.users, self.server = os.getpid(), set(), None


SHARED = Shared()
