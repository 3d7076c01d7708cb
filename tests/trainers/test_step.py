"""The optimizer's step by hand: what KL and entropy add to the gradient, and that only the rows decide the numbers."""

import copy
from dataclasses import replace

import numpy as np
import pytest
import torch
from transformers import LlamaConfig, LlamaForCausalLM

from agentrl.core.messages import assistant, user
from agentrl.core.tree import RolloutTree, Task, Turn
from agentrl.inference.distribution import log_distribution
from agentrl.inference.engine import Sampling
from agentrl.trainers.aggregate import token_weights
from agentrl.trainers.loss.clip import clip
from agentrl.trainers.rows import Row, rows_of
from agentrl.trainers.step import StepSettings, policy_step, score
from agentrl.trainers.world import World

VOCABULARY = 50


@pytest.fixture(autouse=True)
def one_thread():
    before = torch.get_num_threads()
    torch.set_num_threads(1)
    yield
    torch.set_num_threads(before)


def network(seed: int = 0) -> LlamaForCausalLM:
    with torch.random.fork_rng(devices=[]):
        torch.manual_seed(seed)
        shape = {"hidden_size": 16, "intermediate_size": 24, "num_hidden_layers": 1, "num_attention_heads": 2}
        return LlamaForCausalLM(LlamaConfig(vocab_size=VOCABULARY, initializer_range=0.3, **shape)).eval()


def made(advantage: float | None = None) -> list[Row]:
    """Rows of 1 to 3 turns; behaviour log-probabilities near the policy's, so that some ratios are clipped."""
    rng = np.random.default_rng(0)
    tree = RolloutTree(Task("env", 0))
    for episode in range(6):
        parent = None
        for turn in range(1 + episode % 3):
            said = tuple(rng.integers(0, VOCABULARY, 2 + 2 * episode).tolist())
            parent = tree.add(
                Turn(
                    id=0,
                    parent=parent,
                    observation=(user("o"),),
                    action=assistant("a"),
                    context_ids=tuple(rng.integers(0, VOCABULARY, 3).tolist()),
                    completion_ids=said,
                    logprobs=(0.0,) * len(said),
                    terminated=turn == episode % 3,
                )
            ).id
    given = rng.normal(size=len(tree)) if advantage is None else np.full(len(tree), advantage)
    rows = rows_of([tree], [given.tolist()])
    now = score(network(), rows, StepSettings(clip, Sampling()))
    drift = [rng.normal(scale=0.3, size=len(row)) * row.mask for row in rows]
    return [replace(row, logprobs=v + d) for row, v, d in zip(rows, now, drift, strict=True)]


def descended(rows: list[Row], **settings) -> tuple[dict, torch.Tensor]:
    """Metrics, and the gradient: the step of plain descent with learning rate 1."""
    reference = settings.pop("reference", None)
    model = network()
    before = torch.cat([p.detach().flatten().clone() for p in model.parameters()])
    chosen = StepSettings(**{"loss": clip, "sampling": Sampling(), "grad_clip": 0.0, **settings})
    optimizer = torch.optim.SGD(model.parameters(), lr=1.0)
    metrics = policy_step(model, optimizer, rows, chosen, reference=reference)
    return metrics, before - torch.cat([p.detach().flatten() for p in model.parameters()])


def distributions(model: LlamaForCausalLM, row: Row, sampling: Sampling) -> tuple[torch.Tensor, torch.Tensor]:
    """(log-probabilities of everything, of what was said) at the trained tokens of one row, alone and unpadded."""
    at = np.flatnonzero(row.mask)
    every = log_distribution(model(torch.from_numpy(row.ids)[None]).logits[0, at - 1], sampling)
    return every, every.gather(-1, torch.from_numpy(row.ids[at])[:, None]).squeeze(-1)


def gradient_of(model: LlamaForCausalLM, loss: torch.Tensor) -> torch.Tensor:
    return torch.cat([g.flatten() for g in torch.autograd.grad(loss, list(model.parameters()))])


@pytest.mark.parametrize("aggregate", ["token_mean", "sequence_mean", "turn_mean", "sequence_sum"])
def test_loss_and_gradient_are_those_of_the_formula(aggregate):
    rows, model = made(), network()
    total = torch.zeros(())
    clipped = tokens = 0
    for row, weight in zip(rows, token_weights(aggregate, rows), strict=True):
        _, said = distributions(model, row, Sampling())
        old, advantage = (
            torch.from_numpy(values[row.mask]).float() for values in (row.logprobs, row.advantages)
        )
        ratio = (said - old).exp()
        plain, bounded = ratio * advantage, ratio.clamp(0.8, 1.28) * advantage
        total = total - (torch.from_numpy(weight[row.mask]).float() * torch.minimum(plain, bounded)).sum()
        clipped += int((bounded < plain).sum())
        tokens += len(said)
    metrics, got = descended(rows, aggregate=aggregate)
    torch.testing.assert_close(got, gradient_of(model, total), atol=1e-6, rtol=1e-4)
    assert 0 < clipped < tokens
    if aggregate == "token_mean":
        assert metrics["loss"] == pytest.approx(float(total), abs=1e-6)
        assert metrics["clip_fraction"] == pytest.approx(clipped / tokens)


@pytest.mark.parametrize("sampling", [Sampling(), Sampling(temperature=0.7)], ids=["plain", "tempered"])
def test_kl_and_entropy_add_what_they_should(sampling):
    rows, model, reference = made(0.0), network(), network(1)
    distance, entropy, tokens = torch.zeros(()), torch.zeros(()), 0
    for row in rows:
        every, said = distributions(model, row, sampling)
        with torch.no_grad():
            _, anchor = distributions(reference, row, sampling)
        distance = distance + (0.5 * (said - anchor) ** 2).sum()
        entropy = entropy - (every.exp() * every).sum()
        tokens += len(said)
    want = gradient_of(model, (0.3 * distance - 0.2 * entropy) / tokens)
    metrics, got = descended(
        rows, kl="k2", kl_coef=0.3, entropy_coef=0.2, sampling=sampling, reference=reference
    )
    torch.testing.assert_close(got, want, atol=1e-5, rtol=1e-4)
    assert metrics["kl_reference"] == pytest.approx(float(distance) / tokens, rel=1e-4)
    assert metrics["entropy"] == pytest.approx(float(entropy) / tokens, rel=1e-4)


def test_metrics_do_not_depend_on_how_rows_are_cut_or_ordered():
    rows = made()
    whole, gradient = descended(rows, entropy_coef=0.1)
    order = np.random.default_rng(1).permutation(len(rows))
    for arranged, budget in ((rows, 1), (rows, 60), ([rows[i] for i in order], 60), (rows[::-1], 10_000)):
        metrics, got = descended(arranged, entropy_coef=0.1, tokens_per_microbatch=budget)
        assert metrics == pytest.approx(whole, abs=1e-5)
        torch.testing.assert_close(got, gradient, atol=1e-6, rtol=0)


def test_padding_takes_part_in_nothing():
    rows = made()
    assert len({len(row) for row in rows}) > 3
    together, alone = (
        score(network(), rows, StepSettings(clip, Sampling(), tokens_per_microbatch=budget))
        for budget in (100_000, 1)
    )
    for padded, plain, row in zip(together, alone, rows, strict=True):
        assert padded == pytest.approx(plain, abs=1e-6)
        assert (padded[~row.mask] == 0).all()
        _, said = distributions(network(), row, Sampling())
        assert padded[row.mask] == pytest.approx(said.tolist(), abs=1e-6)


def test_every_minibatch_is_one_optimizer_step_on_its_own_rows():
    rows = made()
    metrics, both = descended(rows, minibatches=2)
    assert metrics["optimizer_steps"] == 2
    model = network()
    for half in (rows[::2], rows[1::2]):
        settings = StepSettings(clip, Sampling(), grad_clip=0.0)
        policy_step(model, torch.optim.SGD(model.parameters(), lr=1.0), half, settings)
    start = torch.cat([p.detach().flatten() for p in network().parameters()])
    by_hand = start - torch.cat([p.detach().flatten() for p in model.parameters()])
    torch.testing.assert_close(both, by_hand, atol=1e-6, rtol=0)


def test_a_large_gradient_is_cut_to_its_norm():
    rows = made(1e3)
    metrics, got = descended(rows, grad_clip=0.5)
    assert metrics["grad_norm"] > 100
    assert float(got.norm()) == pytest.approx(0.5, rel=1e-4)


def test_a_world_of_one_shares_and_sums_nothing():
    world = World.current()
    assert (world.rank, world.size, list(world.share([3, 1, 2]))) == (0, 1, [3, 1, 2])
    tensor = torch.tensor([1.0, 2.0])
    world.sum_([tensor])
    world.barrier()
    assert tensor.tolist() == [1.0, 2.0]


def test_a_model_that_is_scored_is_left_as_it_was():
    model = network()
    before = copy.deepcopy(model.state_dict())
    score(model, made(), StepSettings(clip, Sampling()))
    assert all(torch.equal(value, before[name]) for name, value in model.state_dict().items())
    assert all(parameter.grad is None for parameter in model.parameters())
