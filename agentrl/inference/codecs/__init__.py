"""Codecs: between messages and the token ids of one model. `load_codec` finds the right one for a model folder."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

from agentrl.core.failures import UserError
from agentrl.inference.codec import Codec

CHATML = ("<|im_start|>", "<|im_end|>")
LLAMA_3 = ("<|start_header_id|>", "<|end_header_id|>", "<|eot_id|>")


def load_codec(place: str | Path) -> Codec:
    """The codec of a model folder or hub name.

    Raises:
        UserError: no tokenizer there, or one that says nothing of how a chat looks.
    """
    from transformers import AutoTokenizer

    config = Path(place) / "config.json"
    data = json.loads(config.read_text()) if config.is_file() else {}
    try:
        tokenizer: Any = AutoTokenizer.from_pretrained(place)
    except (OSError, ValueError) as error:
        raise UserError(f"no tokenizer at {place}: {first_line(error)}") from error
    if data.get("agentrl_codec") == "words":
        from agentrl.inference.codecs.words import WordCodec

        return WordCodec(tokenizer, show_system=data.get("agentrl_show_system", True))
    return codec_of(tokenizer, model_type=data.get("model_type", ""), place=str(place))


def codec_of(tokenizer: Any, *, model_type: str = "", place: str = "") -> Codec:
    """The codec of a tokenizer: a renderer made for the model if there is one, else by its special tokens.

    Raises:
        UserError: neither a known format nor a chat template.
    """
    from renderers import create_renderer
    from renderers.base import MODEL_RENDERER_MAP
    from renderers.configs import DefaultRendererConfig, Llama3RendererConfig, Qwen3RendererConfig

    from agentrl.inference.codecs.chatml import ChatMLRenderer
    from agentrl.inference.codecs.rendered import RendererCodec

    vocabulary = tokenizer.get_vocab()
    if getattr(tokenizer, "name_or_path", "") in MODEL_RENDERER_MAP:
        renderer: Any = create_renderer(tokenizer)
    elif model_type == "qwen3" and "<think>" in vocabulary:
        renderer = create_renderer(tokenizer, Qwen3RendererConfig())
    elif all(token in vocabulary for token in LLAMA_3):
        renderer = create_renderer(tokenizer, Llama3RendererConfig())
    elif all(token in vocabulary for token in CHATML):
        renderer = ChatMLRenderer(tokenizer)
    elif getattr(tokenizer, "chat_template", None):
        renderer = create_renderer(tokenizer, DefaultRendererConfig(tool_parser="qwen3"))
    else:
        raise UserError(
            f"the tokenizer at {place or 'hand'} has no chat template and no known chat tokens: "
            "use an instruction-tuned model, or give it a chat_template"
        )
    return RendererCodec(tokenizer, renderer)


def first_line(error: Exception) -> str:
    return (str(error).strip().splitlines() or [type(error).__name__])[0]
