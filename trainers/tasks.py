"""Which tasks a step trains on: a pure function of the recipe and the step, so that a resumed run asks the same."""

from __future__ import annotations

import numpy as np

from agentrl.core.tree import Task
from agentrl.trainers.config import Recipe

SEEDS_PER_RUN = 10_000_000
"""Runs with different seeds draw different tasks; a run never needs more than this."""


def tasks_of(recipe: Recipe, step: int) -> list[Task]:
    """The `rollout.tasks_per_step` tasks of a step (steps count from 1).

    With `env.tasks = 0` every task is new; otherwise seeds 0..tasks-1 are visited once per epoch, in an order
    that is drawn anew for each epoch.
    """
    count = recipe.rollout.tasks_per_step
    first = (step - 1) * count
    return [task_at(recipe, index) for index in range(first, first + count)]


def task_at(recipe: Recipe, index: int) -> Task:
    """Task number `index` of the run, counted over all steps."""
    env = recipe.env
    if env.tasks == 0:
        seed = (recipe.seed * SEEDS_PER_RUN + index) % 2**31
    else:
        epoch, position = divmod(index, env.tasks)
        seed = int(np.random.default_rng([recipe.seed, epoch]).permutation(env.tasks)[position])
    return Task(env.id, seed, env.split, dict(env.kwargs))
