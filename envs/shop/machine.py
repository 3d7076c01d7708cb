"""The shop as a state machine: which page one is on, what can be done there, where it leads.

Invariant: `transition` is a pure function of (shop, state, action); a state is a tuple of strings and numbers. Text and
web form of the environment both play this machine, so equal actions lead to equal states.

    search -> results (10 a page) -> item (options) -> done
                                     item -> description, features, reviews, attributes
"""

from __future__ import annotations

import functools
import re
from dataclasses import dataclass
from typing import Any, NamedTuple

from agentrl.core.failures import ToolError
from agentrl.envs.shop.records import Product
from agentrl.envs.shop.shelf import Shop

PER_PAGE = 10
MAX_QUERY = 300  # characters
SUB_PAGES = ("Description", "Features", "Reviews", "Attributes")
BACK, NEXT, PREV, BUY = "Back to Search", "Next >", "< Prev", "Buy Now"
PAGES_KEPT = 16_384
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


@dataclass(frozen=True, slots=True)
class Line:
    """A piece of a page.

    Attributes:
        kind: `text`, `button`, `link` (a product), `opened` (one that was looked at), `option`, `chosen`.
    """

    kind: str
    text: str


@dataclass(frozen=True, slots=True)
class Page:
    """A page, without the instruction.

    Attributes:
        lines: from top to bottom.
        targets: what can be clicked, in lower case, in order, with the state that it leads to.
        has_search: whether there is a search box.
    """

    lines: tuple[Line, ...]
    targets: dict[str, State]
    has_search: bool = False


def transition(shop: Shop, state: State, act: Act) -> State:
    """The state after an action.

    Raises:
        ToolError: there is no search box here, nothing was searched for, or the page has no such label.
    """
    page = page_of(shop, state)
    if act.kind == "search":
        words = " ".join(act.target.split())
        if not page.has_search:
            raise ToolError(f"there is no search box on this page: click[{BACK}] first", "not_allowed")
        if not words or len(words) > MAX_QUERY:
            raise ToolError(f"search for 1 to {MAX_QUERY} characters", "invalid_arguments")
        return State("results", words.lower())
    label = " ".join(act.target.split()).lower()
    if (after := page.targets.get(label)) is None:
        known = ", ".join(list(page.targets)[:24]) or "nothing to click"
        raise ToolError(f"there is no {label[:60]!r} on this page; it has: {known}", "not_allowed")
    return after


def parse(text: str) -> Act:
    """The action that a text names: the last line with `search[words]` or `click[label]` counts.

    Raises:
        ToolError: there is none.
    """
    for line in reversed(text[-4000:].splitlines()):
        if found := ACTION.match(line):
            return Act(found[1].lower(), found[2])
    raise ToolError("say search[words] or click[label]", "no_tool_call")


@functools.lru_cache(maxsize=PAGES_KEPT)
def page_of(shop: Shop, state: State) -> Page:
    """The page of a state."""
    if state.page == "search":
        return Page((Line("button", "Search"),), {}, has_search=True)
    if state.page == "done":
        return Page((Line("text", "Thank you for shopping with us!"),), {})
    home = Line("button", BACK)
    if state.page == "results":
        return results_page(shop, state, home)
    product = shop.product(state.asin)
    if state.page == "item":
        return item_page(product, state, home)
    lines = (home, Line("button", PREV), *(Line("text", text) for text in sub_page(product, state.page)))
    return Page(lines, {BACK.lower(): State(), PREV.lower(): state._replace(page="item")})


def results_page(shop: Shop, state: State, home: Line) -> Page:
    found = shop.search(state.query)
    lines = [home, Line("text", f"Page {state.number} (Total results: {len(found)})")]
    targets = {BACK.lower(): State()}
    if state.number > 1:
        lines.append(Line("button", PREV))
        targets[PREV.lower()] = state._replace(number=state.number - 1)
    if state.number * PER_PAGE < len(found):
        lines.append(Line("button", NEXT))
        targets[NEXT.lower()] = state._replace(number=state.number + 1)
    for place in on_page(found, state.number):
        product = shop.products[place]
        seen = product.asin in state.opened
        lines.append(Line("opened" if seen else "link", product.asin))
        lines += (Line("text", product.title), Line("text", product.price_text({})))
        opened = state.opened if seen else (*state.opened, product.asin)
        targets[product.asin.lower()] = State("item", state.query, state.number, product.asin, opened=opened)
    return Page(tuple(lines), targets)


def on_page(found: tuple[int, ...], number: int) -> tuple[int, ...]:
    """The results of one page."""
    return found[(number - 1) * PER_PAGE : number * PER_PAGE]


def item_page(product: Product, state: State, home: Line) -> Page:
    chosen = dict(state.chosen)
    lines = [home, Line("button", PREV)]
    back = state._replace(page="results", asin="", chosen=())
    targets = {BACK.lower(): State(), PREV.lower(): back}
    for name, value, label in labels(product):
        if value == next(option.values[0] for option in product.options if option.name == name):
            lines.append(Line("text", name))
        lines.append(Line("chosen" if chosen.get(name) == value else "option", label))
        targets.setdefault(label.lower(), state._replace(chosen=with_choice(product, chosen, name, value)))
    rating = "N.A." if product.rating is None else f"{product.rating:.1f}"
    lines += (Line("text", text) for text in (product.title, f"Price: {product.price_text(chosen)}"))
    lines.append(Line("text", f"Rating: {rating}"))
    for name in SUB_PAGES:
        lines.append(Line("button", name))
        targets[name.lower()] = state._replace(page=name.lower())
    lines.append(Line("button", BUY))
    targets[BUY.lower()] = state._replace(page="done")
    return Page(tuple(lines), targets)


@functools.lru_cache(maxsize=4096)
def labels(product: Product) -> tuple[tuple[str, str, str], ...]:
    """(name, value, label) of all that can be chosen. The label is the value; where two options have the same value
    (or a button the same name), with the option's name before it."""
    taken = {text.lower() for text in (BACK, PREV, NEXT, BUY, *SUB_PAGES)}
    out = []
    for option in product.options:
        for value in option.values:
            label = f"{option.name}: {value}" if value.lower() in taken else value
            taken.add(label.lower())
            out.append((option.name, value, label))
    return tuple(out)


def with_choice(
    product: Product, chosen: dict[str, str], name: str, value: str
) -> tuple[tuple[str, str], ...]:
    """What is chosen after another choice, in the order of the product's options."""
    after = {**chosen, name: value}
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
