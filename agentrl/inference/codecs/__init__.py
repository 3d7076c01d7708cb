"""Codecs by model folder."""

from __future__ import annotations

import json
from pathlib import Path

from agentrl.core.failures import UserError
from agentrl.inference.codec import Codec


def load_codec(place: str | Path) -> Codec:
    """The codec of a model folder.

    Raises:
        UserError: a folder whose codec is not known.
    """
    from transformers import AutoTokenizer

    config = Path(place) / "config.json"
    data = json.loads(config.read_text()) if config.is_file() else {}
    if data.get("agentrl_codec") == "words":
        from agentrl.inference.codecs.words import WordCodec

        return WordCodec(
            AutoTokenizer.from_pretrained(place), show_system=data.get("agentrl_show_system", True)
        )
    raise UserError(f"no codec for the model at {place}")
