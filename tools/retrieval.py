"""Full-text retrieval over short passages: BM25 in memory, by tantivy.

Invariants: `search` answers any string, whatever it contains, and never raises; case and accents do not matter;
the order of the hits is that of their scores and, between equal scores, that of the passages. An index never
changes once it is built, so any number of threads and environments may share one.
"""

from __future__ import annotations

import unicodedata
from collections.abc import Iterable
from dataclasses import dataclass
from typing import Protocol

import tantivy

MAX_TERMS = 64
"""Only this many different words of a query count: nobody asks more, and cost is bounded."""

FIELDS = ("title", "text")
MIN_HEAP, HEAP_PER_BYTE = 15_000_000, 40


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
    """A passage that was found; `score` is BM25's, higher is better."""

    doc: str
    title: str
    text: str
    score: float


class Index(Protocol):
    """What an environment asks of a search engine, whichever it is."""

    def search(self, query: str, k: int) -> list[Hit]:
        """The `k` best passages, best first; fewer where fewer match."""
        ...


class Bm25Index:
    """BM25 (k1 1.2, b 0.75) over title and text, as disjunction of the query's words.

    Args:
        passages: what can be found, in the order that breaks ties.
    """

    def __init__(self, passages: Iterable[Passage]) -> None:
        self.passages = tuple(passages)
        builder = tantivy.SchemaBuilder()
        for field in FIELDS:
            builder.add_text_field(field, stored=False, tokenizer_name="fold")
        self._schema = builder.build()
        self._analyzer = folding_analyzer()
        self._searcher = self._build()

    def search(self, query: str, k: int) -> list[Hit]:
        """The `k` best passages, best first; none for a query without a known word or `k` below 1."""
        terms = list(dict.fromkeys(self._analyzer.analyze(clean(query))))[:MAX_TERMS]
        if not terms or k < 1 or not self.passages:
            return []
        clauses = [
            (tantivy.Occur.Should, tantivy.Query.term_query(self._schema, field, term))
            for term in terms
            for field in FIELDS
        ]
        found = self._searcher.search(
            tantivy.Query.boolean_query(clauses), min(k, len(self.passages)), count=False
        )
        return [self._hit(address.doc, score) for score, address in found.hits]

    def __len__(self) -> int:
        return len(self.passages)

    def _hit(self, position: int, score: float) -> Hit:
        passage = self.passages[position]
        return Hit(passage.doc, passage.title, passage.text, score)

    def _build(self) -> tantivy.Searcher:
        # One thread, one commit and memory for all of it make one segment, in which a document's number is the
        # passage's position and ties are broken by it.
        size = sum(len(passage.title) + len(passage.text) for passage in self.passages)
        index = tantivy.Index(self._schema)
        index.register_tokenizer("fold", self._analyzer)
        writer = index.writer(MIN_HEAP + HEAP_PER_BYTE * size, 1)
        for passage in self.passages:
            writer.add_document(tantivy.Document(title=[clean(passage.title)], text=[clean(passage.text)]))
        writer.commit()
        writer.wait_merging_threads()
        index.reload()
        searcher = index.searcher()
        if searcher.num_segments > 1:
            raise RuntimeError(
                f"an index of {len(self.passages)} passages must be one segment, not {searcher.num_segments}"
            )
        return searcher


def clean(text: str) -> str:
    """Composed accents, and no lone surrogates (which JSON can carry and UTF-8 cannot)."""
    return unicodedata.normalize("NFC", text.encode("utf-8", "replace").decode("utf-8"))


def folding_analyzer() -> tantivy.TextAnalyzer:
    """Words (runs of letters and digits) in lower case without accents: `Bogotá` is `bogota`."""
    builder = tantivy.TextAnalyzerBuilder(tantivy.Tokenizer.simple())
    return builder.filter(tantivy.Filter.lowercase()).filter(tantivy.Filter.ascii_fold()).build()
