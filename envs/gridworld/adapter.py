"""From a discrete Gymnasium environment to a tool environment.

The inner environment decides what happens; the adapter says it in words. Its rewards pass through, its state is
copied with the outer one, it is closed with it, and its seed is a function of the split and the task.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, ClassVar, Literal

import gymnasium
import numpy as np

from agentrl.core.env import Safety, ToolEnv
from agentrl.core.failures import UserError
from agentrl.core.tool import Tool


class Fixed(dict[Any, Any]):
    """A transition table, which nothing changes: copies of an environment share it."""

    def __deepcopy__(self, memo: Any) -> Fixed:
        return self


def make_inner(gym_id: str, **kwargs: Any) -> gymnasium.Env[Any, Any]:
    """A Gymnasium environment without a time limit (ours is `max_turns`), its transition table fixed.

    Raises:
        UserError: no such environment, or it does not take these arguments.
    """
    try:
        env = gymnasium.make(gym_id, **{"max_episode_steps": -1, "disable_env_checker": True, **kwargs})
    except (gymnasium.error.Error, TypeError) as error:
        raise UserError(f"{gym_id}: {str(error).splitlines()[0]}") from error
    if isinstance(table := getattr(env.unwrapped, "P", None), dict):
        env.unwrapped.P = Fixed(table)  # type: ignore[attr-defined]
    return env


def bare_inner(gym_id: str, **kwargs: Any) -> Any:
    """`make_inner` without wrappers and specification: cheaper to step and to copy."""
    env = make_inner(gym_id, **kwargs).unwrapped
    env.spec = None
    return env


class DiscreteEnv(ToolEnv):
    """Base of the family: a Gymnasium environment with a discrete action space, played by tools.

    A subclass names its tools, which call `act`, and gives `begin`, `describe` and, where it knows better, `solved`
    and `remark`.

    Attributes:
        inner: the Gymnasium environment.
        seen: its last observation.
        question: what the policy is asked.
    """

    safety: ClassVar[Safety] = "inline"
    question: str = "Play."
    inner: Any = None
    seen: Any = None

    def begin(self, seed: int) -> Any:
        """Begin an episode of the inner environment; returns its first observation.

        `seed` is never that of a task of another split.
        """
        raise NotImplementedError(f"{type(self).__name__} must define begin()")

    def describe(self) -> str:
        """What the policy is shown of the current state."""
        return f"observation: {self.seen}"

    def solved(self, reward: float) -> bool:
        """Whether an episode whose last reward is this one was a success."""
        return reward > 0

    def remark(self, reward: float, terminated: bool) -> str:
        """A sentence on what the last action did, or nothing."""
        return ""

    def task(self) -> str:
        self.seen = self.begin((len(self.splits) * self.task_seed + self.splits.index(self.split)) % 2**31)
        return f"{self.question}\n{self.describe()}"

    def act(self, action: int) -> str:
        """Do one action of the inner environment; returns the new description."""
        self.seen, reward, terminated, truncated, _ = self.inner.step(action)
        self.add_reward(float(reward), "env")
        if terminated:
            self.finish(success=self.solved(float(reward)), name="env")
        elif truncated:
            self.truncate()
        remark = self.remark(float(reward), terminated)
        return f"{self.describe()}\n{remark}" if remark else self.describe()

    def state_key(self) -> str:
        return str(self.seen.tolist() if isinstance(self.seen, np.ndarray | np.generic) else self.seen)

    def close(self) -> None:
        if self.inner is not None and not self.closed:
            self.inner.close()
        super().close()


class GymTextEnv(DiscreteEnv):
    """Any discrete Gymnasium environment as a tool environment with one tool, `act`.

    Args:
        gym_id: id in Gymnasium's registry.
        action_names: a name for every action, in order; by default their numbers.
        describe: how to say an observation; by default it is printed.
        solved: whether an episode that ended with (observation, reward) was a success; by default, whether that
            last reward is positive.
        question: what the policy is asked.
        gym_kwargs: constructor arguments of the inner environment.
        max_turns: by default the time limit that the inner environment is registered with, else 100.

    Raises:
        UserError: an environment that Gymnasium does not know, an action space that is not discrete, or names
            that do not match it.
    """

    safety: ClassVar[Safety] = "thread"
    shared: ClassVar[frozenset[str]] = frozenset({"_say", "_solved"})

    def __init__(
        self,
        gym_id: str = "Taxi-v4",
        *,
        action_names: Sequence[str] | None = None,
        describe: Callable[[Any], str] | None = None,
        solved: Callable[[Any, float], bool] | None = None,
        question: str = "",
        gym_kwargs: dict[str, Any] | None = None,
        split: str = "train",
        max_turns: int | None = None,
    ) -> None:
        self.inner = make_inner(gym_id, **(gym_kwargs or {}))
        space = self.inner.action_space
        if not isinstance(space, gymnasium.spaces.Discrete):
            raise UserError(f"{gym_id} has the action space {space}; the adapter needs a Discrete one")
        names = tuple(action_names or (str(number) for number in range(int(space.n))))
        if len(names) != int(space.n) or len(set(names)) != len(names):
            raise UserError(f"{gym_id} has {space.n} actions; name each once, not {', '.join(names)}")
        if max_turns is None:
            max_turns = gymnasium.spec(gym_id).max_episode_steps or 100
        super().__init__(split=split, max_turns=max_turns)
        self.question = question or f"Play {gym_id} with the tool act."
        self._say, self._solved = describe, solved
        self.tools = (*self.tools, act_tool(self, names, int(space.start)))

    def begin(self, seed: int) -> Any:
        return self.inner.reset(seed=seed)[0]

    def describe(self) -> str:
        return self._say(self.seen) if self._say else super().describe()

    def solved(self, reward: float) -> bool:
        return self._solved(self.seen, reward) if self._solved else super().solved(reward)


def act_tool(env: DiscreteEnv, names: tuple[str, ...], start: int = 0) -> Tool:
    """A tool whose argument is one of the action names; the first means the action `start`."""

    def act(action: str) -> str:
        """Do one action.

        Args:
            action: its name.
        """
        return env.act(start + names.index(action))

    act.__annotations__ = {"action": Literal[names], "return": str}
    return Tool.of(act)
