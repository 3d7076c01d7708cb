"""Cold starts: from nothing to a policy that can act and has something left to learn.

A plan is data: which environments demonstrate what for how many steps. Running it is deterministic: the same
plan, seed and thread count on the same machine give the same bits.
"""

from __future__ import annotations

import bisect
import itertools
import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

from agentrl.core.failures import MissingExtra, UnknownName
from agentrl.core.registry import catalogue, make
from agentrl.trainers.demonstrations import Demonstrations, Hasty, Row, expert, language_of
from agentrl.trainers.models import save_policy
from agentrl.trainers.sft import SFTProgress, SFTSettings, sft
from agentrl.trainers.tiny import TinyShape, new_tiny_policy


@dataclass(frozen=True, slots=True)
class Stage:
    """`steps` optimizer steps on demonstrations of one kind.

    Attributes:
        steps: how many.
        kwargs: constructor arguments of the environment.
        haste: probability of answering too early, where the environment has a `hasty_expert`; 0 is the expert.
    """

    steps: int
    kwargs: Mapping[str, Any] = field(default_factory=dict)
    haste: float = 0.0


@dataclass(frozen=True, slots=True)
class Plan:
    """How to cold-start a policy.

    Attributes:
        env: registered id.
        stages: easy ones first.
        batch: demonstrations per step.
        shape: of the policy.
        settings: of the fine-tuning; its `steps` are those of the stages together.
        show_system: whether the policy is shown system messages.
        threads: for torch; sums depend on it, so the plan fixes it.
    """

    env: str
    stages: tuple[Stage, ...]
    batch: int = 64
    shape: TinyShape = field(default_factory=TinyShape)
    settings: SFTSettings = field(default_factory=SFTSettings)
    show_system: bool = True
    threads: int = 2

    @property
    def steps(self) -> int:
        return sum(stage.steps for stage in self.stages)


SEARCH_WORLD = {"world": "random", "top_k": 1}
PLANS: Mapping[str, Plan] = {
    # Copying is learned on one hop, chains on good examples; then comes the habit that reward has to mend.
    "search-tiny": Plan(
        env="agentrl/Search-v0",
        stages=(
            Stage(180, {**SEARCH_WORLD, "hops": (1,)}),
            Stage(380, SEARCH_WORLD),
            Stage(60, SEARCH_WORLD, haste=0.75),
        ),
        shape=TinyShape(init_std=0.05),
        settings=SFTSettings(decay=200, tail=60, final_lr=0.15, width=96),
        show_system=False,
    ),
}


def find_plan(name: str, *, steps: int | None = None) -> Plan:
    """The shipped plan of that name, or a plan for any environment that has an expert.

    Args:
        name: a plan or an environment.
        steps: optimizer steps in all; the stages keep their proportions.

    Raises:
        UnknownName: neither a plan nor an environment.
    """
    if name in PLANS:
        plan = PLANS[name]
    elif ":" in name or any(name in (id, id.rpartition("/")[2]) for id in catalogue()):
        # Positions cost no parameters, and an expert may walk far.
        shape = TinyShape(max_context=2048)
        settings = SFTSettings(decay=200, tail=60, final_lr=0.15)
        plan = Plan(env=name, stages=(Stage(500),), shape=shape, settings=settings)
    else:
        raise UnknownName("plan or environment", name, [*PLANS, *catalogue()])
    if steps is None:
        return plan
    ends = [steps * sum(s.steps for s in plan.stages[: i + 1]) // plan.steps for i in range(len(plan.stages))]
    starts = [0, *ends[:-1]]
    stages = tuple(
        replace(stage, steps=end - start) for stage, start, end in zip(plan.stages, starts, ends, strict=True)
    )
    decay, tail = (length * steps // plan.steps for length in (plan.settings.decay, plan.settings.tail))
    return replace(plan, stages=stages, settings=replace(plan.settings, decay=decay, tail=tail))


def cold_start(
    plan: Plan,
    folder: Path,
    *,
    seed: int = 0,
    progress: Callable[[SFTProgress], None] | None = None,
) -> dict[str, Any]:
    """Make a policy, teach it, save it to `folder`.

    Returns:
        `{"policy", "steps", "tokens", "seconds", "parameters", "unknown_words", "weights_sha256"}`;
        unknown words are those that demonstrations used and the vocabulary lacks.

    Raises:
        MissingExtra: torch is not installed.
        UserError: the environment has no expert, or the folder holds something else.
    """
    try:
        import torch
    except ModuleNotFoundError as error:
        raise MissingExtra("train", "a cold start") from error
    from agentrl.trainers.checkpoint import weights_sha256

    began = time.perf_counter()
    before = torch.get_num_threads()
    torch.set_num_threads(plan.threads)
    try:
        env = make(plan.env, **plan.stages[-1].kwargs)
        texts, names = language_of(env)
        model, codec = new_tiny_policy(
            texts, names, shape=plan.shape, seed=seed, show_system=plan.show_system
        )
        settings = replace(plan.settings, steps=plan.steps)
        state = sft(model, batches_of(plan, codec, seed), settings, progress=progress)
    finally:
        torch.set_num_threads(before)
    save_policy(model, codec, folder)
    return {
        "policy": str(folder),
        "steps": state.step,
        "tokens": state.tokens,
        "seconds": round(time.perf_counter() - began, 3),
        "parameters": sum(parameter.numel() for parameter in model.parameters()),
        "unknown_words": codec.unknown,
        "weights_sha256": weights_sha256(model),
    }


def batches_of(plan: Plan, codec: Any, seed: int) -> Callable[[int], list[Row]]:
    """The batches of a plan by step number."""
    sources = [
        Demonstrations(
            plan.env,
            codec,
            batch=plan.batch,
            seed=seed,
            kwargs=stage.kwargs,
            demonstrator=Hasty(stage.haste) if stage.haste else expert,
        )
        for stage in plan.stages
    ]

    last_steps = list(itertools.accumulate(stage.steps for stage in plan.stages))
    return lambda step: sources[bisect.bisect_left(last_steps, step)](step)
