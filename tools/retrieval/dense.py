"""Retrieval by meaning: sentence vectors, exact inner product by faiss.

Invariants: those of every engine (see `engine`). Every passage matches to some degree, so a query finds `k` of them
wherever there are so many; a blank query finds none.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import Any, Protocol

import numpy as np

from agentrl.core.failures import MissingExtra
from agentrl.tools.retrieval.encoder import shipped_encoder
from agentrl.tools.retrieval.engine import Hit, LocalEngine, Passage

FILE = "vectors.npy"


class Encodes(Protocol):
    def encode(self, texts: Sequence[str]) -> np.ndarray:
        """Vectors of length 1, float32, shape (texts, dimensions)."""
        ...


class DenseEngine(LocalEngine):
    """Cosine similarity of sentence vectors; scores are from -1 to 1.

    Args:
        passages: what can be found, in the order that breaks ties.
        folder: where the vectors are, if `save` has put them there; None to compute them.
        encoder: from texts to vectors; by default the model that ships (`encoder.shipped_encoder`).

    Raises:
        MissingExtra: faiss, torch, transformers or the model's package is not installed.
    """

    def __init__(
        self, passages: Iterable[Passage], folder: Path | None = None, encoder: Encodes | None = None
    ) -> None:
        super().__init__(passages)
        faiss = faiss_module()
        self._encoder = encoder or shipped_encoder()
        vectors = encoded(self._encoder, self.passages) if folder is None else np.load(folder / FILE)
        self._index = faiss.IndexFlatIP(vectors.shape[1])
        self._index.add(vectors)

    @staticmethod
    def save(passages: Iterable[Passage], folder: Path) -> None:
        """Write the vectors of `passages` into an empty folder."""
        np.save(folder / FILE, encoded(shipped_encoder(), tuple(passages)))

    def search(self, query: str, k: int) -> list[Hit]:
        """The `k` nearest passages, nearest first; none for a blank query or `k` below 1."""
        return self.batch([query], k)[0]

    def batch(self, queries: Sequence[str], k: int) -> list[list[Hit]]:
        asked = [row for row, query in enumerate(queries) if query.strip()] if k > 0 else []
        hits: list[list[Hit]] = [[] for _ in queries]
        if asked:
            scores, rows = self._index.search(
                self._encoder.encode([queries[row] for row in asked]), min(k, len(self.passages))
            )
            for at, row in enumerate(asked):
                found = sorted(zip((-scores[at]).tolist(), rows[at].tolist(), strict=True))
                hits[row] = [self.hit(passage, -negative) for negative, passage in found]
        return hits


def encoded(encoder: Encodes, passages: tuple[Passage, ...]) -> np.ndarray:
    return encoder.encode([f"{passage.title}\n{passage.text}" for passage in passages])


def faiss_module() -> Any:
    try:
        import faiss
    except ModuleNotFoundError as error:
        raise MissingExtra("search", "the engine dense") from error
    return faiss
