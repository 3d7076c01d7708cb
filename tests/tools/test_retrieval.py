"""BM25 by hand on three passages, and queries of every kind."""

from __future__ import annotations

import math
from concurrent.futures import ThreadPoolExecutor

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from agentrl.core.failures import UserError
from agentrl.tools.retrieval.engine import Hit, Passage
from agentrl.tools.retrieval.tantivy import MAX_TERMS, TantivyEngine

PASSAGES = (
    Passage("Mali", "Mali", "The capital is Bamako"),
    Passage("Colombia", "Colombia", "The capital is Bogotá, on a high plain"),
    Passage("Peru", "Peru", "Lima"),
)
INDEX = TantivyEngine(PASSAGES)


def test_the_score_is_bm25_summed_over_title_and_text() -> None:
    # "mali" stands in 1 of 3 titles of 1 word each: idf ln(1 + 2.5/1.5), tf part 2.2 / (1 + 1.2) = 1.
    # "capital" stands in 2 of 3 texts of 4, 8 and 1 words (mean 13/3); Mali's has 4.
    title = math.log(1 + 2.5 / 1.5)
    text = math.log(1 + 1.5 / 2.5) * 2.2 / (1 + 1.2 * (0.25 + 0.75 * 4 / (13 / 3)))
    best = INDEX.search("capital Mali", 1)[0]
    assert (best.doc, best.title, best.text) == ("Mali", "Mali", "The capital is Bamako")
    assert best.score == pytest.approx(title + text, rel=1e-5)


def test_the_best_hit_comes_first_and_only_matches_come() -> None:
    assert [hit.doc for hit in INDEX.search("the capital of Mali", 3)] == ["Mali", "Colombia"]
    assert [hit.doc for hit in INDEX.search("peru lima", 3)] == ["Peru"]


@pytest.mark.parametrize(
    "query", ["bogota", "BOGOTÁ", "Bogotá", "Bogota\u0301", "bogotá!", '"bogotá', "text:bogotá"]
)
def test_case_accents_and_marks_do_not_matter(query: str) -> None:
    assert [hit.doc for hit in INDEX.search(query, 3)] == ["Colombia"]


@pytest.mark.parametrize(
    "query", ["", " ", "?!", '"', "(", "*", "[x TO y]", "zebra", "-", "x" * 200_000, "\0", "\ud800"]
)
def test_a_query_that_matches_nothing_finds_nothing(query: str) -> None:
    assert INDEX.search(query, 3) == []


def test_operators_are_words() -> None:
    assert INDEX.search("AND OR NOT title:", 3) == INDEX.search("and or not title", 3)
    assert [hit.doc for hit in INDEX.search("Mali AND NOT Bamako", 1)] == ["Mali"]


def test_a_word_counts_once_however_often_it_is_said_and_long_queries_are_cut() -> None:
    assert INDEX.search("lima " * 2_000, 3) == INDEX.search("lima", 3)
    words = " ".join(f"w{i}" for i in range(MAX_TERMS - 1))
    assert [hit.doc for hit in INDEX.search(f"{words} lima", 3)] == ["Peru"]
    assert INDEX.search(f"{words} w lima", 3) == []


@pytest.mark.parametrize(("k", "found"), [(-1, 0), (0, 0), (1, 1), (2, 2), (10**9, 2)])
def test_any_number_of_hits_can_be_asked_for(k: int, found: int) -> None:
    assert len(INDEX.search("capital", k)) == found


def test_equal_scores_come_in_the_order_of_the_passages() -> None:
    twins = TantivyEngine(Passage(str(i), "", "one and the same text") for i in range(500))
    assert [int(hit.doc) for hit in twins.search("same", 500)] == list(range(500))
    assert [int(hit.doc) for hit in twins.search("same text", 7)] == list(range(7))


def test_many_passages_keep_their_order_and_identity() -> None:
    many = TantivyEngine(
        Passage(str(i), f"number {i}", f"word{i} stands with {'filler ' * 40}") for i in range(20_000)
    )
    assert [hit.doc for hit in many.search("word12345", 3)] == ["12345"]
    assert [int(hit.doc) for hit in many.search("stands", 5)] == [0, 1, 2, 3, 4]


def test_an_index_of_nothing_is_refused() -> None:
    with pytest.raises(UserError, match="at least one passage"):
        TantivyEngine([])


def test_two_indices_of_the_same_passages_agree() -> None:
    assert TantivyEngine(PASSAGES).search("the capital lima", 3) == INDEX.search("the capital lima", 3)


def test_threads_read_one_index() -> None:
    queries = ["capital Mali", "lima", "the", "bogota plain"] * 50
    alone = [INDEX.search(query, 3) for query in queries]
    with ThreadPoolExecutor(8) as pool:
        assert list(pool.map(lambda query: INDEX.search(query, 3), queries)) == alone


@settings(max_examples=200, deadline=None)
@given(st.text(st.characters(exclude_categories=())), st.integers(-2, 50))
def test_no_string_breaks_a_search(query: str, k: int) -> None:
    hits = INDEX.search(query, k)
    assert all(isinstance(hit, Hit) and hit.score > 0 for hit in hits)
    assert [hit.score for hit in hits] == sorted((hit.score for hit in hits), reverse=True)
    assert len({hit.doc for hit in hits}) == len(hits) <= max(k, 0)
