"""What the ALFWorld distribution says of scenes and things: which thing fits where, which scenes there are.

Invariant: the installed distribution's files are read, and none of its code that needs more than the standard library
runs: importing its package would make folders and set environment variables.
"""

from __future__ import annotations

import functools
import importlib.util
import json
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from types import ModuleType

from agentrl.core.failures import MissingExtra

KINDS = ("Kitchen", "LivingRoom", "Bedroom", "Bathroom")
LAMP_HOMES = {
    "DeskLamp": frozenset({"Desk", "SideTable", "Dresser", "Shelf", "CoffeeTable", "DiningTable"}),
    "FloorLamp": frozenset({"SideTable", "Sofa", "ArmChair", "CoffeeTable", "Dresser", "TVStand", "Desk"}),
}
BASINS = {"Sink": "SinkBasin", "Bathtub": "BathtubBasin"}


@dataclass(frozen=True, slots=True)
class Scene:
    """A room of AI2-THOR.

    Attributes:
        number: 1 to 430; hundreds tell the kind of room.
        things: the kinds of object that it holds.
        places: id of each place where something can lie, and its kind.
    """

    number: int
    things: tuple[str, ...]
    places: tuple[tuple[str, str], ...]


@functools.cache
def root() -> Path:
    """Where ALFWorld is installed.

    Raises:
        MissingExtra: it is not.
    """
    found = importlib.util.find_spec("alfworld")
    if found is None or found.origin is None or importlib.util.find_spec("fast_downward") is None:
        raise MissingExtra("alfworld", "ALFWorld")
    return Path(found.origin).parent


@functools.cache
def _plain(name: str) -> ModuleType:
    """A module of the distribution that imports nothing but the standard library, without its package."""
    spec = importlib.util.spec_from_file_location(f"_alfworld_{name}", root() / "gen" / f"{name}.py")
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def domain() -> str:
    """The planning domain: what every action needs and does."""
    return (root() / "data" / "alfred.pddl").read_text()


def grammar() -> str:
    """The text of every answer, with `UNKNOWN GOAL` where the task is named."""
    return (root() / "data" / "alfred.twl2").read_text()


@functools.cache
def fits() -> Mapping[str, frozenset[str]]:
    """By kind of place, which kinds of thing it can hold."""
    table = _plain("constants").VAL_RECEPTACLE_OBJECTS
    out = {
        place: {thing for thing in things if not thing.endswith("Sliced")} for place, things in table.items()
    }
    for lamp, places in LAMP_HOMES.items():
        for place in places:
            out[place].add(lamp)
    return {place: frozenset(things) for place, things in out.items()}


@functools.cache
def fits_in_words() -> Mapping[str, frozenset[str]]:
    """The same in the words of the game, which are in lower case."""
    return {place.lower(): frozenset(thing.lower() for thing in things) for place, things in fits().items()}


@functools.cache
def abilities() -> Mapping[str, frozenset[str]]:
    """By ability (`Heatable`, `Coolable`, `Cleanable`, `Toggleable`, `Sliceable`), the kinds of thing that have it."""
    return {name: frozenset(things) for name, things in _plain("constants").VAL_ACTION_OBJECTS.items()}


def goal(task: str) -> str:
    """The goal of a task type in PDDL, with `{obj}`, `{recep}` and `{toggle}` to be filled in."""
    return str(_plain("goal_library").gdict[task]["pddl"])


def phrasings(task: str) -> tuple[str, ...]:
    """How a task of a type is put into words."""
    return tuple(_plain("goal_library").gdict[task]["templates"])


def kind_of(number: int) -> str:
    """Kitchen, LivingRoom, Bedroom or Bathroom."""
    return {0: "Kitchen", 2: "LivingRoom", 3: "Bedroom", 4: "Bathroom"}[number // 100]


def scene_numbers(*, unseen: bool) -> tuple[int, ...]:
    """The scenes of a part, as the original divides them: 96 seen ones and 24 unseen ones."""
    constants = _plain("constants")
    return tuple(constants.TEST_SCENE_NUMBERS if unseen else constants.TRAIN_SCENE_NUMBERS)


@functools.cache
def scene(number: int) -> Scene:
    """A room as the distribution describes it; places that it names without a position get a made-up one."""
    constants = _plain("constants")
    folder = root() / "gen" / "layouts"
    listed = json.loads((folder / f"FloorPlan{number}-objects.json").read_text())
    positions = json.loads((folder / f"FloorPlan{number}-openable.json").read_text())
    fixed = set(constants.RECEPTACLES) - constants.MOVABLE_RECEPTACLES_SET
    places: dict[str, str] = {}
    for position in sorted(positions):
        kind = position.split("|")[0]
        if kind in BASINS:
            position, kind = f"{position}|{BASINS[kind]}", BASINS[kind]
        if kind in fixed and kind in fits():
            places[mangled(position)] = kind
    for kind in sorted(set(listed) | {BASINS[kind] for kind in listed if kind in BASINS}):
        if kind in fixed and kind in fits() and kind not in places.values():
            for index in range(4 if kind == "StoveBurner" else 1):
                outer = next((name for name, basin in BASINS.items() if basin == kind), None)
                text = f"{outer}|{index}|00|00|{kind}" if outer else f"{kind}|{index}|00|00"
                places[mangled(text)] = kind
    held = set().union(*(fits()[kind] for kind in places.values()))
    return Scene(number, tuple(sorted(set(listed) & held)), tuple(sorted(places.items())))


def mangled(text: str) -> str:
    """A name as PDDL can hold it; the engine turns it back (`Cabinet|+00.68` becomes `cabinet_bar__plus_00_dot_68`)."""
    for sign, word in (("|", "_bar_"), ("+", "_plus_"), ("-", "_minus_"), (".", "_dot_"), (",", "_comma_")):
        text = text.replace(sign, word)
    return text.replace(" ", "_").lower()


def names_of(ids: tuple[str, ...]) -> dict[str, str]:
    """The names that the policy sees (`cabinet 3`), by id: counted per kind, the last id is number 1."""
    by_kind: dict[str, list[str]] = {}
    for one in sorted(ids):
        kind = one.split("_bar_", 1)[0] + ("basin" if "basin" in one else "")
        by_kind.setdefault(kind, []).append(one)
    return {
        one: f"{kind} {len(same) - index}" for kind, same in by_kind.items() for index, one in enumerate(same)
    }
