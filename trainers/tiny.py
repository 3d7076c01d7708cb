"""Small policies from nothing: an ordinary Llama of about a million parameters and a word-level tokenizer.

What `new_tiny_policy` makes is a `transformers` model like any other; only its codec is ours. The sizes are
those that learned to copy from context in two CPU minutes: two layers, or half the batch, did not.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from agentrl.core.failures import MissingExtra, UserError
from agentrl.inference.codecs.words import WordCodec, build_tokenizer

if TYPE_CHECKING:
    from transformers import LlamaForCausalLM


@dataclass(frozen=True, slots=True)
class TinyShape:
    """Sizes of a small policy.

    Attributes:
        layers: transformer blocks; copying from context needs three.
        hidden: width, a multiple of `heads`.
        heads: attention heads.
        mlp: width of the feed-forward layers.
        max_context: most tokens of prompt and completion together.
        init_std: standard deviation of the initial weights; at 0.02 or 0.1 copying is learned later.
    """

    layers: int = 3
    hidden: int = 128
    heads: int = 4
    mlp: int = 384
    max_context: int = 512
    init_std: float = 0.05


def new_tiny_policy(
    texts: Iterable[str],
    names: Iterable[str] = (),
    *,
    shape: TinyShape | None = None,
    seed: int = 0,
    show_system: bool = True,
) -> tuple[LlamaForCausalLM, WordCodec]:
    """An untrained policy with a token for every word of `texts` and every name in `names`.

    Args:
        texts: what the policy may read or say: questions, passages, tool and parameter names.
        names: expressions that become one token each.
        shape: sizes; the defaults give 0.8 M parameters with 1,200 words.
        seed: decides the weights, whatever else was drawn before.
        show_system: whether the policy is shown system messages.

    Raises:
        MissingExtra: torch or transformers is not installed.
        UserError: sizes that do not fit together.
    """
    shape = shape or TinyShape()
    if shape.hidden % (2 * shape.heads):
        raise UserError(f"hidden {shape.hidden} must be a multiple of twice the {shape.heads} heads")
    try:
        import torch
        from transformers import LlamaConfig, LlamaForCausalLM
    except ModuleNotFoundError as error:
        raise MissingExtra("train", "making a small policy") from error

    tokenizer = build_tokenizer(texts, names)
    own: dict[str, Any] = {"agentrl_codec": WordCodec.name, "agentrl_show_system": show_system}
    config = LlamaConfig(
        vocab_size=len(tokenizer),
        hidden_size=shape.hidden,
        intermediate_size=shape.mlp,
        num_hidden_layers=shape.layers,
        num_attention_heads=shape.heads,
        max_position_embeddings=shape.max_context,
        initializer_range=shape.init_std,
        tie_word_embeddings=True,
        pad_token_id=tokenizer.pad_token_id,
        bos_token_id=None,
        eos_token_id=tokenizer.eos_token_id,
        **own,
    )
    with torch.random.fork_rng(devices=[]):
        torch.manual_seed(seed)
        model = LlamaForCausalLM(config)
    return model, WordCodec(tokenizer, show_system=show_system)
