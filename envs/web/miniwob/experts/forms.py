"""Experts of the tasks with forms: boxes, lists, dates, several fields."""

from __future__ import annotations

from collections.abc import Sequence

from agentrl.core.messages import Action, call
from agentrl.envs.web.miniwob.sight import Sight, click
from agentrl.envs.web.observe import Item

SIMILAR = (
    "big large huge enormous gigantic",
    "small tiny little mini petite",
    "red scarlet crimson vermillion",
    "happy cheerful joyful gleeful delighted",
    "sad unhappy sorrowful miserable tragic",
    "angry mad furious irritated",
    "evil wicked immoral sinful corrupt depraved",
    "wrong incorrect mistaken erroneous",
    "real genuine actual",
    "strange odd peculiar unusual weird",
    "stop cease halt end finish",
    "scared terrified panicked fearful frightened afraid",
    "quiet calm peaceful serene mild",
    "old aged archaic",
    "love like adore favor",
    "kill murder assassinate",
    "keep retain preserve sustain maintain",
    "hide conceal camouflage",
    "hate despise loathe detest dislike",
    "funny humorous amusing comical laughable",
    "fat fleshy plump chubby",
    "stupid dumb dull unwise",
    "delicious savory delectable appetizing",
    "cut slice carve chop",
    "brave courageous fearless",
    "begin start initiate launch",
    "answer reply response",
    "television televisions TV TVs",
    "house home houses homes",
    "fire flame fires flames",
    "pig pork swine",
    "rabbit rabbits bunny bunnies",
    "car cars automobile automobiles vehicle vehicles",
    "water",
)


def similar(word: str) -> tuple[str, ...]:
    """Words that mean the same, itself among them."""
    return next((tuple(line.split()) for line in SIMILAR if word in line.split()), (word,))


def checkboxes(sight: Sight) -> Action:
    (names,) = sight.said(r"Select (.*) and click Submit")
    wanted = set(names.split(", "))
    boxes = sight.inputs("checkbox")
    return sight.tick([box for box in boxes if box.label in wanted], boxes) or sight.submit()


def checkboxes_soft(sight: Sight) -> Action:
    (names,) = sight.said(r"similar to (.*) and click Submit")
    wanted = {same for name in names.split(", ") for same in similar(name)}
    boxes = sight.inputs("checkbox")
    return sight.tick([box for box in boxes if box.label in wanted], boxes) or sight.submit()


def option(sight: Sight) -> Action:
    (name,) = sight.said(r"Select (.*) and click Submit")
    radio = next(item for item in sight.inputs("radio") if item.label == name)
    return sight.submit() if radio.get("checked") else click(radio)


def choose_list(sight: Sight) -> Action:
    (name,) = sight.said(r"Select (.*) from the list")
    box = sight.one("select")
    return sight.submit() if box.get("value") == name else call("select", id=box.id, option=name)


def scroll_list(sight: Sight) -> Action:
    (names,) = sight.said(r"Select (.*) from the scroll list")
    box = sight.one("select")
    chosen = box.get("value", "").split(", ")
    for name in names.split(", "):
        if name not in chosen:
            return call("select", id=box.id, option=name)
    return sight.submit()


def form_sequence_2(sight: Sight) -> Action:
    radio, number, place = sight.said(
        r'the (\d)\w+ radio button and enter the number "(-?\d+)" into the (\d)'
    )
    chosen = sight.inputs("radio")[int(radio) - 1]
    if not chosen.get("checked"):
        return click(chosen)
    wanted = [(field, number if at + 1 == int(place) else "") for at, field in enumerate(sight.fields())]
    return sight.fill(*wanted) or sight.submit()


def form_sequence_3(sight: Sight) -> Action:
    """The list is drawn by the page itself: open it, then click the words."""
    height, button = sight.said(r'Choose (.*) from the dropdown, then click the button labeled "(\w+)"')
    label = sight.one("span", name="label") if sight.all("span", name="label") else sight.one("span")
    if label.text == height:
        return click(sight.one("button", text=button))
    entries = sight.all("li", text=height)
    return click(entries[0] if entries else label)


def movie_fields(sight: Sight) -> list[tuple[Item, str]]:
    """The fields of a movie search with what they should hold; the words are before a field, or after it."""
    genre, name, year = sight.said(r"Search for (.*) movies directed by (.*) from year (\d+)")
    items = [item for item in sight.view.items if item.text or item.tag == "input"]
    after = next(item for item in items if item.text != "Movie Search").tag == "input"
    pairs = []
    for at, item in enumerate(items):
        if item.tag == "input":
            word = items[at + 1 if after else at - 1].text.lower()
            pairs.append((item, genre if "genre" in word else name if "director" in word else year))
    return pairs


def movie_search(sight: Sight) -> Action:
    done = sight.fill(*movie_fields(sight))
    return done or click(next(item for item in sight.items if item.text in ("Submit", "Search", "Go!")))


def odd_or_even(sight: Sight) -> Action:
    rows = [
        (at, item)
        for at, item in enumerate(sight.items)
        if item.tag == "div" and item.text.lstrip("-").isdigit()
    ]
    for at, item in rows:
        button = sight.items[at - 1 if int(item.text) % 2 else at + 1]
        if not button.get("marked"):
            return click(button)
    return sight.submit()


def spinner(sight: Sight) -> Action:
    (number,) = sight.said(r"Select (-?\d+) with the spinner")
    missing = int(number) - int(sight.fields()[0].get("value") or 0)
    if missing == 0:
        return sight.submit()
    return click(sight.one("a", name="ui-spinner-up" if missing > 0 else "ui-spinner-down"))


def minutes(text: str) -> int:
    """Of `4h 27m`."""
    parts = {part[-1]: int(part[:-1]) for part in text.split()}
    return 60 * parts.get("h", 0) + parts.get("m", 0)


def buy_ticket(sight: Sight) -> Action:
    buttons = sight.all("button")
    times = [
        minutes(item.text) for item in sight.all("div") if item.text[-1:] == "m" or item.text[-1:] == "h"
    ]
    prices = [int(button.text.rpartition("$")[2]) for button in buttons]
    values: Sequence[int] = times if "duration" in sight.asked else prices
    best = min if "cheapest" in sight.asked or "shortest" in sight.asked else max
    return click(buttons[values.index(best(values))])


EXPERTS = {
    "click-checkboxes": checkboxes,
    "click-checkboxes-large": checkboxes,
    "click-checkboxes-transfer": checkboxes,
    "click-checkboxes-soft": checkboxes_soft,
    "click-option": option,
    "choose-list": choose_list,
    "click-scroll-list": scroll_list,
    "form-sequence-2": form_sequence_2,
    "form-sequence-3": form_sequence_3,
    "multi-layouts": movie_search,
    "multi-orderings": movie_search,
    "odd-or-even": odd_or_even,
    "use-spinner": spinner,
    "buy-ticket": buy_ticket,
}
