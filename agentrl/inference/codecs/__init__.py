"""Codecs: between messages and the token ids of one model. `load_codec` finds the right one for a model folder."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field
from functools import partial
from pathlib import Path
from typing import Any

from agentrl.core.failures import MissingExtra, UserError
from agentrl.inference.codec import Codec

CHATML = ("<|im_start|>", "<|im_end|>")
QWEN_3 = (
    *CHATML,
    "<|endoftext|>",
    "<think>",
    "</think>",
    "<tool_call>",
    "</tool_call>",
    "<tool_response>",
    "</tool_response>",
)
LLAMA_3 = (
    "<|begin_of_text|>",
    "<|end_of_text|>",
    "<|start_header_id|>",
    "<|end_header_id|>",
    "<|eot_id|>",
    "<|eom_id|>",
)
FORMAT = "agentrl_format"
"""Key of tokenizer_config.json: the model on the hub whose format this tokenizer's chats have. A copy in a folder has
lost its name, by which some formats are known."""
CONFIGS = ("config.json", "tokenizer_config.json")
TOKENIZERS = ("tokenizer.json", "tokenizer_config.json", "tokenizer.model", "vocab.json")


def load_codec(place: str | Path | Any, *, settings: Mapping[str, Any] | None = None) -> Codec:
    """The codec of a model folder, a name on the hub, or a tokenizer.

    Args:
        place: the folder or name; or the tokenizer itself.
        settings: of the chat template, e.g. `{"enable_thinking": False}` for Qwen3. A folder's own are under the key
            `agentrl_chat` of its config.json; these come on top.

    Raises:
        UserError: no tokenizer there, one that says nothing of how a chat looks, or settings it does not have.
        MissingExtra: transformers or renderers is not installed.
    """
    try:
        import renderers  # noqa: F401
        from transformers import AutoTokenizer
    except ModuleNotFoundError as error:
        raise MissingExtra("train", "the chat format of a model") from error

    if not isinstance(place, str | Path):
        return codec_of(place, settings=settings)
    folder = Path(place)
    if folder.is_dir() and not any((folder / name).is_file() for name in TOKENIZERS):
        raise UserError(f"no tokenizer at {place}: the folder holds none of {', '.join(TOKENIZERS)}")
    config = {key: value for name in reversed(CONFIGS) for key, value in read_json(folder / name).items()}
    try:
        tokenizer: Any = AutoTokenizer.from_pretrained(place)
    except Exception as error:  # the libraries below raise all kinds on broken files
        raise UserError(f"no tokenizer at {place}: {first_line(error)}") from error
    kind = config.get("agentrl_codec")
    if kind == "words":
        from agentrl.inference.codecs.words import WordCodec

        return WordCodec(tokenizer, show_system=config.get("agentrl_show_system", True))
    if kind is not None:
        raise UserError(f"{place} wants the codec {kind!r}, which this version does not have")
    if FORMAT in config:
        tokenizer.name_or_path = config[FORMAT]
    own = config.get("agentrl_chat", {})
    return codec_of(tokenizer, place=str(place), settings={**own, **(settings or {})})


def codec_of(tokenizer: Any, *, place: str = "", settings: Mapping[str, Any] | None = None) -> Codec:
    """The codec of a tokenizer: a renderer that writes what its chat template writes, and that can go on after a turn;
    if there is none, the template itself, rendered whole every turn.

    Args:
        tokenizer: of transformers.
        place: where it comes from, for errors.
        settings: of the chat template.

    Raises:
        UserError: neither a chat template nor a known format.
    """
    from renderers.base import MODEL_RENDERER_MAP, create_renderer

    from agentrl.inference.codecs.rendered import RendererCodec
    from agentrl.inference.codecs.template import TemplateRenderer, agrees, next_turns

    given = dict(settings or {})
    template = bool(getattr(tokenizer, "chat_template", None))
    name = getattr(tokenizer, "name_or_path", "")

    def bridging(renderer: Any) -> Codec:
        checked = next_turns(renderer, tokenizer, given) if template else None
        return RendererCodec(tokenizer, renderer, bridged=checked)

    try:
        for family in families(tokenizer):
            if not template or agrees(partial(family.make, {}), tokenizer, **family.fixed):
                return bridging(family.make(given))
        if name in MODEL_RENDERER_MAP:
            tokenizer.init_kwargs[FORMAT] = name
            return bridging(create_renderer(tokenizer, chat_template_kwargs=given))
        if template:
            for family in other_families(tokenizer):
                if agrees(partial(family.make, {}), tokenizer):
                    return bridging(family.make(given))
            return RendererCodec(tokenizer, TemplateRenderer(tokenizer, given))
    except ValueError as error:
        raise UserError(
            f"the chat settings {given} do not fit {place or 'this tokenizer'}: {error}"
        ) from error
    raise UserError(
        f"the tokenizer{f' at {place}' if place else ''} has no chat template and no known chat tokens: "
        "use an instruction-tuned model, or give it a chat_template"
    )


@dataclass(frozen=True, slots=True)
class Family:
    """A format that can be bridged: `make` takes the settings; `fixed` pins what its template takes from the calendar."""

    make: Callable[[Mapping[str, Any]], Any]
    fixed: Mapping[str, Any] = field(default_factory=dict)


def families(tokenizer: Any) -> Iterator[Family]:
    """The families that have tests here and whose tokens a tokenizer has, the most particular first."""
    from renderers.configs import Llama3RendererConfig, Qwen3RendererConfig
    from renderers.qwen3 import Qwen3Renderer

    from agentrl.inference.codecs.chatml import ChatMLConfig, ChatMLRenderer
    from agentrl.inference.codecs.llama import LlamaRenderer

    vocabulary = tokenizer.get_vocab()
    if vocabulary.keys() >= set(QWEN_3):
        yield Family(lambda given: Qwen3Renderer(tokenizer, Qwen3RendererConfig(**given)))
    if vocabulary.keys() >= set(LLAMA_3):
        date = Llama3RendererConfig().date_string
        yield Family(
            lambda given: LlamaRenderer(tokenizer, Llama3RendererConfig(**given)), {"date_string": date}
        )
    if vocabulary.keys() >= set(CHATML):
        yield Family(lambda given: ChatMLRenderer(tokenizer, ChatMLConfig(settings=dict(given))))


def other_families(tokenizer: Any) -> Iterator[Family]:
    """Every other family that the `renderers` package knows."""
    from renderers.base import MODEL_RENDERER_MAP, create_renderer
    from renderers.configs import _config_class_for

    def make(config: Any, given: Mapping[str, Any]) -> Any:
        return create_renderer(tokenizer, config(**given))

    for name in sorted(set(MODEL_RENDERER_MAP.values()) - {"qwen3", "llama-3"}):
        yield Family(partial(make, _config_class_for(name)))


def read_json(file: Path) -> dict[str, Any]:
    """A JSON object from a file; nothing if there is no such file.

    Raises:
        UserError: it is not JSON.
    """
    if not file.is_file():
        return {}
    try:
        data = json.loads(file.read_text())
    except ValueError as error:
        raise UserError(f"{file} is not JSON: {first_line(error)}") from error
    return data if isinstance(data, dict) else {}


def first_line(error: Exception) -> str:
    return (str(error).strip().splitlines() or [type(error).__name__])[0]
