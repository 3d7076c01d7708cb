"""Worlds ready to be asked about, and which question a seed asks.

A site is built once per process and shared by every environment; it never changes. A seed means the same
question everywhere and for ever.
"""

from __future__ import annotations

import functools
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Literal, TypeAlias

from agentrl.envs.search.questions import HOPS, Hop, Question, questions
from agentrl.envs.search.world import SPLITS, World, countries, fold, random_world
from agentrl.tools.retrieval.engine import Index, Passage
from agentrl.tools.retrieval.tantivy import TantivyEngine

WorldKind: TypeAlias = Literal["countries", "random"]
SEEDS_PER_WORLD = 64
"""In random worlds this many consecutive seeds ask about one world, with as many questions of a hop count."""
RANDOM_WORLDS = 512
"""So many random worlds has a split; then they come again. All stay in memory, so seeds may come in any order."""


@dataclass(frozen=True)
class Site:
    """One world, its search engine and its questions.

    Attributes:
        articles: text by folded title.
        questions: by number of hops, in the order in which seeds ask them.
    """

    world: World
    index: Index
    articles: Mapping[str, str]
    questions: Mapping[int, tuple[Question, ...]]


def pick(kind: str, split: str, hops: tuple[int, ...], seed: int) -> tuple[Site, Question]:
    """The question of a seed: consecutive seeds walk through all of them, hop counts in turn."""
    site = (
        real_site(split)
        if kind == "countries"
        else random_site(split, seed // SEEDS_PER_WORLD % RANDOM_WORLDS)
    )
    asked = site.questions[hops[seed % len(hops)]]
    return site, asked[seed // len(hops) % len(asked)]


@functools.cache
def real_site(split: str) -> Site:
    """The real world. Asked is what a plain search finds: `capital Port of Spain`, say, finds Spain's."""
    world, asked = countries(), functools.cache(findable)
    return Site(
        world, real_index(), articles(world), {n: questions(world, split, n, findable=asked) for n in HOPS}
    )


@functools.cache
def real_index() -> TantivyEngine:
    return TantivyEngine(passages(countries()))


def findable(hop: Hop) -> bool:
    """Whether the first hit for the hop's query states its fact."""
    hits = real_index().search(hop.query, 1)
    return bool(hits) and hits[0].text == hop.fact.sentence


@functools.lru_cache(2 * RANDOM_WORLDS)
def random_site(split: str, number: int) -> Site:
    """World `number` of a split; no two splits share one."""
    world = random_world(number * len(SPLITS) + SPLITS.index(split))
    asked = {n: questions(world, split, n, limit=SEEDS_PER_WORLD) for n in HOPS}
    return Site(world, TantivyEngine(passages(world)), articles(world), asked)


def articles(world: World) -> dict[str, str]:
    """By folded title: the title and all that is said of a subject, a sentence a line."""
    lines: dict[str, list[str]] = {subject: [subject] for subject in world.subjects}
    for fact in world.facts:
        lines[fact.subject].append(fact.sentence)
    return {fold(subject): "\n".join(text) for subject, text in lines.items()}


def passages(world: World) -> list[Passage]:
    """One passage per fact. Its title says what it is about, so that a country's name alone does not decide."""
    return [Passage(fact.subject, f"{fact.subject}: {fact.relation}", fact.sentence) for fact in world.facts]
