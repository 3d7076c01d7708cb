"""The corpus and the questions that ship: articles about countries, capitals, currencies, languages and regions.

Built by code from the facts of `world`, nothing is downloaded. A question needs one to three articles; its splits are those
of its countries, by region. Asked is only what can be found: the query of each step brings up its article.
"""

from __future__ import annotations

import functools

from agentrl.envs.search.datasets import OpenQuestion, Step
from agentrl.envs.search.questions import HOPS, Hop, Question, questions
from agentrl.envs.search.world import SPLITS, Fact, World, countries, fold
from agentrl.tools.retrieval.engine import Passage
from agentrl.tools.retrieval.tantivy import TantivyEngine

KINDS = {1: "fact", 2: "bridge", 3: "chain"}
LEVELS = {1: "easy", 2: "medium", 3: "hard"}
GROUPS = {
    "currency": "The {} is the currency of",
    "language": "{} is the first language of",
    "region": "{} is the region of the world with",
}
TELLS = 3
"""So many hits may an article of a step come in at worst, to be asked for."""


@functools.cache
def passages() -> tuple[Passage, ...]:
    """The articles: one a country, one a capital, one a currency, language and region."""
    world = countries()
    articles = {fold(subject): (subject, about_country(world, subject)) for subject in world.subjects}
    for fact in world.facts:
        if fact.relation == "capital":
            articles.setdefault(fold(fact.value), (fact.value, about_capital(world, fact)))
    for relation, verb in GROUPS.items():
        members: dict[str, list[str]] = {}
        for fact in world.facts:
            if fact.relation == relation:
                members.setdefault(fact.value, []).append(fact.subject)
        for value, subjects in members.items():
            articles.setdefault(fold(value), (value, f"{verb.format(value)} {listing(subjects)}."))
    return tuple(Passage(str(number), *article) for number, article in enumerate(articles.values()))


def about_country(world: World, subject: str) -> str:
    said = {
        relation: world.fact[subject, relation].value
        for relation in ("capital", "currency", "language", "region", "neighbour")
        if (subject, relation) in world.fact
    }
    lines = [
        f"{subject} lies in the region {said['region']}.",
        f"The capital of {subject} is {said['capital']}, and the first language is {said['language']}.",
        f"The currency is the {said['currency']}.",
    ]
    if "neighbour" in said:
        lines.append(f"Its largest neighbour is {said['neighbour']}.")
    return " ".join(lines)


def about_capital(world: World, fact: Fact) -> str:
    region = world.fact[fact.subject, "region"].value
    return f"{fact.value} is a city in the region {region}. It is the seat of government of {fact.subject}."


def listing(names: list[str]) -> str:
    return names[0] if len(names) == 1 else f"{', '.join(names[:-1])} and {names[-1]}"


@functools.cache
def engine() -> TantivyEngine:
    return TantivyEngine(passages())


@functools.cache
def asked() -> dict[str, tuple[OpenQuestion, ...]]:
    """The questions by split, hop counts in turn."""
    by_split = {}
    for split in SPLITS:
        lists = [
            [open_question(question, f"{split}-{hops}-{number}") for number, question in enumerate(found)]
            for hops in HOPS
            if (found := questions(countries(), split, hops, findable=findable))
        ]
        shortest = min(map(len, lists))
        mixed = [
            question for turn in zip(*(part[:shortest] for part in lists), strict=True) for question in turn
        ]
        rest = [question for part in lists for question in part[shortest:]]
        by_split[split] = tuple(mixed + rest)
    return by_split


def open_question(question: Question, name: str) -> OpenQuestion:
    steps = tuple(Step(title_of(hop), query_of(hop)) for hop in question.chain)
    return OpenQuestion(
        name, question.text, question.accepted, steps, KINDS[question.hops], LEVELS[question.hops]
    )


def title_of(hop: Hop) -> str:
    """The article that states a hop's fact: backwards, that of the capital."""
    return hop.known if hop.backwards else hop.fact.subject


def query_of(hop: Hop) -> str:
    """What to search for: what is known, and what of it is asked."""
    return f"{hop.known} city" if hop.backwards else f"{hop.known} {hop.fact.relation}"


@functools.cache
def findable(hop: Hop) -> bool:
    """Whether the hop's query brings up the article that states its fact."""
    hits = engine().search(query_of(hop), TELLS)
    return any(hit.title == title_of(hop) and hop.learned in hit.text for hit in hits)
