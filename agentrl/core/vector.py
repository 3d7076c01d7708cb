"""Many environments of one kind in one process, played in step: for the study of algorithms on small, fast games.

Invariant: sub-environment `i` plays exactly what it would play alone; what an episode is depends on its seed, not on its
neighbours. Where sub-environments wait for something (a browser, a sandbox) the rollout manager is the right tool: it does not
wait for the slowest.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any

import gymnasium
import numpy as np
from gymnasium.vector import AutoresetMode, VectorEnv

from agentrl.core.env import ToolEnv, digest
from agentrl.core.failures import UserError
from agentrl.core.messages import Action, Observation
from agentrl.core.spaces import MessagesSpace

NUMBERS = {"turn": np.int64, "task_seed": np.int64, "success": np.bool_}
"""What an info says in numbers; everything else of it becomes an array of objects."""


class ToolVectorEnv(VectorEnv[tuple[Observation, ...], Sequence[Action], np.ndarray]):
    """`num_envs` environments, stepped one after the other.

    Observations are a tuple of what each shows, actions a sequence with one action for each; rewards (float64), terminations
    and truncations are arrays of shape (num_envs,). Infos are as everywhere in Gymnasium: a dictionary of arrays of shape
    (num_envs,), with a mask `_key` for each key.

    As Gymnasium's own, by default an environment whose episode is over ignores its next action and begins the next episode
    (`AutoresetMode.NEXT_STEP`); `SAME_STEP` begins it at once and gives the last observation and info as
    `infos["final_obs"]` and `infos["final_info"]`; with `DISABLED` `reset(options={"reset_mask": ...})` does it.

    A run is decided by `reset(seed=...)`: sub-environment `i` begins with `seed + i`, or with `seed[i]`, and its later
    episodes are those of seeds that follow from that one.

    Args:
        first: the first of them; closed with the others.
        make: makes another.
        num_envs: how many.
        autoreset_mode: see above.

    Raises:
        UserError: less than one, or an environment that must not share a process.
    """

    def __init__(
        self,
        first: ToolEnv,
        make: Callable[[], ToolEnv],
        num_envs: int,
        *,
        autoreset_mode: AutoresetMode = AutoresetMode.NEXT_STEP,
    ) -> None:
        if isinstance(num_envs, bool) or not isinstance(num_envs, int) or num_envs < 1:
            raise UserError(f"num_envs must be a whole number of at least 1, got {num_envs!r:.40}")
        self.envs = [first]
        limit = first.max_instances
        if first.safety == "process" or (limit is not None and num_envs > limit):
            first.close()
            why = "needs a process of its own" if first.safety == "process" else f"allows {limit} at once"
            raise UserError(f"{type(first).__name__} {why}: collect its episodes with agentrl.rollout")
        try:
            self.envs.extend(make() for _ in range(num_envs - 1))
        except BaseException:
            self.close_extras()
            raise
        self.num_envs, self.autoreset_mode = num_envs, autoreset_mode
        self.metadata = {**first.metadata, "autoreset_mode": autoreset_mode}
        self.single_observation_space, self.single_action_space = first.observation_space, first.action_space
        self.observation_space = gymnasium.spaces.Tuple([MessagesSpace() for _ in self.envs])
        self.action_space = gymnasium.spaces.Tuple([env.action_space for env in self.envs])
        self._over = np.ones(num_envs, dtype=np.bool_)
        self._first_seed, self._episodes = [0] * num_envs, [0] * num_envs
        self._shown: list[Observation] = [()] * num_envs

    def reset(
        self,
        *,
        seed: int | Sequence[int | None] | None = None,
        options: dict[str, Any] | None = None,
    ) -> tuple[tuple[Observation, ...], dict[str, Any]]:
        """Begin an episode in every sub-environment, or where `options["reset_mask"]` is true.

        Raises:
            UserError: not one seed or one mask for each, or an unknown split.
            InfrastructureFailure: an environment broke.
        """
        rest = dict(options or {})
        mask = rest.pop("reset_mask", None)
        chosen = np.ones(self.num_envs, dtype=np.bool_) if mask is None else np.asarray(mask, dtype=np.bool_)
        if chosen.shape != (self.num_envs,):
            raise UserError(f"reset_mask must have the shape ({self.num_envs},), not {chosen.shape}")
        seeds = self._seeds(seed)
        infos: list[Mapping[str, Any] | None] = [None] * self.num_envs
        for i in np.flatnonzero(chosen).tolist():
            self._shown[i], infos[i] = self.envs[i].reset(seed=seeds[i], options=rest)
            self._over[i] = False
            self._first_seed[i], self._episodes[i] = self.envs[i].task_seed, 0
        return tuple(self._shown), merged(infos)

    def step(
        self, actions: Sequence[Action]
    ) -> tuple[tuple[Observation, ...], np.ndarray, np.ndarray, np.ndarray, dict[str, Any]]:
        """Play one turn in every sub-environment.

        Raises:
            UserError: not one action for each.
            ResetNeeded: an episode is over and `autoreset_mode` is `DISABLED`.
            InfrastructureFailure: an environment broke.
        """
        if len(actions) != self.num_envs:
            raise UserError(f"{self.num_envs} environments need as many actions, got {len(actions)}")
        rewards = np.zeros(self.num_envs)
        terminations, truncations = np.zeros((2, self.num_envs), dtype=np.bool_)
        infos: list[Mapping[str, Any] | None] = [None] * self.num_envs
        shown, over = self._shown, self._over
        ended: list[tuple[int, Observation, Mapping[str, Any]]] = []
        next_step = self.autoreset_mode is AutoresetMode.NEXT_STEP
        same_step = self.autoreset_mode is AutoresetMode.SAME_STEP
        for i, (env, action) in enumerate(zip(self.envs, actions, strict=True)):
            if next_step and over[i]:
                shown[i], infos[i] = self._again(i)
                continue
            shown[i], rewards[i], terminated, truncated, infos[i] = env.step(action)
            if terminated or truncated:
                terminations[i], truncations[i], over[i] = terminated, truncated, True
                if same_step:
                    ended.append((i, shown[i], infos[i]))  # type: ignore[arg-type]
                    shown[i], infos[i] = self._again(i)
        found = merged(infos)
        if ended:
            found |= finals(ended, self.num_envs)
        return tuple(shown), rewards, terminations, truncations, found

    def close_extras(self, **kwargs: Any) -> None:
        """Close every sub-environment."""
        for env in self.envs:
            env.close()

    def _again(self, i: int) -> tuple[Observation, dict[str, Any]]:
        """The next episode of a sub-environment; its options are those of the last one."""
        env = self.envs[i]
        self._episodes[i] += 1
        self._over[i] = False
        seed = int(digest(f"{self._first_seed[i]}/{self._episodes[i]}")[:8], 16) & 0x7FFFFFFF
        return env.reset(seed=seed, options=dict(env.options))

    def _seeds(self, seed: int | Sequence[int | None] | None) -> Sequence[int | None]:
        if seed is None:
            return [None] * self.num_envs
        if isinstance(seed, int | np.integer):
            return [int(seed) + i for i in range(self.num_envs)]
        if len(seed) != self.num_envs:
            raise UserError(f"{self.num_envs} environments need one seed or as many, got {len(seed)}")
        return seed


def merged(infos: Sequence[Mapping[str, Any] | None]) -> dict[str, Any]:
    """The infos of all sub-environments as arrays of shape (num_envs,): `key`, and `_key`, which is true where one had it."""
    keys = dict.fromkeys(key for info in infos if info is not None for key in info)
    out: dict[str, Any] = {}
    for key in keys:
        has = np.fromiter((info is not None and key in info for info in infos), np.bool_, len(infos))
        values: np.ndarray = np.zeros(len(infos), dtype=NUMBERS.get(key, np.object_))
        if values.dtype == np.object_:
            values[:] = None
        for i in np.flatnonzero(has).tolist():
            values[i] = infos[i][key]  # type: ignore[index]
        out[key], out[f"_{key}"] = values, has
    return out


def finals(ended: Sequence[tuple[int, Observation, Mapping[str, Any]]], count: int) -> dict[str, Any]:
    """What was shown and said last, of the episodes that ended in this step."""
    shown = np.full(count, None, dtype=np.object_)
    has = np.zeros(count, dtype=np.bool_)
    infos: list[Mapping[str, Any] | None] = [None] * count
    for i, observation, info in ended:
        shown[i], infos[i], has[i] = observation, info, True
    return {"final_obs": shown, "_final_obs": has, "final_info": merged(infos), "_final_info": has}
