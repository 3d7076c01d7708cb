"""The real world against known facts, and random worlds against the real one."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

import agentrl.envs.search.world as module
from agentrl.envs.search.sites import passages
from agentrl.envs.search.world import RELATIONS, Fact, content_words, countries, fold, random_world
from agentrl.tools.retrieval.tantivy import TantivyEngine

REAL = countries()


@pytest.mark.parametrize(
    ("subject", "relation", "value"),
    [
        ("Mali", "capital", "Bamako"),
        ("Mali", "currency", "West African CFA franc"),
        ("Mali", "language", "French"),
        ("Mali", "region", "Western Africa"),
        ("Mali", "neighbour", "Algeria"),
        ("Colombia", "capital", "Bogotá"),
        ("Switzerland", "currency", "Swiss franc"),
        ("Canada", "neighbour", "United States"),
        ("Portugal", "neighbour", "Spain"),
        ("Malaysia", "language", "Malay"),
        ("DR Congo", "capital", "Kinshasa"),
        ("Congo", "capital", "Brazzaville"),
        ("Kazakhstan", "neighbour", "Russia"),
        ("San Marino", "capital", "San Marino"),
    ],
)
def test_known_facts(subject: str, relation: str, value: str) -> None:
    assert REAL.fact[subject, relation].value == value


def test_a_subject_has_one_value_per_relation_and_only_islands_lack_a_neighbour() -> None:
    assert len(REAL.fact) == len(REAL.facts)
    assert len(REAL.subjects) >= 200
    for subject in REAL.subjects:
        missing = [relation for relation in RELATIONS if (subject, relation) not in REAL.fact]
        assert missing in ([], ["neighbour"])
    assert ("Iceland", "neighbour") not in REAL.fact
    assert ("Cyprus", "neighbour") not in REAL.fact


def test_a_neighbour_is_a_country_of_this_world() -> None:
    assert {f.value for f in REAL.facts if f.relation == "neighbour"} <= set(REAL.subjects)


def test_capitals_are_unique_and_names_are_clean() -> None:
    assert len(REAL.country_of_capital) == len(REAL.subjects)
    for name in REAL.names():
        assert name == " ".join(name.split())
        assert fold(name)
        assert not set("()[]/") & set(name)
        assert " is " not in name
    folded = {fold(name) for name in REAL.names()}
    assert len(folded) == len(REAL.names())


def test_an_alias_never_is_another_country() -> None:
    subjects = {fold(subject): subject for subject in REAL.subjects}
    for (relation, name), aliases in REAL.aliases.items():
        for alias in aliases if relation == "neighbour" else ():
            assert subjects.get(fold(alias), name) == name


@pytest.mark.parametrize("file", ["names.json", "corrections.json"])
def test_data_files_have_no_duplicate_keys(file: str) -> None:
    def unique(pairs: list[tuple[str, object]]) -> dict[str, object]:
        assert len(dict(pairs)) == len(pairs)
        return dict(pairs)

    text = (Path(module.__file__).parent / file).read_text(encoding="utf-8")
    assert json.loads(text, object_pairs_hook=unique)


def test_every_region_is_in_one_split() -> None:
    counts = {split: list(REAL.split_of.values()).count(split) for split in ("train", "validation", "test")}
    assert sum(counts.values()) == len(REAL.subjects)
    assert counts["test"] / len(REAL.subjects) == pytest.approx(0.3, abs=0.05)
    assert counts["validation"] / len(REAL.subjects) == pytest.approx(0.1, abs=0.03)
    for region in {f.value for f in REAL.facts if f.relation == "region"}:
        assert (
            len({REAL.split_of[f.subject] for f in REAL.facts if f == Fact(f.subject, "region", region)}) == 1
        )
    assert (REAL.split_of["Mali"], REAL.split_of["India"], REAL.split_of["France"]) == (
        "test",
        "validation",
        "train",
    )


def test_random_worlds_state_no_true_fact_and_use_the_real_names() -> None:
    true, names = set(REAL.facts), REAL.names()
    for seed in range(100):
        world = random_world(seed)
        assert true.isdisjoint(world.facts)
        assert world.names() <= names


def test_a_random_world_is_complete_and_its_entities_have_no_word_in_common() -> None:
    for seed in range(20):
        world = random_world(seed, n=25)
        assert len(world.subjects) == 25
        assert len(world.fact) == 25 * len(RELATIONS)
        assert all(fact.value != fact.subject for fact in world.facts)
        assert len(world.country_of_capital) == 25
        words = [content_words(name) for name in (*world.subjects, *world.country_of_capital)]
        assert sum(map(len, words)) == len(frozenset().union(*words))


def test_a_random_world_is_its_seed() -> None:
    assert random_world(7) == random_world(7)
    assert random_world(7).facts != random_world(8).facts


@pytest.mark.parametrize("n", [-1, 0, 2, 10_000])
def test_a_world_too_small_or_too_large_is_refused(n: int) -> None:
    with pytest.raises(ValueError, match="from 3 to"):
        random_world(0, n)


@pytest.mark.parametrize("n", [3, 4, 150])
def test_the_smallest_and_a_large_world_can_be_made(n: int) -> None:
    assert all(len(random_world(seed, n).facts) == 5 * n for seed in range(10))


def test_in_random_worlds_a_plain_search_finds_every_fact_first() -> None:
    for seed in range(30):
        world = random_world(seed)
        index = TantivyEngine(passages(world))
        for fact in world.facts:
            assert index.search(f"{fact.relation} {fact.subject}", 1)[0].text == fact.sentence
            if fact.relation == "capital":
                assert index.search(f"capital {fact.value}", 1)[0].text == fact.sentence


@pytest.mark.parametrize(
    ("text", "folded"),
    [
        ("Bogotá", "bogota"),
        ("São Tomé", "sao tome"),
        ("N'Djamena", "n djamena"),
        ("Ø", "o"),
        ("ß", "ss"),
        ("?!", ""),
    ],
)
def test_fold(text: str, folded: str) -> None:
    assert fold(text) == folded
