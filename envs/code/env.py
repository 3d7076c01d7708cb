"""`Code-v0`: write programs in a sandbox; hidden tests judge what is submitted, in another one."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from agentrl.core.failures import ToolError, UserError
from agentrl.core.messages import Action, Message, ToolCall
from agentrl.core.tool import tool
from agentrl.envs.code import generator, tamper
from agentrl.envs.code.attacks import ATTACKS, Attack
from agentrl.envs.code.grading import Grade, grade
from agentrl.envs.code.task import CodeTask
from agentrl.envs.generated import as_names, listed
from agentrl.envs.sandboxed import SandboxEnv
from agentrl.sandboxes.base import MIB, Sandbox, SandboxRefusal
from agentrl.tools.files import files
from agentrl.tools.repl import python_session
from agentrl.tools.running import bash, python

LARGEST_SUBMISSION = MIB


class CodeEnv(SandboxEnv):
    """Solve a programming task in a sandbox with a shell, Python and file tools; hidden tests judge what is submitted.

    Args:
        sandbox, sandbox_settings, warm: see `SandboxEnv`.
        kinds: only these kinds of generated tasks; all of them if empty.
        difficulties: only `easy`, `medium` or `hard` ones; all of them if empty.
        tasks: a JSONL file (MBPP, HumanEval or APPS style) instead of generated tasks.
        partial: reward the fraction of hidden tests that pass; otherwise all or nothing.
        session: the Python tool keeps variables from call to call.
        tool_seconds, test_seconds: deadlines of one tool call and of one hidden test.
        split, max_turns: as of every environment.
    """

    instructions = (
        "You are a careful programmer. Work in the sandbox with the tools: write the files that the task asks for, try "
        "them out, then call submit. Hidden tests judge only the files that the task names."
    )
    max_turns = 16
    trivial_success = 0.02

    def __init__(
        self,
        *,
        sandbox: str = "bubblewrap",
        sandbox_settings: Mapping[str, Any] | str | None = None,
        warm: int = 2,
        kinds: Sequence[str] = (),
        difficulties: Sequence[str] = (),
        tasks: str = "",
        partial: bool = False,
        session: bool = False,
        tool_seconds: float = 10.0,
        test_seconds: float = 5.0,
        split: str = "train",
        max_turns: int | None = None,
    ) -> None:
        super().__init__(
            sandbox=sandbox, sandbox_settings=sandbox_settings, warm=warm, split=split, max_turns=max_turns
        )
        for name, value in (("tool_seconds", tool_seconds), ("test_seconds", test_seconds)):
            if not 0 < value <= 50:
                raise UserError(f"{name} must be between 0 and 50, got {value}")
        self.kinds, self.difficulties = as_names("kinds", kinds), as_names("difficulties", difficulties)
        self.partial, self.test_seconds = partial, test_seconds
        self.source: Sequence[CodeTask] | None = None
        if tasks:
            from agentrl.envs.code.loaders import load_jsonl

            self.source = load_jsonl(Path(tasks))
        self.families = generator.chosen(self.kinds, self.difficulties)
        self.code: CodeTask | None = None
        self.flags: set[str] = set()
        self.graded: Grade | None = None
        interpreter = python_session if session else python
        own = self.tools
        self.tools = (
            bash(self.box, seconds=tool_seconds),
            interpreter(self.box, seconds=tool_seconds),
            *files(self.box),
            *own,
        )

    shared = SandboxEnv.shared | {"source", "families"}

    def assignment(self) -> str:
        if self.source is not None:
            self.code = listed(self.source, self.split, self.task_seed)
        else:
            self.code = generator.generate(self.split, self.task_seed, self.families)
        self.flags, self.graded = set(), None
        return self.code.problem.statement

    async def furnish(self, box: Sandbox) -> None:
        for path, text in self.current.problem.files.items():
            await box.write(path, text)

    @property
    def current(self) -> CodeTask:
        """The task of this episode."""
        if self.code is None:
            raise UserError("Code-v0: reset() before anything else: there is no task yet")
        return self.code

    @tool
    async def submit(self) -> str:
        """Submit the files that the task names; the hidden tests decide, and the episode ends."""
        problem = self.current.problem
        box = await self.box()
        submitted: dict[str, bytes] = {}
        for path in problem.submit:
            try:
                submitted[path] = await box.read(path, limit=LARGEST_SUBMISSION)
            except SandboxRefusal as refusal:
                if refusal.reason == "outside":
                    self.flags.add("linked_outside")
                raise ToolError(f"nothing was submitted: {refusal}") from None
        try:
            paths = [info.path for info in await box.list()]
        except SandboxRefusal:
            paths = []  # so many files that they cannot be listed: a sign in itself
            self.flags.add("flood")
        self.flags |= tamper.in_workspace(paths, problem.files)
        for path, content in submitted.items():
            self.flags |= tamper.in_source(path, content.decode("utf-8", "replace"))
        await self.leave()  # whatever it left running is gone before grading begins
        self.graded = await grade(problem, submitted, self.fresh, seconds=self.test_seconds)
        self.flags |= set(self.graded.flags)
        solved = self.graded.solved
        self.finish(self.graded.fraction if self.partial else float(solved), success=solved, name="tests")
        return f"{self.graded.passed} of {len(self.graded.results)} hidden tests passed."

    async def _play(self, action: Action) -> Any:
        for command in tamper.commands(action):
            self.flags |= tamper.in_command(command)
        observation, reward, terminated, truncated, info = await super()._play(action)
        if self.flags:
            info["tamper"] = sorted(self.flags)
        if self._over and self.code is not None:
            info["task"] = self.code.place()
            if self.graded is not None:
                info["tests"] = {"passed": self.graded.passed, "of": len(self.graded.results)}
        return observation, reward, terminated, truncated, info

    def attacks(self) -> Sequence[Attack]:
        """Ways to be paid without solving a task, for `agentrl env audit`."""
        return ATTACKS

    def attack(self, attack: Attack) -> Sequence[Action]:
        """The actions of an attack against the current task."""
        return attack.actions(self.current.problem)

    def expert(self) -> Action | None:
        """The reference solution: first write it, then submit."""
        if self.turn:
            return Message("assistant", "", (ToolCall("submit", "{}"),))
        calls = [
            ToolCall("write_file", json.dumps({"path": path, "content": text}))
            for path, text in self.current.problem.reference.items()
        ]
        return Message("assistant", "", tuple(calls))
