"""Tasks of `Code-v0` from a seed: which family, which variant, which split.

Invariant: whether a task is in `train`, `validation` or `test` depends on its statement alone, so splits share none; and
a seed means the same task in every process.
"""

from __future__ import annotations

import functools
import hashlib
import importlib
import pkgutil
import random
from collections.abc import Sequence

from agentrl.core.failures import UnknownName, UserError
from agentrl.envs.code import families as package
from agentrl.envs.code.task import KINDS, CodeTask, Family

DIFFICULTIES = ("easy", "medium", "hard")
BUCKETS = {"train": range(8), "validation": range(8, 9), "test": range(9, 10)}
TRIES = 1000


@functools.cache
def families() -> tuple[Family, ...]:
    """Every family, by name."""
    found: dict[str, Family] = {}
    for module in sorted(pkgutil.iter_modules(package.__path__), key=lambda module: module.name):
        loaded = importlib.import_module(f"{package.__name__}.{module.name}")
        for family in getattr(loaded, "FAMILIES", ()):
            if family.name in found:
                raise UserError(f"two families are called {family.name!r}")
            found[family.name] = family
    return tuple(found[name] for name in sorted(found))


def chosen(kinds: Sequence[str] = (), difficulties: Sequence[str] = ()) -> tuple[Family, ...]:
    """The families of some kinds and difficulties; all where none is named.

    Raises:
        UnknownName: with the nearest known ones.
        UserError: nothing is left.
    """
    for name, given, known in (("kind", kinds, KINDS), ("difficulty", difficulties, DIFFICULTIES)):
        for value in given:
            if value not in known:
                raise UnknownName(name, value, known)
    left = tuple(
        family
        for family in families()
        if (not kinds or family.kind in kinds) and (not difficulties or family.difficulty in difficulties)
    )
    if not left:
        raise UserError(
            f"no family is of kind {', '.join(kinds)} and of difficulty {', '.join(difficulties)}"
        )
    return left


@functools.lru_cache(maxsize=4096)
def generate(split: str, seed: int, among: tuple[Family, ...]) -> CodeTask:
    """The task of a seed. Neighbouring seeds go through the families in turn, so that few tasks cover many."""
    family = among[(seed + stable(f"{split}/{seed // len(among)}")) % len(among)]
    for attempt in range(TRIES):
        rng = random.Random(f"{family.name}/{split}/{seed}/{attempt}")
        problem = family.make(rng)
        if stable(family.name + problem.statement) % 10 in BUCKETS[split]:
            return CodeTask(
                f"{family.name}/{split}/{seed}", family.name, family.kind, family.difficulty, problem
            )
    raise UserError(f"family {family.name!r} has no task in split {split!r}: it varies too little")


def stable(text: str) -> int:
    """A hash that is the same in every process."""
    return int.from_bytes(hashlib.blake2b(text.encode(), digest_size=8).digest(), "big")
