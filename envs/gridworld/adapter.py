"""From a discrete Gymnasium environment to a tool environment.

The inner environment decides what happens; this adapter says it in words. Its rewards pass through, its state is
copied with the outer one, and its seed is a function of the split and the task, so that splits share no task.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, ClassVar, Literal

import gymnasium
import numpy as np

from agentrl.core.env import ForkKind, Safety, ToolEnv, digest
from agentrl.core.failures import UserError
from agentrl.core.spaces import ActionSpace
from agentrl.core.tool import Tool

SEED_STEP = 3


class DiscreteEnv(ToolEnv):
    """Base of the family: a Gymnasium environment with a discrete action space, played by tools.

    A subclass names its tools and gives `make_inner`, `describe` and, where it knows better, `solved`.

    Attributes:
        inner: the Gymnasium environment of this episode.
        seen: its last observation.
    """

    fork: ClassVar[ForkKind] = "copy"
    safety: ClassVar[Safety] = "inline"
    shared: ClassVar[frozenset[str]] = frozenset({"dynamics"})
    question = "Play."
    new_inner_each_episode: ClassVar[bool] = False

    def __init__(self, *, split: str = "train", max_turns: int | None = None) -> None:
        super().__init__(split=split, max_turns=max_turns)
        self.inner: gymnasium.Env[Any, Any] | None = None
        self.dynamics: Any = None
        self.seen: Any = None

    def make_inner(self, seed: int) -> gymnasium.Env[Any, Any]:
        """The inner environment of an episode."""
        raise NotImplementedError

    def describe(self) -> str:
        """What the policy is shown of the current state."""
        return f"observation: {self.seen}"

    def solved(self, reward: float) -> bool:
        """Whether an episode that ends with this reward was a success."""
        return reward > 0

    def task(self) -> str:
        # Seeds of different splits never meet, whatever the task's own seed.
        seed = SEED_STEP * self.task_seed + self.splits.index(self.split)
        if self.inner is None or self.new_inner_each_episode:
            self.inner = self.make_inner(seed)
        self.seen, _ = self.inner.reset(seed=seed % 2**31)
        # The transition table never changes: forks share it.
        self.dynamics = getattr(self.inner.unwrapped, "P", None)
        self.place()
        return f"{self.question}\n{self.describe()}"

    def place(self) -> None:
        """Change where the episode begins; by default it is left to the inner environment."""

    def act(self, action: int) -> str:
        """Do one action of the inner environment; returns the new description."""
        assert self.inner is not None
        self.seen, reward, terminated, truncated, _ = self.inner.step(action)
        if terminated or truncated:
            self.finish(float(reward), success=self.solved(float(reward)), name="env")
        else:
            self.add_reward(float(reward), "env")
        return self.describe()

    def state_key(self) -> str:
        return digest(f"{type(self).__name__} {self.describe()}")


class GymTextEnv(DiscreteEnv):
    """Any discrete Gymnasium environment as a tool environment with one tool, `act`.

    Args:
        gym_id: id in Gymnasium's registry.
        actions: a name for every action, in order; by default their numbers.
        describe: how to say an observation; by default it is printed.
        gym_kwargs: constructor arguments of the inner environment.

    Raises:
        UserError: an action space that is not discrete, or a wrong number of names.
    """

    max_turns = 100

    def __init__(
        self,
        *,
        gym_id: str = "Taxi-v4",
        actions: Sequence[str] | None = None,
        describe: Callable[[Any], str] | None = None,
        gym_kwargs: dict[str, Any] | None = None,
        split: str = "train",
        max_turns: int | None = None,
    ) -> None:
        super().__init__(split=split, max_turns=max_turns)
        self.gym_id, self.gym_kwargs, self._say = gym_id, dict(gym_kwargs or {}), describe
        inner = self.make_inner(0)
        space = inner.action_space
        inner.close()
        if not isinstance(space, gymnasium.spaces.Discrete):
            raise UserError(f"{gym_id} has the action space {space}; the adapter needs a Discrete one")
        names = tuple(actions or (str(number) for number in range(int(space.n))))
        if len(names) != int(space.n) or len(set(names)) != len(names):
            raise UserError(f"{gym_id} has {space.n} actions; name each once, not {', '.join(names)}")
        self.tools = (*self.tools, act_tool(self, names))
        self.action_space = ActionSpace(self.tools)

    def make_inner(self, seed: int) -> gymnasium.Env[Any, Any]:
        try:
            return gymnasium.make(self.gym_id, **self.gym_kwargs)
        except gymnasium.error.Error as error:
            raise UserError(f"{self.gym_id}: {str(error).splitlines()[0]}") from error

    def describe(self) -> str:
        return self._say(self.seen) if self._say else super().describe()


def act_tool(env: GymTextEnv, names: tuple[str, ...]) -> Tool:
    """A tool whose argument is one of the action names."""

    def act(action: str) -> str:
        """Do one action.

        Args:
            action: its name.
        """
        return env.act(names.index(action))

    act.__annotations__ = {"action": Literal[names], "return": str}
    return Tool.of(act)


def best_actions(dynamics: Any, states: int, actions: int, gamma: float = 0.99) -> np.ndarray:
    """Optimal action of every state by value iteration on a transition table `P[s][a] = [(p, s', r, end), ...]`.

    Returns:
        int64, shape (states,).
    """
    rows = [(s, a, *outcome) for s in range(states) for a in range(actions) for outcome in dynamics[s][a]]
    index = np.array([s * actions + a for s, a, *_ in rows])
    chance = np.array([row[2] for row in rows])
    target = np.array([row[3] for row in rows])
    gain = np.array([row[4] for row in rows], dtype=np.float64)
    going_on = np.array([not row[5] for row in rows])
    value = np.zeros(states)
    for _ in range(2000):
        q = np.bincount(index, chance * (gain + gamma * going_on * value[target]), states * actions)
        new = q.reshape(states, actions).max(axis=1)
        if np.abs(new - value).max() < 1e-10:
            break
        value = new
    return q.reshape(states, actions).argmax(axis=1)
