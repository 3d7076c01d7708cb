"""An environment in a child process of its own: for engines that are not thread-safe, and for hangs that only the
end of a process ends.

The child is started fresh (spawn) and answers one request at a time over a pipe. It closes its environment exactly
once: when it is asked to, when the pipe closes, or when it is told to end (SIGTERM) in the middle of a call. It
dies with its parent: the pipe closes, and on Linux the kernel kills it if it is busy then. It leads a process group,
so that what it started ends with it.
"""

from __future__ import annotations

import ctypes
import multiprocessing
import multiprocessing.connection
import os
import pickle
import signal
import sys
import threading
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from agentrl.core.catalogue import EnvEntry
from agentrl.core.env import ToolEnv
from agentrl.core.failures import DeadlineExceeded, InfrastructureFailure, UserError
from agentrl.core.messages import Action
from agentrl.core.registry import make_entry, resolve
from agentrl.core.spaces import ActionSpace
from agentrl.rollout.calls import CALLS, typed
from agentrl.rollout.settings import RolloutSettings

PR_SET_PDEATHSIG = 1
GRACE = 2.0
"""Seconds that a process which was told to end has for it."""


@dataclass(frozen=True, slots=True)
class RemoteTool:
    """What the parent knows of a tool: its name, its schema and its specification."""

    name: str
    parameters: dict[str, Any]
    spec: dict[str, Any]


class ProcessEnv:
    """The parent's side. `start`, `ask`, `close` block and belong to one thread; `terminate` and `kill` may be
    called from any other, and end them.

    Attributes:
        tools: what the policy may call now.
    """

    def __init__(self, entry: EnvEntry, kwargs: Mapping[str, Any], settings: RolloutSettings) -> None:
        self.entry, self.kwargs, self.settings = entry, kwargs, settings
        self.name = entry.id
        self.tools: Sequence[RemoteTool] = ()
        self._process: Any = None
        self._pipe: Any = None
        self._stop = 0
        self._lock = threading.Lock()  # between signals and the end of the process

    @property
    def action_space(self) -> ActionSpace:
        return ActionSpace(self.tools)  # type: ignore[arg-type]

    def start(self) -> None:
        """Start the process and make the environment in it.

        Raises:
            UserError: the environment cannot be sent to another process, or does not take its arguments.
            InfrastructureFailure: it could not be made.
        """
        context = multiprocessing.get_context("spawn")
        self._pipe, theirs = context.Pipe()
        self._process = context.Process(
            target=serve, args=(theirs, self.name, packed(self.entry, self.kwargs)), daemon=True
        )
        self._process.start()
        theirs.close()
        if self._stop:  # told to end before there was anything to end
            self._process.kill()
        self.ask("make")

    def ask(self, name: str, *arguments: Any) -> Any:
        """Have the child do one of `CALLS`.

        Raises:
            UserError, InfrastructureFailure: what the environment raised, or that its process died.
        """
        self._send(name, arguments)
        return self._receive(name)

    def expert(self) -> Action | None:
        """The environment's expert; policies call it between turns.

        Raises:
            DeadlineExceeded: no answer within the deadline of a step.
        """
        self._send("expert", ())
        if not self._pipe.poll(self.settings.step_seconds):
            self.terminate()
            raise DeadlineExceeded("expert", self.name, self.settings.step_seconds)
        return self._receive("expert")

    def close(self) -> None:
        """Have the environment closed and end the process. Never blocks for long once `kill` was called.

        Raises:
            InfrastructureFailure: the environment could not be closed.
        """
        if self._process is None:
            return
        try:
            if self._process.is_alive() and not self._stop:
                self.ask("close")
        finally:
            self._pipe.close()
            multiprocessing.connection.wait([self._process.sentinel], GRACE)
            self.kill()
            self._process.join()
            with self._lock:
                process, self._process = self._process, None
                process.close()  # its file descriptors, too

    def terminate(self) -> None:
        """Tell the process to close its environment and end."""
        self._signal(signal.SIGTERM)

    def kill(self) -> None:
        """End the process and all that it started, at once."""
        self._signal(signal.SIGKILL)

    def _signal(self, number: signal.Signals) -> None:
        with self._lock:
            if self._stop == signal.SIGKILL:  # its number may be another process's by now
                return
            self._stop = number
            process = self._process
            if process is None or process.pid is None:
                return
            try:
                # It leads its group from its first moments on; before that there is no group.
                os.killpg(process.pid, number) if number == signal.SIGKILL else os.kill(process.pid, number)
            except ProcessLookupError:
                process.kill()

    def _send(self, name: str, arguments: tuple[Any, ...]) -> None:
        try:
            self._pipe.send((name, arguments))
        except OSError as error:
            raise self._died(name) from error

    def _receive(self, name: str) -> Any:
        try:
            kind, value, tools = self._pipe.recv()
        except (EOFError, OSError) as error:
            raise self._died(name) from error
        if tools is not None:
            self.tools = tuple(RemoteTool(*item) for item in tools)
        if kind == "error":
            raise value
        return value

    def _died(self, name: Any) -> InfrastructureFailure:
        multiprocessing.connection.wait([self._process.sentinel], GRACE)
        self.kill()  # what it started
        self._process.join(GRACE)
        code = self._process.exitcode
        return InfrastructureFailure(name, self.name, f"its process died (exit code {code})")


def packed(entry: EnvEntry, kwargs: Mapping[str, Any]) -> bytes:
    """What the child makes the environment from. A class that came from a file is loaded from it again.

    Raises:
        UserError: the environment cannot be sent to another process.
    """
    try:
        return pickle.dumps((entry.id if ".py:" in entry.id else entry, dict(kwargs)))
    except Exception as error:
        raise UserError(
            f"{entry.id} runs in a process of its own, so its class and its arguments must be importable and "
            f"picklable: {error}"
        ) from error


def unpacked(data: bytes) -> ToolEnv:
    entry, kwargs = pickle.loads(data)
    return make_entry(resolve(entry) if isinstance(entry, str) else entry, **kwargs)


def serve(pipe: Any, name: str, made_from: bytes) -> None:
    """The child's side: make the environment, answer until the pipe closes."""
    os.setsid()
    if sys.platform == "linux":
        ctypes.CDLL(None).prctl(PR_SET_PDEATHSIG, signal.SIGKILL)
    signal.signal(signal.SIGINT, signal.SIG_IGN)  # Ctrl-C is the parent's business
    signal.signal(signal.SIGTERM, lambda number, frame: sys.exit(0))
    os.dup2(2, 1)  # the parent's standard output is not the environment's
    env: ToolEnv | None = None
    known: Any = None
    closed = False
    try:
        while True:
            call, arguments = pipe.recv()
            tools = None
            try:
                value = None
                if call == "make":
                    env = unpacked(made_from)
                elif call == "close":
                    closed = True
                    if env is not None:
                        env.close()
                else:
                    value = CALLS[call](env, *arguments)
                if env is not None and env.tools is not known:
                    known = env.tools
                    tools = [(tool.name, tool.parameters, tool.spec) for tool in known]
                answer = ("ok", value, tools)
                data = pickle.dumps(answer)
            except Exception as error:
                data = portable(typed(error, call, name))
            pipe.send_bytes(data)
    except (EOFError, OSError):
        return
    finally:
        if env is not None and not closed:
            env.close()


def portable(error: Exception) -> bytes:
    """An answer that raises `error` in the parent; one that cannot travel is told in words."""
    try:
        data = pickle.dumps(("error", error, None))
        pickle.loads(data)
    except Exception:
        told = InfrastructureFailure("step", type(error).__name__, str(error))
        data = pickle.dumps(("error", told, None))
    return data
