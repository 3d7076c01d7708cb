"""`Bash-v0`: shell tasks over a tree of files, judged by the files as they are in the end."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from typing import Any

from agentrl.core.failures import ToolError, UserError
from agentrl.core.messages import Action, Message, ToolCall
from agentrl.core.tool import tool
from agentrl.envs.bash import generator
from agentrl.envs.bash.task import Entry, File, Link, ShellTask, Verdict, judge
from agentrl.envs.generated import as_names
from agentrl.envs.sandboxed import SandboxEnv
from agentrl.sandboxes.base import Sandbox, SandboxRefusal, SandboxSnapshot
from agentrl.tools.running import bash


class BashEnv(SandboxEnv):
    """Find, count, transform and repair files with a shell; the state of the files decides.

    Args:
        sandbox, sandbox_settings, warm: see `SandboxEnv`.
        kinds: only `find`, `count`, `transform` or `repair` tasks; all of them if empty.
        difficulties: only `easy`, `medium` or `hard` ones; all of them if empty.
        partial: reward the fraction of what is right; otherwise all or nothing.
        tool_seconds: deadline of one command.
        split, max_turns: as of every environment.
    """

    instructions = (
        "You work on files in a sandbox with a shell; you begin in the workspace. Do exactly what is asked, leave everything "
        "else as it is, then call done."
    )
    max_turns = 16
    trivial_success = 0.02
    shared = SandboxEnv.shared | {"families"}

    def __init__(
        self,
        *,
        sandbox: str = "bubblewrap",
        sandbox_settings: Mapping[str, Any] | str | None = None,
        warm: int = 2,
        kinds: Sequence[str] = (),
        difficulties: Sequence[str] = (),
        partial: bool = False,
        tool_seconds: float = 10.0,
        split: str = "train",
        max_turns: int | None = None,
    ) -> None:
        super().__init__(
            sandbox=sandbox, sandbox_settings=sandbox_settings, warm=warm, split=split, max_turns=max_turns
        )
        if not 0 < tool_seconds <= 50:
            raise UserError(f"tool_seconds must be between 0 and 50, got {tool_seconds}")
        self.families = generator.chosen(as_names("kinds", kinds), as_names("difficulties", difficulties))
        self.partial = partial
        self.shell: ShellTask | None = None
        self.verdict: Verdict | None = None
        self.tools = (bash(self.box, seconds=tool_seconds), *self.tools)

    def assignment(self) -> str:
        self.shell = generator.generate(self.split, self.task_seed, self.families)
        self.verdict = None
        return self.shell.problem.statement

    @property
    def current(self) -> ShellTask:
        """The task of this episode."""
        if self.shell is None:
            raise UserError("Bash-v0: reset() before anything else: there is no task yet")
        return self.shell

    async def furnish(self, box: Sandbox) -> None:
        await box.restore(SandboxSnapshot(box.backend, box.spec, (packed(self.current.problem.files),)))

    @tool
    async def done(self) -> str:
        """Say that the task is done; the files as they are now decide, and the episode ends."""
        box = await self.box()
        await box.calm()  # nothing goes on writing while the files are looked at
        try:
            state = unpacked(await box.snapshot())
        except SandboxRefusal as refusal:
            raise ToolError(f"the workspace cannot be judged: {refusal}") from None
        self.verdict = judge(self.current.problem, state)
        parts = self.verdict.parts
        reward = sum(parts.values()) / len(parts) if self.partial else float(self.verdict.passed)
        self.finish(reward, success=self.verdict.passed, name="state")
        return "Everything is as asked." if self.verdict.passed else "Not everything is as asked."

    async def _play(self, action: Action) -> Any:
        observation, reward, terminated, truncated, info = await super()._play(action)
        if self._over and self.shell is not None:
            info["task"] = self.shell.place()
            if self.verdict is not None:
                info["verdict"] = self.verdict.reason
        return observation, reward, terminated, truncated, info

    def expert(self) -> Action | None:
        """The reference script, then `done`."""
        if self.turn:
            return Message("assistant", "", (ToolCall("done", "{}"),))
        arguments = json.dumps({"command": self.current.problem.reference})
        return Message("assistant", "", (ToolCall("bash", arguments),))


def packed(files: Mapping[str, Entry]) -> tuple[list[dict[str, Any]], bytes]:
    """A tree as one batch of a sandbox snapshot."""
    entries: list[dict[str, Any]] = []
    body = b""
    for path, item in sorted(files.items()):
        entry: dict[str, Any] = {"path": path, "mtime": 1_700_000_000_000_000_000}
        if isinstance(item, Link):
            entries.append({**entry, "mode": 0o777, "link": item.target, "size": 0})
        else:
            entries.append({**entry, "mode": item.mode, "first": True, "size": len(item.content)})
            body += item.content
    return entries, body


def unpacked(snapshot: SandboxSnapshot) -> dict[str, Entry]:
    """Files and links of a workspace (folders and temporary files do not count)."""
    found: dict[str, Entry] = {}
    for entries, data in snapshot.batches:
        offset = 0
        for entry in entries:
            path, size = entry["path"], entry["size"]
            piece = data[offset : offset + size]
            offset += size
            if path.startswith("/") or entry.get("dir"):
                continue
            if "link" in entry:
                found[path] = Link(entry["link"])
            elif entry["first"]:
                found[path] = File(piece, entry["mode"])
            else:
                before = found[path]
                assert isinstance(before, File)
                found[path] = File(before.content + piece, before.mode)
    return found
