"""Worlds of facts: real countries, and made-up worlds of the same form.

A fact is (subject, relation, value), and a subject has one value per relation. The real world comes from the
`countryinfo` package with a few corrections; a random world puts any names into any place, so that nothing can
be answered from memory, and never states a fact of the real one.
"""

from __future__ import annotations

import functools
import json
import random
import unicodedata
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from countryinfo import all_countries

RELATIONS = ("capital", "currency", "language", "region", "neighbour")
"""In the order in which an article states them; `neighbour` is the largest country that shares a border."""

SPLITS = ("train", "validation", "test")

PHRASES = {relation: relation for relation in RELATIONS} | {"neighbour": "largest neighbour"}

HELD_OUT = {
    "test": ("South America", "South-eastern Asia", "Southern Africa", "Western Africa", "Western Asia"),
    "validation": ("Central Asia", "Eastern Asia", "Southern Asia"),
}
"""Regions whose countries are questioned in that split only; all others are for training."""

FUNCTION_WORDS = frozenset({"a", "an", "and", "of", "the"})
LETTERS = str.maketrans(dict(zip("øłđıæœß", ("o", "l", "d", "i", "ae", "oe", "ss"), strict=True)))


@dataclass(frozen=True, slots=True)
class Fact:
    subject: str
    relation: str
    value: str

    @property
    def sentence(self) -> str:
        return f"The {PHRASES[self.relation]} of {self.subject} is {self.value}."


@dataclass(frozen=True)
class World:
    """Facts, and what else the questions about them need.

    Attributes:
        name: identifies the world.
        facts: subject by subject, relations in the order of `RELATIONS`; one may be missing.
        aliases: other names of a value, by (relation, value).
        split_of: the split that a subject's questions belong to; a subject without one belongs to every split.
    """

    name: str
    facts: tuple[Fact, ...] = field(repr=False)
    aliases: Mapping[tuple[str, str], tuple[str, ...]] = field(default_factory=dict, repr=False)
    split_of: Mapping[str, str] = field(default_factory=dict, repr=False)

    @functools.cached_property
    def subjects(self) -> tuple[str, ...]:
        return tuple(dict.fromkeys(fact.subject for fact in self.facts))

    @functools.cached_property
    def fact(self) -> Mapping[tuple[str, str], Fact]:
        """The fact by (subject, relation)."""
        return {(fact.subject, fact.relation): fact for fact in self.facts}

    @functools.cached_property
    def country_of_capital(self) -> Mapping[str, str]:
        """The country by its capital; capitals that two countries share are left out."""
        owners: dict[str, list[str]] = {}
        for fact in self.facts:
            if fact.relation == "capital":
                owners.setdefault(fact.value, []).append(fact.subject)
        return {capital: subjects[0] for capital, subjects in owners.items() if len(subjects) == 1}

    def names(self) -> frozenset[str]:
        return frozenset(name for fact in self.facts for name in (fact.subject, fact.value))


@functools.cache
def entries() -> tuple[Mapping[str, Any], ...]:
    """What `countryinfo` says of every country and territory that can be used, corrected; by name. Never change it."""
    fixes = _data("corrections.json")
    found = [_entry(country.info(), fixes) for country in all_countries()]
    usable = [e for e in found if e["name"] not in fixes["drop"] and _complete(e)]
    return tuple(sorted(usable, key=lambda e: fold(e["name"])))


@functools.cache
def names_by_code() -> Mapping[str, Mapping[str, str]]:
    """The names of `currencies` and of `languages`, by their ISO codes. Never change it."""
    return _data("names.json")


@functools.cache
def countries() -> World:
    """The real world: every country and territory of which capital, currency, language and region are known."""
    table, usable = names_by_code(), entries()
    code = {e["ISO"]["alpha3"]: e for e in usable}
    facts: list[Fact] = []
    aliases: dict[tuple[str, str], tuple[str, ...]] = {}
    for entry in usable:
        name = entry["name"]
        currency = table["currencies"][entry["currencies"][0]]
        region = entry.get("intermediateregion") or entry["subregion"]
        values = {
            "capital": entry["capital"],
            "currency": currency,
            "language": table["languages"][entry["languages"][0]],
            "region": region,
            "neighbour": _largest_neighbour(entry, code),
        }
        facts += [Fact(name, relation, values[relation]) for relation in RELATIONS if values[relation]]
        aliases["currency", currency] = (entry["currencies"][0],)
        aliases["neighbour", name] = tuple(
            spelling for spelling in entry["altSpellings"] if len(spelling) > 3
        )
    split = {region: split for split, regions in HELD_OUT.items() for region in regions}
    split_of = {fact.subject: split.get(fact.value, "train") for fact in facts if fact.relation == "region"}
    return World("countries", tuple(facts), aliases, split_of)


def random_world(seed: int, n: int = 30) -> World:
    """A made-up world of `n` subjects, each with all five relations.

    Names of every kind stand in every place. Subjects and capitals have no word in common with one another or
    with other values, so that a search for them finds what is meant; capitals are unique.

    Raises:
        ValueError: the names do not suffice for `n` subjects.
    """
    real = countries()
    rng = random.Random(f"random world {seed}")
    names = sorted(real.names())
    rng.shuffle(names)
    entities, taken = _apart(names, 2 * n + 1)
    if n < 3 or len(entities) < 2 * n + 1:
        raise ValueError(f"a random world has from 3 to {(len(entities) - 1) // 2} subjects, not {n}")
    subjects, capitals = entities[:n], entities[n:]
    others = [name for name in names if taken.isdisjoint(content_words(name))]
    true = set(real.facts)

    def draw(subject: str, relation: str) -> Fact:
        pool = {"capital": capitals, "neighbour": subjects}.get(relation, others)
        while True:
            fact = Fact(subject, relation, rng.choice(pool))
            # At most one name of a pool is true and one the subject itself; pools hold more.
            if fact not in true and fact.value != subject:
                break
        if relation == "capital":
            capitals.remove(fact.value)
        return fact

    return World(
        f"random-{seed}-{n}", tuple(draw(subject, relation) for subject in subjects for relation in RELATIONS)
    )


def _apart(names: Iterable[str], count: int) -> tuple[list[str], set[str]]:
    """The first names, up to `count`, that have no word in common; and their words."""
    chosen: list[str] = []
    taken: set[str] = set()
    for name in names:
        words = content_words(name)
        if len(chosen) < count and taken.isdisjoint(words):
            chosen.append(name)
            taken |= words
    return chosen, taken


def fold(text: str) -> str:
    """Lower case, no accents, punctuation as spaces: what two spellings of a name have in common."""
    plain = unicodedata.normalize("NFKD", text.casefold().translate(LETTERS))
    letters = (c if c.isalnum() else " " for c in plain if not unicodedata.combining(c))
    return " ".join("".join(letters).split())


@functools.lru_cache(4096)
def content_words(text: str) -> frozenset[str]:
    return frozenset(fold(text).split()) - FUNCTION_WORDS


def _data(name: str) -> dict[str, Any]:
    return json.loads((Path(__file__).parent / name).read_text(encoding="utf-8"))


def _entry(info: Mapping[str, Any], fixes: Mapping[str, Any]) -> dict[str, Any]:
    entry = {"altSpellings": [], **info}
    name = entry["name"]
    if name in fixes["currencies"]:
        entry["currencies"] = [fixes["currencies"][name]]
    entry.update(fixes["set"].get(name, {}))
    if entry["name"] != name:
        entry["altSpellings"] = [name, *entry["altSpellings"]]
    return entry


def _complete(entry: Mapping[str, Any]) -> bool:
    keys = ("capital", "currencies", "languages", "subregion", "area", "ISO")
    return all(entry.get(key) for key in keys) and bool(entry["ISO"].get("numeric"))


def _largest_neighbour(entry: Mapping[str, Any], code: Mapping[str, Mapping[str, Any]]) -> str:
    """The largest country of those that both sides list as neighbours; empty if there is none."""
    own = entry["ISO"]["alpha3"]
    around: Iterable[Mapping[str, Any]] = (
        code[c] for c in entry["borders"] if c in code and own in code[c]["borders"]
    )
    return max(around, key=lambda e: (e["area"], e["name"]), default={"name": ""})["name"]
