"""A shop: its products, its search engine and the goals that it can set.

Invariant: a shop never changes; what it caches are functions of its products. It is held once a process and shared.
"""

from __future__ import annotations

import functools
from collections.abc import Callable, Sequence
from typing import Any, Protocol

from agentrl.envs.shop.records import Goal, Product
from agentrl.tools.retrieval import Bm25Index, Passage

FOUND = 50
"""Results of a search at most, as in WebShop."""
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
        cache: what other modules remember of this shop.
    """

    def __init__(self, products: Sequence[Product], goals: Callable[[Shop], GoalSource]) -> None:
        self.products = tuple(products)
        self.by_asin = {product.asin: place for place, product in enumerate(self.products)}
        self._index = Bm25Index(passage(product) for product in self.products)
        self.search = functools.lru_cache(maxsize=QUERIES)(self._search)
        self.goal = functools.lru_cache(maxsize=GOALS)(goals(self))
        self.cache: dict[str, Any] = {}

    def __deepcopy__(self, memo: Any) -> Shop:
        return self

    def product(self, asin: str) -> Product:
        return self.products[self.by_asin[asin]]

    def finds(self, query: str, asin: str) -> bool:
        """Whether a search finds this product."""
        return self.by_asin[asin] in self.search(query)

    def _search(self, query: str) -> tuple[int, ...]:
        return tuple(self.by_asin[hit.doc] for hit in self._index.search(query, FOUND))


def passage(product: Product) -> Passage:
    """What the search engine reads of a product: all that its pages say, apart from the reviews."""
    values = " ".join(value for option in product.options for value in option.values)
    text = " ".join(
        (product.query, product.description, *product.features, *product.attributes, values, *product.path)
    )
    return Passage(product.asin, product.title, text)
