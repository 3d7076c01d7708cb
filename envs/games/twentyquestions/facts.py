"""What is known of every country, over the facts of `envs.search.world`.

Invariant: names of any kind are compared folded (no case, no accents, no punctuation), and a spelling means one country at
most. A border is a fact only if both sides state it; where one side alone does, it is unknown.
"""

from __future__ import annotations

import functools
from collections import Counter
from collections.abc import Mapping
from dataclasses import dataclass

from agentrl.envs.search.world import entries, fold, names_by_code


@dataclass(frozen=True, slots=True)
class Country:
    """A country or territory.

    Attributes:
        name, capital: as they are spelt in English.
        regions: the continent, and the smaller regions it lies in.
        languages, currencies: all that are listed and have a name, e.g. `Spanish`, `US dollar`.
        borders: names of countries that share a land border.
        doubtful: names of countries of which only one side says so.
        area: square kilometres.
        population: inhabitants.
    """

    name: str
    capital: str
    regions: frozenset[str]
    languages: frozenset[str]
    currencies: frozenset[str]
    borders: frozenset[str]
    doubtful: frozenset[str]
    area: float
    population: int


@functools.cache
def all_countries() -> tuple[Country, ...]:
    """Every country, by name."""
    listed = entries()
    name_of = {entry["ISO"]["alpha3"]: entry["name"] for entry in listed}
    stated = {
        entry["name"]: {name_of[code] for code in entry["borders"] if code in name_of} for entry in listed
    }
    table, out = names_by_code(), []
    for entry in listed:
        name = entry["name"]
        regions = (entry["region"], entry["subregion"], entry.get("intermediateregion"))
        by_them = {other for other, neighbours in stated.items() if name in neighbours}
        out.append(
            Country(
                name,
                entry["capital"],
                frozenset(region for region in regions if region),
                frozenset(
                    table["languages"][code] for code in entry["languages"] if code in table["languages"]
                ),
                frozenset(
                    table["currencies"][code] for code in entry["currencies"] if code in table["currencies"]
                ),
                frozenset(stated[name] & by_them),
                frozenset(stated[name] ^ by_them),
                entry["area"],
                entry["population"],
            )
        )
    return tuple(out)


@functools.cache
def spellings() -> Mapping[str, str]:
    """From a folded spelling or ISO code to the country's name. Its own name goes before other spellings, and what two
    countries are both called means neither. Never change it."""
    others: dict[str, set[str]] = {}
    for entry in entries():
        for spelling in (*entry["altSpellings"], entry["ISO"]["alpha2"], entry["ISO"]["alpha3"]):
            others.setdefault(fold(spelling), set()).add(entry["name"])
    found = {
        spelling: next(iter(names)) for spelling, names in others.items() if spelling and len(names) == 1
    }
    return found | {fold(country.name): country.name for country in all_countries()}


@functools.cache
def known(kind: str) -> Mapping[str, str]:
    """From a folded name to the name, of every `regions`, `languages` or `currencies`; the most frequent first. Never
    change it."""
    counts = Counter(name for country in all_countries() for name in sorted(getattr(country, kind)))
    return {fold(name): name for name, _ in counts.most_common()}
