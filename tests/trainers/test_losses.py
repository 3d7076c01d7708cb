"""Token losses, KL estimators and aggregates against the golden numbers, values and gradients."""

import json
from pathlib import Path

import numpy as np
import pytest
import torch

from agentrl.core.failures import UnknownName, UserError
from agentrl.inference.distribution import log_distribution
from agentrl.inference.engine import Sampling
from agentrl.trainers.aggregate import token_weights
from agentrl.trainers.kl import ESTIMATORS
from agentrl.trainers.loss.clip import clip
from agentrl.trainers.loss.reinforce import reinforce
from agentrl.trainers.rows import Row

GOLDEN = Path(__file__).parents[1] / "golden"


def golden(name: str) -> dict[str, dict]:
    return {case["id"]: case for case in json.loads((GOLDEN / name).read_text())["cases"]}


G03, G04 = golden("g03_policy_losses.json"), golden("g04_kl_entropy.json")


def row(mask: list[int], turn: list[int] | None = None) -> Row:
    """A row whose mask and turns alone matter."""
    n = len(mask)
    node = np.asarray(turn if turn is not None else [0 if m else -1 for m in mask])
    return Row(np.zeros(n, np.int64), np.asarray(mask, bool), np.zeros(n), np.zeros(n), node, 0, 0)


def total(name: str, values: list[list[float]], rows: list[Row], **params: float) -> float:
    weights = token_weights(name, rows, **params)
    return float(sum((w * np.asarray(x)).sum() for w, x in zip(weights, values, strict=True)))


@pytest.mark.parametrize(
    ("case", "loss", "params"),
    [
        ("ppo_clip_0.2", clip, {"eps_low": 0.2, "eps_high": 0.2}),
        ("ppo_clip_higher_0.2_0.28", clip, {}),
        ("ppo_dual_clip_c1.1", clip, {"eps_low": 0.2, "eps_high": 0.2, "dual": 1.1}),
        ("gpg_or_plain_reinforce", reinforce, {}),
    ],
)
def test_token_losses_and_gradients_reproduce_the_golden_numbers(case, loss, params):
    inputs, outputs = G03[case]["inputs"], G03[case]["outputs"]
    mask = torch.tensor(inputs["mask"], dtype=torch.bool)
    new = torch.tensor(inputs["logp_new"], dtype=torch.float64)[mask].requires_grad_()
    old = torch.tensor(inputs["logp_old"], dtype=torch.float64)[mask]
    losses, clipped = loss(new, old, torch.tensor(inputs["adv"], dtype=torch.float64)[mask], **params)
    losses.sum().backward()
    want, slope = (
        torch.tensor(outputs[key], dtype=torch.float64)[mask] for key in ("token_loss", "token_grad")
    )
    torch.testing.assert_close(losses.detach(), want, atol=1e-10, rtol=0)
    torch.testing.assert_close(new.grad, slope, atol=1e-10, rtol=0)
    assert clipped.tolist() == (slope == 0).tolist()

    filled = torch.zeros(mask.shape, dtype=torch.float64)
    filled[mask] = losses.detach()
    rows = [row(m, t) for m, t in zip(inputs["mask"], inputs["turn"], strict=True)]
    names = {
        "token-mean": "token_mean",
        "seq-mean-token-mean": "sequence_mean",
        "seq-mean-token-sum": "sequence_sum",
    }
    for published, name in names.items():
        if published in outputs:
            assert total(name, filled.tolist(), rows) == pytest.approx(outputs[published], abs=1e-10)


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


@pytest.mark.parametrize("name", ["k1", "k2", "k3"])
def test_kl_estimators_reproduce_the_golden_numbers(name):
    inputs, outputs = G04["kl_estimators"]["inputs"], G04["kl_estimators"]["outputs"]
    logp = torch.tensor(inputs["logp"], dtype=torch.float64, requires_grad=True)
    values = ESTIMATORS[name](logp, torch.tensor(inputs["ref"], dtype=torch.float64))
    values.sum().backward()
    assert values.tolist() == pytest.approx(outputs[name], abs=1e-10)
    assert logp.grad.tolist() == pytest.approx(outputs["grad"][name], abs=1e-10)


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


def test_the_entropy_of_the_sampling_distribution():
    case = G04["entropy_value_and_logit_grad"]
    logits = torch.tensor(case["inputs"]["logits"], requires_grad=True)
    logp = log_distribution(logits, Sampling())
    entropy = -(logp.exp() * logp).sum()
    entropy.backward()
    assert float(entropy.detach()) == pytest.approx(case["outputs"]["entropy"], abs=1e-6)
    assert logits.grad.tolist() == pytest.approx(case["outputs"]["grad"], abs=1e-6)


def test_aggregates_reproduce_the_golden_numbers():
    inputs, outputs = G03["aggregators"]["inputs"], G03["aggregators"]["outputs"]
    rows = [row(m, t) for m, t in zip(inputs["mask"], inputs["turn"], strict=True)]
    x = inputs["x"]
    assert total("token_mean", x, rows) == pytest.approx(outputs["token-mean"])
    assert total("sequence_mean", x, rows) == pytest.approx(outputs["seq-mean-token-mean"])
    assert total("sequence_sum", x, rows) == pytest.approx(outputs["seq-mean-token-sum"])
    assert total("turn_mean", x, rows) == pytest.approx(outputs["turn-mean"])
    dr_grpo = outputs["sum-over-B*const (Dr.GRPO, B=3 counts the empty row)"]
    assert total("constant", x, rows, length=inputs["const"]) == pytest.approx(dr_grpo)


def test_the_denominator_is_the_whole_batch_however_it_is_cut():
    inputs, outputs = (G03["microbatch_denominator_pitfall"][key] for key in ("inputs", "outputs"))
    rows = [row(m) for m in inputs["mask"]]
    parts = [w * np.asarray(x) for w, x in zip(token_weights("token_mean", rows), inputs["x"], strict=True)]
    assert sum(p.sum() for p in parts) == pytest.approx(outputs["full"])
    assert parts[0].sum() + (parts[1].sum() + parts[2].sum()) == pytest.approx(
        outputs["sum_over_global_count"]
    )


def test_every_mean_weighs_one_in_total():
    rows = [row([0, 1, 1, 0, 1], [-1, 0, 0, -1, 1]), row([0, 1], [-1, 0])]
    for name in ("token_mean", "sequence_mean", "turn_mean"):
        assert sum(w.sum() for w in token_weights(name, rows)) == pytest.approx(1.0)
    assert sum(w.sum() for w in token_weights("sequence_sum", rows)) == pytest.approx(2.0)


def test_unknown_aggregates_and_missing_lengths_are_said():
    with pytest.raises(UnknownName, match="token_mean"):
        token_weights("tokenmean", [row([0, 1])])
    with pytest.raises(UserError, match="length"):
        token_weights("constant", [row([0, 1])])
