"""Generated tasks of `Code-v0`: which family, which variant."""

from __future__ import annotations

import functools
import importlib
import pkgutil
from collections.abc import Sequence

from agentrl.core.failures import UserError
from agentrl.envs import generated
from agentrl.envs.code import families as package
from agentrl.envs.code.task import KINDS, CodeTask, Family


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
    """See `generated.chosen`."""
    return generated.chosen(families(), KINDS, kinds, difficulties)


@functools.lru_cache(maxsize=4096)
def generate(split: str, seed: int, among: tuple[Family, ...]) -> CodeTask:
    """The task of a seed; its statement decides its split."""
    return generated.draw(
        among,
        split,
        seed,
        make=lambda family, rng: family.make(rng),
        identity=lambda family, problem: family.name + problem.statement,
    )
