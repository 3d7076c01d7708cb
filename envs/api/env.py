"""Environments over a service: tools from its OpenAPI document, generated tasks, a reward from the final state.

Invariant: what is rewarded is the state that the episode ends with and the calls that led there, never what was said:
the state must equal the goal by value, side effects included, at the moment `done` is called.
"""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from typing import Any, ClassVar

from agentrl.core.env import ForkKind, Safety, ToolEnv, digest
from agentrl.core.failures import ToolError, UnknownName, UserError
from agentrl.core.messages import Action, Observation, call
from agentrl.core.tool import Tool, tool
from agentrl.envs.api.compare import Comparison
from agentrl.envs.api.openapi import Operation, tool_of
from agentrl.envs.api.service import Service
from agentrl.envs.api.state import State
from agentrl.envs.api.task import Task, Template, draw_task, is_like, spelled
from agentrl.envs.generated import as_names


class ApiEnv(ToolEnv):
    """Base of environments over a service. A subclass names its `service` and its `templates`.

    Args:
        split: `train`, `validation` or `test`: no person, project, page or product is in two of them.
        templates: names of task templates, all by default; `a,b` or a list.
        distractors: further operations that work and that no task needs, from 0 to as many as the service has.
        progress_reward: weight of a reward for the share of the state difference that a step closed; it telescopes, so
            detours earn nothing. 0: only the outcome is rewarded.
        max_turns: turns after which the episode is cut off.
    """

    max_turns = 60
    fork: ClassVar[ForkKind] = "copy"
    safety: ClassVar[Safety] = "inline"
    service: ClassVar[Service]
    templates: ClassVar[Mapping[str, Template]]
    shared: ClassVar[frozenset[str]] = frozenset({"chosen", "distractors", "progress_reward", "instructions"})

    def __init__(
        self,
        *,
        split: str = "train",
        templates: Sequence[str] | str = (),
        distractors: int = 0,
        progress_reward: float = 0.0,
        max_turns: int | None = None,
    ) -> None:
        super().__init__(split=split, max_turns=max_turns)
        service = self.service
        names = as_names("templates", templates) or tuple(self.templates)
        for name in names:
            if name not in self.templates:
                raise UnknownName(f"template of {type(self).__name__}", name, self.templates)
        if not isinstance(distractors, int) or not 0 <= distractors <= len(service.extra):
            raise UserError(f"distractors must be 0 to {len(service.extra)}, got {distractors!r}")
        if not 0 <= progress_reward <= 1:
            raise UserError(f"progress_reward must be 0 to 1, got {progress_reward!r}")
        self.chosen, self.distractors, self.progress_reward = names, distractors, float(progress_reward)
        self.instructions = instructions_of(service)
        hidden = set(service.extra[distractors:])
        offered = (one for one in service.operations.values() if one.id not in hidden)
        self.tools = (*(self.wrap(one) for one in offered), *self.tools)
        self.current: Task | None = None
        self.state: State | None = None
        self.reached = 0.0
        self.seen: tuple[str, ...] = ()
        self.refused: tuple[str, ...] = ()
        self.missing: tuple[int, ...] = ()
        self.trespassed = False

    # -- the task ----------------------------------------------------------------------------------

    def task(self) -> str:
        task = draw_task(self.service, self.templates, self.chosen, self.split, self.task_seed)
        self.current, self.state = task, task.draft.base
        self.seen, self.refused, self.trespassed = (), (), False
        self.missing = tuple(range(len(task.draft.required)))
        self.reached = self.progress()
        return task.draft.text

    def wrap(self, one: Operation) -> Tool:
        """The tool of an operation."""
        return tool_of(one, self.answer)

    def answer(self, one: Operation, arguments: dict[str, Any]) -> str:
        """Send a call to the service and note what it did."""
        after, status, body = self.service.call(self.world, one.id, arguments)
        return self.note(one.id, arguments, after, status, body)

    def note(self, name: str, arguments: Mapping[str, Any], after: State, status: int, body: Any) -> str:
        """Go to a new state; returns what the policy is shown.

        Raises:
            ToolError: the service refused.
        """
        draft, spelling = self.asked.draft, spelled(name, arguments)
        if spelling not in self.seen:
            self.seen = (*self.seen, spelling)
        if status >= 400:
            self.refused = (*self.refused, spelling)
            raise ToolError(f"{status} {body['code']}: {body['message']}")
        self.missing = tuple(
            index for index in self.missing if not is_like(name, arguments, draft.required[index])
        )
        self.trespassed |= any(is_like(name, arguments, pattern) for pattern in draft.forbidden)
        if after is not self.world:
            self.state, self.refused = after, ()
            now = self.progress()
            if self.progress_reward:
                self.add_reward(self.progress_reward * (now - self.reached), "progress")
            self.reached = now
        return json.dumps(body, ensure_ascii=False)

    @tool
    def done(self, outcome: str) -> str:
        """Say that the task is done; this ends it. Nothing can be changed afterwards.

        Args:
            outcome: `completed`, or the code of the reason why it must not or cannot be done.
        """
        right = self.solved(outcome)
        self.finish(1.0 if right else 0.0, success=right)
        return "the end"

    def solved(self, outcome: str) -> bool:
        """Whether the episode may end here with this outcome."""
        return (
            outcome.strip() == self.asked.draft.outcome
            and not self.missing
            and not self.trespassed
            and self.comparison.difference(self.world, self.asked.goal) == 0
        )

    def progress(self) -> float:
        """The share of the difference between world and goal that is closed, 0 to 1."""
        left = self.comparison.difference(self.world, self.asked.goal)
        return max(0.0, 1.0 - left / max(1, self.asked.away))

    @property
    def asked(self) -> Task:
        assert self.current is not None
        return self.current

    @property
    def world(self) -> State:
        assert self.state is not None
        return self.state

    @property
    def comparison(self) -> Comparison:
        return Comparison(self.service, self.asked.draft.base)

    # -- for training and tests --------------------------------------------------------------------

    def state_key(self) -> str | None:
        """The task, what was changed, and the set of calls made so far: their order does not matter."""
        if self.current is None:
            return None
        changes = self.comparison.changes(self.world)
        return digest("\0".join([self.asked.draft.text, *changes, "", *sorted(self.seen)]))

    def expert(self) -> Action | None:
        """The look-ups that are still to be made, then a call that closes a part of the difference, then `done`."""
        if self.current is None:
            return None
        for name, arguments in self.asked.draft.reads:
            if spelled(name, arguments) not in self.seen:
                return call(name, **arguments)
        offered = {item.name for item in self.tools}
        if self.comparison.difference(self.world, self.asked.goal):
            for name, arguments in self.comparison.calls(self.world, self.asked.goal):
                if name in offered and spelled(name, arguments) not in self.refused:
                    return call(name, **arguments)
        return call("done", outcome=self.asked.draft.outcome)

    def reset(
        self, *, seed: int | None = None, options: dict[str, Any] | None = None
    ) -> tuple[Observation, dict[str, Any]]:
        observation, info = super().reset(seed=seed, options=options)
        return observation, {**info, "template": self.asked.template}

    def step(self, action: Action) -> tuple[Observation, float, bool, bool, dict[str, Any]]:
        observation, reward, terminated, truncated, info = super().step(action)
        return observation, reward, terminated, truncated, {**info, "progress": self.reached}


def instructions_of(service: Service) -> str:
    """What a policy is told before every task."""
    lines = [
        f"You work with {service.title}: {service.about}",
        "Do exactly what is asked and change nothing else. Lists come in pages: see `total`.",
        "When you are finished, call `done` with the outcome.",
    ]
    return "\n".join(lines) + (f"\n\n{service.policy}" if service.policy else "")
