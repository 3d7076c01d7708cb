"""Demonstrations: exactly what an engine would have been fed, from any environment that has an expert."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
import torch

from agentrl import ToolEnv, call, make, tool
from agentrl.core.failures import InvariantBroken, UnknownName, UserError
from agentrl.inference.codecs.words import WordCodec, build_tokenizer
from agentrl.trainers.cold_start import PLANS, Plan, Stage, batches_of, cold_start, find_plan
from agentrl.trainers.demonstrations import Demonstrations, Hasty, demonstrate, language_of
from agentrl.trainers.models import load_policy
from agentrl.trainers.tiny import TinyShape

SMALL = TinyShape(layers=1, hidden=16, heads=2, mlp=16, max_context=128)
SEARCH = "agentrl/Search-v0"


class Countdown(ToolEnv):
    """Say how many are left until none is."""

    instructions = "Count down."

    def task(self) -> str:
        self.left = int(self.np_random.integers(2, 4))
        return f"From {self.left}"

    @tool
    def say(self, number: int) -> str:
        """Say it. Args: number: what is left."""
        self.left -= 1
        if self.left == 0:
            self.finish(1.0)
        return f"now {self.left}"

    def expert(self):
        return call("say", number=self.left)


class Mute(Countdown):
    def expert(self):
        return None


class Stuck(Countdown):
    def expert(self):
        return "hmm"


def search_codec() -> WordCodec:
    env = make(SEARCH)
    return WordCodec(build_tokenizer(*language_of(env)), show_system=False)


def test_a_row_is_the_conversation() -> None:
    env = Countdown()
    codec = WordCodec(build_tokenizer(*language_of(env)))
    seed = next(seed for seed in range(20) if env.reset(seed=seed) and env.left == 2)
    (row,) = demonstrate(env, codec, seed=seed)
    assert codec.decode(row.ids) == (
        "<system> count down . <user> from 2 <assistant> <call> say <arg> 2 <end>"
        " <tool> now 1 <assistant> <call> say <arg> 1 <end>"
    )
    assert codec.decode(row.ids[row.sampled]) == "<call> say <arg> 2 <end> <call> say <arg> 1 <end>"
    assert codec.unknown == 0


def test_the_search_vocabulary_covers_every_demonstration() -> None:
    codec = search_codec()
    for kwargs in ({"top_k": 3}, {"top_k": 1, "world": "random"}, {"top_k": 1, "split": "test"}):
        env = make(SEARCH, **kwargs)
        for seed in range(12):
            (row,) = demonstrate(env, codec, seed=seed)
            assert codec.parse(row.ids[row.sampled][-5:], [t.spec for t in env.tools]) == call(
                "answer", text=env.question.answer
            )
    assert codec.unknown == 0


def test_a_batch_is_a_function_of_the_step() -> None:
    codec = search_codec()
    source = Demonstrations(
        SEARCH, codec, batch=6, kwargs={"world": "random", "top_k": 1}, demonstrator=Hasty(0.5)
    )
    again = Demonstrations(
        SEARCH, codec, batch=6, kwargs={"world": "random", "top_k": 1}, demonstrator=Hasty(0.5)
    )
    forward = {step: source(step) for step in (1, 2, 3)}
    for step in (3, 1):
        for a, b in zip(forward[step], again(step), strict=True):
            assert np.array_equal(a.ids, b.ids)
            assert np.array_equal(a.sampled, b.sampled)
    assert not np.array_equal(forward[1][0].ids, forward[2][0].ids)


def test_haste_is_a_probability() -> None:
    codec, env = search_codec(), make(SEARCH, hops=(2,), top_k=1)
    rng = np.random.default_rng(0)
    turns = [
        int((row.ids[row.sampled] == codec.stop_ids[0]).sum())
        for seed in range(200)
        for row in demonstrate(env, codec, seed=seed, demonstrator=Hasty(0.7), rng=rng)
    ]
    # Two turns: search and a hasty answer; three: both searches and the answer. 200 draws, 4 standard errors.
    assert set(turns) == {2, 3}
    assert abs(turns.count(2) / 200 - 0.7) < 4 * (0.7 * 0.3 / 200) ** 0.5


def test_who_cannot_demonstrate_says_so() -> None:
    codec = WordCodec(build_tokenizer(["from 2 3"]))
    with pytest.raises(UserError, match="Mute has no expert"):
        demonstrate(Mute(), codec, seed=0)
    with pytest.raises(UserError, match="Mute has no expert"):
        language_of(Mute())
    with pytest.raises(UserError, match="Countdown has no hasty expert"):
        demonstrate(Countdown(), codec, seed=0, demonstrator=Hasty(0.5))
    with pytest.raises(InvariantBroken, match="a demonstration ends"):
        demonstrate(Stuck(), codec, seed=0, max_turns=5)


def test_stages_follow_one_another() -> None:
    plan = Plan(SEARCH, (Stage(2, {"hops": (1,), "top_k": 1}), Stage(1, {"hops": (3,), "top_k": 1})), batch=2)
    batches = batches_of(plan, search_codec(), seed=0)
    lengths = [max(len(row.ids) for row in batches(step)) for step in (1, 2, 3)]
    assert lengths[0] < 40 > lengths[1]
    assert lengths[2] > 60


def test_plans_by_name() -> None:
    assert find_plan("search-tiny") is PLANS["search-tiny"]
    short = find_plan("search-tiny", steps=7)
    assert short.steps == 7
    assert len(short.stages) == len(PLANS["search-tiny"].stages)
    assert find_plan("Search-v0", steps=3).steps == 3
    with pytest.raises(UnknownName, match="search-tiny"):
        find_plan("search-tny")


def test_a_cold_start_is_deterministic_and_leaves_a_policy(tmp_path: Path) -> None:
    plan = replace(find_plan("search-tiny", steps=4), batch=4, shape=SMALL, threads=1)
    threads = torch.get_num_threads()
    seen = []
    first = cold_start(plan, tmp_path / "a", seed=3, progress=seen.append)
    second = cold_start(plan, tmp_path / "b", seed=3)
    other = cold_start(plan, tmp_path / "c", seed=4)
    assert first["weights_sha256"] == second["weights_sha256"] != other["weights_sha256"]
    assert [p.step for p in seen] == [1, 2, 3, 4]
    assert first["unknown_words"] == 0
    assert first["tokens"] == seen[-1].tokens > 0
    assert torch.get_num_threads() == threads
    model, codec = load_policy(tmp_path / "a", device="cpu")
    assert not codec.show_system
    assert sum(p.numel() for p in model.parameters()) == first["parameters"]


def test_an_environment_of_ones_own_learns_its_expert(tmp_path: Path) -> None:
    plan = replace(
        find_plan(f"{__file__}:Countdown", steps=80), batch=8, shape=TinyShape(2, 32, 2, 32, 64), threads=1
    )
    losses = []
    cold_start(plan, tmp_path / "policy", progress=lambda p: losses.append(p.loss))
    assert losses[0] > 2 > 1 > losses[-1]
