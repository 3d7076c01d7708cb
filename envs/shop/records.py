"""What a shop sells and what somebody wants of it: plain, frozen records.

Invariant: a product and a goal never change, so copies of an environment share them.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any


def listed(text: str) -> tuple[str, ...]:
    """The words of a list that is written as a text."""
    return tuple(text.split())


NO_LIMIT = 1_000_000.0
"""Dollars: the price limit of a goal without one."""


@dataclass(frozen=True, slots=True)
class Option:
    """Something that can be chosen before one buys.

    Attributes:
        name: e.g. `color`.
        values: what it can be, lower case.
        extra: dollars that each value adds to the price of the product, as many as values.
    """

    name: str
    values: tuple[str, ...]
    extra: tuple[float, ...]


@dataclass(frozen=True, slots=True)
class Review:
    score: int
    title: str
    body: str


@dataclass(frozen=True, slots=True, eq=False)  # compared by identity: a catalogue has each product once
class Product:
    """One thing on sale.

    Attributes:
        asin: its id, upper case letters and digits.
        title, brand, description, features, attributes, reviews: what its pages show.
        query: what its kind is called by those who look for it.
        path: its place in the shop, from wide to narrow.
        price: dollars, before options.
        options: in the order of the page.
        rating: 1 to 5; None where nobody rated it.
        kind: index of the kind that it was made from; -1 for products of a file.
        price_tag: what its pages show as price whatever is chosen; empty to show what the choice costs.
    """

    asin: str
    title: str
    brand: str
    query: str
    path: tuple[str, ...]
    price: float
    options: tuple[Option, ...]
    attributes: tuple[str, ...]
    features: tuple[str, ...]
    description: str
    rating: float | None = None
    reviews: tuple[Review, ...] = ()
    kind: int = -1
    price_tag: str = ""

    def __deepcopy__(self, memo: Any) -> Product:
        return self

    def price_of(self, chosen: Mapping[str, str]) -> float:
        """Dollars for these values of the options; what is not chosen adds nothing."""
        total = self.price
        for option in self.options:
            if option.name in chosen:
                total += option.extra[option.values.index(chosen[option.name])]
        return round(total, 2)

    def price_text(self, chosen: Mapping[str, str]) -> str:
        """The price as its page shows it: a range as long as the options that decide it are not chosen."""
        if self.price_tag:
            return self.price_tag
        low = self.price_of(chosen)
        high = low + sum(max(option.extra) for option in self.options if option.name not in chosen)
        return f"${low:.2f}" if high - low < 0.005 else f"${low:.2f} to ${high:.2f}"


@dataclass(frozen=True, slots=True, eq=False)
class Goal:
    """What a customer wants. Only `instruction` is ever shown.

    Attributes:
        instruction: in words.
        asin, query, path, title: of the product that it was made from.
        attributes: what must be true of what is bought.
        options: values that must be chosen.
        price_upper: dollars that it may cost at most.
    """

    instruction: str
    asin: str
    query: str
    path: tuple[str, ...]
    title: str
    attributes: tuple[str, ...]
    options: tuple[str, ...]
    price_upper: float = NO_LIMIT

    def __deepcopy__(self, memo: Any) -> Goal:
        return self
