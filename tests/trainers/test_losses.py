"""Token losses, KL estimators, entropy and aggregates at their edges. (Golden numbers: test_golden.py.)"""

import numpy as np
import pytest
import torch

from agentrl.core.failures import UnknownName, UserError
from agentrl.inference.distribution import log_distribution
from agentrl.inference.engine import Sampling
from agentrl.trainers.aggregate import token_weights
from agentrl.trainers.entropy import bonus, entropy
from agentrl.trainers.kl import ESTIMATORS
from agentrl.trainers.loss.clip import clip
from agentrl.trainers.rows import Row


def row(mask: list[int], turn: list[int] | None = None, leaf: int = 0) -> Row:
    """A row whose mask, turns and episode alone matter."""
    n = len(mask)
    node = np.asarray(turn if turn is not None else [0 if m else -1 for m in mask])
    return Row(
        np.zeros(n, np.int64), np.asarray(mask, bool), np.zeros(n), np.zeros(n), node, node, node, 0, leaf
    )


def test_a_ratio_of_one_is_never_clipped():
    new = torch.tensor([-0.5, -2.0], requires_grad=True)
    losses, clipped = clip(new, new.detach(), torch.tensor([1.0, -3.0]))
    losses.sum().backward()
    assert not clipped.any()
    assert new.grad.tolist() == [-1.0, 3.0]


def test_a_ratio_beyond_bounds_stays_a_number():
    new = torch.tensor([-1e4, 0.0], requires_grad=True)
    losses, _ = clip(new, torch.tensor([0.0, -1e4]), torch.tensor([1.0, -1.0]))
    losses.sum().backward()
    assert torch.isfinite(losses).all()
    assert torch.isfinite(new.grad).all()


def test_expected_gradients_of_the_kl_estimators_by_enumeration():
    # Three tokens. As a loss: k1 pushes nowhere, k2 along the reverse KL, k3 along the forward KL.
    logits = torch.tensor([0.2, -0.4, 1.0], dtype=torch.float64, requires_grad=True)
    reference = torch.log_softmax(torch.tensor([1.0, 0.0, -0.5], dtype=torch.float64), 0)

    def gradient(value: torch.Tensor) -> list[float]:
        return torch.autograd.grad(value, logits, retain_graph=True)[0].tolist()

    logp = torch.log_softmax(logits, 0)
    p = logp.detach().exp()
    reverse = gradient((logp.exp() * (logp - reference)).sum())
    forward = gradient((reference.exp() * (reference - logp)).sum())
    assert gradient((p * ESTIMATORS["k1"](logp, reference)).sum()) == pytest.approx([0, 0, 0], abs=1e-12)
    assert gradient((p * ESTIMATORS["k2"](logp, reference)).sum()) == pytest.approx(reverse, abs=1e-12)
    assert gradient((p * ESTIMATORS["k3"](logp, reference)).sum()) == pytest.approx(forward, abs=1e-12)


def test_what_cannot_be_sampled_has_no_entropy_and_no_gradient():
    # The two likeliest of three: p = 1/4 and 3/4.
    logits = torch.tensor([0.0, np.log(3.0), -1.0], dtype=torch.float64, requires_grad=True)
    value = entropy(log_distribution(logits, Sampling(top_k=2)))
    value.backward()
    assert float(value.detach()) == pytest.approx(0.25 * np.log(4) + 0.75 * np.log(4 / 3), abs=1e-6)
    slope = -0.25 * (np.log(0.25) + float(value.detach()))
    assert logits.grad.tolist() == pytest.approx([slope, -slope, 0.0], abs=1e-6)


def test_the_bonus_lowers_the_loss_of_uncertain_tokens():
    assert bonus(torch.tensor([0.5, 2.0]), coef=0.1).tolist() == pytest.approx([-0.05, -0.2])


def test_every_mean_weighs_one_in_total():
    rows = [row([0, 1, 1, 0, 1], [-1, 0, 0, -1, 1]), row([0, 1], [-1, 0], leaf=1)]
    for name in ("token_mean", "sequence_mean", "turn_mean"):
        assert sum(w.sum() for w in token_weights(name, rows)) == pytest.approx(1.0)
    assert sum(w.sum() for w in token_weights("sequence_sum", rows)) == pytest.approx(2.0)


def test_an_episode_cut_into_rows_is_one_sequence():
    # Episode 0 in rows of 1 and 3 tokens, episode 1 in one row of 2, episode 2 with nothing to train.
    rows = [row([0, 1]), row([0, 1, 1, 1]), row([0, 1, 1], leaf=1), row([0], leaf=2)]
    sums = {
        name: [float(w.sum()) for w in token_weights(name, rows)]
        for name in ("sequence_mean", "sequence_sum")
    }
    assert sums["sequence_mean"] == pytest.approx([1 / 8, 3 / 8, 1 / 2, 0])
    assert sums["sequence_sum"] == pytest.approx([1 / 2, 3 / 2, 1, 0])
    constant = [float(w.sum()) for w in token_weights("constant", rows, length=5)]
    assert constant == pytest.approx([1 / 15, 3 / 15, 2 / 15, 0])


def test_unknown_aggregates_and_missing_lengths_are_said():
    with pytest.raises(UnknownName, match="token_mean"):
        token_weights("tokenmean", [row([0, 1])])
    with pytest.raises(UserError, match="length"):
        token_weights("constant", [row([0, 1])])
