"""Policies on disk: load one by name, folder or hub name; save one whole or not at all.

A policy folder is an ordinary `transformers` folder (weights as safetensors, config, tokenizer), or a PEFT
adapter folder beside a tokenizer. Everything that saves a policy goes through `save_policy`.
"""

from __future__ import annotations

import json
import os
import shutil
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Any

from agentrl.core.failures import MissingExtra, UserError, nearest
from agentrl.inference.codec import Codec

if TYPE_CHECKING:
    import torch

ASSETS = Path(__file__).parent / "assets"
CONFIGS = ("config.json", "adapter_config.json")


def shipped_policies() -> list[str]:
    """Names of the policies that come with the package."""
    return sorted(path.parent.name for path in ASSETS.glob("*/config.json"))


def load_policy(
    name: str | Path,
    *,
    device: str = "auto",
    dtype: str = "auto",
    lora_rank: int = 0,
    gradient_checkpointing: bool = False,
) -> tuple[torch.nn.Module, Codec]:
    """A trainable policy and its codec.

    Args:
        name: a shipped policy (`tiny-search`), a policy folder, or a name on the model hub.
        device: `auto` takes a GPU if there is one.
        dtype: of the weights; `auto` is float32 on a CPU and bfloat16 on a GPU.
        lora_rank: 0 trains all weights; above 0, a fresh LoRA adapter on every linear layer does the learning.
        gradient_checkpointing: recompute activations in the backward pass instead of keeping them.

    Raises:
        MissingExtra: torch, transformers or peft is not installed.
        UserError: there is no such policy, or the folder is not one.
    """
    try:
        import torch

        from agentrl.inference.codecs import load_codec
    except ModuleNotFoundError as error:
        raise MissingExtra("train", "loading a model") from error

    place = find_policy(name)
    target = torch.device(pick_device(device))
    number = pick_dtype(dtype, target)
    model = _load_model(place, number).to(target)
    if lora_rank:
        model = _add_lora(model, lora_rank)
    if gradient_checkpointing:
        model.gradient_checkpointing_enable(gradient_checkpointing_kwargs={"use_reentrant": False})
        model.enable_input_require_grads()
    return model, load_codec(base_of(place))


def context_length(model: Any) -> int:
    """The most tokens that a model was made for."""
    return int(model.config.max_position_embeddings)


def find_policy(name: str | Path) -> str:
    """Where a policy is: a folder, or the name itself where only the hub can know it.

    Raises:
        UserError: a folder or file that is not a policy.
    """
    shipped = ASSETS / str(name)
    if str(name) in shipped_policies():
        return str(shipped)
    path = Path(name).expanduser()
    if path.is_dir():
        if not any((path / config).is_file() for config in CONFIGS):
            raise UserError(f"{path} is not a model folder: it holds neither {' nor '.join(CONFIGS)}")
        return str(path)
    if path.exists():
        raise UserError(f"{path} is a file; a model is a folder with config.json, weights and tokenizer")
    if str(name).startswith((".", "/", "~")) or str(name).count("/") != 1:
        close = nearest(str(name), shipped_policies())
        hint = f"; did you mean {close[0]!r}?" if close else ""
        raise UserError(
            f"no model at {str(name)!r}: not a shipped policy, not a folder, not a hub name{hint}"
        )
    return str(name)


def base_of(place: str) -> str:
    """The model that an adapter folder adapts; any other place itself."""
    file = Path(place) / "adapter_config.json"
    return str(json.loads(file.read_text())["base_model_name_or_path"]) if file.is_file() else place


def pick_device(device: str) -> str:
    import torch

    if device == "auto":
        return "cuda" if torch.cuda.is_available() else "cpu"
    if device.startswith("cuda") and not torch.cuda.is_available():
        raise UserError(f"device {device!r} was asked for, but torch sees no GPU")
    return device


def pick_dtype(dtype: str, device: torch.device) -> torch.dtype:
    import torch

    if dtype == "auto":
        return torch.bfloat16 if device.type == "cuda" else torch.float32
    found = getattr(torch, dtype, None)
    if not isinstance(found, torch.dtype) or not found.is_floating_point:
        raise UserError(f"unknown dtype {dtype!r}: float32, bfloat16 or float16")
    return found


def save_policy(model: Any, codec: Codec, folder: Path, *, dtype: torch.dtype | None = None) -> Path:
    """Write a policy folder that `load_policy` and `AutoModelForCausalLM` load; whole or not at all.

    Args:
        dtype: store the weights as this instead of what they are.

    Raises:
        UserError: the folder holds something else, or cannot be written; nothing is half-written then.
    """
    folder = Path(folder)
    if folder.exists() and not (folder.is_dir() and (not any(folder.iterdir()) or _is_policy(folder))):
        raise UserError(f"{folder} exists and is not a policy folder; it is left as it is")
    partial, old = folder.with_name(folder.name + ".partial"), folder.with_name(folder.name + ".old")
    shutil.rmtree(partial, ignore_errors=True)
    try:
        with writing("the policy", folder):
            partial.mkdir(parents=True)
            write_policy(model, codec, partial, dtype=dtype)
            if folder.exists():
                shutil.rmtree(old, ignore_errors=True)
                os.replace(folder, old)
            os.replace(partial, folder)
    finally:
        shutil.rmtree(partial, ignore_errors=True)
        shutil.rmtree(old, ignore_errors=True)
    return folder


def write_policy(model: Any, codec: Codec, folder: Path, *, dtype: torch.dtype | None = None) -> None:
    """The files of a policy into an empty folder; raises whatever the libraries raise."""
    state = None
    if dtype is not None:
        state = {name: tensor.detach().to(dtype) for name, tensor in model.state_dict().items()}
    with quiet():
        model.save_pretrained(folder, state_dict=state)
    codec.tokenizer.save_pretrained(folder)


@contextmanager
def writing(what: str, place: Path) -> Iterator[None]:
    """Say in one sentence that `what` cannot be written to `place`: a full disk, a read-only folder.

    Not every library raises an `OSError` then: those in Rust say `os error`, torch fails while it handles one.
    """
    try:
        yield
    except Exception as error:
        cause = error if isinstance(error, OSError) else error.__context__
        if isinstance(cause, OSError):
            reason = cause.strerror or str(cause)
        elif "os error" in str(error):
            reason = str(error)
        else:
            raise
        raise UserError(f"{what} cannot be written to {place}: {reason}") from error


def load_weights_into(model: torch.nn.Module, folder: Path) -> None:
    """Put the weights of a policy folder into a model of the same shape, in place.

    Raises:
        UserError: weights are missing, left over or of another shape.
    """
    from safetensors.torch import load_file

    if (folder / "adapter_config.json").is_file():
        from peft import set_peft_model_state_dict

        set_peft_model_state_dict(model, load_file(folder / "adapter_model.safetensors"))
        return
    state: dict[str, Any] = {}
    for file in sorted(folder.glob("*.safetensors")):
        state.update(load_file(file))
    try:
        missing, unexpected = model.load_state_dict(state, strict=False)
    except RuntimeError as error:
        raise UserError(
            f"the weights in {folder} do not fit the model: {str(error).splitlines()[-1].strip()}"
        ) from error
    tied = set(getattr(model, "all_tied_weights_keys", None) or ())
    if unexpected or set(missing) - tied:
        raise UserError(
            f"the weights in {folder} do not fit the model: missing {missing}, left over {unexpected}"
        )


def _is_policy(folder: Path) -> bool:
    return any((folder / config).is_file() for config in CONFIGS)


def _load_model(place: str, dtype: torch.dtype) -> Any:
    from safetensors import SafetensorError
    from transformers import AutoModelForCausalLM

    adapter = (Path(place) / "adapter_config.json").is_file()
    if adapter:
        try:
            from peft import AutoPeftModelForCausalLM
        except ModuleNotFoundError as error:
            raise MissingExtra("lora", "a LoRA adapter") from error
    try:
        with quiet():
            if adapter:
                return AutoPeftModelForCausalLM.from_pretrained(place, dtype=dtype, is_trainable=True)
            loaded: Any = AutoModelForCausalLM.from_pretrained(place, dtype=dtype, output_loading_info=True)
    except (OSError, ValueError, KeyError, RuntimeError, SafetensorError) as error:
        first = next(iter(str(error).strip().splitlines()), type(error).__name__)
        raise UserError(f"{place!r} is not a model that can be loaded: {first}") from error
    model, info = loaded
    if info["missing_keys"]:
        raise UserError(
            f"{place!r} is not a whole model: no weights for {', '.join(sorted(info['missing_keys'])[:3])}"
        )
    return model


@contextmanager
def quiet() -> Iterator[None]:
    """Without the progress bars of `transformers`: ours are shown instead."""
    from transformers.utils import logging

    shown = logging.is_progress_bar_enabled()
    logging.disable_progress_bar()
    try:
        yield
    finally:
        if shown:
            logging.enable_progress_bar()


def _add_lora(model: Any, rank: int) -> Any:
    try:
        from peft import LoraConfig, get_peft_model
    except ModuleNotFoundError as error:
        raise MissingExtra("lora", "LoRA training") from error

    return get_peft_model(
        model, LoraConfig(r=rank, lora_alpha=2 * rank, target_modules="all-linear", task_type="CAUSAL_LM")
    )
