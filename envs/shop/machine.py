"""The shop as a state machine: which page one is on, what can be done there, where it leads.

Invariant: `transition` is a pure function of (shop, state, action); a state is a tuple of strings and numbers. Text and
web form of the environment both play this machine, so equal actions lead to equal states.

    search -> results (10 a page) -> item (options) -> done
                                     item -> description, features, reviews, attributes
"""

from __future__ import annotations

import functools
import re
from typing import Any, NamedTuple, TypeAlias

from agentrl.core.failures import ToolError
from agentrl.envs.shop.records import Product
from agentrl.envs.shop.shelf import Shop
from agentrl.envs.shop.wishes import MAX_QUERY

PER_PAGE = 10
SUB_PAGES = ("Description", "Features", "Reviews", "Attributes")
SUB_PAGE_NAMES = tuple(name.lower() for name in SUB_PAGES)
BACK, NEXT, PREV, BUY = "Back to Search", "Next >", "< Prev", "Buy Now"
ACTION = re.compile(r"^.*?\b(search|click)\s*\[(.*)\]\s*[.`*]*\s*$", re.IGNORECASE)


class State(NamedTuple):
    """Where a customer is.

    Attributes:
        page: `search`, `results`, `item`, a sub page's name in lower case, or `done`.
        query: what was searched for.
        number: which page of the results, from 1.
        asin: the product that is looked at.
        chosen: (name, value) of the chosen options, in the order of the product's options.
        opened: products looked at since the last search.
    """

    page: str = "search"
    query: str = ""
    number: int = 1
    asin: str = ""
    chosen: tuple[tuple[str, str], ...] = ()
    opened: tuple[str, ...] = ()

    def __deepcopy__(self, memo: Any) -> State:
        return self


class Act(NamedTuple):
    """What a customer does: `search` for words or `click` on a label."""

    kind: str
    target: str


Line: TypeAlias = tuple[str, str]
"""A piece of a page: its kind (`text`, `button`, `link` to a product, `opened` for one that was looked at, `option`,
`chosen`) and its words. Plain tuples of strings, which the garbage collector need not follow."""


class Page(NamedTuple):
    """A page, without the instruction.

    Attributes:
        lines: from top to bottom.
        labels: what can be clicked, in lower case, in order.
        has_search: whether there is a search box.
    """

    lines: tuple[Line, ...]
    labels: tuple[str, ...]
    has_search: bool = False


HOME, BEFORE = ("button", BACK), ("button", PREV)
ITEM_BUTTONS = tuple(("button", name) for name in (*SUB_PAGES, BUY))


def transition(shop: Shop, state: State, act: Act) -> State:
    """The state after an action.

    Raises:
        ToolError: there is no search box here, nothing was searched for, or the page has no such label.
    """
    words = " ".join(act.target.split()).lower()
    if act.kind == "search":
        if state.page != "search":
            raise ToolError(f"there is no search box on this page: click[{BACK}] first", "not_allowed")
        if not words or len(words) > MAX_QUERY:
            raise ToolError(f"search for 1 to {MAX_QUERY} characters", "invalid_arguments")
        return State("results", words)
    if (after := clicked(shop, state, words)) is None:
        known = ", ".join(page_of(shop, state).labels[:24]) or "nothing to click"
        raise ToolError(f"there is no {words[:60]!r} on this page; it has: {known}", "not_allowed")
    return after


def clicked(shop: Shop, state: State, label: str) -> State | None:
    """Where a label in lower case leads; None if the page has none such."""
    page, query, number, asin, chosen, opened = state
    if page in ("search", "done"):
        return None
    if label == "back to search":
        return State()
    if page == "results":
        found = shop.search(query)
        if label == "next >":
            return State(page, query, number + 1, opened=opened) if number * PER_PAGE < len(found) else None
        if label == "< prev":
            return State(page, query, number - 1, opened=opened) if number > 1 else None
        place = shop.by_asin.get(label.upper())
        if place is None or place not in on_page(found, number):
            return None
        asin = shop.products[place].asin
        return State("item", query, number, asin, (), opened if asin in opened else (*opened, asin))
    if label == "< prev":
        if page == "item":
            return State("results", query, number, opened=opened)
        return State("item", query, number, asin, chosen, opened)
    if page != "item":
        return None
    if label == "buy now":
        return State("done", query, number, asin, chosen, opened)
    if label in SUB_PAGE_NAMES:
        return State(label, query, number, asin, chosen, opened)
    product = shop.product(asin)
    choice = choices(product).get(label)
    return choice and State("item", query, number, asin, with_choice(product, chosen, *choice), opened)


def parse(text: str) -> Act:
    """The action that a text names: the last line with `search[words]` or `click[label]` counts.

    Raises:
        ToolError: there is none.
    """
    for line in reversed(text[-4000:].splitlines()):
        if found := ACTION.match(line):
            return Act(found[1].lower(), found[2])
    raise ToolError("say search[words] or click[label]", "no_tool_call")


def page_of(shop: Shop, state: State) -> Page:
    """The page of a state."""
    if state.page == "search":
        return Page((("button", "Search"),), (), has_search=True)
    if state.page == "done":
        return Page((("text", "Thank you for shopping with us!"),), ())
    if state.page == "results":
        return results_page(shop, state)
    product = shop.product(state.asin)
    if state.page == "item":
        return item_page(product, state)
    lines: tuple[Line, ...] = (HOME, BEFORE, *(("text", text) for text in sub_page(product, state.page)))
    return Page(lines, (BACK.lower(), PREV.lower()))


def results_page(shop: Shop, state: State) -> Page:
    found = shop.search(state.query)
    lines: list[Line] = [HOME, ("text", f"Page {state.number} (Total results: {len(found)})")]
    if state.number > 1:
        lines.append(BEFORE)
    if state.number * PER_PAGE < len(found):
        lines.append(("button", NEXT))
    labels = [words.lower() for what, words in lines if what == "button"]
    for place in on_page(found, state.number):
        product = shop.products[place]
        link, opened, *texts = card(product)
        lines.append(opened if product.asin in state.opened else link)
        lines += texts
        labels.append(product.asin.lower())
    return Page(tuple(lines), tuple(labels))


@functools.lru_cache(maxsize=8192)
def card(product: Product) -> tuple[Line, Line, Line, Line]:
    """A product among results: as a link, as one that was looked at, its title, its price."""
    return (
        ("link", product.asin),
        ("opened", product.asin),
        ("text", product.title),
        ("text", product.price_text({})),
    )


def on_page(found: tuple[int, ...], number: int) -> tuple[int, ...]:
    """The results of one page."""
    return found[(number - 1) * PER_PAGE : number * PER_PAGE]


def item_page(product: Product, state: State) -> Page:
    chosen = dict(state.chosen)
    lines = [HOME, BEFORE]
    shown = item_lines(product)
    for name, value, free, taken in shown.options:
        lines.append(taken if value and chosen.get(name) == value else free)
    lines += (shown.title, ("text", f"Price: {product.price_text(chosen)}"), shown.rating, *ITEM_BUTTONS)
    return Page(tuple(lines), shown.labels)


class ItemLines(NamedTuple):
    """What does not change on an item's page.

    Attributes:
        options: (name, value, line while it is not chosen, line once it is); a heading has no value.
        labels: all that can be clicked.
    """

    options: tuple[tuple[str, str, Line, Line], ...]
    title: Line
    rating: Line
    labels: tuple[str, ...]


@functools.lru_cache(maxsize=8192)
def item_lines(product: Product) -> ItemLines:
    options: list[tuple[str, str, Line, Line]] = []
    for label, (name, value) in labelled(product):
        if not options or options[-1][0] != name:
            heading = ("text", name)
            options.append((name, "", heading, heading))
        options.append((name, value, ("option", label), ("chosen", label)))
    rating = "N.A." if product.rating is None else f"{product.rating:.1f}"
    labels = (BACK.lower(), PREV.lower(), *choices(product), *SUB_PAGE_NAMES, BUY.lower())
    return ItemLines(tuple(options), ("text", product.title), ("text", f"Rating: {rating}"), labels)


@functools.lru_cache(maxsize=8192)
def labelled(product: Product) -> tuple[tuple[str, tuple[str, str]], ...]:
    """(label, (name, value)) of all that can be chosen, in order. The label is the value; where two options have the
    same value (or a button the same name), with the option's name before it."""
    taken = {text.lower() for text in (BACK, PREV, NEXT, BUY, *SUB_PAGES)}
    out = []
    for option in product.options:
        for value in option.values:
            label = f"{option.name}: {value}" if value.lower() in taken else value
            taken.add(label.lower())
            out.append((label, (option.name, value)))
    return tuple(out)


@functools.lru_cache(maxsize=8192)
def choices(product: Product) -> dict[str, tuple[str, str]]:
    """(name, value) of every label in lower case."""
    return {label.lower(): choice for label, choice in labelled(product)}


def with_choice(
    product: Product, chosen: tuple[tuple[str, str], ...], name: str, value: str
) -> tuple[tuple[str, str], ...]:
    """What is chosen after another choice, in the order of the product's options."""
    after = {**dict(chosen), name: value}
    return tuple((option.name, after[option.name]) for option in product.options if option.name in after)


def sub_page(product: Product, name: str) -> list[str]:
    """The texts of a sub page."""
    if name == "description":
        return [product.description or "No description."]
    if name == "features":
        return list(product.features) or ["No features."]
    if name == "attributes":
        return [*product.attributes, f"Category: {' › '.join(product.path)}"]
    return [f"{review.score} of 5: {review.title}. {review.body}".strip() for review in product.reviews] or [
        "No reviews."
    ]
