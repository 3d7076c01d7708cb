"""The grammar, the splits and the leakage between them."""

from __future__ import annotations

import pytest

from agentrl.envs.search.questions import HOPS, Hop, Question, normalised, questions
from agentrl.envs.search.sites import SEEDS_PER_WORLD, findable, random_site, real_site
from agentrl.envs.search.world import Fact, World, countries

SPLITS = ("train", "validation", "test")
SITES = {split: real_site(split) for split in SPLITS}
ALL = [(split, hops, q) for split in SPLITS for hops in HOPS for q in SITES[split].questions[hops]]

LAND = World(
    "land",
    (
        Fact("A", "capital", "a1"),
        Fact("A", "currency", "gold"),
        Fact("A", "neighbour", "B"),
        Fact("B", "capital", "b1"),
        Fact("B", "neighbour", "C"),
        Fact("C", "capital", "C"),
        Fact("C", "neighbour", "A"),
        Fact("D", "capital", "d1"),
        Fact("D", "neighbour", "A"),
    ),
    aliases={("currency", "gold"): ("AU",)},
    split_of={"A": "train", "B": "train", "C": "train", "D": "test"},
)


def texts(split: str, hops: int) -> list[str]:
    return sorted(q.text for q in questions(LAND, split, hops))


def test_every_question_of_a_small_world() -> None:
    # The capital of C says nothing (it is C); no chain returns to a country where it has been.
    assert texts("train", 1) == [
        "What is the capital of A?",
        "What is the capital of B?",
        "What is the currency of A?",
        "What is the largest neighbour of A?",
        "What is the largest neighbour of B?",
        "What is the largest neighbour of C?",
    ]
    assert texts("train", 2) == [
        "What is the capital of the largest neighbour of A?",
        "What is the capital of the largest neighbour of B?",
        "What is the capital of the largest neighbour of C?",
        "What is the currency of the country whose capital is a1?",
        "What is the currency of the largest neighbour of C?",
        "What is the largest neighbour of the country whose capital is a1?",
        "What is the largest neighbour of the country whose capital is b1?",
        "What is the largest neighbour of the largest neighbour of A?",
        "What is the largest neighbour of the largest neighbour of B?",
        "What is the largest neighbour of the largest neighbour of C?",
    ]
    assert texts("train", 3) == [
        "What is the capital of the largest neighbour of the country whose capital is a1?",
        "What is the capital of the largest neighbour of the country whose capital is b1?",
        "What is the capital of the largest neighbour of the largest neighbour of A?",
        "What is the capital of the largest neighbour of the largest neighbour of B?",
        "What is the capital of the largest neighbour of the largest neighbour of C?",
        "What is the currency of the largest neighbour of the largest neighbour of B?",
        "What is the largest neighbour of the largest neighbour of the country whose capital is a1?",
        "What is the largest neighbour of the largest neighbour of the country whose capital is b1?",
    ]


def test_a_chain_stays_in_its_split() -> None:
    assert texts("test", 1) == ["What is the capital of D?"]
    assert texts("test", 2) == texts("test", 3) == []


def test_backwards_hops_learn_the_subject() -> None:
    hop = Hop(Fact("Mali", "capital", "Bamako"), backwards=True)
    assert (hop.query, hop.known, hop.learned) == ("capital Bamako", "Bamako", "Mali")
    hop = Hop(Fact("Mali", "neighbour", "Algeria"))
    assert (hop.query, hop.known, hop.learned) == ("neighbour Mali", "Mali", "Algeria")


@pytest.mark.parametrize(
    ("given", "right"),
    [
        ("gold", True),
        ("Gold.", True),
        ("  the GOLD!", True),
        ("AU", True),
        ("gòld", True),
        ("gold gold", False),
        ("gold and silver", False),
        ("", False),
        ("the", False),
        ("?", False),
        ("g old", False),
    ],
)
def test_what_is_accepted(given: str, right: bool) -> None:
    question = next(q for q in questions(LAND, "train", 1) if q.text == "What is the currency of A?")
    assert question.accepts(given) is right


def test_normalised_drops_articles_only_where_they_are_words() -> None:
    assert normalised("The Gambia") == "gambia"
    assert normalised("Theodore an Anna") == "theodore anna"


def test_there_are_enough_questions_and_none_twice() -> None:
    counts = {(split, hops): len(SITES[split].questions[hops]) for split in SPLITS for hops in HOPS}
    assert all(counts["test", hops] >= 150 for hops in HOPS)
    assert sum(counts["test", hops] for hops in HOPS) >= 600
    assert all(counts["train", hops] >= 500 and counts["validation", hops] >= 50 for hops in HOPS)
    assert len({q.text for _, _, q in ALL}) == len(ALL)


def test_no_pair_of_one_split_is_needed_in_another() -> None:
    used: dict[str, set[tuple[str, str]]] = {split: set() for split in SPLITS}
    met: dict[str, set[str]] = {split: set() for split in SPLITS}
    for split, _, q in ALL:
        used[split] |= {(hop.fact.subject, hop.fact.relation) for hop in q.chain}
        met[split] |= {hop.fact.subject for hop in q.chain}
        met[split] |= {hop.fact.value for hop in q.chain if hop.fact.relation == "neighbour"}
    for a, b in (("train", "test"), ("train", "validation"), ("validation", "test")):
        assert used[a].isdisjoint(used[b])
        assert met[a].isdisjoint(met[b])
    split_of = countries().split_of
    assert all({split_of[country] for country in met[split]} == {split} for split in SPLITS)


def answers(world: World, q: Question) -> list[str]:
    """Every answer of a question's text, found by brute force from the text alone."""
    inner = q.text.removeprefix("What is ").removesuffix("?")
    return sorted(resolve(world, inner))


def resolve(world: World, said: str) -> set[str]:
    prefix = "the country whose capital is "
    if said.startswith(prefix):
        return {
            f.subject for f in world.facts if f.relation == "capital" and f.value == said.removeprefix(prefix)
        }
    for phrase, relation in {
        "largest neighbour": "neighbour",
        **{r: r for r in ("capital", "currency", "language", "region")},
    }.items():
        if said.startswith(f"the {phrase} of "):
            inner = resolve(world, said.removeprefix(f"the {phrase} of "))
            return {f.value for f in world.facts if f.relation == relation and f.subject in inner}
    return {said}


def test_each_question_has_one_answer_which_it_does_not_contain() -> None:
    for _, hops, q in ALL:
        assert q.hops == hops
        assert answers(countries(), q) == [q.answer]
        assert not any(f" {normalised(form)} " in f" {normalised(q.text)} " for form in q.accepted)


def test_each_hop_starts_from_what_the_one_before_learned() -> None:
    for _, _, q in ALL:
        assert q.chain[0].known in q.text
        assert all(a.learned == b.known for a, b in zip(q.chain, q.chain[1:], strict=False))
        assert q.chain[-1].learned == q.answer
        assert all(findable(hop) for hop in q.chain)


def test_questions_of_random_worlds_have_one_answer_too() -> None:
    for number in range(3):
        site = random_site("train", number)
        for hops in HOPS:
            assert len(site.questions[hops]) == SEEDS_PER_WORLD
            for q in site.questions[hops]:
                assert answers(site.world, q) == [q.answer]
                assert f" {normalised(q.answer)} " not in f" {normalised(q.text)} "


def test_all_forms_of_a_hop_count_are_mixed_early() -> None:
    first = SITES["test"].questions[3][:60]
    assert 15 <= sum(q.chain[0].backwards for q in first) <= 45
    assert len({q.chain[-1].fact.relation for q in first}) == 5
