"""Full-text retrieval: BM25 by tantivy, in memory or from a folder.

Invariants: those of every engine (see `engine`), and case and accents do not matter. A query is a set of words, never a
query language: quotes, colons, brackets and `AND` mean nothing.
"""

from __future__ import annotations

from collections.abc import Iterable
from pathlib import Path

import tantivy

from agentrl.tools.retrieval.engine import Hit, LocalEngine, Passage, clean

MAX_TERMS = 64
"""Only this many different words of a query count: nobody asks more, and cost is bounded."""
FIELDS = ("title", "text")
MIN_HEAP, HEAP_PER_BYTE, MAX_HEAP = 15_000_000, 40, 2_000_000_000


class TantivyEngine(LocalEngine):
    """BM25 (k1 1.2, b 0.75) over title and text, as disjunction of the query's words.

    Args:
        passages: what can be found, in the order that breaks ties.
        folder: where the index is, if `save` has put it there; None to build it in memory.
    """

    def __init__(self, passages: Iterable[Passage], folder: Path | None = None) -> None:
        super().__init__(passages)
        self._analyzer = folding_analyzer()
        self._schema = schema()
        index = tantivy.Index(self._schema) if folder is None else tantivy.Index.open(str(folder))
        index.register_tokenizer("fold", self._analyzer)
        if folder is None:
            fill(index, self.passages)
        self._searcher = index.searcher()
        # In one segment a document's number is the passage's position, and ties are broken by it.
        self._one_segment = self._searcher.num_segments == 1

    @staticmethod
    def save(passages: Iterable[Passage], folder: Path) -> None:
        """Write the index of `passages` into an empty folder."""
        index = tantivy.Index(schema(), path=str(folder))
        index.register_tokenizer("fold", folding_analyzer())
        fill(index, tuple(passages))

    def search(self, query: str, k: int) -> list[Hit]:
        """The `k` best passages, best first; none for a query without a known word or `k` below 1."""
        terms = terms_of(query, self._analyzer)
        if not terms or k < 1:
            return []
        clauses = [
            (tantivy.Occur.Should, tantivy.Query.term_query(self._schema, field, term))
            for term in terms
            for field in FIELDS
        ]
        found = self._searcher.search(
            tantivy.Query.boolean_query(clauses), min(k, len(self.passages)), count=False
        )
        if self._one_segment:
            return [self.hit(address.doc, score) for score, address in found.hits]
        rows = [(-score, self._searcher.doc(address)["row"][0]) for score, address in found.hits]
        return [self.hit(row, -negative) for negative, row in sorted(rows)]


def schema() -> tantivy.Schema:
    builder = tantivy.SchemaBuilder()
    for field in FIELDS:
        builder.add_text_field(field, stored=False, tokenizer_name="fold")
    builder.add_unsigned_field("row", stored=True)
    return builder.build()


def fill(index: tantivy.Index, passages: tuple[Passage, ...]) -> None:
    """Add every passage and commit. One thread, one commit and memory for all of it make one segment; where the
    corpus is too large for that, the stored row says which passage a document is."""
    size = sum(len(passage.title) + len(passage.text) for passage in passages)
    writer = index.writer(min(MIN_HEAP + HEAP_PER_BYTE * size, MAX_HEAP), 1)
    for row, passage in enumerate(passages):
        writer.add_document(
            tantivy.Document(title=[clean(passage.title)], text=[clean(passage.text)], row=row)
        )
    writer.commit()
    writer.wait_merging_threads()
    index.reload()


def terms_of(query: str, analyzer: tantivy.TextAnalyzer) -> list[str]:
    """The different words of a query, in order, as far as they count."""
    return list(dict.fromkeys(analyzer.analyze(clean(query))))[:MAX_TERMS]


def folding_analyzer() -> tantivy.TextAnalyzer:
    """Words (runs of letters and digits) in lower case without accents: `Bogotá` is `bogota`."""
    builder = tantivy.TextAnalyzerBuilder(tantivy.Tokenizer.simple())
    return builder.filter(tantivy.Filter.lowercase()).filter(tantivy.Filter.ascii_fold()).build()
