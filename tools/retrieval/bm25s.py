"""Full-text retrieval: BM25 by bm25s (Lù 2024, arXiv:2407.03618), which scores all passages eagerly with numpy.

Invariants: those of every engine (see `engine`), and case and accents do not matter. Words are those of the tantivy
engine, so both match the same passages; no stop words are left out, so a corpus of nothing else works too.
"""

from __future__ import annotations

from collections.abc import Iterable
from pathlib import Path
from typing import Any

import numpy as np

from agentrl.core.failures import MissingExtra
from agentrl.tools.retrieval.engine import Hit, LocalEngine, Passage, best_rows, clean
from agentrl.tools.retrieval.tantivy import folding_analyzer, terms_of

K1, B = 1.2, 0.75


class Bm25sEngine(LocalEngine):
    """BM25 (Lucene's form, k1 1.2, b 0.75) over title and text as one field.

    Args:
        passages: what can be found, in the order that breaks ties.
        folder: where the index is, if `save` has put it there; None to build it in memory.

    Raises:
        MissingExtra: bm25s is not installed.
    """

    def __init__(self, passages: Iterable[Passage], folder: Path | None = None) -> None:
        super().__init__(passages)
        self._analyzer = folding_analyzer()
        module = bm25s()
        if folder is None:
            self._index = indexed(self.passages)
        else:
            # Without any word there is no index.
            saved = (folder / "vocab.index.json").is_file()
            self._index = module.BM25.load(str(folder), show_progress=False) if saved else None

    @staticmethod
    def save(passages: Iterable[Passage], folder: Path) -> None:
        """Write the index of `passages` into an empty folder."""
        index = indexed(tuple(passages))
        if index is not None:
            index.save(str(folder), show_progress=False)

    def search(self, query: str, k: int) -> list[Hit]:
        """The `k` best passages, best first; none for a query without a known word or `k` below 1."""
        if self._index is None or k < 1:
            return []
        words = terms_of(query, self._analyzer)
        known = [self._index.vocab_dict[word] for word in words if word in self._index.vocab_dict]
        if not known:
            return []
        scores: np.ndarray = self._index.get_scores_from_ids(known)
        return [self.hit(int(row), float(scores[row])) for row in best_rows(scores, k) if scores[row] > 0]


def indexed(passages: tuple[Passage, ...]) -> Any:
    """bm25s' index of the passages; None where they hold no word at all."""
    analyzer = folding_analyzer()
    vocabulary: dict[str, int] = {}
    rows = [
        [
            vocabulary.setdefault(word, len(vocabulary))
            for word in analyzer.analyze(clean(f"{passage.title} {passage.text}"))
        ]
        for passage in passages
    ]
    if not vocabulary:
        return None
    index = bm25s().BM25(k1=K1, b=B, method="lucene", backend="numpy")
    index.index((rows, vocabulary), create_empty_token=False, show_progress=False)
    return index


def bm25s() -> Any:
    try:
        import bm25s as module
    except ModuleNotFoundError as error:
        raise MissingExtra("search", "the engine bm25s") from error
    return module
