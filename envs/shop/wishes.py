"""Goals for products that were made up: what a customer may want of one, and how they say it.

Invariant: a goal of a split is about a product of this split, and its wish (kind, attributes, options) belongs to the
split too, both by their hash: neither a product to buy nor a wish is in two splits. The target meets its goal in full,
and at least one option is asked for, so what is bought without a choice never does.
"""

from __future__ import annotations

from random import Random
from typing import TYPE_CHECKING

from agentrl.core.failures import UserError
from agentrl.envs.generated import TENTHS, TRIES, stable
from agentrl.envs.shop.records import Goal, Product

if TYPE_CHECKING:
    from agentrl.envs.shop.shelf import GoalSource, Shop

OPENERS = (
    "find me {what}", "i need {what}", "i am looking for {what}", "i'm looking to buy {what}", "show me {what}",
    "i want {what}", "could you get me {what}", "please order {what}", "i would like to buy {what}",
    "my friend asked me for {what}", "help me find {what}", "it is time for {what}",
)  # fmt: skip
WHATS = (
    "{attributes} {query}",
    "{query} that are {spoken}",
    "some {query}, {spoken}",
    "{query} ({attributes})",
)
CHOICES = (
    (" with {pairs}", "{name}: {value}", ", and "),
    (", {pairs}", "{name} {value}", ", "),
    (" in {pairs}", "{value} ({name})", " and "),
    (". i want {pairs}", "the {name} {value}", " and "),
)
MAX_QUERY = 300
"""Characters that one may search for."""
LIMITS = (
    ", and price lower than {price} dollars", ". it must cost less than {price} dollars",
    ", for under {price} dollars", ", and my budget is {price} dollars", ". i can spend up to {price} dollars",
)  # fmt: skip


def made_goals(shop: Shop) -> GoalSource:
    """Where the goals of a shop with made-up products come from."""
    places = {
        split: tuple(place for place, product in enumerate(shop.products) if in_split(product.asin, split))
        for split in TENTHS
    }

    def goal(split: str, seed: int) -> Goal:
        if not places[split]:
            raise UserError(
                f"a shop of {len(shop.products)} products has none for the split {split!r}: ask for more"
            )
        for attempt in range(TRIES):
            rng = Random(f"shop/goal/{split}/{seed}/{attempt}")
            product = shop.products[rng.choice(places[split])]
            attributes, chosen = draw_wish(rng, product)
            if in_split(identity(product, attributes, chosen), split):
                made = worded(rng, product, attributes, chosen)
                if any(shop.finds(words, product.asin) for words in searches(made)):
                    return made
        raise UserError(f"split {split!r} has no goal: the catalogue is too small")

    return goal


def in_split(text: str, split: str) -> bool:
    return stable(f"shop/{text}") % 10 in TENTHS[split]


def identity(product: Product, attributes: tuple[str, ...], chosen: dict[str, str]) -> str:
    """What makes a wish another one."""
    return "/".join(
        (product.query, *sorted(attributes), *(f"{name}={chosen[name]}" for name in sorted(chosen)))
    )


def draw_wish(rng: Random, product: Product) -> tuple[tuple[str, ...], dict[str, str]]:
    """Two to four attributes, and a value of every option or of all but one."""
    attributes = tuple(rng.sample(product.attributes, rng.randint(2, min(4, len(product.attributes)))))
    options = list(product.options)
    if len(options) > 1 and rng.random() < 0.2:
        options.remove(rng.choice(options))
    return attributes, {option.name: rng.choice(option.values) for option in options}


def worded(rng: Random, product: Product, attributes: tuple[str, ...], chosen: dict[str, str]) -> Goal:
    """The goal with its instruction. The limit is a multiple of ten, one of the next four above the price."""
    first = int(product.price_of(chosen) // 10) + 1
    limit = 10.0 * rng.randint(first + 1, first + 3)
    around, each, between = rng.choice(CHOICES)
    pairs = between.join(each.format(name=name, value=value) for name, value in chosen.items())
    what = rng.choice(WHATS).format(
        attributes=", ".join(attributes), spoken=" and ".join(attributes), query=product.query
    )
    text = rng.choice(OPENERS).format(what=what) + around.format(pairs=pairs)
    text += rng.choice(LIMITS).format(price=f"{limit:.2f}")
    return Goal(
        instruction=text,
        asin=product.asin,
        query=product.query,
        path=product.path,
        title=product.title,
        attributes=attributes,
        options=tuple(chosen.values()),
        price_upper=limit,
    )


def searches(goal: Goal) -> tuple[str, ...]:
    """What the expert searches for: the words of the wish; if that does not find it, more of them, then the title."""
    wish = " ".join((goal.query, *goal.attributes))
    wordings = (wish, " ".join((wish, *goal.options)), goal.instruction, goal.title)
    return tuple(words[:MAX_QUERY] for words in wordings)
