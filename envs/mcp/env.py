"""`Mcp-v0`: tasks whose tools are those of an MCP server; by default the issue tracker, served by a process of its own.

Invariant: the policy sees the server's tools and nothing else of it; the state is judged through a file that the server
shares with the environment alone. A server that dies is an `InfrastructureFailure`; the next reset starts another one.
"""

from __future__ import annotations

import shutil
import sys
import tempfile
from collections.abc import Sequence
from pathlib import Path
from typing import Any, ClassVar

from agentrl.core.env import ForkKind, Safety, ToolEnv
from agentrl.core.failures import InfrastructureFailure, ToolError
from agentrl.core.messages import Messages
from agentrl.core.tool import Tool
from agentrl.envs.api.env import ApiEnv
from agentrl.envs.api.openapi import Operation
from agentrl.envs.api.tracker.service import TRACKER
from agentrl.envs.api.tracker.tasks import TEMPLATES
from agentrl.envs.mcp.server import read_state, write_state
from agentrl.tools.mcp import McpSession, mcp_tool

WIRED = frozenset({"session", "own"})


class McpEnv(ToolEnv):
    """Base of environments over any MCP server. Write `assignment()` instead of `task()`, and `@tool` methods that end it.

    Args:
        command, url: the server, see `McpSession`. deadline: seconds for its start and for each call.
    """

    safety: ClassVar[Safety] = "async"
    fork: ClassVar[ForkKind] = "none"
    shared: ClassVar[frozenset[str]] = WIRED

    def __init__(
        self,
        *,
        command: Sequence[str] = (),
        url: str = "",
        deadline: float = 30.0,
        split: str = "train",
        max_turns: int | None = None,
    ) -> None:
        super().__init__(split=split, max_turns=max_turns)
        self.session = McpSession(command, url=url, deadline=deadline)
        self.own: tuple[Tool, ...] = self.tools

    def assignment(self) -> str | Messages:
        """Draw the task of this episode and say what the policy is asked."""
        raise NotImplementedError(f"{type(self).__name__} must define assignment()")

    def task(self) -> Any:
        return self.begun()

    async def begun(self) -> Any:
        asked = self.assignment()
        await self.session.start()
        found = await self.session.list_tools()
        self.tools = (*(mcp_tool(one, self.session.call) for one in found), *self.own)
        return asked

    def close(self) -> None:
        self.session.close()
        super().close()

    async def aclose(self) -> None:
        await self.session.aclose()
        self.closed = True


class McpTrackerEnv(ApiEnv):
    """The tasks of `IssueTracker-v0`, with the tools of an MCP server.

    Args:
        deadline: seconds for the start of the server and for each call.
        split, templates, distractors, progress_reward, max_turns: as of `IssueTracker-v0`.
    """

    service = TRACKER
    templates = TEMPLATES
    safety: ClassVar[Safety] = "async"
    shared: ClassVar[frozenset[str]] = ApiEnv.shared | {"session", "folder"}

    def __init__(self, *, deadline: float = 30.0, **settings: Any) -> None:
        self.session: McpSession | None = None
        self.folder: Path | None = None
        super().__init__(**settings)
        self.session = McpSession([sys.executable], deadline=deadline)

    def wrap(self, one: Operation) -> Tool:
        """The operation as the server will list it; replaced by what it does list once it runs."""
        return self.offered(Offered(one))

    def offered(self, found: Any) -> Tool:
        """A tool that the server lists."""

        async def ask(name: str, arguments: dict[str, Any]) -> str:
            return await self.asked_over_mcp(self.service.operations[name], arguments)

        return mcp_tool(found, ask)

    async def asked_over_mcp(self, one: Operation, arguments: dict[str, Any]) -> str:
        """One call: the world goes into the file, the call to the server, and what it made of the world comes back."""
        if self.folder is None:  # a snapshot of another instance was restored into this one
            await self.opened()
        assert self.session is not None
        assert self.folder is not None
        path = self.folder / "state.json"
        if not self.session.alive:
            raise InfrastructureFailure("tool", "Mcp-v0", "the server is gone")
        before = self.world
        write_state(path, before)
        refused: ToolError | None = None
        text = ""
        try:
            text = await self.session.call(one.id, arguments)
        except ToolError as error:
            refused = error
        after = read_state(path)
        if after.to_dict() == before.to_dict():
            after = before
        try:
            self.note(one.id, arguments, after, 400 if refused else 200, {"code": "", "message": ""})
        except ToolError:
            raise refused or ToolError("refused") from None
        return text

    async def begun(self) -> str:
        asked = ApiEnv.task(self)
        await self.opened()
        return asked

    async def opened(self) -> None:
        """A server that runs, with a folder to share; nothing if there is one."""
        assert self.session is not None
        if self.folder is None:
            self.folder = Path(tempfile.mkdtemp(prefix="agentrl-mcp-"))
        write_state(self.folder / "state.json", self.world)
        hidden = ",".join(self.service.extra[self.distractors :])
        arguments = ["-m", "agentrl.envs.mcp.server", "tracker", "--state", str(self.folder / "state.json")]
        self.session.command = (sys.executable, *arguments, "--without", hidden)
        if not self.session.alive:
            await self.session.start()
            listed = [self.offered(found) for found in await self.session.list_tools()]
            self.tools = (*listed, *(item for item in self.tools if item.name not in self.service.operations))

    def task(self) -> Any:
        return self.begun()

    async def areset(self, *, seed: int | None = None, options: dict[str, Any] | None = None) -> Any:
        observation, info = await super().areset(seed=seed, options=options)
        return observation, {**info, "template": self.asked.template}

    async def astep(self, action: Any) -> Any:
        observation, reward, terminated, truncated, info = await super().astep(action)
        return observation, reward, terminated, truncated, {**info, "progress": self.reached}

    def close(self) -> None:
        if self.session is not None:
            self.session.close()
        self.sweep()
        super().close()

    async def aclose(self) -> None:
        if self.session is not None:
            await self.session.aclose()
        self.sweep()
        self.closed = True

    def sweep(self) -> None:
        if self.folder is not None:
            shutil.rmtree(self.folder, ignore_errors=True)
            self.folder = None


class Offered:
    """An operation as a server lists it."""

    def __init__(self, one: Operation) -> None:
        self.name, self.description, self.input_schema = one.id, one.description, one.parameters
