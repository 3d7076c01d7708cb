"""What a page shows, as text: elements with numbers, in document order.

Invariant: a function of what `observe.js` found alone. Everything the policy may act on has a number; what was left out is
counted, never silently dropped.
"""

from __future__ import annotations

import functools
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from importlib import resources
from typing import Any, Literal, TypeAlias

Form: TypeAlias = Literal["dom", "tree"]
FORMS: tuple[Form, ...] = ("dom", "tree")
NO_COLORS = ("rgba(0, 0, 0, 0)", "rgb(255, 255, 255)", "none", "")


@dataclass(frozen=True, slots=True)
class Item:
    """An element or a piece of text.

    Attributes:
        id: its number; None for plain text, which cannot be acted on.
        tag: lower case; empty for plain text.
        text: its words, white space squeezed.
        role: as of ARIA.
        label: its accessible name where it has one of its own (label, aria-label, placeholder).
        x, y, w, h: middle and size on the page, in pixels.
        color: its fill or background; `ink` that of its words. As CSS says it.
        name: its classes, which say what an icon is.
        state: what else is to be said: type, value, checked, selected, options, points, ...
        depth: how deep in the document.
    """

    id: int | None
    tag: str
    text: str
    role: str = "text"
    label: str = ""
    x: int = 0
    y: int = 0
    w: int = 0
    h: int = 0
    color: str = ""
    ink: str = ""
    name: str = ""
    depth: int = 0
    state: Mapping[str, Any] | None = None

    @classmethod
    def of(cls, raw: Mapping[str, Any]) -> Item:
        """From one entry of the script's list."""
        own = {key: raw[key] for key in FIELDS if key in raw}
        return cls(**own, state={key: value for key, value in raw.items() if key not in FIELDS})

    def get(self, key: str, default: Any = None) -> Any:
        """A part of the state."""
        return (self.state or {}).get(key, default)


FIELDS = ("id", "tag", "text", "role", "label", "x", "y", "w", "h", "color", "ink", "name", "depth")


@dataclass(frozen=True, slots=True)
class View:
    """What was seen at one moment; `left` elements more were not listed."""

    items: tuple[Item, ...] = ()
    left: int = 0

    @classmethod
    def of(cls, raw: Mapping[str, Any]) -> View:
        return cls(tuple(Item.of(item) for item in raw["items"]), int(raw["left"]))


@functools.cache
def script(name: str) -> str:
    """One of this package's scripts for pages: `observe.js` or `clock.js`."""
    return resources.files("agentrl.envs.web").joinpath(name).read_text()


def render(view: View, form: Form = "dom") -> str:
    """The text that the policy reads, one line an element."""
    lines = [tree_line(item) if form == "tree" else dom_line(item) for item in view.items]
    if view.left:
        lines.append(f"... {view.left} more elements were left out")
    return "\n".join(lines) or "(the page is empty)"


def dom_line(item: Item) -> str:
    """`[3]<button>Submit</button>`"""
    if item.id is None:
        return item.text
    marks = "".join(f" {mark}" for mark in marks_of(item))
    if item.text:
        return f"[{item.id}]<{item.tag}{marks}>{item.text}</{item.tag}>"
    return f"[{item.id}]<{item.tag}{marks}>"


def tree_line(item: Item) -> str:
    """`- button "Submit" [3]`, indented by depth."""
    indent = "  " * min(item.depth, 8)
    if item.id is None:
        return f'{indent}- text "{item.text}"'
    name = item.text or item.label
    marks = "".join(f" {mark}" for mark in marks_of(item) if not mark.startswith(("label=", "type=")))
    return f"{indent}- {item.role}{f' {name!r}' if name else ''} [{item.id}]{marks}"


def marks_of(item: Item) -> list[str]:
    """What is to be said of an element besides its words: its state and, where it has no words, its looks."""
    marks = []
    for key in ("type", "value", "options", "points", "ends", "size", "valuenow", "scroll"):
        if key in (item.state or {}):
            marks.append(f"{key}={said(item.get(key))}")
    marks += [
        key
        for key in ("checked", "selected", "marked", "expanded", "disabled", "focused")
        if item.get(key) is True
    ]
    if item.get("expanded") is False:
        marks.append("collapsed")
    if item.label and item.label != item.text:
        marks.append(f'label="{item.label}"')
    field = item.tag in ("input", "select", "textarea", "button")
    graphic = item.role == "graphic" or (not item.text and not field)
    if graphic:
        if item.name and not item.text:
            marks.append(f'class="{item.name}"')
        marks.append(f"at={item.x},{item.y} size={item.w}x{item.h}")
    if item.color not in NO_COLORS and not field and (graphic or item.tag in ("span", "td", "div")):
        marks.append(f"color={short_color(item.color)}")
    return marks


def said(value: Any) -> str:
    if isinstance(value, Sequence) and not isinstance(value, str):
        return '"' + "|".join(map(str, value)) + '"'
    return f'"{value}"' if isinstance(value, str) else str(value)


def short_color(css: str) -> str:
    """`#rrggbb` of what a browser computes."""
    numbers = re.findall(r"[\d.]+", css)
    if css.startswith("rgb") and len(numbers) >= 3:
        return "#" + "".join(f"{int(float(number)):02x}" for number in numbers[:3])
    return css
