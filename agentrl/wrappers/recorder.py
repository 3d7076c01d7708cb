"""Every episode as a line of JSON, as chat templates and SFT trainers read it.

Invariant: a line is whole or not there; an episode that was broken off (by a failure, by a reset) is not written.
"""

from __future__ import annotations

import errno
import json
import os
from pathlib import Path
from typing import Any, ClassVar

from agentrl.core.env import ToolEnv
from agentrl.core.failures import UserError
from agentrl.core.messages import Message, Observation, to_dicts
from agentrl.wrappers.base import Played, Shown, Wrapper


class Recorder(Wrapper):
    """Appends finished episodes to a JSONL file; several environments and processes may share it.

    A row has `messages`, `env`, `seed`, `split`, `reward`, `success`, `turns`, `terminated`, `truncated`, `tool_errors` (a number)
    and `rewards` (one a turn). What is recorded is what passes through this wrapper: put it last to record what the policy
    saw, first to record the environment's own.

    Args:
        file: where to; it must end in `.jsonl`, and its folder is made.
        success_only: leave the others out.

    Raises:
        UserError: another suffix, or a folder that cannot be written.
    """

    kept: ClassVar[tuple[str, ...]] = ("_messages", "_rewards", "_wrong")

    def __init__(self, env: ToolEnv, file: str | Path, *, success_only: bool = False) -> None:
        super().__init__(env)
        self.file, self.success_only = Path(file), success_only
        if self.file.suffix != ".jsonl":
            raise UserError(f"recorder: {self.file} must end in .jsonl")
        try:
            self.file.parent.mkdir(parents=True, exist_ok=True)
            self.file.open("ab").close()
        except OSError as error:
            raise UserError(f"recorder: {self.file} cannot be written: {error.strerror}") from error
        self._messages: list[Message] = []
        self._rewards: list[float] = []
        self._wrong = 0

    def begun(self, observation: Observation, info: dict[str, Any]) -> Shown:
        self._messages, self._rewards, self._wrong = list(observation), [], 0
        return observation, info

    def acting(self, action: Message) -> Message:
        self._messages.append(action)
        return action

    def played(
        self, observation: Observation, reward: float, terminated: bool, truncated: bool, info: dict[str, Any]
    ) -> Played:
        self._messages.extend(observation)
        self._rewards.append(reward)
        self._wrong += len(info["tool_errors"])
        if terminated or truncated:
            self._write(terminated, truncated, bool(info.get("success", False)))
        return observation, reward, terminated, truncated, info

    def _write(self, terminated: bool, truncated: bool, success: bool) -> None:
        if self.success_only and not success:
            return
        spec = self.unwrapped.spec
        row = {
            "messages": to_dicts(self._messages),
            "env": spec.id if spec else type(self.unwrapped).__name__,
            "seed": self.task_seed,
            "split": self.split,
            "reward": float(sum(self._rewards)),
            "success": success,
            "turns": len(self._rewards),
            "terminated": terminated,
            "truncated": truncated,
            "tool_errors": self._wrong,
            "rewards": self._rewards,
        }
        line = json.dumps(row, ensure_ascii=False).encode("utf-8", "backslashreplace") + b"\n"
        try:
            # One write to a file opened for appending: lines of several processes do not mix.
            handle = os.open(self.file, os.O_WRONLY | os.O_APPEND | os.O_CREAT, 0o644)
            try:
                written = os.write(handle, line)
                if written < len(line):  # the disk is full: half a line would spoil the file
                    os.ftruncate(handle, os.fstat(handle).st_size - written)
                    raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))
            finally:
                os.close(handle)
        except OSError as error:
            raise UserError(f"recorder: {self.file} cannot be written: {error.strerror}") from error
