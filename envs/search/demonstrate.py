"""How to answer: one search per hop, each for what the last one told.

Everything is read off what was really shown; the gold chain only says which look-ups a question asks for. So
an expert also goes on sensibly from wherever a policy has got to.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import Protocol

from agentrl.core.messages import Message, call
from agentrl.envs.search.questions import Hop, Question
from agentrl.envs.search.world import PHRASES, Fact

RELATION_OF = {phrase: relation for relation, phrase in PHRASES.items()}
SENTENCE = re.compile(rf"The ({'|'.join(map(re.escape, RELATION_OF))}) of (.+) is (.+)\.$")


class Rng(Protocol):
    """`random.Random` and `numpy.random.Generator` both are one."""

    def random(self) -> float: ...


def facts_in(text: str) -> list[Fact]:
    """The facts that an observation states, in order."""
    found = (SENTENCE.search(line) for line in text.splitlines())
    return [Fact(match[2], RELATION_OF[match[1]], match[3]) for match in found if match]


def progress(question: Question, shown: Sequence[str]) -> list[str]:
    """What was learned along the question's chain: at most one hop per observation, in order."""
    learned: list[str] = []
    known = question.chain[0].known
    for text in shown:
        if len(learned) == question.hops:
            break
        value = read_off(question.chain[len(learned)], known, text)
        if value is not None:
            learned.append(value)
            known = value
    return learned


def read_off(hop: Hop, known: str, text: str) -> str | None:
    """What `text` says of `known` under the hop's relation."""
    for fact in facts_in(text):
        given, told = (fact.value, fact.subject) if hop.backwards else (fact.subject, fact.value)
        if fact.relation == hop.fact.relation and given == known:
            return told
    return None


def expert_action(question: Question, shown: Sequence[str]) -> Message:
    """The next search, or the answer once the last hop was read."""
    learned = progress(question, shown)
    if len(learned) == question.hops:
        return call("answer", text=learned[-1])
    hop = question.chain[len(learned)]
    return call("search", query=f"{hop.fact.relation} {learned[-1] if learned else hop.known}")


def hasty_action(question: Question, shown: Sequence[str], rng: Rng, p: float) -> Message:
    """As `expert_action`, but at every hop before the last it answers too early with probability `p`: with what
    it has just read. A policy that imitates this can search and copy, and has a habit that reward can mend."""
    learned = progress(question, shown)
    if 0 < len(learned) < question.hops and rng.random() < p:
        return call("answer", text=learned[-1])
    return expert_action(question, shown)
