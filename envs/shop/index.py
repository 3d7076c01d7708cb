"""The shop's search engine: BM25 with all weights computed beforehand, on numpy arrays.

Invariant: `search` is a function of the documents and the words of the query alone; equal scores are in the order of the
documents. Made for some thousands of short documents, where a query costs tens of microseconds; a shop of more
uses `agentrl.tools.retrieval`.
"""

from __future__ import annotations

import re
import unicodedata
from collections import Counter
from collections.abc import Sequence

import numpy as np

from agentrl.envs.shop.records import listed

K1, B = 1.2, 0.75
MAX_TERMS = 48
WORD = re.compile(r"[a-z0-9]+")
UNHEARD = frozenset(
    listed(
        "a an and are as at be but by for from has have i if in is it me my no not of on or so that the then they this to "
        "was were which will with would you your"
    )
)
"""Words that say nothing of what is looked for."""


class WordIndex:
    """Documents that can be found by their words.

    Args:
        documents: (title, text) each; words of the title count twice.
    """

    def __init__(self, documents: Sequence[tuple[str, str]]) -> None:
        counts = [Counter((*words_of(title), *words_of(title), *words_of(text))) for title, text in documents]
        lengths = np.array([sum(count.values()) for count in counts], dtype=np.float64)
        mean = float(lengths.mean()) if len(lengths) else 1.0
        places: dict[str, list[int]] = {}
        often: dict[str, list[int]] = {}
        for place, count in enumerate(counts):
            for word, times in count.items():
                places.setdefault(word, []).append(place)
                often.setdefault(word, []).append(times)
        self.size = len(counts)
        self._postings: dict[str, tuple[np.ndarray, np.ndarray]] = {}
        for word, where in places.items():
            at = np.array(where, dtype=np.int32)
            tf = np.array(often[word], dtype=np.float64)
            rarity = np.log1p((self.size - len(at) + 0.5) / (len(at) + 0.5))
            weight = rarity * tf * (K1 + 1) / (tf + K1 * (1 - B + B * lengths[at] / max(mean, 1.0)))
            self._postings[word] = (at, weight)

    def search(self, query: str, most: int) -> tuple[int, ...]:
        """Places of the `most` best documents, best first; those without a word of the query are not found."""
        known = [
            self._postings[word]
            for word in list(dict.fromkeys(words_of(query)))[:MAX_TERMS]
            if word in self._postings
        ]
        if not known or most < 1:
            return ()
        scores = np.zeros(self.size)
        for at, weight in known:
            scores[at] += weight
        found = np.flatnonzero(scores)
        if len(found) > most:  # those with at least the score of the last one that fits, ties included
            some = scores[found]
            found = found[some >= np.partition(some, len(some) - most)[len(some) - most]]
        order = np.argsort(-scores[found], kind="stable")[:most]
        return tuple(found[order].tolist())


def words_of(text: str) -> list[str]:
    """Words in lower case without accents and without the s of a plural, apart from those that say nothing."""
    plain = text.lower()
    if not plain.isascii():
        plain = unicodedata.normalize("NFKD", plain).encode("ascii", "ignore").decode()
    return [singular(word) for word in WORD.findall(plain) if word not in UNHEARD]


def singular(word: str) -> str:
    return word[:-1] if len(word) > 3 and word[-1] == "s" and word[-2] != "s" else word
