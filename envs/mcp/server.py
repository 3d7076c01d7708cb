"""A real MCP server over a service: `python -m agentrl.envs.mcp.server tracker --state FILE`.

Invariant: the state is in FILE, which is read before a call and written (whole, by renaming) after it: whoever starts the
server can set and see it, whoever calls its tools cannot. The tools are the operations of the OpenAPI document.
"""

from __future__ import annotations

import argparse
import asyncio
import json
from pathlib import Path
from typing import Any

from agentrl.core.whole import write_file
from agentrl.envs.api.openapi import Operation
from agentrl.envs.api.service import Service
from agentrl.envs.api.state import State


def service_of(name: str) -> Service:
    """One of the services that ship."""
    if name == "tracker":
        from agentrl.envs.api.tracker.service import TRACKER as service
    elif name == "wiki":
        from agentrl.envs.api.wiki.service import WIKI as service
    elif name == "office":
        from agentrl.envs.api.office.service import OFFICE as service
    else:
        from agentrl.envs.api.retail.service import RETAIL as service
    return service


def read_state(path: Path) -> State:
    return State.from_dict(json.loads(path.read_text(encoding="utf-8")))


def write_state(path: Path, state: State) -> None:
    write_file(path, json.dumps(state.to_dict(), ensure_ascii=False).encode())


def perform(service: Service, path: Path, one: Operation, arguments: dict[str, Any]) -> tuple[bool, str]:
    """(whether it was refused, the text of the answer)."""
    before = read_state(path)
    after, status, body = service.perform(before, one, arguments)
    if after is not before:
        write_state(path, after)
    if status >= 400:
        return True, f"{status} {body['code']}: {body['message']}"
    return False, json.dumps(body, ensure_ascii=False)


async def serve(service: Service, path: Path, hidden: frozenset[str]) -> None:
    """Serve over stdio until the other side closes it."""
    from mcp.server.lowlevel import Server
    from mcp.server.stdio import stdio_server
    from mcp_types import CallToolResult, ListToolsResult, TextContent, Tool

    offered = {name: one for name, one in service.operations.items() if name not in hidden}

    async def list_tools(context: Any, params: Any) -> ListToolsResult:
        return ListToolsResult(
            tools=[
                Tool(name=one.id, description=one.description, input_schema=one.parameters)
                for one in offered.values()
            ]
        )

    async def call_tool(context: Any, params: Any) -> CallToolResult:
        if params.name not in offered:
            return CallToolResult(
                content=[TextContent(text=f"there is no tool {params.name!r:.80}")], is_error=True
            )
        wrong, text = perform(service, path, offered[params.name], dict(params.arguments or {}))
        return CallToolResult(content=[TextContent(text=text)], is_error=wrong)

    server: Any = Server(service.name, on_list_tools=list_tools, on_call_tool=call_tool)
    async with stdio_server() as (receive, send):
        await server.run(receive, send, server.create_initialization_options())


def main() -> None:
    parser = argparse.ArgumentParser(description="Serve one of the services over MCP (stdio).")
    parser.add_argument("service", choices=("tracker", "wiki", "office", "retail"))
    parser.add_argument("--state", type=Path, required=True, help="JSON file that holds the state")
    parser.add_argument("--without", default="", help="operations not to offer, separated by commas")
    given = parser.parse_args()
    hidden = frozenset(name for name in given.without.split(",") if name)
    asyncio.run(serve(service_of(given.service), given.state, hidden))


if __name__ == "__main__":
    main()
