"""An environment in a child process of its own: for engines that are not thread-safe, and for hangs that only a
kill ends.

The child is started fresh (spawn), answers one request at a time over a pipe, and dies with its parent: it ends
when the pipe closes, and on Linux the kernel kills it if the parent is killed while it works.
"""

from __future__ import annotations

import ctypes
import multiprocessing
import signal
import sys
from collections.abc import Mapping
from dataclasses import dataclass
from multiprocessing.connection import Connection
from typing import Any

from agentrl.core.catalogue import EnvEntry
from agentrl.core.env import Observation, ToolEnv
from agentrl.core.failures import InfrastructureFailure, UserError
from agentrl.core.messages import Action
from agentrl.core.registry import make_entry, resolve
from agentrl.core.spaces import ActionSpace

PR_SET_PDEATHSIG = 1
CLOSE_SECONDS = 5.0


@dataclass(frozen=True, slots=True)
class RemoteTool:
    """What the parent knows of a tool: its name, its schema and its specification."""

    name: str
    parameters: dict[str, Any]
    spec: dict[str, Any]


class ProcessEnv:
    """The parent's side. Its methods block; `kill` may be called from any thread and ends them.

    Raises:
        UserError, InfrastructureFailure: what the environment raised, or that its process died.
    """

    def __init__(self, entry: EnvEntry, kwargs: Mapping[str, Any]) -> None:
        context = multiprocessing.get_context("spawn")
        self.subject = entry.id
        self._pipe, theirs = context.Pipe()
        self._process = context.Process(
            target=serve, args=(theirs, portable(entry), dict(kwargs)), daemon=True
        )
        self._process.start()
        theirs.close()
        try:
            self.tools = [RemoteTool(*item) for item in self._ask("make")]
        except BaseException:
            self.kill()
            raise
        self.action_space = ActionSpace(self.tools)  # type: ignore[arg-type]

    def reset(
        self, *, seed: int | None = None, options: dict[str, Any] | None = None
    ) -> tuple[Observation, dict[str, Any]]:
        return self._ask("reset", seed, options)

    def step(self, action: Action) -> tuple[Observation, float, bool, bool, dict[str, Any]]:
        return self._ask("step", action)

    def state_key(self) -> str | None:
        return self._ask("state_key")

    def expert(self) -> Action | None:
        return self._ask("expert")

    def close(self) -> None:
        """Close the environment and end its process; one that has died needs no closing."""
        try:
            self._ask("close")
        except InfrastructureFailure:
            self._process.join(CLOSE_SECONDS)
            if self._process.is_alive():
                raise
        finally:
            self._pipe.close()
            self._process.join(CLOSE_SECONDS)
            self.kill()

    def kill(self) -> None:
        """End the process at once; a call that waits for it raises."""
        self._process.kill()
        self._process.join(CLOSE_SECONDS)

    def _ask(self, name: str, *arguments: Any) -> Any:
        try:
            self._pipe.send((name, arguments))
            kind, value = self._pipe.recv()
        except (EOFError, OSError) as error:
            raise InfrastructureFailure("step", self.subject, "its process died") from error
        if kind == "ok":
            return value
        if kind == "user":
            raise UserError(value)
        raise InfrastructureFailure("make" if name == "make" else "step", self.subject, value)


def portable(entry: EnvEntry) -> EnvEntry | str:
    """What the child can make the environment from: a class that came from a file is loaded from it again."""
    return entry.id if ".py:" in entry.id else entry


def serve(pipe: Connection, entry: EnvEntry | str, kwargs: dict[str, Any]) -> None:
    """The child's side: make the environment, answer until the pipe closes."""
    signal.signal(signal.SIGINT, signal.SIG_IGN)  # Ctrl-C is the parent's business
    if sys.platform == "linux":
        ctypes.CDLL(None).prctl(PR_SET_PDEATHSIG, signal.SIGKILL)
    made: ToolEnv | None = None
    try:
        while True:
            name, arguments = pipe.recv()
            try:
                if name == "make":
                    made = make_entry(resolve(entry) if isinstance(entry, str) else entry, **kwargs)
                    value: Any = [(tool.name, tool.parameters, tool.spec) for tool in made.tools]
                elif name == "reset":
                    assert made is not None
                    value = made.reset(seed=arguments[0], options=arguments[1])
                else:
                    value = getattr(made, name)(*arguments)
                pipe.send(("ok", value))
            except UserError as error:
                pipe.send(("user", str(error)))
            except Exception as error:
                pipe.send(("failure", f"{type(error).__name__}: {error}"))
    except (EOFError, OSError):
        return
    finally:
        if made is not None and not made.closed:
            made.close()
