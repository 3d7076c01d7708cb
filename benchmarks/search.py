"""What it takes to index a corpus and to ask it: tantivy and bm25s on 100,000 documents of 40 words, dense on fewer.

Words are drawn from a vocabulary of 50,000 by Zipf's law (a word of rank r with a probability as 1 / (r + 2)), so a few
stand in many documents, as in text. A query is four words of a document, in any order: the common and the rare.
Building counts from passages in memory to an engine that answers; a query counts with its hits (top 3). Medians over
queries, each engine on the very same passages; an engine whose packages are missing is left out.
"""

from __future__ import annotations

import statistics
import time
from collections.abc import Callable, Sequence

import numpy as np

from agentrl.benchmarks.harness import BenchResult, Target
from agentrl.core.failures import MissingExtra
from agentrl.tools.retrieval.build import build_engine
from agentrl.tools.retrieval.engine import Engine, Passage

DOCUMENTS, WORDS, VOCABULARY = 100_000, 40, 50_000
DENSE_DOCUMENTS = 1_000
QUERY_WORDS, TOP = 4, 3
SYLLABLES = [a + b for a in "bdfgklmnprstvz" for b in ("a", "e", "i", "o", "u")]


def corpus(documents: int, seed: int = 0) -> tuple[list[Passage], list[str]]:
    """Passages, and a thousand queries about them."""
    rng = np.random.default_rng(seed)
    words = np.array([word(number) for number in range(VOCABULARY)])
    chance = 1 / (np.arange(VOCABULARY) + 2)
    drawn = rng.choice(VOCABULARY, size=(documents, WORDS), p=chance / chance.sum())
    passages = [Passage(str(number), "", " ".join(text)) for number, text in enumerate(words[drawn].tolist())]
    about = rng.integers(documents, size=1000)
    queries = [" ".join(rng.choice(words[drawn[row]], QUERY_WORDS, replace=False).tolist()) for row in about]
    return passages, queries


def word(number: int) -> str:
    """Three syllables: another word for every number below 343,000."""
    base = len(SYLLABLES)
    return SYLLABLES[number % base] + SYLLABLES[number // base % base] + SYLLABLES[number // base**2]


def build_seconds(name: str, passages: Sequence[Passage], rounds: int) -> tuple[Engine, float]:
    """The engine, and the median of the seconds that it took to build."""
    seconds = []
    for _ in range(rounds):
        began = time.perf_counter()
        engine = build_engine(name, passages)
        seconds.append(time.perf_counter() - began)
    return engine, statistics.median(seconds)


def query_milliseconds(search: Callable[[str, int], object], queries: Sequence[str]) -> list[float]:
    """Of every query, sorted."""
    out = []
    for query in queries:
        began = time.perf_counter()
        search(query, TOP)
        out.append(1000 * (time.perf_counter() - began))
    return sorted(out)


def run(quick: bool = False) -> BenchResult:
    figures: dict[str, float] = {}
    documents = DOCUMENTS // 10 if quick else DOCUMENTS
    sizes = {"tantivy": documents, "bm25s": documents, "dense": 100 if quick else DENSE_DOCUMENTS}
    passages, queries = corpus(documents)
    for name, size in sizes.items():
        try:
            if name == "dense":
                build_engine(name, passages[:1])  # the model is loaded once per process: not counted
            engine, seconds = build_seconds(name, passages[:size], 1 if quick or name == "dense" else 3)
        except MissingExtra:
            continue
        times = query_milliseconds(engine.search, queries[:100] if name == "dense" or quick else queries)
        figures[f"{name}_documents"] = size
        figures[f"{name}_index_seconds"] = seconds
        figures[f"{name}_query_p50_ms"] = times[len(times) // 2]
        figures[f"{name}_query_p99_ms"] = times[len(times) * 99 // 100]
        engine.close()
    targets = (Target("tantivy_index_seconds", "<", 15), Target("tantivy_query_p50_ms", "<", 1))
    return BenchResult(figures, targets)
