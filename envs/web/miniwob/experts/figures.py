"""Experts of the tasks with shapes and colours."""

from __future__ import annotations

import colorsys
import re

from agentrl.core.messages import Action, call
from agentrl.envs.web.miniwob.sight import Sight, click
from agentrl.envs.web.observe import Item, short_color

NAMED = {
    "red": "#ff0000",
    "blue": "#0000ff",
    "olive": "#808000",
    "lime": "#00ff00",
    "black": "#000000",
    "white": "#ffffff",
    "grey": "#808080",
    "purple": "#800080",
    "orange": "#ffa500",
    "yellow": "#ffff00",
    "cyan": "#00ffff",
    "aqua": "#00ffff",
    "pink": "#ffc0cb",
    "magenta": "#ff00ff",
    "green": "#008000",
}
HUES = {"red": 0.0, "green": 1 / 3, "blue": 2 / 3}
WAYS = {"left": (-20, 0), "right": (20, 0), "up": (0, -15), "down": (0, 20)}
GRAPHICS = ("rect", "circle", "polygon", "text")


def hue_of(item: Item) -> float:
    numbers = [int(float(part)) / 255 for part in re.findall(r"[\d.]+", item.color)[:3]]
    return colorsys.rgb_to_hsv(*numbers)[0]


def click_color(sight: Sight) -> Action:
    (name,) = sight.said(r"on the (\w+) colored")
    return click(next(item for item in sight.all("div") if short_color(item.color) == NAMED[name]))


def click_shades(sight: Sight) -> Action:
    """A shade is of the colour whose hue is nearest; a selected one is marked."""
    (name,) = sight.said(r"shades of (\w+)")
    for item in sight.all("span"):
        distance = {
            color: min(abs(hue_of(item) - hue), 1 - abs(hue_of(item) - hue)) for color, hue in HUES.items()
        }
        right = min(distance, key=lambda color: distance[color]) == name
        if right != bool(item.get("marked")):
            return click(item)
    return sight.submit()


def kind_of(item: Item) -> str:
    """As the tasks call it: rectangle, circle, triangle, letter or digit."""
    if item.tag == "text":
        return "digit" if item.text.isdigit() else "letter"
    return {"rect": "rectangle", "circle": "circle", "polygon": "triangle"}.get(item.tag, "")


def fits(item: Item, words: str) -> bool:
    """Whether a figure is what a description says: "large red circle", "small 5", "blue item"."""
    for word in words.split():
        if word in ("large", "small"):
            size = item.get("size", item.h)
            if (size > 14) != (word == "large"):
                return False
        elif word in NAMED:
            if short_color(item.color) != NAMED[word]:
                return False
        elif word in ("shape", "item"):
            if word == "shape" and item.tag == "text":
                return False
        elif word in ("rectangle", "circle", "triangle", "letter", "digit"):
            if kind_of(item) != word:
                return False
        elif item.text != word:
            return False
    return True


def click_shape(sight: Sight) -> Action:
    (words,) = sight.said(r"Click on an? (.*)")
    return click(next(item for item in sight.all(*GRAPHICS) if fits(item, words)))


def count_shape(sight: Sight) -> Action:
    (words,) = sight.said(r"How many (.*)s are there")
    number = sum(fits(item, words) for item in sight.all(*GRAPHICS))
    return click(sight.one("button", text=str(number)))


def identify_shape(sight: Sight) -> Action:
    kind = kind_of(sight.one(*GRAPHICS))
    name = {"digit": "Number"}.get(kind, kind.capitalize())
    return click(sight.one("button", text=name))


def grid_coordinate(sight: Sight) -> Action:
    """Points lie 30 pixels apart; the lines cross at the origin."""
    x, y = (int(number) for number in sight.said(r"\((-?\d),(-?\d)\)"))
    across, down = sight.all("line")[:2]
    middle = (down.x + 30 * x, across.y - 30 * y)
    return click(min(sight.all("circle"), key=lambda item: abs(item.x - middle[0]) + abs(item.y - middle[1])))


def visual_addition(sight: Sight) -> Action:
    number = str(len(sight.all("span", name="addition-block")))
    return sight.fill((sight.fields()[0], number)) or sight.submit()


def circle_center(sight: Sight) -> Action:
    circles = sight.all("circle")
    if len(circles) > 1:
        return sight.submit()
    return call("click_at", x=circles[0].x, y=circles[0].y)


EXPERTS = {
    "click-color": click_color,
    "click-shades": click_shades,
    "click-shape": click_shape,
    "count-shape": count_shape,
    "identify-shape": identify_shape,
    "grid-coordinate": grid_coordinate,
    "visual-addition": visual_addition,
    "circle-center": circle_center,
}
