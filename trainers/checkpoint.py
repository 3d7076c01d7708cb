"""Checkpoints: a folder that is there whole or not at all, and is itself a policy folder.

`checkpoints/step-000010/` holds `policy/` (weights, tokenizer, config: usable with `--model`),
`optimizer.pt` and `state.json`. Randomness needs no state: every draw is a function of the recipe's seed
and the step. Rollouts since the last checkpoint are in the store, and their updates are replayed.
"""

from __future__ import annotations

import hashlib
import json
import os
import shutil
from collections.abc import Iterable
from pathlib import Path
from typing import TYPE_CHECKING, Any

from agentrl.core.failures import UserError
from agentrl.trainers.models import load_weights_into, write_policy, writing

if TYPE_CHECKING:
    import torch

    from agentrl.inference.codec import Codec

FOLDER = "checkpoints"


def save_checkpoint(
    run: Path,
    step: int,
    model: torch.nn.Module,
    codec: Codec,
    optimizer: torch.optim.Optimizer,
    *,
    keep: int,
) -> Path:
    """Write the checkpoint of a step, then remove all but the last `keep`.

    Raises:
        UserError: the folder cannot be written or the disk is full; older checkpoints are untouched then.
    """
    import torch

    final = run / FOLDER / f"step-{step:06d}"
    partial = final.with_name(final.name + ".partial")
    shutil.rmtree(partial, ignore_errors=True)
    try:
        with writing(f"the checkpoint of step {step}", final):
            (partial / "policy").mkdir(parents=True)
            write_policy(model, codec, partial / "policy")
            with open(partial / "optimizer.pt", "wb") as file:
                torch.save(optimizer.state_dict(), file)
            (partial / "state.json").write_text(json.dumps({"step": step, "sha256": weights_sha256(model)}))
            shutil.rmtree(final, ignore_errors=True)
            os.replace(partial, final)
    finally:
        shutil.rmtree(partial, ignore_errors=True)
    for old in all_checkpoints(run)[:-keep]:
        shutil.rmtree(old, ignore_errors=True)
    return final


def all_checkpoints(run: Path) -> list[Path]:
    """Complete checkpoints of a run, oldest first."""
    return sorted(path for path in (run / FOLDER).glob("step-*") if path.suffix != ".partial")


def load_checkpoint(folder: Path, model: torch.nn.Module, optimizer: torch.optim.Optimizer) -> int:
    """Bring model and optimizer to a checkpoint; returns its step.

    Raises:
        UserError: the weights are not those that were saved.
    """
    import torch

    state: dict[str, Any] = json.loads((folder / "state.json").read_text())
    load_weights_into(model, folder / "policy")
    optimizer.load_state_dict(torch.load(folder / "optimizer.pt", weights_only=True))
    if weights_sha256(model) != state["sha256"]:
        raise UserError(
            f"the weights in {folder} are not those of step {state['step']}: the checkpoint is damaged"
        )
    return int(state["step"])


def weights_sha256(model: torch.nn.Module) -> str:
    """Fingerprint of all weights: equal exactly if every bit is."""
    return tensors_sha256(model.state_dict().items())


def tensors_sha256(named: Iterable[tuple[str, torch.Tensor]]) -> str:
    import torch

    total = hashlib.sha256()
    for name, tensor in sorted(named, key=lambda item: item[0]):
        total.update(name.encode())
        total.update(tensor.detach().cpu().contiguous().view(-1).view(torch.uint8).numpy().tobytes())
    return total.hexdigest()
