"""Snapshots of environments: a point of an episode from which it can be continued, any number of times.

Invariant: a copied state shares nothing that changes with the live environment or with another copy; what the
environment declares as `shared` is shared by all, and references to the environment itself lead to whichever
instance the state is put into.
"""

from __future__ import annotations

import copy
from collections.abc import Mapping, Set
from dataclasses import dataclass
from typing import Any, Literal, TypeAlias

from agentrl.core.failures import UserError

ForkKind: TypeAlias = Literal["copy", "native", "replay", "none"]
WIRING = frozenset(
    {"_tools", "_by_name", "observation_space", "action_space", "spec", "closed", "render_mode"}
)
"""Attributes that belong to the instance and not to the episode."""


@dataclass(frozen=True, slots=True)
class Snapshot:
    """A point to which an environment of the same kind can be brought, any number of times.

    Attributes:
        kind: how (`copy`, `native`, `replay`).
        owner: the class that made it.
        payload: state for `copy`, a handle for `native`, the path for `replay`. Never change it.
    """

    kind: ForkKind
    owner: str
    payload: Any


class Itself:
    """Stands in a copied state for the environment that it was taken from."""

    def __reduce__(self) -> str:
        return "ITSELF"

    def __deepcopy__(self, memo: Any) -> Itself:
        return self


ITSELF = Itself()


def copy_out(env: object, shared: Set[str]) -> dict[str, Any]:
    """The state of an environment, apart from its wiring and what it shares."""
    return _copied(env, vars(env), shared, {id(env): ITSELF})


def copy_in(env: object, state: Mapping[str, Any], shared: Set[str]) -> None:
    """Put a copy of a state into an environment; attributes that the state does not have go."""
    fresh = _copied(env, state, shared, {id(ITSELF): env})
    for name in set(vars(env)) - set(fresh) - shared - WIRING:
        delattr(env, name)
    vars(env).update(fresh)


def _copied(env: object, state: Mapping[str, Any], shared: Set[str], memo: dict[int, Any]) -> dict[str, Any]:
    kept = shared | WIRING
    # What is kept is also kept where another attribute refers to it.
    memo.update((id(value), value) for name, value in vars(env).items() if name in kept)
    out: dict[str, Any] = {}
    for name, value in state.items():
        if name in kept:
            continue
        try:
            out[name] = copy.deepcopy(value, memo)
        except TypeError as error:
            owner = type(env).__name__
            raise UserError(
                f"{owner}.{name} cannot be copied ({error}): name it in {owner}.shared if it never changes, "
                f"else declare another way to fork"
            ) from error
    return out
