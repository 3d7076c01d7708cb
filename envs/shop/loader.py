"""WebShop's own files of products and goals (Yao et al. 2022), read as they are published.

    products: `items_shuffle*.json`: a list of {name, asin, category, query, product_category, pricing,
        customization_options, small_description, full_description, ...}
    goals: `items_human_ins.json`: {asin: [{instruction, instruction_attributes, instruction_options}, ...]}, or
        `items_ins_v2*.json`: {asin: {attributes, instruction, instruction_attributes}}, which also says what is true of
        each product

Invariant: what these files say is what the shop sells; nothing is downloaded, nothing is drawn but the price limit, whose
number is a function of the goal. A record that cannot be read is named with its file and index. A goal's split is that of
its product.
"""

from __future__ import annotations

import functools
import itertools
import json
import re
from collections.abc import Mapping
from pathlib import Path
from random import Random
from typing import Any

from agentrl.core.failures import UserError
from agentrl.envs.shop.records import NO_LIMIT, Goal, Option, Product, Review
from agentrl.envs.shop.shelf import GoalSource, Shop
from agentrl.envs.shop.wishes import in_split

DOLLARS = re.compile(r"\$\s*([\d,]*\.?\d+)")
NO_PRICE = 100.0
"""Dollars of a product without a price, as in WebShop."""
MOST_CHOICES = 64
"""Goals made from the options of one product at most."""


@functools.lru_cache(maxsize=2)
def loaded_shop(products: str, goals: str | None) -> Shop:
    """The shop of two files; read once a process.

    Args:
        products: path of the products.
        goals: path of the goals; if None, `items_human_ins.json` or `items_ins_v2*.json` beside the products.

    Raises:
        UserError: no such file, or a record that cannot be read: named with file and index.
    """
    source = Path(goals) if goals else goals_beside(Path(products))
    wishes = read_json(source, dict, "an object of goals by asin")
    items = read_products(Path(products), wishes)
    known = {item.asin: item for item in items}
    found = [
        goal
        for asin, entry in wishes.items()
        if asin in known
        for goal in goals_of(known[asin], entry, f"{source}[{asin!r}]")
    ]
    if not found:
        raise UserError(f"{source}: no goal is about a product of {products}")
    return Shop(items, lambda shop: listed_goals(found, str(source)))


def goals_beside(products: Path) -> Path:
    """The file of goals in the folder of the products.

    Raises:
        UserError: there is none.
    """
    names = ("items_human_ins.json", "items_ins_v2_1000.json", "items_ins_v2.json")
    for name in names:
        if (path := products.parent / name).is_file():
            return path
    raise UserError(f"no goals for {products}: give goals=, or put one of {', '.join(names)} beside it")


def listed_goals(goals: list[Goal], source: str) -> GoalSource:
    """Goals by split and seed: in the order of a fixed shuffle, one after the other."""
    order = sorted(goals, key=lambda goal: Random(f"{goal.asin}/{goal.instruction}").random())

    @functools.cache
    def of(split: str) -> tuple[Goal, ...]:
        return tuple(goal for goal in order if in_split(goal.asin, split))

    def goal(split: str, seed: int) -> Goal:
        if not of(split):
            raise UserError(f"{source}: none of its {len(goals)} goals is in the split {split!r}")
        return of(split)[seed % len(of(split))]

    return goal


def read_products(path: Path, wishes: Mapping[str, Any]) -> list[Product]:
    """The products of a file, each asin once.

    Args:
        wishes: by asin; an entry may have `attributes` of the product.

    Raises:
        UserError: names the file and the index of the record.
    """
    out: dict[str, Product] = {}
    for index, record in enumerate(read_json(path, list, "a list of products")):
        where = f"{path}[{index}]"
        if not isinstance(record, Mapping):
            raise UserError(f"{where}: a product is an object, not {type(record).__name__}")
        asin = text(record, "asin", where)
        if asin == "nan" or len(asin) > 10 or asin in out:
            continue  # as in WebShop
        entry = wishes.get(asin)
        known = entry.get("attributes") if isinstance(entry, Mapping) else None
        attributes = texts(known if known is not None else record.get("Attributes", []), where, "attributes")
        out[asin] = product_of(record, asin, attributes, where)
    if not out:
        raise UserError(f"{path}: no products")
    return list(out.values())


def product_of(record: Mapping[str, Any], asin: str, attributes: tuple[str, ...], where: str) -> Product:
    low, tag = price_of(record.get("pricing"), where)
    features = record.get("small_description") or []
    rating = record.get("average_rating") or record.get("Rating")
    return Product(
        asin=asin.upper(),
        title=text(record, "name", where),
        brand=str(record.get("brand") or ""),
        query=text(record, "query", where).lower().strip(),
        path=tuple(
            part.strip() for part in text(record, "product_category", where).split("›") if part.strip()
        ),
        price=low,
        price_tag=tag,
        options=options_of(record.get("customization_options"), where),
        attributes=attributes,
        features=texts([features] if isinstance(features, str) else features, where, "small_description"),
        description=str(record.get("full_description") or ""),
        rating=float(rating) if isinstance(rating, int | float) else None,
        reviews=reviews_of(record.get("reviews") or []),
    )


def price_of(pricing: Any, where: str) -> tuple[float, str]:
    """(dollars, how it is shown). Of a range, the middle is the price: WebShop draws it anew for every process."""
    if not pricing:
        return NO_PRICE, f"${NO_PRICE:.2f}"
    numbers = [float(found.replace(",", "")) for found in DOLLARS.findall(str(pricing))][:2]
    if not numbers:
        raise UserError(f"{where}: pricing {pricing!r:.40} has no dollars")
    tag = " to ".join(f"${number:.2f}" for number in numbers)
    return round(sum(numbers) / len(numbers), 2), tag


def options_of(given: Any, where: str) -> tuple[Option, ...]:
    if not given:
        return ()
    if not isinstance(given, Mapping):
        raise UserError(f"{where}: customization_options must be an object, not {type(given).__name__}")
    out = []
    for name, contents in given.items():
        if contents is None:
            continue
        try:
            values = [str(content["value"]).strip().replace("/", " | ").lower() for content in contents]
        except (TypeError, KeyError) as error:
            raise UserError(f"{where}: option {name!r} must be a list of objects with a value") from error
        unique = tuple(dict.fromkeys(value for value in values if value))
        if unique:
            out.append(Option(name.lower(), unique, (0.0,) * len(unique)))
    return tuple(out)


def reviews_of(given: Any) -> tuple[Review, ...]:
    """Reviews where a file has some; their fields have had several names."""
    return tuple(
        Review(
            int(float(one.get("score") or one.get("stars") or 0)),
            str(one.get("title") or ""),
            str(one.get("body") or one.get("review") or ""),
        )
        for one in given
        if isinstance(one, Mapping)
    )


def goals_of(product: Product, entry: Any, where: str) -> list[Goal]:
    """The goals of one product, in either format; those without attributes are left out, as in WebShop."""
    if isinstance(entry, list):
        return [
            goal
            for index, record in enumerate(entry)
            for goal in human_goals(product, record, f"{where}[{index}]")
        ]
    if isinstance(entry, Mapping):
        return synthetic_goals(product, entry, where)
    raise UserError(f"{where}: a goal is an object or a list of them, not {type(entry).__name__}")


def human_goals(product: Product, record: Any, where: str) -> list[Goal]:
    if not isinstance(record, Mapping):
        raise UserError(f"{where}: a goal is an object, not {type(record).__name__}")
    attributes = texts(record.get("instruction_attributes"), where, "instruction_attributes")
    given = record.get("instruction_options") or []
    options = texts(
        list(given.values()) if isinstance(given, Mapping) else given, where, "instruction_options"
    )
    words = text(record, "instruction", where).strip(".")
    return [limited(product, words, attributes, options)] if attributes else []


def synthetic_goals(product: Product, record: Mapping[str, Any], where: str) -> list[Goal]:
    """One goal for every combination of options, up to `MOST_CHOICES`."""
    if not record.get("instruction"):
        return []
    words = text(record, "instruction", where)
    attributes = texts(record.get("instruction_attributes"), where, "instruction_attributes")
    if not attributes:
        return []
    values = {option.name: option.values for option in product.options}
    names = sorted(values)
    combinations = itertools.islice(itertools.product(*(values[name] for name in names)), MOST_CHOICES)
    out = []
    for combination in combinations:
        pairs = ", and ".join(f"{name}: {value}" for name, value in zip(names, combination, strict=True))
        out.append(limited(product, f"{words} with {pairs}" if pairs else words, attributes, combination))
    return out


def limited(product: Product, words: str, attributes: tuple[str, ...], options: tuple[str, ...]) -> Goal:
    """A goal with a price limit: the larger of two of the next four multiples of ten above the price, up to 990."""
    above = [10.0 * step for step in range(1, 100) if 10.0 * step > product.price][:4]
    limit, told = NO_LIMIT, ""
    if len(above) >= 2:
        limit = max(Random(f"{product.asin}/{words}").sample(above, 2))
        told = f", and price lower than {limit:.2f} dollars"
    return Goal(
        instruction=words + told,
        asin=product.asin,
        query=product.query,
        path=product.path,
        title=product.title,
        attributes=attributes,
        options=options,
        price_upper=limit,
    )


def read_json(path: Path, kind: type, what: str) -> Any:
    """Raises: UserError: no such file, no JSON, or something else than `kind`."""
    try:
        data = json.loads(path.read_text("utf-8"))
    except OSError as error:
        raise UserError(f"{path}: cannot be read ({error.strerror or error})") from error
    except ValueError as error:
        raise UserError(f"{path}: no JSON ({str(error).splitlines()[0]})") from error
    if not isinstance(data, kind):
        raise UserError(f"{path}: must be {what}, not {type(data).__name__}")
    return data


def text(record: Mapping[str, Any], key: str, where: str) -> str:
    value = record.get(key)
    if not isinstance(value, str) or not value:
        raise UserError(f"{where}: {key} must be a text, got {value!r:.40}")
    return value


def texts(value: Any, where: str, key: str) -> tuple[str, ...]:
    if not isinstance(value, list) or not all(isinstance(item, str) for item in value):
        raise UserError(f"{where}: {key} must be a list of texts, got {value!r:.40}")
    return tuple(value)
