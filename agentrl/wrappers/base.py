"""`Wrapper`: an environment around another one.

Invariant: what a wrapper does not change is the inner environment's own: its tools, its splits, its safety, how it forks. A
snapshot holds the inner environment's and what the wrapper itself has to remember (`kept`).
"""

from __future__ import annotations

import copy
from collections.abc import Iterable
from typing import Any, ClassVar, TypeAlias

import gymnasium
import numpy as np

from agentrl.core.env import ToolEnv
from agentrl.core.failures import InfrastructureFailure, UserError
from agentrl.core.fork import Snapshot
from agentrl.core.messages import Action, Message, Observation, as_action
from agentrl.core.tool import Tool

Shown: TypeAlias = tuple[Observation, dict[str, Any]]
Played: TypeAlias = tuple[Observation, float, bool, bool, dict[str, Any]]
DECLARED = (
    "instructions",
    "splits",
    "fork",
    "safety",
    "shared",
    "max_instances",
    "trivial_success",
    "expert_success",
)


class Wrapper(ToolEnv):
    """Override `begun`, `acting` or `played`; everything else is the inner environment's.

    Class attributes:
        kept: names of attributes that belong to the episode: a fork gets a copy of them.

    Attributes:
        env: the environment inside.
    """

    kept: ClassVar[tuple[str, ...]] = ()

    def __init__(self, env: ToolEnv) -> None:
        if not isinstance(env, ToolEnv):
            raise UserError(f"{type(self).__name__} wraps a ToolEnv, not {env!r:.60}")
        self.env = env
        self.observation_space = env.observation_space
        for name in DECLARED:
            setattr(self, name, getattr(env, name))
        self._ended = True

    # -- what a wrapper overrides --------------------------------------------------------------------

    def begun(self, observation: Observation, info: dict[str, Any]) -> Shown:
        """What is shown at the beginning of an episode."""
        return observation, info

    def acting(self, action: Message) -> Message:
        """What is done in the inner environment when the policy does `action`."""
        return action

    def played(
        self, observation: Observation, reward: float, terminated: bool, truncated: bool, info: dict[str, Any]
    ) -> Played:
        """What comes of a turn. An episode that is over says `success` in its info."""
        return observation, reward, terminated, truncated, info

    # -- the face of an environment ------------------------------------------------------------------

    def reset(self, *, seed: int | None = None, options: dict[str, Any] | None = None) -> Shown:
        return self._first(self.env.reset(seed=seed, options=options))

    def step(self, action: Action) -> Played:
        return self._next(self.env.step(self._acted(action)))

    async def areset(self, *, seed: int | None = None, options: dict[str, Any] | None = None) -> Shown:
        return self._first(await self.env.areset(seed=seed, options=options))

    async def astep(self, action: Action) -> Played:
        return self._next(await self.env.astep(self._acted(action)))

    def close(self) -> None:
        self.env.close()

    async def aclose(self) -> None:
        await self.env.aclose()

    def expert(self) -> Action | None:
        return self.env.expert()

    def state_key(self) -> str | None:
        return self.env.state_key()

    def snapshot(self) -> Snapshot:
        return self._around(self.env.snapshot())

    def restore(self, snapshot: Snapshot) -> None:
        self.env.restore(self._inside(snapshot))
        self._remember(snapshot)

    async def asnapshot(self) -> Snapshot:
        return self._around(await self.env.asnapshot())

    async def arestore(self, snapshot: Snapshot) -> None:
        await self.env.arestore(self._inside(snapshot))
        self._remember(snapshot)

    # -- what is forwarded ---------------------------------------------------------------------------

    def __getattr__(self, name: str) -> Any:
        # Only what is not found here. While an instance is being copied or unpickled there is no `env` yet.
        if name.startswith("_") or name == "env":
            raise AttributeError(f"{type(self).__name__} has no attribute {name!r}")
        return getattr(self.env, name)

    def __repr__(self) -> str:
        return f"<{type(self).__name__}{self.env!r}>"

    @property
    def unwrapped(self) -> ToolEnv:
        return self.env.unwrapped  # type: ignore[return-value]

    @property
    def tools(self) -> tuple[Tool, ...]:
        return self.env.tools

    @tools.setter
    def tools(self, tools: Iterable[Tool]) -> None:
        self.env.tools = tools

    @property
    def action_space(self) -> Any:  # type: ignore[override]
        return self.env.action_space

    @property
    def answers_text(self) -> bool:
        return self.env.answers_text

    @property
    def max_turns(self) -> int | None:  # type: ignore[override]
        return self.env.max_turns

    @property
    def turn(self) -> int:  # type: ignore[override]
        return self.env.turn

    @property
    def split(self) -> str:  # type: ignore[override]
        return self.env.split

    @property
    def task_seed(self) -> int:  # type: ignore[override]
        return self.env.task_seed

    @property
    def options(self) -> Any:  # type: ignore[override]
        return self.env.options

    @property
    def closed(self) -> bool:  # type: ignore[override]
        return self.env.closed

    @property
    def np_random(self) -> np.random.Generator:
        return self.env.np_random

    @np_random.setter
    def np_random(self, value: np.random.Generator) -> None:
        self.env.np_random = value

    # -- the machinery -------------------------------------------------------------------------------

    def _first(self, shown: Shown) -> Shown:
        observation, info = shown
        self._ended = False
        return self.begun(observation, info)

    def _acted(self, action: Action) -> Message:
        if self._ended:
            raise gymnasium.error.ResetNeeded(f"{self!r}: reset() before step(): no episode is running")
        return self.acting(as_action(action))

    def _next(self, played: Played) -> Played:
        out = self.played(*played)
        self._ended = out[2] or out[3]
        if self._ended:
            out[4].setdefault("success", False)
        return out

    def _around(self, inner: Snapshot) -> Snapshot:
        kept = {name: copy.deepcopy(getattr(self, name)) for name in ("_ended", *self.kept)}
        return Snapshot(inner.kind, self._owner(), (inner, kept))

    def _inside(self, snapshot: Snapshot) -> Snapshot:
        if snapshot.owner != self._owner():
            raise UserError(f"a {snapshot.owner} snapshot does not fit {self._owner()}")
        inner = snapshot.payload[0]
        if not isinstance(inner, Snapshot):
            raise InfrastructureFailure("restore", self._owner(), "the snapshot is damaged")
        return inner

    def _remember(self, snapshot: Snapshot) -> None:
        vars(self).update(copy.deepcopy(snapshot.payload[1]))

    def _owner(self) -> str:
        inner = self.env._owner() if isinstance(self.env, Wrapper) else type(self.env).__qualname__
        return f"{type(self).__qualname__}({inner})"
