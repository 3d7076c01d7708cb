"""Tools for files of the workspace: read, write, edit. What cannot be done is said in one sentence and changes nothing."""

from __future__ import annotations

from agentrl.core.failures import ToolError
from agentrl.core.tool import Tool
from agentrl.tools.running import Box

LARGEST = 1 << 20
SHOWN_LINES = 400


def files(box: Box, *, shown_lines: int = SHOWN_LINES) -> tuple[Tool, Tool, Tool]:
    """`read_file`, `write_file` and `edit_file` in the episode's sandbox.

    Args:
        box: gives the episode's sandbox.
        shown_lines: the most that one call of `read_file` shows.
    """

    async def text_of(path: str) -> str:
        data = await (await box()).read(path, limit=LARGEST)
        try:
            return data.decode("utf-8")
        except UnicodeDecodeError:
            raise ToolError(f"{path} is not text: {len(data)} bytes that are not UTF-8") from None

    async def read_file(path: str, first_line: int = 1, last_line: int | None = None) -> str:
        """Read a text file of the workspace, with line numbers.

        Args:
            path: relative to the workspace.
            first_line: where to begin, from 1.
            last_line: where to end; to the end of the file if left out.
        """
        text = await text_of(path)
        lines = text.split("\n")
        if lines[-1] == "":
            lines.pop()
        if not lines:
            return "[empty file]"
        if not 1 <= first_line <= len(lines):
            raise ToolError(f"{path} has {len(lines)} lines, first_line is {first_line}", "invalid_arguments")
        if last_line is not None and last_line < first_line:
            raise ToolError(f"last_line {last_line} is before first_line {first_line}", "invalid_arguments")
        end = min(len(lines) if last_line is None else last_line, len(lines), first_line + shown_lines - 1)
        body = "\n".join(f"{number:>5}  {lines[number - 1]}" for number in range(first_line, end + 1))
        wanted = len(lines) if last_line is None else min(last_line, len(lines))
        return (
            body
            if end == wanted
            else f"{body}\n[lines {end + 1} to {wanted} not shown: ask for them with first_line]"
        )

    async def write_file(path: str, content: str) -> str:
        """Write a file of the workspace; what it held before is replaced. Folders are made as needed.

        Args:
            path: relative to the workspace.
            content: the whole new content.
        """
        data = content.encode("utf-8", "replace")
        if len(data) > LARGEST:
            raise ToolError(f"{len(data)} bytes are more than {LARGEST}", "invalid_arguments")
        await (await box()).write(path, data)
        return f"wrote {len(data)} bytes to {path}"

    async def edit_file(path: str, old: str, new: str) -> str:
        """Replace one piece of text in a file of the workspace; it must occur exactly once.

        Args:
            path: relative to the workspace.
            old: the text to replace, with enough around it to be unique.
            new: what comes in its place.
        """
        if not old:
            raise ToolError("old is empty: name the text to replace, or use write_file", "invalid_arguments")
        text = await text_of(path)
        count = text.count(old)
        if count != 1:
            found = "does not occur" if count == 0 else f"occurs {count} times"
            raise ToolError(f"the text to replace {found} in {path}: nothing was changed")
        data = text.replace(old, new).encode("utf-8", "replace")
        if len(data) > LARGEST:
            raise ToolError(f"{len(data)} bytes are more than {LARGEST}", "invalid_arguments")
        await (await box()).write(path, data)
        return f"edited {path}"

    return Tool.of(read_file), Tool.of(write_file), Tool.of(edit_file)
