"""Supervised fine-tuning: the loss by hand, packing changes nothing, and interrupted = uninterrupted."""

from __future__ import annotations

import copy
from dataclasses import replace

import numpy as np
import pytest
import torch

from agentrl.core.failures import UserError
from agentrl.trainers.demonstrations import Row
from agentrl.trainers.sft import SFTProgress, SFTSettings, SFTState, learning_rate, pack, sft, sft_loss
from agentrl.trainers.tiny import TinyShape, new_tiny_policy

SHAPE = TinyShape(layers=2, hidden=16, heads=2, mlp=16, max_context=64)


def tiny(seed: int = 0) -> torch.nn.Module:
    return new_tiny_policy(["a b c d e f g h i j"], shape=SHAPE, seed=seed)[0]


def row(*tokens: int) -> Row:
    """Negative numbers are tokens that the policy said."""
    return Row(np.abs(np.array(tokens, np.int64)), np.array(tokens) < 0)


def batches(step: int) -> list[Row]:
    rng = np.random.default_rng([5, step])
    return [Row(rng.integers(1, 19, n), np.arange(n) > 2) for n in rng.integers(4, 12, size=6)]


def test_pack_by_hand() -> None:
    packed = pack([row(1, 2, -3), row(4, -5, -6, 7), row(8, -9)], width=5)
    assert packed.ids.tolist() == [[4, 5, 6, 7, 0], [1, 2, 3, 8, 9]]
    assert packed.positions.tolist() == [[0, 1, 2, 3, 0], [0, 1, 2, 0, 1]]
    assert packed.sampled.tolist() == [[False, True, True, False, False], [False, False, True, False, True]]
    assert packed.real.tolist() == [[True, True, True, True, False], [True] * 5]


def test_loss_is_that_of_each_row_alone() -> None:
    model = tiny()
    rows = [row(3, 4, -5, -6, 7, -8), row(9, -10, 11), row(12, 13, 14, -15)]
    own, shown = [], []
    for item in rows:
        ids = torch.from_numpy(item.ids)
        logs = model(input_ids=ids[None]).logits[0].log_softmax(-1)
        for position in range(1, len(ids)):
            (own if item.sampled[position] else shown).append(-logs[position - 1, ids[position]])
    expected = (sum(own) + 0.25 * sum(shown)) / len(own)
    for width in (4, 8, 64):
        loss, policy_loss = sft_loss(model, rows, SFTSettings(observation_weight=0.25, width=width))
        assert loss.item() == pytest.approx(expected.item(), abs=1e-5)
        assert policy_loss == pytest.approx(sum(own).item() / len(own), abs=1e-5)
    loss, policy_loss = sft_loss(model, rows, SFTSettings(observation_weight=0.0))
    assert loss.item() == policy_loss == pytest.approx(sum(own).item() / len(own), abs=1e-5)


def test_learning_rate_by_hand() -> None:
    settings = SFTSettings(steps=100, lr=1.0, warmup=10, decay=20, final_lr=0.5)
    assert [learning_rate(settings, step) for step in (1, 5, 10, 50, 80, 90, 100)] == pytest.approx(
        [0.1, 0.5, 1.0, 1.0, 1.0, 0.75, 0.5]
    )
    settings = replace(settings, tail=10)
    assert [learning_rate(settings, step) for step in (70, 80, 90, 100)] == pytest.approx(
        [1.0, 0.75, 0.5, 0.5]
    )
    assert learning_rate(replace(settings, decay=0), 100) == 1.0


def test_a_row_is_learned_by_heart() -> None:
    model, lines = tiny(), []
    rows = [row(3, 4, 5, -6, -7, -8), row(4, 3, 5, -9, -2)]
    sft(model, lambda step: rows, SFTSettings(steps=60, lr=1e-2, warmup=0), progress=lines.append)
    assert lines[0].loss > 2 > 0.1 > lines[-1].loss
    assert lines[-1] == SFTProgress(60, 60, lines[-1].loss, 60 * 11)


def test_interrupted_is_uninterrupted_bit_by_bit() -> None:
    settings = SFTSettings(steps=8, lr=1e-2, warmup=2, decay=4)
    whole = tiny()
    sft(whole, batches, settings)
    halves = tiny()
    state = sft(halves, batches, settings, until=3)
    assert (state.step, settings.steps) == (3, 8)
    state = SFTState(state.step, copy.deepcopy(state.optimizer), state.tokens)
    sft(halves, batches, settings, state=state)
    assert all(torch.equal(a, b) for a, b in zip(whole.parameters(), halves.parameters(), strict=True))
    assert not torch.equal(whole.lm_head.weight, tiny().lm_head.weight)


def test_a_policy_that_says_nothing_is_refused() -> None:
    with pytest.raises(UserError, match="says nothing"):
        sft_loss(tiny(), [row(1, 2, 3)], SFTSettings())


def test_a_demonstration_longer_than_the_context_is_refused() -> None:
    with pytest.raises(UserError, match="65 tokens outgrows the model's context of 64"):
        sft(tiny(), lambda step: [Row(np.ones(65, np.int64), np.arange(65) > 2)], SFTSettings(steps=1))
