"""Products that are made up from a seed.

Invariant: product `i` of a seed is the same in every process and whatever the size of the catalogue; names, words and
sentences are our own. No two products have the same asin or the same title.
"""

from __future__ import annotations

import functools
import hashlib
from random import Random

from agentrl.envs.shop.goods import BRAND_HEADS, BRAND_TAILS, KINDS, MODELS, OPTIONS, Kind
from agentrl.envs.shop.records import Option, Product, Review
from agentrl.envs.shop.shelf import Shop
from agentrl.envs.shop.wishes import made_goals

LETTERS = "0123456789ABCDEFGHJKLMNPQRSTUVWXYZ"
MAX_PRODUCTS = 100_000

PRAISE = (
    "Better than I had hoped", "Does what it says", "Would buy again", "A nice present", "Good value",
    "Exactly as pictured", "Happy with it", "My third one",
)  # fmt: skip
BLAME = (
    "Not what I expected",
    "It is all right",
    "Smaller than I thought",
    "Arrived late",
    "Could be better",
)
GOOD_LINES = (
    "I use it for {use} and would not go back.",
    "It came quickly and looks just like the picture.",
    "My family took it for {use} and everybody liked it.",
    "Well made for the price.",
    "After two months it is as good as on the first day.",
)
BAD_LINES = (
    "It is fine for {use}, but I have seen better.",
    "The box was torn when it came.",
    "I had to send the first one back.",
    "Nothing special, though it works.",
)
OPENINGS = (
    "The {brand} {model} was made for {use}.",
    "Meet the {model} by {brand}, at home with {use}.",
    "{brand} designed the {model} with {use} in mind.",
    "From {use} to {other}: the {brand} {model} comes along.",
)
SENTENCES = (
    "It is {attribute}, as you would wish.",
    "Customers value that it is {attribute}.",
    "Being {attribute}, it does its work for years.",
)
FEATURES = (
    "{Attribute}: tested for {use}",
    "{Attribute}, so that you can think of other things",
    "{Attribute} and a good choice for {use}",
    "Truly {attribute}",
    "{Attribute} design by {brand}",
)
CLOSINGS = (
    "Questions? {brand} answers within a day.",
    "Comes in a box made of recycled paper.",
    "A sound choice for {other}.",
)


@functools.lru_cache(maxsize=4)
def made_shop(seed: int, size: int) -> Shop:
    """The shop of a seed with so many products; made once a process."""
    return Shop(made_products(seed, size), made_goals)


def made_products(seed: int, size: int) -> tuple[Product, ...]:
    """`size` products: the kinds in turn, each product different."""
    out: list[Product] = []
    asins: set[str] = set()
    titles: set[str] = set()
    for index in range(size):
        for attempt in range(100):
            product = made_product(Random(f"shop/{seed}/{index}/{attempt}"), index % len(KINDS))
            if product.asin not in asins and product.title not in titles:
                break
        asins.add(product.asin)
        titles.add(product.title)
        out.append(product)
    return tuple(out)


def made_product(rng: Random, number: int) -> Product:
    """One product of the kind `KINDS[number]`."""
    kind = KINDS[number]
    brand, model, name = draw_brand(rng), rng.choice(MODELS), rng.choice(kind.names)
    attributes = tuple(rng.sample(kind.attributes, rng.randint(4, 6 if len(kind.attributes) > 6 else 5)))
    use, other = rng.sample(kind.uses, 2)
    words = {"brand": brand, "model": model, "use": use, "other": other}
    shown = rng.randint(0, 2)  # attributes that the title names; the others one has to read about
    title = f"{brand} {model} {name}{''.join(f', {part.title()}' for part in attributes[:shown])}"
    rest = attributes[shown:]
    told = rng.randint(0, 1)
    features = [
        rng.choice(FEATURES).format(Attribute=a[0].upper() + a[1:], attribute=a, **words) for a in rest[told:]
    ]
    features.insert(0, f"For {use} and {other}")
    sentences = [rng.choice(OPENINGS).format(**words)]
    sentences += [rng.choice(SENTENCES).format(attribute=a) for a in rest[:told]]
    sentences.append(rng.choice(CLOSINGS).format(**words))
    price = rng.randint(*kind.price) - rng.choice((0.01, 0.05, 0.5, 0.0))
    reviews = tuple(draw_review(rng, words) for _ in range(rng.randint(1, 4)))
    mean = sum(review.score for review in reviews) / len(reviews)
    return Product(
        asin=asin_of(f"{title}/{price}/{rng.random()}"),
        title=title,
        brand=brand,
        query=kind.query,
        path=kind.path,
        price=round(price, 2),
        options=draw_options(rng, kind, price),
        attributes=attributes,
        features=tuple(features),
        description=" ".join(sentences),
        rating=round(mean, 1),
        reviews=reviews,
        kind=number,
    )


def draw_brand(rng: Random) -> str:
    return rng.choice(BRAND_HEADS) + rng.choice(BRAND_TAILS)


def draw_options(rng: Random, kind: Kind, price: float) -> tuple[Option, ...]:
    """Every option of the kind, with some of its values; bigger ones cost more."""
    out = []
    for key in kind.options:
        name, values, step = OPTIONS[key]
        count = min(len(values), rng.randint(3, 6))
        places = sorted(rng.sample(range(len(values)), count))
        extra = tuple(round(step * price * (place - places[0]), 2) for place in places)
        out.append(Option(name, tuple(values[place] for place in places), extra))
    return tuple(out)


def draw_review(rng: Random, words: dict[str, str]) -> Review:
    score = rng.choice((5, 5, 5, 4, 4, 4, 3, 2))
    lines, titles = (GOOD_LINES, PRAISE) if score > 3 else (BAD_LINES, BLAME)
    return Review(score, rng.choice(titles), rng.choice(lines).format(**words))


def asin_of(text: str) -> str:
    """Ten letters and digits that say nothing of what they name."""
    number = int.from_bytes(hashlib.blake2b(text.encode(), digest_size=8).digest(), "big")
    return "B" + "".join(LETTERS[(number >> 6 * place) % len(LETTERS)] for place in range(9))
