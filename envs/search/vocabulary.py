"""What a word-level policy must be able to read and say in `Search-v0`: the names, and the words between them."""

from __future__ import annotations

import functools
import re
from dataclasses import dataclass

from agentrl.envs.search.world import PHRASES, RELATIONS, countries

TEMPLATES = (
    "What is the country whose capital is ?",
    "search query read doc answer text",
    "no results",
    "the end",
    "error: no article of that name",
    "error: call one of the tools: answer, read, search",
    "error: not executed: the episode is over",
    "Answer the question. Search for one fact at a time, then give the answer.",
    "[ ]",
)


@dataclass(frozen=True, slots=True)
class Vocabulary:
    """Sorted and without duplicates.

    Attributes:
        words: words and marks of the sentences, in lower case.
        names: countries, capitals, currencies, languages and regions, as they are spelt; one token each.
    """

    words: tuple[str, ...]
    names: tuple[str, ...]


@functools.cache
def vocabulary() -> Vocabulary:
    """The vocabulary of every world: random worlds use the same names."""
    sentences = [f"The {PHRASES[relation]} of is . {relation}" for relation in RELATIONS]
    words = {
        word for text in (*TEMPLATES, *sentences) for word in re.findall(r"\w+|[^\w\s]", text.casefold())
    }
    return Vocabulary(tuple(sorted(words)), tuple(sorted(countries().names())))
