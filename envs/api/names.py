"""Names for generated worlds.

Invariant: no person and no title is in two splits: a name belongs to the split that its hash says. So nothing that a
task of one split is about occurs in another.
"""

from __future__ import annotations

import functools
from collections.abc import Sequence
from random import Random
from typing import TypeVar

from agentrl.envs.generated import in_split

T = TypeVar("T")
FIRST = [
    "Ada",
    "Alan",
    "Amir",
    "Anna",
    "Asha",
    "Beno",
    "Bruno",
    "Carla",
    "Chen",
    "Clara",
    "Dana",
    "David",
    "Diego",
    "Elena",
    "Elif",
    "Emil",
    "Erik",
    "Farah",
    "Felix",
    "Fiona",
    "Grace",
    "Hana",
    "Hugo",
    "Ida",
    "Igor",
    "Ines",
    "Ivan",
    "Jana",
    "Joao",
    "Jonas",
    "Kaito",
    "Karim",
    "Lea",
    "Leo",
    "Lina",
    "Lucas",
    "Maja",
    "Marco",
    "Mia",
    "Mina",
    "Nadia",
    "Nils",
    "Nora",
    "Olga",
    "Omar",
    "Pablo",
    "Petra",
    "Priya",
    "Rafael",
    "Rosa",
    "Samir",
    "Sara",
    "Sofia",
    "Tariq",
    "Theo",
    "Uma",
    "Vera",
    "Yara",
    "Yusuf",
    "Zoe",
]
LAST = [
    "Abe",
    "Adler",
    "Baker",
    "Banda",
    "Berg",
    "Bosch",
    "Castro",
    "Chavez",
    "Costa",
    "Cruz",
    "Dahl",
    "Diaz",
    "Eder",
    "Endo",
    "Fabre",
    "Ferro",
    "Fischer",
    "Fox",
    "Garcia",
    "Gupta",
    "Haas",
    "Hall",
    "Hansen",
    "Hoang",
    "Ito",
    "Jansen",
    "Jung",
    "Kaya",
    "Khan",
    "Kim",
    "Klein",
    "Kovac",
    "Lang",
    "Lind",
    "Lopez",
    "Maier",
    "Mbeki",
    "Meyer",
    "Moreau",
    "Nakata",
    "Novak",
    "Okafor",
    "Olsen",
    "Park",
    "Patel",
    "Perez",
    "Popov",
    "Quinn",
    "Rao",
    "Reyes",
    "Rossi",
    "Sato",
    "Silva",
    "Singh",
    "Stone",
    "Tanaka",
    "Torres",
    "Vogel",
    "Weber",
    "Wolf",
]
HEADS = [
    "amber",
    "arctic",
    "basalt",
    "birch",
    "bronze",
    "canyon",
    "cedar",
    "cobalt",
    "copper",
    "coral",
    "crystal",
    "delta",
    "ember",
    "falcon",
    "fjord",
    "garnet",
    "glacier",
    "granite",
    "harbor",
    "hazel",
    "indigo",
    "island",
    "ivory",
    "jade",
    "juniper",
    "lagoon",
    "lantern",
    "lunar",
    "maple",
    "marble",
    "meadow",
    "mercury",
    "misty",
    "nickel",
    "north",
    "ocean",
    "olive",
    "onyx",
    "opal",
    "orchid",
    "pearl",
    "pine",
    "prairie",
    "quartz",
    "raven",
    "river",
    "ruby",
    "saffron",
    "sierra",
    "silver",
    "slate",
    "solar",
    "spruce",
    "sunset",
    "tidal",
    "topaz",
    "tundra",
    "velvet",
    "violet",
    "willow",
]
TAILS = [
    "anchor",
    "archive",
    "atlas",
    "beacon",
    "bridge",
    "canvas",
    "castle",
    "compass",
    "courier",
    "engine",
    "forge",
    "garden",
    "gateway",
    "hub",
    "kernel",
    "ladder",
    "ledger",
    "lens",
    "library",
    "loom",
    "market",
    "mirror",
    "mosaic",
    "nest",
    "orbit",
    "outpost",
    "panel",
    "parlor",
    "pilot",
    "planner",
    "portal",
    "press",
    "prism",
    "quarry",
    "radar",
    "relay",
    "ridge",
    "rocket",
    "sail",
    "scope",
    "shelter",
    "signal",
    "spark",
    "studio",
    "summit",
    "tower",
    "trail",
    "tunnel",
    "vault",
    "vessel",
    "wheel",
    "window",
    "works",
]


@functools.cache
def people(split: str) -> tuple[tuple[str, str], ...]:
    """(first name, last name) of everybody of a split."""
    return tuple((a, b) for a in FIRST for b in LAST if in_split(f"{a} {b}", split))


@functools.cache
def titles(split: str) -> tuple[tuple[str, str], ...]:
    """Two-word names of projects, pages, products."""
    return tuple((a, b) for a in HEADS for b in TAILS if in_split(f"{a} {b}", split))


class Draw:
    """Random choices of one task: everything from one generator, names from one split."""

    def __init__(self, rng: Random, split: str) -> None:
        self.rng, self.split = rng, split

    def persons(self, number: int) -> list[tuple[str, str]]:
        """Different people whose first names also differ."""
        found: dict[str, tuple[str, str]] = {}
        while len(found) < number:
            one = self.rng.choice(people(self.split))
            found.setdefault(one[0], one)
        return list(found.values())

    def titles(self, number: int) -> list[tuple[str, str]]:
        """Different two-word names; no word is in two of them."""
        found: list[tuple[str, str]] = []
        used: set[str] = set()
        while len(found) < number:
            one = self.rng.choice(titles(self.split))
            if used.isdisjoint(one):
                found.append(one)
                used.update(one)
        return found

    def one(self, options: Sequence[T]) -> T:
        return self.rng.choice(options)

    def some(self, options: Sequence[T], number: int) -> list[T]:
        return self.rng.sample(options, number)

    def chance(self, p: float) -> bool:
        return self.rng.random() < p

    def number(self, low: int, high: int) -> int:
        """From low to high, both included."""
        return self.rng.randint(low, high)
