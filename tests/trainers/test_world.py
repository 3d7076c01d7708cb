"""Ranks: two processes that share the rows of a batch make the step of one that has them all."""

from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch
from transformers import LlamaConfig, LlamaForCausalLM

from agentrl.inference.engine import Sampling
from agentrl.trainers.loss.clip import clip
from agentrl.trainers.rows import Row
from agentrl.trainers.step import StepSettings, policy_step
from agentrl.trainers.world import World

RANKS = 2


def model() -> LlamaForCausalLM:
    with torch.random.fork_rng(devices=[]):
        torch.manual_seed(0)
        shape = {"hidden_size": 16, "intermediate_size": 24, "num_hidden_layers": 1, "num_attention_heads": 2}
        return LlamaForCausalLM(LlamaConfig(vocab_size=23, initializer_range=0.3, **shape)).eval()


def some_rows(count: int) -> list[Row]:
    """Rows of different lengths, near enough to the policy that some ratios are clipped and some not."""
    rng = np.random.default_rng(count)
    out = []
    for leaf in range(count):
        n = 4 + 3 * leaf
        node = np.where(np.arange(n) < 2, -1, 0)
        ids, values = rng.integers(0, 23, n), rng.normal(size=n) * (node == 0)
        out.append(Row(ids, node == 0, (-3 + values) * (node == 0), values, node, node, node, 0, leaf))
    return out


def step(count: int) -> tuple[dict[str, Any], torch.Tensor]:
    """Metrics and weights after one pass in two minibatches over `count` rows."""
    policy = model()
    settings = StepSettings(
        clip, Sampling(), aggregate="sequence_mean", entropy_coef=0.1, minibatches=2, grad_clip=0.5
    )
    optimizer = torch.optim.SGD(policy.parameters(), lr=1.0)
    metrics = policy_step(policy, optimizer, some_rows(count), settings)
    return metrics, torch.cat([parameter.detach().flatten() for parameter in policy.parameters()])


def work(rank: int, folder: str) -> None:
    torch.set_num_threads(1)
    torch.distributed.init_process_group(
        "gloo", init_method=f"file://{folder}/meet", rank=rank, world_size=RANKS
    )
    world = World.current()
    assert (world.rank, world.size) == (rank, RANKS)
    world.barrier()
    torch.save({count: step(count) for count in (1, 5)}, f"{folder}/{rank}.pt")
    torch.distributed.destroy_process_group()


@pytest.mark.slow
def test_ranks_make_the_step_of_one_process(tmp_path: Path):
    """Also where a rank has no row of a minibatch, or none at all."""
    torch.multiprocessing.spawn(work, (str(tmp_path),), nprocs=RANKS)
    ranks = [torch.load(tmp_path / f"{rank}.pt") for rank in range(RANKS)]
    for count in (1, 5):
        metrics, weights = step(count)
        assert metrics["optimizer_steps"] == min(count, 2)
        for found, moved in (rank[count] for rank in ranks):
            torch.testing.assert_close(moved, weights, atol=1e-6, rtol=0)
            assert found == pytest.approx(metrics, rel=1e-5, abs=1e-6)
        assert torch.equal(ranks[0][count][1], ranks[1][count][1])


def test_alone_every_operation_does_nothing():
    world, tensor = World.current(), torch.tensor([1.0, 2.0])
    world.sum_([tensor])
    world.max_([tensor])
    world.barrier()
    assert (world, tensor.tolist()) == (World(0, 1), [1.0, 2.0])
    assert list(world.share([1, 2, 3])) == [1, 2, 3]


def test_shares_are_a_partition():
    shares = [World(rank, 3).share(range(8)) for rank in range(3)]
    assert sorted(item for share in shares for item in share) == list(range(8))
    assert max(map(len, shares)) - min(map(len, shares)) <= 1
