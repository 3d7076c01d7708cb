"""A shop: its products, its search engine and the goals that it can set.

Invariant: a shop never changes; what it caches are functions of its products. It is held once a process and shared.
"""

from __future__ import annotations

import functools
from collections.abc import Callable, Sequence
from typing import Any, Protocol

from agentrl.envs.shop.index import WordIndex
from agentrl.envs.shop.records import Goal, Product
from agentrl.tools.retrieval.engine import Passage
from agentrl.tools.retrieval.tantivy import TantivyEngine

FOUND = 50
"""Results of a search at most, as in WebShop."""
DENSE = 20_000
"""Up to so many products are searched on numpy arrays, more by tantivy."""
QUERIES, GOALS = 8192, 8192  # how many are kept


class GoalSource(Protocol):
    """Where goals come from."""

    def __call__(self, split: str, seed: int) -> Goal: ...


class Shop:
    """Products that can be found and goals that ask for them.

    Args:
        products: in the order that breaks ties of the search.
        goals: makes the goal of (split, seed); the same one each time.

    Attributes:
        by_asin: places of the products by asin.
        search: the places of the products that a query finds, best first, at most 50.
        goal: the goal of (split, seed).
    """

    def __init__(self, products: Sequence[Product], goals: Callable[[Shop], GoalSource]) -> None:
        self.products = tuple(products)
        self.by_asin = {product.asin: place for place, product in enumerate(self.products)}
        self.search = functools.lru_cache(maxsize=QUERIES)(self._finder())
        self.goal = functools.lru_cache(maxsize=GOALS)(goals(self))

    def __deepcopy__(self, memo: Any) -> Shop:
        return self

    def product(self, asin: str) -> Product:
        return self.products[self.by_asin[asin]]

    def finds(self, query: str, asin: str) -> bool:
        """Whether a search finds this product."""
        return self.by_asin[asin] in self.search(query)

    def _finder(self) -> Callable[[str], tuple[int, ...]]:
        texts = [searched(product) for product in self.products]
        if len(texts) <= DENSE:
            words = WordIndex(texts)
            return lambda query: words.search(query, FOUND)
        index = TantivyEngine(Passage(str(place), *text) for place, text in enumerate(texts))
        return lambda query: tuple(int(hit.doc) for hit in index.search(query, FOUND))


def searched(product: Product) -> tuple[str, str]:
    """What the search engine reads of a product, title and all else: its kind, description, first feature and options.

    As in WebShop it does not read the other features and the list of attributes: whether a product that was found has what is wanted,
    its pages say.
    """
    values = " ".join(value for option in product.options for value in option.values)
    return product.title, " ".join((product.query, product.description, *product.features[:1], values))
