"""An expert that looks for things as a policy must: it knows what it was told and what it has seen.

Invariant: the next command is a function of the task's words and of the commands and answers so far. Only where its turns
run out (a drawer too many to look into) may it be told where a thing is (`hints`).
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Literal, TypeAlias

from agentrl.envs.alfworld import rules

Care: TypeAlias = Literal["", "clean", "hot", "cool"]
APPLIANCES = {"clean": ("clean", "sinkbasin"), "hot": ("heat", "microwave"), "cool": ("cool", "fridge")}
PHRASES: tuple[tuple[str, Care, int], ...] = (
    (r"put two (?P<what>\w+) in (?P<where>\w+)", "", 2),
    (r"find two (?P<what>\w+) and put them in (?P<where>\w+)", "", 2),
    (r"put a clean (?P<what>\w+) in (?P<where>\w+)", "clean", 1),
    (r"clean some (?P<what>\w+) and put it in (?P<where>\w+)", "clean", 1),
    (r"put a hot (?P<what>\w+) in (?P<where>\w+)", "hot", 1),
    (r"heat some (?P<what>\w+) and put it in (?P<where>\w+)", "hot", 1),
    (r"put a cool (?P<what>\w+) in (?P<where>\w+)", "cool", 1),
    (r"cool some (?P<what>\w+) and put it in (?P<where>\w+)", "cool", 1),
    (r"put (?:a|some) (?P<what>\w+) (?:in|on) (?P<where>\w+)", "", 1),
    (r"(?:look at|examine the) (?P<what>\w+) (?:under|with) the (?P<lamp>\w+)", "", 1),
)
THING = re.compile(r"an? (\w+ \d+)")
ARRIVED = re.compile(r"You arrive at (\w+ \d+)\. (.*)", re.DOTALL)
OPENED = re.compile(r"You open the (\w+ \d+)\. (.*)", re.DOTALL)
PICKED = re.compile(r"You pick up the (\w+ \d+) from the (\w+ \d+)\.")
MOVED = re.compile(r"You move the (\w+ \d+) to the (\w+ \d+)\.")
CARED = re.compile(r"You (clean|heat|cool) the (\w+ \d+) using the \w+ \d+\.")
CARES: dict[str, Care] = {"clean": "clean", "heat": "hot", "cool": "cool"}


@dataclass(frozen=True, slots=True)
class Goal:
    """What the task's words ask: kinds are lower-case words (`mug`)."""

    what: str
    where: str
    lamp: str
    care: Care
    count: int


@dataclass(slots=True)
class Known:
    """What the commands and answers so far have told.

    Attributes:
        places: all places, in the order in which they were listed.
        at: where the policy is; empty in the middle of the room.
        inside: what was last seen in each place that was looked into.
        closed: places that are known to be closed.
        holds: what the policy carries.
        cared: what was done to a thing.
    """

    places: list[str]
    at: str = ""
    inside: dict[str, list[str]] = field(default_factory=dict)
    closed: set[str] = field(default_factory=set)
    holds: str = ""
    cared: dict[str, set[Care]] = field(default_factory=dict)


def goal_of(words: str) -> Goal | None:
    """What a templated task asks; None for any other text."""
    for pattern, care, count in PHRASES:
        found = re.fullmatch(pattern, words.strip().rstrip("."))
        if found:
            parts = found.groupdict()
            return Goal(parts["what"], parts.get("where", ""), parts.get("lamp", ""), care, count)
    return None


def learn(intro: str, history: Sequence[tuple[str, str]]) -> Known:
    """Read the answers."""
    known = Known(THING.findall(intro.split("Your task", 1)[0]))
    for _, answer in history:
        if found := ARRIVED.match(answer):
            known.at = found[1]
            look_into(known, found[1], found[2])
        elif found := OPENED.match(answer):
            known.closed.discard(found[1])
            look_into(known, found[1], found[2])
        elif found := PICKED.match(answer):
            known.holds = found[1]
            known.inside[found[2]] = [one for one in known.inside.get(found[2], []) if one != found[1]]
        elif found := MOVED.match(answer):
            known.holds = ""
            known.inside.setdefault(found[2], []).append(found[1])
        elif found := CARED.match(answer):
            care, done = CARES[found[1]], known.cared.setdefault(found[2], set())
            done -= {"hot", "cool"} if care != "clean" else set()
            done.add(care)
        elif answer.startswith("You close the "):
            known.closed.add(answer.removeprefix("You close the ").rstrip("."))
    return known


def look_into(known: Known, place: str, text: str) -> None:
    """`text` is what an answer says of a place."""
    if "is closed" in text:
        known.closed.add(place)
    else:
        known.inside[place] = THING.findall(text)


def kind(name: str) -> str:
    """`mug 2` is a mug."""
    return name.rsplit(" ", 1)[0]


def next_command(
    goal: Goal,
    intro: str,
    history: Sequence[tuple[str, str]],
    hints: Mapping[str, str] | None = None,
) -> str:
    """The next command. `hints` may name the places of things that were not seen."""
    known = learn(intro, history)
    seen = {thing: place for place, things in known.inside.items() for thing in things}
    if hints:
        seen = {**hints, **seen}
    if goal.lamp:
        return look_in_light(goal, known, seen)
    target = destination(goal, known, seen)
    done = [one for one, place in seen.items() if place == target and ready(goal, known, one)]
    if known.holds:
        if kind(known.holds) != goal.what:
            return put_away(known)
        if goal.care and goal.care not in known.cared.get(known.holds, ()):
            verb, appliance = APPLIANCES[goal.care]
            return toward(known, f"{appliance} 1", f"{verb} {known.holds} with {appliance} 1", through=False)
        return toward(known, target, f"move {known.holds} to {target}")
    return fetch(goal.what, known, seen, without=set(done))


def ready(goal: Goal, known: Known, thing: str) -> bool:
    """Whether a thing is as the goal wants it, wherever it lies."""
    return kind(thing) == goal.what and (not goal.care or goal.care in known.cared.get(thing, ()))


def destination(goal: Goal, known: Known, seen: Mapping[str, str]) -> str:
    """The place of the goal's kind to put things in: where one is already, else the last one listed."""
    places = [place for place in known.places if kind(place) == goal.where]
    used = [place for place in places if any(ready(goal, known, one) for one in seen if seen[one] == place)]
    return (used or sorted(places, key=number))[0]


def number(name: str) -> int:
    return int(name.rsplit(" ", 1)[1])


def look_in_light(goal: Goal, known: Known, seen: Mapping[str, str]) -> str:
    """Carry the thing to the lamp and switch it on."""
    if not known.holds:
        return fetch(goal.what, known, seen)
    if kind(known.holds) != goal.what:
        return put_away(known)
    lamp = next((one for one in seen if kind(one) == goal.lamp), None)
    if lamp is None:
        return search(goal.lamp, known)
    return toward(known, seen[lamp], f"use {lamp}", through=False)


def fetch(what: str, known: Known, seen: Mapping[str, str], without: set[str] | None = None) -> str:
    """Go to a thing of a kind and take it; look for one where none is known."""
    for thing, place in seen.items():
        if kind(thing) == what and thing not in (without or ()) and thing != known.holds:
            return toward(known, place, f"take {thing} from {place}")
    return search(what, known)


def toward(known: Known, place: str, then: str, *, through: bool = True) -> str:
    """Go to a place, open it where that matters (`through`), then do something."""
    if known.at != place:
        return f"go to {place}"
    if through and place in known.closed:
        return f"open {place}"
    return then


def search(what: str, known: Known) -> str:
    """Look into the next place that may hold a kind of thing: kinds of place that often do come first."""
    if known.at in known.closed:
        return f"open {known.at}"
    left = [place for place in known.places if place not in known.inside]
    likely = [place for place in left if can_hold(place, what)]
    # What stands open is looked at in one move, what is closed in two.
    quick = [
        place for place in likely if kind(place) not in ("cabinet", "drawer", "safe", "fridge", "microwave")
    ]
    for places in (quick, likely, left):
        if places:
            return f"go to {sorted(places, key=lambda one: (kind(one), number(one)))[0]}"
    return "look"


def can_hold(place: str, what: str) -> bool:
    """Whether things of a kind can lie in a place (`cabinet 3`)."""
    return what in rules.fits_in_words().get(kind(place), ())


def put_away(known: Known) -> str:
    """Put down what is of no use, here or at a place that can hold it."""
    fitting = [place for place in known.places if can_hold(place, kind(known.holds))]
    if known.at in fitting:
        return toward(known, known.at, f"move {known.holds} to {known.at}")
    return f"go to {fitting[0]}" if fitting else "look"
