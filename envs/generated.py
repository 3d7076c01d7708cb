"""Tasks that are generated from a seed, or listed in a file: families, kinds, difficulties, splits.

Invariant: which split a generated task is in depends on what it asks alone, so splits share none; and a seed means the
same task in every process.
"""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from random import Random
from typing import Any, Generic, Literal, TypeAlias, TypeVar

from agentrl.core.failures import UnknownName, UserError

P = TypeVar("P")
T = TypeVar("T")
Difficulty: TypeAlias = Literal["easy", "medium", "hard"]
DIFFICULTIES: tuple[Difficulty, ...] = ("easy", "medium", "hard")
TENTHS = {"train": range(8), "validation": range(8, 9), "test": range(9, 10)}
TRIES = 1000


@dataclass(frozen=True)  # no slots: a subscripted class could not be called
class Family(Generic[P]):
    """A generator of tasks that differ in what is asked, not only in the data.

    Attributes:
        name: kebab-case, unique.
        kind, difficulty: to choose by, and for reports.
        make: from a `random.Random` (and whatever else its environment gives) to a problem; the same state gives the
            same problem.
    """

    name: str
    kind: str
    difficulty: Difficulty
    make: Callable[..., P]


@dataclass(frozen=True)  # no slots: a subscripted class could not be called
class FamilyTask(Generic[P]):
    """A problem with its name and its place.

    Attributes:
        id: stable name, e.g. `caesar-cipher/train/3`.
        family: which generator or file it is from.
    """

    id: str
    family: str
    kind: str
    difficulty: str
    problem: P

    def __deepcopy__(self, memo: Any) -> FamilyTask[P]:
        return self  # it never changes

    def place(self) -> dict[str, str]:
        """What an info says of it."""
        return {"id": self.id, "family": self.family, "kind": self.kind, "difficulty": self.difficulty}


def chosen(
    families: Sequence[Family[P]], known: Sequence[str], kinds: Sequence[str], difficulties: Sequence[str]
) -> tuple[Family[P], ...]:
    """The families of some kinds and difficulties; all where none is named.

    Args:
        known: the kinds there are.

    Raises:
        UnknownName: with the nearest known ones.
        UserError: nothing is left.
    """
    for name, given, names in (("kind", kinds, known), ("difficulty", difficulties, DIFFICULTIES)):
        for value in given:
            if value not in names:
                raise UnknownName(name, value, names)
    left = tuple(
        family
        for family in families
        if (not kinds or family.kind in kinds) and (not difficulties or family.difficulty in difficulties)
    )
    if not left:
        raise UserError(
            f"no family is of kind {', '.join(kinds)} and of difficulty {', '.join(difficulties)}"
        )
    return left


def draw(
    among: Sequence[Family[P]],
    split: str,
    seed: int,
    *,
    make: Callable[[Family[P], Random], P],
    identity: Callable[[Family[P], P], str],
    fits: Callable[[P], bool] = lambda problem: True,
) -> FamilyTask[P]:
    """The task of a seed. Neighbouring seeds go through the families in turn, so that few tasks cover many.

    Args:
        identity: what makes a problem another one; decides its split.
        fits: whether a problem may be asked at all.

    Raises:
        UserError: a family that has no task in this split.
    """
    family = turn_of(among, split, seed)
    for attempt in range(TRIES):
        problem = make(family, Random(f"{family.name}/{split}/{seed}/{attempt}"))
        if in_split(identity(family, problem), split) and fits(problem):
            name = f"{family.name}/{split}/{seed}"
            return FamilyTask(name, family.name, family.kind, family.difficulty, problem)
    raise UserError(f"family {family.name!r} has no task in split {split!r}: it varies too little")


def turn_of(among: Sequence[T], split: str, seed: int) -> T:
    """Which one is this seed's: neighbouring seeds go through all of them, each round from another one on."""
    return among[(seed + stable(f"{split}/{seed // len(among)}")) % len(among)]


def in_split(content: str, split: str) -> bool:
    """Whether what this text asks belongs to a split: 8 of 10 are for training, one each for the others."""
    return stable(content) % 10 in TENTHS[split]


def listed(source: Sequence[T], split: str, seed: int) -> T:
    """A task of a list: every tenth is for test, every tenth for validation, the others for training; all of them where
    that leaves none."""
    remainders = {"test": (0,), "validation": (1,)}.get(split, tuple(range(2, 10)))
    part = [task for index, task in enumerate(source) if index % 10 in remainders] or list(source)
    return part[seed % len(part)]


def as_names(name: str, value: Any) -> tuple[str, ...]:
    """One name or several; `easy,hard` counts as two.

    Raises:
        UserError: neither.
    """
    if isinstance(value, str):
        return tuple(part.strip() for part in value.split(",") if part.strip())
    if not isinstance(value, Sequence) or not all(isinstance(item, str) for item in value):
        raise UserError(f"{name} must be a list of names, got {value!r:.60}")
    return tuple(value)


def stable(text: str) -> int:
    """A hash that is the same in every process."""
    return int.from_bytes(hashlib.blake2b(text.encode(), digest_size=8).digest(), "big")
