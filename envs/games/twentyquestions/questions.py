"""Questions about a country, their answers, and which one halves best.

Invariant: an answer is a function of the question and the country's facts alone: `yes`, `no`, or `unknown` where the facts do
not say. The countries that remain are those that would have given every answer that was given.
"""

from __future__ import annotations

import functools
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from typing import Any, Literal, TypeAlias

from agentrl.envs.games.twentyquestions.facts import Country, all_countries, known
from agentrl.envs.search.world import fold

Answer: TypeAlias = Literal["yes", "no", "unknown"]
About: TypeAlias = Literal[
    "region",
    "language",
    "currency",
    "border",
    "country starts with",
    "capital starts with",
    "area",
    "population",
    "country contains",
    "capital contains",
]
Told: TypeAlias = "tuple[Question, Answer]"
LETTERS = "abcdefghijklmnopqrstuvwxyz"
STEPS = {"area": range(1, 8), "population": range(2, 10)}
"""The powers of ten of the round numbers that the expert asks about."""


@dataclass(frozen=True, slots=True)
class Question:
    """What is asked.

    Attributes:
        about: of which facts.
        value: a name as it is in the facts, a small letter, or, of an area (km²) or a population, the least number.
    """

    about: About
    value: str | int

    def __deepcopy__(self, memo: Any) -> Question:
        return self  # it never changes


def answer(question: Question, country: Country) -> Answer:
    """What the facts say."""
    about, value = question.about, question.value
    if about == "border" and value in country.doubtful:
        return "unknown"
    if isinstance(value, int):
        right = (country.area if about == "area" else country.population) >= value
    elif about == "region":
        right = value in country.regions
    elif about == "language":
        right = value in country.languages
    elif about == "currency":
        right = value in country.currencies
    elif about == "border":
        right = value in country.borders
    else:
        what, how = about.split(" ", 1)
        name = fold(country.name if what == "country" else country.capital)
        right = name.startswith(value) if how == "starts with" else value in name
    return "yes" if right else "no"


@functools.lru_cache(4096)
def parts(question: Question) -> dict[Answer, int]:
    """From each answer to the set of countries that give it, as a bit mask over `all_countries()`. Never change it."""
    masks: dict[Answer, int] = {"yes": 0, "no": 0, "unknown": 0}
    for index, country in enumerate(all_countries()):
        masks[answer(question, country)] |= 1 << index
    return masks


def remaining(told: Iterable[Told]) -> int:
    """The countries that would have given all these answers, as a bit mask."""
    left = (1 << len(all_countries())) - 1
    for question, said in told:
        left &= parts(question)[said]
    return left


def best_question(left: int) -> Question | None:
    """Of the questions of `usual`, the first that leaves the fewest countries in the worst case; None where one is left."""
    most = left.bit_count()
    best = None
    for question in usual():
        worst = max((left & mask).bit_count() for mask in parts(question).values())
        if worst < most:
            best, most = question, worst
    return best


@functools.cache
def usual() -> tuple[Question, ...]:
    """What a person would ask: names, first letters, round numbers (1, 2 or 5 and zeros), letters."""
    return tuple(_usual())


def _usual() -> Iterator[Question]:
    yield from (Question("region", name) for name in known("regions").values())
    yield from (Question("language", name) for name in known("languages").values())
    yield from (Question("currency", name) for name in known("currencies").values())
    yield from (Question("border", country.name) for country in all_countries())
    yield from (Question("country starts with", letter) for letter in LETTERS)
    yield from (Question("capital starts with", letter) for letter in LETTERS)
    for power in STEPS["area"]:
        yield from (Question("area", digit * 10**power) for digit in (1, 2, 5))
    for power in STEPS["population"]:
        yield from (Question("population", digit * 10**power) for digit in (1, 2, 5))
    yield from (Question("country contains", letter) for letter in LETTERS)
    yield from (Question("capital contains", letter) for letter in LETTERS)
