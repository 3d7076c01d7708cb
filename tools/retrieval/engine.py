"""What a search engine is: passages in, the best of them out.

Invariants of every engine: `search` answers any string, whatever it contains, and never raises for it; the order of
the hits is that of their scores and, between equal scores, that of the passages; at most `k` come, fewer where fewer
match or exist. An engine never changes once it is built, so any number of threads and environments may share one.
"""

from __future__ import annotations

import unicodedata
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Protocol

import numpy as np

from agentrl.core.failures import UserError


@dataclass(frozen=True, slots=True)
class Passage:
    """A piece of text that can be found.

    Attributes:
        doc: id of the document that it belongs to.
        title: searched together with the text; shown with a hit.
        text: what is read.
    """

    doc: str
    title: str
    text: str


@dataclass(frozen=True, slots=True)
class Hit:
    """A passage that was found; higher scores are better, and comparable within one engine alone."""

    doc: str
    title: str
    text: str
    score: float


class Index(Protocol):
    """What an environment asks of a search engine, whichever it is."""

    def search(self, query: str, k: int) -> list[Hit]:
        """The `k` best passages, best first; fewer where fewer match."""
        ...


class Engine(Index, Protocol):
    """A search engine that answers many queries at once, and is closed."""

    def batch(self, queries: Sequence[str], k: int) -> list[list[Hit]]:
        """The hits of each query, in order."""
        ...

    def close(self) -> None:
        """Free what it holds; idempotent."""
        ...


class LocalEngine:
    """What engines that hold their passages have in common; a subclass gives `search`.

    Args:
        passages: what can be found, in the order that breaks ties.

    Raises:
        UserError: there is none.
    """

    def __init__(self, passages: Iterable[Passage]) -> None:
        self.passages = tuple(passages)
        if not self.passages:
            raise UserError("a corpus to search in needs at least one passage, this one is empty")

    def search(self, query: str, k: int) -> list[Hit]:
        raise NotImplementedError

    def batch(self, queries: Sequence[str], k: int) -> list[list[Hit]]:
        return [self.search(query, k) for query in queries]

    def close(self) -> None:
        """Nothing to free but memory."""

    def __len__(self) -> int:
        return len(self.passages)

    def hit(self, row: int, score: float) -> Hit:
        passage = self.passages[row]
        return Hit(passage.doc, passage.title, passage.text, score)


def best_rows(scores: np.ndarray, k: int) -> np.ndarray:
    """Positions of the `k` largest scores, largest first; of equal ones the earlier.

    Args:
        scores: shape (passages,).
        k: how many; more than there are means all.

    Returns:
        int positions, shape (min(k, passages),).
    """
    k = min(k, len(scores))
    if k < 1:
        return np.empty(0, dtype=np.int64)
    if k < len(scores):
        # Everything that ties with the k-th stays in, so that the order of passages can decide.
        bound = np.partition(scores, len(scores) - k)[len(scores) - k]
        rows = np.flatnonzero(scores >= bound)
    else:
        rows = np.arange(len(scores))
    return rows[np.argsort(-scores[rows], kind="stable")][:k]


def clean(text: str) -> str:
    """Composed accents, and no lone surrogates (which JSON can carry and UTF-8 cannot)."""
    return unicodedata.normalize("NFC", text.encode("utf-8", "replace").decode("utf-8"))
