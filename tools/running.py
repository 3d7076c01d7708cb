"""Tools that run in a sandbox: `bash`, `python`, and what the policy reads of a result.

Each is made for a function that gives the episode's sandbox when it is first needed:

    self.tools = (bash(self.box), python(self.box), *files(self.box))
"""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from typing import TypeAlias

from agentrl.core.failures import ToolError
from agentrl.core.tool import Tool
from agentrl.sandboxes.base import ExecResult, Sandbox

Box: TypeAlias = Callable[[], Awaitable[Sandbox]]
SECONDS, OUTPUT_BYTES = 10.0, 8 << 10


def shown(result: ExecResult, seconds: float) -> str:
    """A result as a person at a terminal would see it: output, then what else there is to know."""
    parts = [result.stdout.rstrip("\n")]
    if result.stderr:
        parts.append(("[stderr]\n" if result.stdout else "") + result.stderr.rstrip("\n"))
    if result.timed_out:
        parts.append(f"[killed: not finished after {seconds:g} s]")
    elif result.oom_killed:
        parts.append(f"[killed: out of memory, exit code {result.exit_code}]")
    elif result.exit_code:
        parts.append(f"[exit code {result.exit_code}]")
    return "\n".join(part for part in parts if part) or "[no output]"


def bash(box: Box, *, seconds: float = SECONDS, output_bytes: int = OUTPUT_BYTES) -> Tool:
    """A shell. Each call is a new one: folders and variables do not last, files and background processes do.

    Args:
        box: gives the episode's sandbox.
        seconds: deadline of a command.
        output_bytes: kept of each stream, half head and half tail.
    """

    async def bash(command: str) -> str:
        """Run a command with bash in the workspace and see its output.

        Args:
            command: a command line or a whole script.
        """
        sandbox = await box()
        result = await sandbox.exec(command, timeout=seconds, output_bytes=output_bytes)
        return shown(result, seconds)

    return Tool.of(bash)


def python(box: Box, *, seconds: float = SECONDS, output_bytes: int = OUTPUT_BYTES) -> Tool:
    """A Python interpreter without memory: each call is a fresh process. Arguments as those of `bash`."""

    async def python(code: str) -> str:
        """Run Python code in a fresh interpreter in the workspace and see what it prints.

        Args:
            code: a whole program; use print to see results.
        """
        if "\0" in code:
            raise ToolError("code holds no NUL character", "invalid_arguments")
        sandbox = await box()
        argv = ["python3", "-"]
        result = await sandbox.exec(argv, stdin=code, timeout=seconds, output_bytes=output_bytes)
        return shown(result, seconds)

    return Tool.of(python)
