"""What a scripted expert sees: the utterance and the elements, as the policy does, with ways to look things up."""

from __future__ import annotations

import re
from collections.abc import Iterable
from dataclasses import dataclass

from agentrl.core.messages import Action, call
from agentrl.envs.web.observe import Item, View

FIELDS = ("text", "password", "search", "email", "number", "tel", "url", "date", "time", "color")


@dataclass(frozen=True, slots=True)
class Sight:
    """One moment of an episode.

    Attributes:
        asked: the utterance.
        view: the elements.
    """

    asked: str
    view: View

    @property
    def items(self) -> tuple[Item, ...]:
        """Everything that has a number."""
        return tuple(item for item in self.view.items if item.id is not None)

    def said(self, pattern: str) -> tuple[str, ...]:
        """The groups of a pattern in the utterance.

        Raises:
            LookupError: it is not there.
        """
        found = re.search(pattern, self.asked)
        if found is None:
            raise LookupError(f"{pattern!r} is not in {self.asked!r}")
        return tuple(group or "" for group in found.groups())

    def all(self, *tags: str, text: str | None = None, name: str | None = None) -> list[Item]:
        """Elements of some tags (any if none is given), with these words, with a class that begins so."""
        return [
            item
            for item in self.items
            if (not tags or item.tag in tags)
            and (text is None or item.text == text)
            and (name is None or any(part.startswith(name) for part in item.name.split()))
        ]

    def one(self, *tags: str, text: str | None = None, name: str | None = None) -> Item:
        """The first of `all`.

        Raises:
            LookupError: there is none.
        """
        found = self.all(*tags, text=text, name=name)
        if not found:
            raise LookupError(f"no {tags or 'element'} {text or ''} {name or ''}")
        return found[0]

    def fields(self) -> list[Item]:
        """Text fields in order."""
        return [
            item
            for item in self.items
            if (item.tag == "input" and item.get("type") in FIELDS) or item.tag == "textarea"
        ]

    def inputs(self, type: str) -> list[Item]:
        return [item for item in self.all("input") if item.get("type") == type]

    def submit(self, text: str = "Submit") -> Action:
        return click(self.one("button", text=text))

    def fill(self, *pairs: tuple[Item, str]) -> Action | None:
        """The next field that does not hold what it should; None if all do."""
        for item, text in pairs:
            if item.get("value") != text:
                return call("type", id=item.id, text=text)
        return None

    def tick(self, wanted: Iterable[Item], among: Iterable[Item]) -> Action | None:
        """The next box that is not as it should be; None if all are."""
        numbers = {item.id for item in wanted}
        for item in among:
            if bool(item.get("checked")) != (item.id in numbers):
                return click(item)
        return None


def click(item: Item) -> Action:
    return call("click", id=item.id)
