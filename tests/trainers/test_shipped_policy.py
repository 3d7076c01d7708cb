"""The policy that ships: small, whole, installed with the package, and half able."""

from __future__ import annotations

import tomllib

import pytest
import torch

from agentrl.core.registry import make
from agentrl.trainers.cold_start import PLANS
from agentrl.trainers.config import RECIPES
from agentrl.trainers.demonstrations import demonstrate
from agentrl.trainers.models import ASSETS, load_policy, shipped_policies

NAME, PLAN = "tiny-search", PLANS["search-tiny"]


def test_every_data_file_of_the_trainers_is_installed() -> None:
    patterns = tomllib.loads((ASSETS.parents[1] / "pyproject.toml").read_text())["tool"]["setuptools"][
        "package-data"
    ]
    installed = {path for pattern in patterns["agentrl.trainers"] for path in ASSETS.parent.glob(pattern)}
    data = {path for place in (ASSETS, RECIPES) for path in place.rglob("*") if path.is_file()}
    assert data
    assert data <= installed


def test_it_ships_in_at_most_four_megabytes() -> None:
    assert NAME in shipped_policies()
    assert sum(path.stat().st_size for path in (ASSETS / NAME).iterdir()) <= 4_000_000


def test_it_has_the_shape_of_its_plan() -> None:
    model, codec = load_policy(NAME, device="cpu")
    shape = PLAN.shape
    config = model.config
    assert (
        config.num_hidden_layers,
        config.hidden_size,
        config.num_attention_heads,
        config.intermediate_size,
    ) == (
        shape.layers,
        shape.hidden,
        shape.heads,
        shape.mlp,
    )
    assert config.max_position_embeddings == shape.max_context
    assert codec.show_system == PLAN.show_system
    assert config.vocab_size == len(codec.tokenizer)


@pytest.mark.slow
def test_it_copies_well_and_decides_badly() -> None:
    """Along correct demonstrations of held-out tasks: what it would say, and whether it would go on searching."""
    model, codec = load_policy(NAME, device="cpu")
    model.eval()
    env = make("Search-v0", split="test", top_k=1)
    search, answer = codec.tokenizer.convert_tokens_to_ids(["search", "answer"])
    said, went_on = [], []
    with torch.no_grad():
        for seed in range(60):
            (row,) = demonstrate(env, codec, seed=seed)
            ids = torch.from_numpy(row.ids)
            probability = model(ids[None]).logits[0, :-1].softmax(-1).gather(-1, ids[1:, None])[:, 0]
            own = torch.from_numpy(row.sampled)[1:]
            decision = own & ((ids[1:] == search) | (ids[1:] == answer))
            said += probability[own & ~decision].tolist()
            went_on += probability[own & (ids[1:] == search)].tolist()[1:]
    assert sum(said) / len(said) > 0.97
    assert sum(went_on) / len(went_on) < 0.5
