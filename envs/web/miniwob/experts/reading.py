"""Experts of the tasks in which something is read, searched or computed."""

from __future__ import annotations

import re

from agentrl.core.messages import Action, call
from agentrl.envs.web.miniwob.sight import Sight, click

SIGNS = {"+": int.__add__, "-": int.__sub__, "x": int.__mul__}


def find_word(sight: Sight) -> Action:
    (place,) = sight.said(r"the (\d+)\w\w word")
    word = re.sub("[^a-zA-Z]", "", sight.one("p").text.split()[int(place) - 1])
    return sight.fill((sight.fields()[0], word)) or sight.submit()


def read_table(sight: Sight) -> Action:
    (key,) = sight.said(r"value of (.*) into")
    cells = [item.text for item in sight.all("td")]
    return sight.fill((sight.fields()[0], cells[cells[::2].index(key) * 2 + 1])) or sight.submit()


def read_table_2(sight: Sight) -> Action:
    cells = [item.text for item in sight.all("td")]
    table = dict(zip(cells[::2], cells[1::2], strict=True))
    labels = [item.text.rstrip(":") for item in sight.all("label")]
    return sight.fill(*zip(sight.fields(), (table[label] for label in labels), strict=True)) or sight.submit()


def arithmetic(sight: Sight) -> Action:
    problem = next(item.text for item in sight.all("div") if "=" in item.text)
    one, sign, other = problem.split()[:3]
    return sight.fill((sight.fields()[0], str(SIGNS[sign](int(one), int(other))))) or sight.submit()


def algebra(sight: Sight) -> Action:
    """`x + 3 = 7` or `3 - x = 7`."""
    problem = next(item.text for item in sight.all("div") if "=" in item.text)
    one, sign, other, _, total = problem.split()
    if sign == "+":
        answer = int(total) - int(other if one == "x" else one)
    elif one == "x":
        answer = int(total) + int(other)
    else:
        answer = int(one) - int(total)
    return sight.fill((sight.fields()[0], str(answer))) or sight.submit()


def scroll_text(sight: Sight) -> Action:
    text, field = sight.fields()[:2]
    word = re.sub("[^a-zA-Z0-9]", "", str(text.get("value")).split()[-1])
    return sight.fill((field, word)) or sight.submit()


def search_engine(sight: Sight) -> Action:
    """Search, go to the page on which the result is, click it."""
    name, place = sight.said(r'enter "(.*)" and press "Search", then find and click the (\d)')
    field = sight.fields()[0]
    if field.get("value") != name:
        return call("type", id=field.id, text=name)
    links = sight.all("a")
    numbers = [item for item in links if item.text in ("1", "2", "3")]
    if not numbers:
        return click(sight.one("button", text="Search"))
    page, row = divmod(int(place) - 1, 3)
    if not numbers[page].get("marked"):
        return click(numbers[page])
    titles = [item for item in links[: links.index(numbers[0])] if item.text != "<"]
    return click(titles[row])


def phone_book(sight: Sight) -> Action:
    name, what = sight.said(r"Find (.*) in the contact book and click on their (\w+)")
    if sight.one("h2").text == name:
        links = sight.all("a")
        return click(links[("phone", "email", "address").index(what)])
    return click(sight.one("a", text=">"))


def guess_number(sight: Sight) -> Action:
    """Halve what is left; the answers of the page name one bound only, so go on from it step by step."""
    field = sight.fields()[0]
    said = " ".join(item.text for item in sight.view.items)
    bound = re.search(r"number is (lower|higher) than\s*(-?\d+)", said)
    if bound is None:
        guess = 5
    else:
        value = int(bound.group(2))
        guess = value + 1 if bound.group(1) == "higher" else (value // 2 if value > 5 else value - 1)
    return sight.fill((field, str(guess))) or sight.submit()


def generate_number(sight: Sight) -> Action:
    shown = sight.one("div").text
    number = int(shown) if shown.isdigit() else None
    rules = {
        "less": lambda n: n < int(sight.said(r"less than (\d+)")[0]),
        "greater": lambda n: n > int(sight.said(r"greater than (\d+)")[0]),
        "odd": lambda n: n % 2 == 1,
        "even": lambda n: n % 2 == 0,
    }
    rule = next(check for word, check in rules.items() if word in sight.asked)
    return (
        sight.submit() if number is not None and rule(number) else click(sight.one("button", text="Generate"))
    )


EXPERTS = {
    "find-word": find_word,
    "read-table": read_table,
    "read-table-2": read_table_2,
    "simple-arithmetic": arithmetic,
    "simple-algebra": algebra,
    "scroll-text": scroll_text,
    "search-engine": search_engine,
    "phone-book": phone_book,
    "guess-number": guess_number,
    "generate-number": generate_number,
}
