"""Where an environment runs: in the loop (here), as coroutines (here), in a thread or a process (`threads.py`).

A host owns one environment. Every call has a deadline, wherever something can wait; a host whose environment
broke or missed one is `dirty` and never used again. `close` happens exactly once.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any

from agentrl.core.catalogue import EnvEntry
from agentrl.core.env import ToolEnv
from agentrl.core.failures import Boundary, InfrastructureFailure, InvariantBroken, UserError
from agentrl.core.fork import Snapshot
from agentrl.core.messages import Message
from agentrl.core.registry import make_entry
from agentrl.core.tree import Task
from agentrl.inference.codec import ToolSpec
from agentrl.rollout.calls import ASYNC_CALLS, CALLS, CONTROL, PASSING, Shown, typed
from agentrl.rollout.deadline import within
from agentrl.rollout.settings import RolloutSettings


class Host:
    """An environment in the event loop itself: the host of `inline` environments. Nothing can end a call that runs
    in the loop, so there are no deadlines here: `inline` is for pure computation.

    Attributes:
        name: the environment's id.
        env: the live environment; None until it is made.
        tools: OpenAI specs of the tools that it has now.
        dirty: never use this host again.
        abandoned: it did not close in time and was left behind.
    """

    def __init__(self, entry: EnvEntry, kwargs: Mapping[str, Any], settings: RolloutSettings) -> None:
        self.entry, self.kwargs, self.settings = entry, kwargs, settings
        self.name = entry.id
        self.env: Any = None
        self.tools: Sequence[ToolSpec] = ()
        self.dirty = self.closed = self.abandoned = False
        self._known: Any = None

    async def open(self) -> None:
        """Make the environment. Whatever comes of it, `close` has to be called.

        Raises:
            UserError: an argument that the environment does not take.
            InfrastructureFailure: it could not be made.
        """
        await self._guarded("make", self._make)
        self._look_at_tools()

    async def reset(self, task: Task) -> Shown:
        """Begin the task's episode."""
        shown = await self._guarded("reset", self._call, "reset", self.settings.reset_seconds, task)
        self._look_at_tools()
        return shown

    async def step(self, action: Message) -> Shown:
        """Play one turn."""
        return await self._guarded("step", self._call, "step", self.settings.step_seconds, action)

    async def snapshot(self) -> Snapshot:
        """This moment, for `restore` in this host or another of the same kind."""
        return await self._guarded("snapshot", self._call, "snapshot", self.settings.step_seconds)

    async def restore(self, snapshot: Snapshot) -> None:
        """Continue from a snapshot."""
        await self._guarded("restore", self._call, "restore", self.settings.reset_seconds, snapshot)
        self._look_at_tools()

    async def close(self) -> InfrastructureFailure | None:
        """Close the environment, once; a failure to close is returned, not raised."""
        if self.closed:
            return None
        self.closed = True
        try:
            await self._guarded("close", self._close)
        except InfrastructureFailure as failure:
            return failure
        except (UserError, InvariantBroken) as error:
            return InfrastructureFailure("close", self.name, str(error))
        return None

    async def _guarded(self, where: Boundary, function: Callable[..., Any], *arguments: Any) -> Any:
        """What an environment raises says whose fault it is, and nobody uses the environment again."""
        try:
            return await function(*arguments)
        except (*PASSING, *CONTROL):
            self.dirty = True
            raise
        except BaseException as error:
            self.dirty = True
            raise typed(error, where, self.name) from error

    def _look_at_tools(self) -> None:
        # An environment may have other tools for another task; the specs stay the same objects otherwise.
        if self.env.tools is not self._known:
            self._known = self.env.tools
            self.tools = [tool.spec for tool in self._known]

    def _build(self) -> ToolEnv:
        return make_entry(self.entry, **self.kwargs)

    async def _make(self) -> None:
        self.env = self._build()

    async def _call(self, name: str, seconds: float, *arguments: Any) -> Any:
        return CALLS[name](self.env, *arguments)

    async def _close(self) -> None:
        if self.env is not None:
            self.env.close()


class AsyncHost(Host):
    """An environment whose calls are coroutines, awaited in this loop. It is made in the loop, too."""

    async def _call(self, name: Any, seconds: float, *arguments: Any) -> Any:
        return await within(seconds, ASYNC_CALLS[name](self.env, *arguments), name, self.name)

    async def _close(self) -> None:
        if self.env is not None:
            await within(self.settings.close_seconds, self.env.aclose(), "close", self.name)
