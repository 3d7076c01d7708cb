"""WebShop's reward (Yao et al. 2022, arXiv:2207.01206, section 2.3): how well what was bought meets what was wanted.

    r = r_type * (|attributes met| + |options met| + [price met]) / (|attributes| + |options| + 1)

Invariant: a pure function of (what was bought, the goal), between 0 and 1; 1 means that everything that was asked for
is true of what was bought. Rules and thresholds are those of the published code; one part differs: which words of a
title are nouns is decided by `nouns` and not by a tagger's model (see there).
"""

from __future__ import annotations

import functools
import re
from collections.abc import Iterable, Mapping
from dataclasses import dataclass

from agentrl.envs.shop.fuzzy import same_choice, similar
from agentrl.envs.shop.records import Goal, Product, listed

WORD = re.compile(r"[a-z][a-z'-]+")
NOT_NOUNS = frozenset(
    listed(
        "a an and are as at be by for from in into is it its of off on or our out over per plus set than that the their "
        "this to up with without your you we all any each every new non extra super best great good large small big mini "
        "medium long short high low heavy light soft hard easy quick fast slim wide thin thick double single dual full free "
        "black white blue brown gold green grey gray orange pink purple red silver yellow beige navy teal "
        "women's men's womens mens kids' unisex portable wireless natural organic adjustable compatible durable "
        "washable resistant waterproof proof breathable professional premium perfect ideal suitable"
    )
)
NOT_NOUN_ENDS = (
    "able",
    "ible",
    "less",
    "ous",
    "ive",
)  # of words of seven letters or more: not table, cable, olive


@dataclass(frozen=True, slots=True)
class Judgement:
    """A reward and what it is made of.

    Attributes:
        reward: 0 to 1.
        type: factor for the kind of product: 1, 0.5, 0.1 or 0.
        attributes, options: how many of the goal's were met.
        price: whether it cost no more than the limit.
    """

    reward: float
    type: float
    attributes: int
    options: int
    price: bool

    def to_dict(self) -> dict[str, float | int | bool]:
        return {
            "reward": self.reward,
            "type": self.type,
            "attributes": self.attributes,
            "options": self.options,
            "price": self.price,
        }


def judge(product: Product, chosen: Mapping[str, str], goal: Goal) -> Judgement:
    """Judge a purchase.

    Args:
        chosen: values of options by name.
    """
    factor = type_factor(product, goal)
    attributes = sum(has_attribute(product, wanted) for wanted in goal.attributes)
    options = options_met(chosen.values(), goal.options)
    price = product.price_of(chosen) <= goal.price_upper
    share = (attributes + options + price) / (len(goal.attributes) + len(goal.options) + 1)
    return Judgement(factor * share, factor, attributes, options, price)


def type_factor(product: Product, goal: Goal) -> float:
    """1 for the same kind: the same query, two common departments, or more than a fifth of the goal's title nouns; 0.5
    for another kind; 0.1 where under a tenth of the nouns are there, 0 where none is, whatever the departments."""
    title = title_score(product.title, goal.title)
    same = product.query == goal.query or len(set(product.path) & set(goal.path)) >= 2 or title > 0.2
    if title == 0.0:
        return 0.0
    if title < 0.1:
        return 0.1
    return 1.0 if same else 0.5


def title_score(title: str, wanted: str) -> float:
    """The share of the wanted title's nouns that the other title has; 0.2 where it has none."""
    names = nouns(wanted)
    return len(set(names) & set(nouns(title))) / len(names) if names else 0.2


@functools.lru_cache(maxsize=8192)
def nouns(title: str) -> tuple[str, ...]:
    """The words of a title that may be nouns: all but numbers, function words, colours and common adjectives.

    WebShop asks a tagger (spaCy's small English model) for nouns and proper nouns. In titles, which are strings of names,
    nearly every other word is one, and a closed list needs no model.
    """
    return tuple(
        word
        for word in WORD.findall(title.lower())
        if word not in NOT_NOUNS and not (len(word) > 6 and word.endswith(NOT_NOUN_ENDS))
    )


@functools.lru_cache(maxsize=65_536)
def has_attribute(product: Product, wanted: str) -> bool:
    """One of the product's attributes is worded alike, or its title, features or description say it literally."""
    if any(similar(attribute, wanted) for attribute in product.attributes):
        return True
    return any(
        wanted in text.lower() for text in (product.title, " ".join(product.features), product.description)
    )


def options_met(chosen: Iterable[str], wanted: Iterable[str]) -> int:
    """How many of the wanted values are among the chosen ones."""
    have = tuple(chosen)
    return sum(any(same_choice(value, one) for value in have) for one in wanted)
