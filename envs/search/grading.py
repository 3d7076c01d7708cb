"""Exact match and F1 of answers, as SQuAD and HotpotQA measure them.

Both compare after `normalise`: lower case, no punctuation, no articles, single spaces (Rajpurkar et al. 2016,
arXiv:1606.05250). F1 is HotpotQA's (Yang et al. 2018, arXiv:1809.09600): a `yes`, `no` or `noanswer` on either side counts
only when the other side says the same. Of several gold answers the best counts.
"""

from __future__ import annotations

import re
import string
from collections import Counter
from collections.abc import Callable, Sequence

ARTICLES = re.compile(r"\b(a|an|the)\b")
NO_PUNCTUATION = str.maketrans("", "", string.punctuation)
VERDICTS = frozenset({"yes", "no", "noanswer"})


def normalise(text: str) -> str:
    """What is compared: `The U.S.A.!` is `usa`."""
    return " ".join(ARTICLES.sub(" ", text.lower().translate(NO_PUNCTUATION)).split())


def exact_match(given: str, gold: str) -> float:
    """1 if both are the same after `normalise`, else 0. Where nothing is left of the gold answer (`The The`'s `A`), the
    texts themselves are compared: an empty answer never is right."""
    mine, theirs = normalise(given), normalise(gold)
    if not theirs:
        mine, theirs = given.strip().lower(), gold.strip().lower()
    return float(bool(theirs) and mine == theirs)


def f1(given: str, gold: str) -> float:
    """The harmonic mean of precision and recall of words, from 0 to 1."""
    mine, theirs = normalise(given), normalise(gold)
    if not mine or not theirs:
        return exact_match(given, gold)
    if mine != theirs and (mine in VERDICTS or theirs in VERDICTS):
        return 0.0
    words, gold_words = mine.split(), theirs.split()
    common = sum((Counter(words) & Counter(gold_words)).values())
    if not common:
        return 0.0
    precision, recall = common / len(words), common / len(gold_words)
    return 2 * precision * recall / (precision + recall)


MEASURES: dict[str, Callable[[str, str], float]] = {"em": exact_match, "f1": f1}


def best(measure: str, given: str, golds: Sequence[str]) -> float:
    """The largest value of a measure over the gold answers."""
    return max((MEASURES[measure](given, gold) for gold in golds), default=0.0)


def states(text: str, gold: str) -> bool:
    """Whether a gold answer stands in a text, as a run of whole words; a verdict (`yes`) cannot stand in one."""
    wanted = normalise(gold)
    return bool(wanted) and wanted not in VERDICTS and f" {wanted} " in f" {normalise(text)} "
