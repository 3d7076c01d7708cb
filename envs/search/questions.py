"""Questions of one to three hops over a world: a grammar in which each hop needs one look-up.

    What is the R of X?     X := a country | the country whose capital is C | the largest neighbour of X

Invariants: a question has exactly one answer in its world; the answer does not occur in the question; no country is
visited twice; every country on the chain, the answer too if it is one, belongs to the split of the question.
"""

from __future__ import annotations

import functools
import itertools
import random
from collections.abc import Callable
from dataclasses import dataclass

from agentrl.envs.search.world import PHRASES, RELATIONS, Fact, World, fold

HOPS = (1, 2, 3)


@dataclass(frozen=True, slots=True)
class Hop:
    """One look-up: `query` asks for the fact; what is learned is its value or, backwards, its subject."""

    fact: Fact
    backwards: bool = False

    @property
    def known(self) -> str:
        return self.fact.value if self.backwards else self.fact.subject

    @property
    def learned(self) -> str:
        return self.fact.subject if self.backwards else self.fact.value

    @property
    def query(self) -> str:
        return f"{self.fact.relation} {self.known}"


@dataclass(frozen=True, slots=True)
class Question:
    """A question, the look-ups that answer it, and what is accepted.

    Attributes:
        text: what the policy is asked.
        chain: the hops in order; the last one learns the answer.
        accepted: forms of the answer; the first is how the articles say it.
    """

    text: str
    chain: tuple[Hop, ...]
    accepted: tuple[str, ...]

    @property
    def answer(self) -> str:
        return self.accepted[0]

    @property
    def hops(self) -> int:
        return len(self.chain)

    def accepts(self, text: str) -> bool:
        given = normalised(text)
        return bool(given) and any(given == normalised(form) for form in self.accepted)


@functools.lru_cache(4096)
def normalised(text: str) -> str:
    """What is compared: case, accents, punctuation and articles do not matter."""
    return " ".join(word for word in fold(text).split() if word not in ("a", "an", "the"))


def questions(
    world: World,
    split: str,
    hops: int,
    *,
    limit: int | None = None,
    findable: Callable[[Hop], bool] = lambda hop: True,
) -> tuple[Question, ...]:
    """Questions of `split` with `hops` hops in a fixed order that mixes the forms.

    Args:
        limit: only the first ones; None for every one that there is.
        findable: whether a look-up can be asked for.
    """
    inside = frozenset(s for s in world.subjects if world.split_of.get(s, split) == split)
    heads = (False,) if hops == 1 else (False, True)
    forms = [
        (s, back, relation) for s in world.subjects if s in inside for back in heads for relation in RELATIONS
    ]
    random.Random(f"{world.name} {split} {hops}").shuffle(forms)
    chains = (_chain(world, inside, start, back, hops, relation) for start, back, relation in forms)
    asked = (_question(world, chain) for chain in chains if chain and all(map(findable, chain)))
    return tuple(itertools.islice((question for question in asked if question), limit))


def _chain(
    world: World, inside: frozenset[str], start: str, backwards: bool, hops: int, relation: str
) -> tuple[Hop, ...] | None:
    """From `start` (or, backwards, from its capital) over largest neighbours to a last `relation`; None where a
    fact is missing, leaves the split, or tells nothing new."""
    chain: list[Hop] = []
    if backwards:
        fact = world.fact.get((start, "capital"))
        if (
            fact is None
            or fact.value not in world.country_of_capital
            or normalised(fact.value) == normalised(start)
        ):
            return None
        chain.append(Hop(fact, backwards=True))
    here = start
    while len(chain) < hops:
        last = len(chain) == hops - 1
        fact = world.fact.get((here, relation if last else "neighbour"))
        if fact is None or (fact.relation == "neighbour" and fact.value not in inside):
            return None
        chain.append(Hop(fact))
        here = fact.value
    return tuple(chain)


def _question(world: World, chain: tuple[Hop, ...]) -> Question | None:
    """The question that `chain` answers; None if it would answer itself or go in a circle."""
    first, last = chain[0], chain[-1]
    subjects = [hop.fact.subject for hop in chain if not hop.backwards]
    visited = [*subjects, last.learned] if last.fact.relation == "neighbour" else subjects
    if len(set(visited)) < len(visited):
        return None
    accepted = (last.learned, *world.aliases.get((last.fact.relation, last.learned), ()))
    # The only name in a question is the one that it starts from.
    if any(within(form, first.known) for form in accepted):
        return None
    said = f"the country whose capital is {first.known}" if first.backwards else first.known
    for hop in chain[1 if first.backwards else 0 :]:
        said = f"the {PHRASES[hop.fact.relation]} of {said}"
    return Question(f"What is {said}?", chain, accepted)


@functools.lru_cache(32768)
def within(form: str, text: str) -> bool:
    """Whether an answer is a run of words of `text`."""
    return f" {normalised(form)} " in f" {normalised(text)} "
