"""`TaskFolder-v0`: public agent tasks in the folder format of Harbor and terminal-bench 2, each in its own image."""

from __future__ import annotations

import base64
import gzip
import json
import shlex
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from agentrl.core.failures import UserError
from agentrl.core.fork import Snapshot
from agentrl.core.messages import Action, Message, ToolCall
from agentrl.core.tool import tool
from agentrl.envs.code import tamper
from agentrl.envs.generated import listed
from agentrl.envs.sandboxed import SandboxEnv
from agentrl.envs.taskfolder.format import FolderTask, read_folder
from agentrl.envs.taskfolder.grading import Grade, archives, grade, signs
from agentrl.envs.taskfolder.images import Image, check_backend, image_of, spec_for
from agentrl.sandboxes.backends import settings_of
from agentrl.sandboxes.base import Sandbox, SandboxSnapshot, SandboxSpec
from agentrl.sandboxes.supervised import spread
from agentrl.tools.files import files
from agentrl.tools.running import bash

SOLUTION = "/solution"
LARGEST_COMMAND = 100_000
EXAMPLES = Path(__file__).with_name("examples")
UNKNOWN = Image("", "")


class TaskFolderEnv(SandboxEnv):
    """Do a task of a public task folder in its own image; its tests judge the files that are left.

    Args:
        folder: one task (with `task.toml`) or a folder of tasks; four small examples if empty.
        sandbox: `docker`; `bubblewrap` for tasks without an image.
        sandbox_settings: bounds of what a task may ask for; see the README.
        tool_seconds: deadline of one command.
        split, max_turns: as of every environment.
    """

    instructions = (
        "You work at a computer through tools: a shell, and tools that read, write and edit files of the working "
        "directory. Do the task, check what you have done, then call submit. Tests judge the files as you leave them."
    )
    max_turns = 32
    shared = SandboxEnv.shared | {"source", "settings", "images"}

    def __init__(
        self,
        *,
        folder: str = "",
        sandbox: str = "docker",
        sandbox_settings: Mapping[str, Any] | str | None = None,
        tool_seconds: float = 30.0,
        split: str = "train",
        max_turns: int | None = None,
    ) -> None:
        if not 0 < tool_seconds <= 3600:
            raise UserError(f"tool_seconds must be between 0 and 3600, got {tool_seconds}")
        super().__init__(
            sandbox=sandbox, sandbox_settings=sandbox_settings, warm=0, split=split, max_turns=max_turns
        )
        self.settings = settings_of(sandbox_settings)
        self.source = read_folder(folder or EXAMPLES)
        specs = []
        for item in self.source:
            check_backend(item, self.backend)
            specs.append(spec_for(item, UNKNOWN, self.backend, self.settings))
        # What a run's record says of all of them: the one that is weakened most.
        self.sandbox_spec = max(specs, key=lambda spec: len(spec.weakened()))
        self.images: dict[str, Image] = {}
        self.folder_task: FolderTask | None = None
        self.box_spec: SandboxSpec = self.sandbox_spec
        self.flags: set[str] = set()
        self.graded: Grade | None = None
        self.solving = ""
        self.tools = (bash(self.box, seconds=tool_seconds), *files(self.box), *self.tools)

    # -- the episode -------------------------------------------------------------------------------

    async def task(self) -> str:  # type: ignore[override]
        await self.leave()
        task = self.folder_task = listed(self.source, self.split, self.task_seed)
        if task.name not in self.images:
            self.images[task.name] = await image_of(task, self.backend)
        self.box_spec = spec_for(task, self.images[task.name], self.backend, self.settings)
        self.flags, self.graded, self.solving = set(), None, solving(task)
        return task.instruction

    async def box(self) -> Sandbox:
        """The episode's sandbox; each task has its own kind, so none is kept warm."""
        if self._box is None:
            self._box = await self.backend.start(self.box_spec)
        return self._box

    @property
    def current(self) -> FolderTask:
        """The task of this episode."""
        if self.folder_task is None:
            raise UserError("TaskFolder-v0: reset() before anything else: there is no task yet")
        return self.folder_task

    @tool
    async def submit(self) -> str:
        """Submit the work as it is now: the tests decide, and the episode ends."""
        box = await self.box()
        self.flags |= await signs(box)
        self._box = None  # from here on it is the grader's to end
        try:
            self.graded = await grade(self.current, box, self.backend, self.box_spec)
        except BaseException:
            if box.alive:
                self._box = box
            raise
        self.flags |= set(self.graded.flags)
        reward = self.graded.reward
        self.finish(reward, success=reward >= 1.0, name="tests")
        return f"The tests gave {reward:g}."

    async def _play(self, action: Action) -> Any:
        for command in tamper.commands(action):
            if command != self.solving:  # the solution itself may well look into the tests' folder
                self.flags |= tamper.in_command(command)
        observation, reward, terminated, truncated, info = await super()._play(action)
        if self.flags:
            info["tamper"] = sorted(self.flags)
        if self._over:
            task = self.current
            info["task"] = {"id": task.name, "difficulty": task.difficulty, "category": task.category}
            info["sandbox"] = {"backend": self.backend.name, "weakened": list(self.box_spec.weakened())}
            if self.graded is not None:
                info["tests"] = {"exit_code": self.graded.exit_code, "timed_out": self.graded.timed_out}
        return observation, reward, terminated, truncated, info

    # -- the reference solution --------------------------------------------------------------------

    def expert(self) -> Action | None:
        """The reference solution, if the task has one that fits into a command: first run it, then submit. The action
        carries it, so it is in no sandbox before and in that of nobody else."""
        if not self.solving:
            return None
        if self.turn:
            return Message("assistant", "", (ToolCall("submit", "{}"),))
        return Message("assistant", "", (ToolCall("bash", json.dumps({"command": self.solving})),))

    # -- forking -----------------------------------------------------------------------------------

    async def asnapshot(self) -> Snapshot:
        if self._box is not None:
            self.flags |= await signs(self._box)  # in what is made from it, these changes are the image's own
        return await super().asnapshot()

    async def revive(self, files: SandboxSnapshot) -> Sandbox:
        (box,) = await spread(files, 1, self.backend.start)
        return box


def solving(task: FolderTask) -> str:
    """A command that brings the reference solution and runs it; "" if there is none, or none that is small enough."""
    if task.solution is None:
        return ""
    packed = [base64.b64encode(gzip.compress(piece, mtime=0)).decode() for piece in archives(task.solution)]
    bring = " && ".join(f"echo {piece} | base64 -d | tar -xzo -C {SOLUTION}" for piece in packed)
    given = "".join(f"{name}={shlex.quote(text)} " for name, text in task.solution_env.items())
    command = f"mkdir -p {SOLUTION} && {bring} && {given}bash {SOLUTION}/solve.sh"
    return command if len(command) <= LARGEST_COMMAND else ""
