"""Pages as text, in WebShop's two styles: `rich` marks what can be clicked, `simple` only separates.

Invariant: a pure function of (shop, state, style); the instruction stands before it.
"""

from __future__ import annotations

import functools
from typing import Literal, TypeAlias

from agentrl.envs.shop.machine import Page, State, page_of
from agentrl.envs.shop.shelf import Shop

Style: TypeAlias = Literal["rich", "simple"]
STYLES: tuple[Style, ...] = ("rich", "simple")
PAGES_KEPT = 16_384
SEPARATOR = " [SEP] "
BUTTON, CLICKED = "[button] %s [button_]", "[clicked button] %s [clicked button_]"
RICH = {
    "text": "%s",
    "button": BUTTON,
    "link": BUTTON,
    "option": BUTTON,
    "chosen": CLICKED,
    "opened": CLICKED,
}


def page_text(shop: Shop, state: State, style: Style, instruction: str, list_actions: bool) -> str:
    """What a customer with this instruction sees."""
    body = body_text(shop, state, style, list_actions)
    if style == "simple":
        return f"Instruction:{SEPARATOR}{instruction}{SEPARATOR}{body}"
    return f"Instruction: {instruction}\n{body}"


@functools.lru_cache(maxsize=PAGES_KEPT)
def body_text(shop: Shop, state: State, style: Style, list_actions: bool) -> str:
    page = page_of(shop, state)
    if style == "simple":
        text = SEPARATOR.join(words for _, words in page.lines)
    else:
        text = "\n".join([RICH[kind] % words for kind, words in page.lines])
        if state.page == "item" and state.chosen:
            text = "\n".join([*(f"You have chosen {name}: {value}." for name, value in state.chosen), text])
    if not list_actions or state.page == "done":
        return text
    return f"{text}\nAvailable actions: {', '.join(actions_of(page))}"


def actions_of(page: Page) -> list[str]:
    """What can be done on a page, in the grammar of actions."""
    found = ["search[<words>]"] if page.has_search else []
    return found + [f"click[{label}]" for label in page.labels]
