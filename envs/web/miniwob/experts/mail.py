"""Experts of the inbox tasks."""

from __future__ import annotations

import re

from agentrl.core.messages import Action
from agentrl.envs.web.miniwob.sight import Sight, click
from agentrl.envs.web.observe import Item


def thread(sight: Sight, name: str) -> tuple[Item, ...]:
    """What comes after the sender in the list."""
    start = next(at for at, item in enumerate(sight.items) if item.text == name and item.tag == "div")
    return sight.items[start:]


def icon(sight: Sight, name: str) -> Item | None:
    """An icon by its class."""
    return next((item for item in sight.items if item.name.split()[:1] == [name]), None)


def inbox(sight: Sight) -> Action:
    """Delete or star in the list; open a mail to reply or to forward it."""
    (name,) = sight.said(r"email by (\S+) and")
    if "trash icon" in sight.asked or "star icon" in sight.asked:
        wanted = "trash" if "trash icon" in sight.asked else "star"
        return click(next(item for item in thread(sight, name) if item.name.split()[:1] == [wanted]))
    message = re.search(r'with the text "(.*)"', sight.asked)
    fields = sight.fields()
    if fields:  # the reply or the forward is open
        text = message.group(1) if message else sight.said(r"forward that email to (.*)\.$")[0]
        return sight.fill((fields[0], text)) or click(send_button(sight))
    opened = [item for item in sight.items if item.text in ("Reply", "Forward")]
    if opened:
        return click(next(item for item in opened if item.text == ("Reply" if message else "Forward")))
    return click(thread(sight, name)[0])


def send_button(sight: Sight) -> Item:
    """The second icon of the bar above the text."""
    return [item for item in sight.items if item.tag == "span" and not item.text][1]


EXPERTS = {
    "email-inbox": inbox,
    "email-inbox-delete": inbox,
    "email-inbox-forward": inbox,
    "email-inbox-important": inbox,
    "email-inbox-noscroll": inbox,
    "email-inbox-reply": inbox,
}
