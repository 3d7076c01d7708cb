"""Small policies: ordinary model folders, the same for the same seed, and loud when a folder is not one."""

from __future__ import annotations

from pathlib import Path

import pytest
import torch

from agentrl.core.failures import UserError
from agentrl.core.messages import user
from agentrl.trainers.models import load_policy, load_weights_into, save_policy, shipped_policies
from agentrl.trainers.tiny import TinyShape, new_tiny_policy

SHAPE = TinyShape(layers=1, hidden=16, heads=2, mlp=16, max_context=64)
TEXTS, NAMES = ["what is the capital of"], ["Mali", "Burkina Faso"]


def new(seed: int = 0, **kwargs):
    return new_tiny_policy(TEXTS, NAMES, shape=SHAPE, seed=seed, **kwargs)


def same(a, b) -> bool:
    return all(torch.equal(x, y) for x, y in zip(a.parameters(), b.parameters(), strict=True))


def test_the_default_shape_has_about_a_million_parameters() -> None:
    model, codec = new_tiny_policy([" ".join(f"w{i}" for i in range(1190))])
    assert len(codec.tokenizer) == 1200
    # embeddings; per block four square attention matrices, three of the MLP, two norms; the last norm
    assert (
        sum(p.numel() for p in model.parameters())
        == 1200 * 128 + 3 * (4 * 128**2 + 3 * 128 * 384 + 256) + 128
    )


def test_the_seed_decides_the_weights_and_nothing_else_moves() -> None:
    torch.manual_seed(3)
    before = torch.random.get_rng_state()
    assert same(new(1)[0], new(1)[0])
    assert not same(new(1)[0], new(2)[0])
    assert torch.equal(before, torch.random.get_rng_state())


def test_saved_policy_is_an_ordinary_folder(tmp_path: Path) -> None:
    from transformers import AutoModelForCausalLM, AutoTokenizer

    model, codec = new(show_system=False)
    folder = save_policy(model, codec, tmp_path / "policy")
    assert same(model, AutoModelForCausalLM.from_pretrained(folder))
    assert AutoTokenizer.from_pretrained(folder)("the capital of burkina faso").input_ids == list(
        codec.start((user("the capital of Burkina Faso"),), ())[1:-1]
    )
    again, its_codec = load_policy(folder, device="cpu")
    assert same(model, again)
    assert (its_codec.name, its_codec.show_system) == ("words", False)
    save_policy(again, its_codec, folder, dtype=torch.float16)  # over the old one
    assert [path.name for path in tmp_path.iterdir()] == ["policy"]
    assert load_policy(folder, device="cpu", dtype="float16")[0].dtype == torch.float16


def test_weights_go_into_a_model_in_place(tmp_path: Path) -> None:
    model, codec = new(1)
    save_policy(model, codec, tmp_path / "policy")
    other = new(2)[0]
    load_weights_into(other, tmp_path / "policy")
    assert same(model, other)
    with pytest.raises(UserError, match="do not fit"):
        load_weights_into(new_tiny_policy(["a"], shape=SHAPE)[0], tmp_path / "policy")


def test_a_folder_with_something_else_is_left_alone(tmp_path: Path) -> None:
    (tmp_path / "thesis.txt").write_text("years of work")
    with pytest.raises(UserError, match="not a policy folder"):
        save_policy(*new(), tmp_path)
    assert [path.name for path in tmp_path.iterdir()] == ["thesis.txt"]


def test_what_is_not_a_model_is_one_sentence(tmp_path: Path) -> None:
    with pytest.raises(UserError, match="is not a model folder"):
        load_policy(tmp_path)
    with pytest.raises(UserError, match="no model at"):
        load_policy(tmp_path / "nowhere")
    (tmp_path / "file").write_text("")
    with pytest.raises(UserError, match="is a file"):
        load_policy(tmp_path / "file")
    folder = save_policy(*new(), tmp_path / "policy")
    weights = folder / "model.safetensors"
    weights.write_bytes(weights.read_bytes()[:100])
    with pytest.raises(UserError, match="can be loaded"):
        load_policy(folder)
    weights.unlink()
    with pytest.raises(UserError, match="can be loaded"):
        load_policy(folder)


def test_heads_that_do_not_divide_the_width() -> None:
    with pytest.raises(UserError, match="multiple"):
        new_tiny_policy(TEXTS, shape=TinyShape(hidden=24, heads=8))


def test_a_name_that_is_nearly_a_shipped_policy() -> None:
    for name in shipped_policies():
        with pytest.raises(UserError, match=f"did you mean '{name}'"):
            load_policy(name + "x")


def test_lora_trains_only_its_adapter_and_is_saved_as_one(tmp_path: Path) -> None:
    pytest.importorskip("peft")
    model, codec = new()
    base = save_policy(model, codec, tmp_path / "base")
    lora, codec = load_policy(base, device="cpu", lora_rank=2)
    trainable = [name for name, p in lora.named_parameters() if p.requires_grad]
    assert trainable
    assert all("lora_" in name for name in trainable)
    with torch.no_grad():
        for _, parameter in lora.named_parameters():
            if parameter.requires_grad:
                parameter.add_(0.5)
    folder = save_policy(lora, codec, tmp_path / "adapter")
    again, _ = load_policy(folder, device="cpu")
    fresh, _ = load_policy(base, device="cpu", lora_rank=2)
    load_weights_into(fresh, folder)
    ids = torch.tensor([[3, 4, 5]])
    assert torch.equal(lora(ids).logits, again(ids).logits)
    assert torch.equal(lora(ids).logits, fresh(ids).logits)
    assert not torch.equal(lora(ids).logits, model(ids).logits)
