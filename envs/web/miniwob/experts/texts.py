"""Experts of the tasks in which something is typed."""

from __future__ import annotations

import re

from agentrl.core.messages import Action, call
from agentrl.envs.web.miniwob.sight import Sight, click


def enter_text(sight: Sight) -> Action:
    (text,) = sight.said(r'Enter "(.*)" into')
    return sight.fill((sight.fields()[0], text)) or sight.submit()


def enter_text_2(sight: Sight) -> Action:
    text, case = sight.said(r'Type "(.*)" in all (upper|lower)')
    text = text.upper() if case == "upper" else text.lower()
    return sight.fill((sight.fields()[0], text)) or sight.submit()


def enter_password(sight: Sight) -> Action:
    (text,) = sight.said(r'password "(.*)" into')
    first, second = sight.fields()
    return sight.fill((first, text), (second, text)) or sight.submit()


def login(sight: Sight) -> Action:
    """A popup, where there is one, asks to leave: cancel it."""
    if popup := sight.all("button", text="Cancel"):
        return click(popup[0])
    user, password = sight.said(r'username "(.*)" and the password "(.*)" into')
    first, second = sight.fields()
    return sight.fill((first, user), (second, password)) or click(sight.all("button")[-1])


def enter_date(sight: Sight) -> Action:
    month, day, year = sight.said(r"(\d\d)/(\d\d)/(\d{4})")
    return sight.fill((sight.fields()[0], f"{year}-{month}-{day}")) or sight.submit()


def enter_time(sight: Sight) -> Action:
    hour, minute, half = sight.said(r"Enter (\d+):(\d\d)\s*(AM|PM)")
    text = f"{int(hour) % 12 + (12 if half == 'PM' else 0):02d}:{minute}"
    return sight.fill((sight.fields()[0], text)) or sight.submit()


def copy_paste(sight: Sight) -> Action:
    areas = sight.all("textarea")
    place = re.search(r"the (\d)\w\w text area", sight.asked)
    text = areas[int(place.group(1)) - 1 if place else 0].get("value")
    return sight.fill((sight.inputs("text")[0], text)) or sight.submit()


def text_transform(sight: Sight) -> Action:
    text = "".join(item.text for item in sight.all("span"))
    return sight.fill((sight.fields()[0], text)) or sight.submit()


def autocomplete(sight: Sight) -> Action:
    """Type the beginning, then click the proposal that ends so."""
    start, end = sight.said(r'starts with "(.*?)"(?: and ends with "(.*)")?')
    field = sight.fields()[0]
    value = str(field.get("value"))
    if value.startswith(start) and value.endswith(end):
        return sight.submit()
    fitting = [
        item
        for item in sight.items
        if item.tag in ("li", "div") and item.text.startswith(start) and item.text.endswith(end)
    ]
    return click(fitting[0]) if fitting else call("type", id=field.id, text=start)


EXPERTS = {
    "enter-text": enter_text,
    "enter-text-dynamic": enter_text,
    "enter-text-2": enter_text_2,
    "enter-password": enter_password,
    "login-user": login,
    "login-user-popup": login,
    "enter-date": enter_date,
    "enter-time": enter_time,
    "copy-paste": copy_paste,
    "copy-paste-2": copy_paste,
    "text-transform": text_transform,
    "use-autocomplete": autocomplete,
    "use-autocomplete-nodelay": autocomplete,
}
