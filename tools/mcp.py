"""Tools of an MCP server: a session with a server process (stdio) or an address (streamable HTTP).

Invariant: a session is entered and left in one task, which owns it; every call has a deadline; a server that is gone is an
`InfrastructureFailure`, and after `aclose` its process is gone too. Needs the extra `[mcp]`.
"""

from __future__ import annotations

import asyncio
import contextlib
import os
import re
from collections.abc import Callable, Coroutine, Mapping, Sequence
from typing import Any, TypeVar

from agentrl.core.failures import DeadlineExceeded, InfrastructureFailure, MissingExtra, ToolError, UserError
from agentrl.core.jsonvalues import Schema
from agentrl.core.kinds import Kind, any_json, same_value
from agentrl.core.portal import background_loop
from agentrl.core.schema import Signature
from agentrl.core.tool import Tool

T = TypeVar("T")
CLOSING = 10.0  # seconds within which a server is ended, by force if need be


class McpSession:
    """A session with one server, usable from any event loop: it lives in the background loop.

    Args:
        command: program and arguments of a server that speaks over stdio; or
        url: address of one that speaks streamable HTTP.
        env: additional environment variables of the process.
        deadline: seconds within which it starts, and within which each call is answered.

    Raises:
        UserError: neither or both of `command` and `url`. MissingExtra: the SDK is not installed.
    """

    def __init__(
        self,
        command: Sequence[str] = (),
        *,
        url: str = "",
        env: Mapping[str, str] | None = None,
        deadline: float = 30.0,
    ) -> None:
        if bool(command) == bool(url) or isinstance(command, str):
            raise UserError("give an MCP server as command=[program, argument, ...] or as url=, one of them")
        if not deadline > 0:
            raise UserError(f"deadline must be more than 0 seconds, got {deadline}")
        try:
            import mcp  # noqa: F401
        except ImportError:
            raise MissingExtra("mcp", "an MCP server") from None
        self.command, self.url, self.env, self.deadline = tuple(command), url, dict(env or {}), deadline
        self._session: Any = None
        self._owner: asyncio.Task[None] | None = None
        self._stop: asyncio.Event | None = None
        self._broken = ""

    @property
    def name(self) -> str:
        return self.url or os.path.basename(self.command[0])

    @property
    def alive(self) -> bool:
        return self._session is not None and not self._broken

    # -- from any loop -----------------------------------------------------------------------------

    async def start(self) -> None:
        """Start the server and shake hands; nothing if that was done. Raises: InfrastructureFailure."""
        await there(self._start())

    async def list_tools(self) -> list[Any]:
        """The server's tools. Raises: InfrastructureFailure."""
        return await there(self._list())

    async def call(self, name: str, arguments: Mapping[str, Any]) -> str:
        """The text of a call's answer.

        Raises:
            ToolError: the server says that the call was wrong. InfrastructureFailure: there is no answer.
        """
        return await there(self._call(name, dict(arguments)))

    async def aclose(self) -> None:
        """End the session and its process; idempotent."""
        await there(self._end())

    def close(self) -> None:
        """`aclose` from synchronous code outside the background loop."""
        if self._owner is not None:
            asyncio.run_coroutine_threadsafe(self._end(), background_loop()).result(2 * CLOSING)

    # -- in the background loop --------------------------------------------------------------------

    async def _start(self) -> None:
        if self.alive and self._owner is not None and not self._owner.done():
            return
        await self._end()
        self._broken, self._stop = "", asyncio.Event()
        ready: asyncio.Future[Any] = asyncio.get_running_loop().create_future()
        self._owner = asyncio.create_task(self._own(ready, self._stop))
        try:
            self._session = await asyncio.wait_for(asyncio.shield(ready), self.deadline)
        except TimeoutError:
            await self._end()
            raise DeadlineExceeded("tool", self.name, self.deadline) from None
        except InfrastructureFailure:
            await self._end()
            raise

    async def _own(self, ready: asyncio.Future[Any], stop: asyncio.Event) -> None:
        """Enter and leave the session, both here."""
        from mcp import ClientSession

        try:
            with open(os.devnull, "w") as nowhere:
                async with (
                    self._transport(nowhere) as streams,
                    ClientSession(streams[0], streams[1]) as session,
                ):
                    await session.initialize()
                    if not ready.done():
                        ready.set_result(session)
                    await stop.wait()
        except BaseException as error:
            self._broken = f"{type(error).__name__}: {error}"
            if not ready.done():
                ready.set_exception(InfrastructureFailure("tool", self.name, f"it did not start: {error}"))
                return
            if isinstance(error, asyncio.CancelledError):
                raise

    def _transport(self, errors: Any) -> Any:
        if self.url:
            from mcp.client.streamable_http import streamable_http_client

            return streamable_http_client(self.url)
        from mcp.client.stdio import StdioServerParameters, stdio_client

        server = StdioServerParameters(
            command=self.command[0], args=list(self.command[1:]), env=self.env or None
        )
        return stdio_client(server, errors)

    async def _ask(self, what: Callable[[], Coroutine[Any, Any, T]]) -> T:
        if not self.alive:
            raise InfrastructureFailure("tool", self.name, self._broken or "the session is not open")
        try:
            return await asyncio.wait_for(what(), self.deadline)
        except TimeoutError:
            self._broken = "a call was not answered in time"
            raise DeadlineExceeded("tool", self.name, self.deadline) from None
        except Exception as error:
            if not gone(error):
                raise ToolError(f"{error}"[:2000]) from None
            self._broken = f"{type(error).__name__}: {error}"
            raise InfrastructureFailure("tool", self.name, f"the server is gone: {self._broken}") from error

    async def _list(self) -> list[Any]:
        found: list[Any] = []
        cursor = None
        while True:
            page = await self._ask(lambda cursor=cursor: self._page(cursor))  # type: ignore[misc]
            found += page.tools
            cursor = page.next_cursor
            if not cursor:
                return found

    async def _page(self, cursor: str | None) -> Any:
        from mcp_types import PaginatedRequestParams

        return await self._session.list_tools(
            params=PaginatedRequestParams(cursor=cursor) if cursor else None
        )

    async def _call(self, name: str, arguments: dict[str, Any]) -> str:
        result = await self._ask(lambda: self._session.call_tool(name, arguments))
        text = "\n".join(getattr(part, "text", f"[{part.type}]") for part in result.content)
        if result.is_error:
            raise ToolError(text or "the call failed")
        return text

    async def _end(self) -> None:
        owner, self._owner, self._session = self._owner, None, None
        if owner is None:
            return
        assert self._stop is not None
        self._stop.set()
        done, _ = await asyncio.wait([owner], timeout=CLOSING)
        if not done:
            owner.cancel()
            await asyncio.wait([owner], timeout=CLOSING)
        with contextlib.suppress(asyncio.CancelledError, Exception):
            owner.result()


def gone(error: Exception) -> bool:
    """Whether an error means that nobody is at the other end any more, rather than that the call was wrong."""
    if type(error).__name__ in ("MCPError", "McpError"):
        return "closed" in str(error).lower() or getattr(error, "code", None) == -32000
    return True


async def there(work: Coroutine[Any, Any, T]) -> T:
    """Run in the background loop, wait here."""
    return await asyncio.wrap_future(asyncio.run_coroutine_threadsafe(work, background_loop()))


def mcp_tool(found: Any, ask: Callable[[str, dict[str, Any]], Coroutine[Any, Any, Any]]) -> Tool:
    """A tool of a server as one of ours; `ask(name, arguments)` makes the call."""
    name = re.sub(r"[^A-Za-z0-9_-]", "_", found.name)[:64]
    given: Schema = dict(found.input_schema or {})
    schema: Schema = {
        "additionalProperties": False,
        **given,
        "type": "object",
        "properties": given.get("properties", {}),
    }
    schema.pop("$schema", None)
    kinds = {
        key: Kind(item, same_value, any_json, hashable=False) for key, item in schema["properties"].items()
    }

    async def run(**arguments: Any) -> Any:
        return await ask(found.name, arguments)

    about = found.description or found.name
    return Tool(name, about, schema, run, True, Signature(name, about, schema, kinds))
