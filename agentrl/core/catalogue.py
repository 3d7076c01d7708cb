"""What environments there are: our entries beside Gymnasium's own registry.

Imports nothing heavy, not even Gymnasium: the start-up hook (`agentrl.core.plugin`) runs while Gymnasium is
being imported.
"""

from __future__ import annotations

import importlib.metadata
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from agentrl.core.failures import UserError

if TYPE_CHECKING:
    from agentrl.core.env import ToolEnv

NAMESPACE = "agentrl"


@dataclass(frozen=True, slots=True)
class EnvEntry:
    """What the catalogue says of an environment without importing it.

    Attributes:
        id: full id, e.g. `agentrl/Search-v0`.
        entry_point: `module:Class` or the class itself.
        summary: one sentence.
        extra: the extra of this package that it needs; empty if the core install is enough.
        needs: the modules whose absence means that the extra is missing.
        kwargs: default constructor arguments.
    """

    id: str
    entry_point: str | Callable[..., ToolEnv]
    summary: str = ""
    extra: str = ""
    needs: tuple[str, ...] = ()
    kwargs: Mapping[str, Any] | None = None


_catalogue: dict[str, EnvEntry] = {}


def register(
    id: str,
    entry_point: str | Callable[..., ToolEnv],
    *,
    summary: str = "",
    extra: str = "",
    needs: tuple[str, ...] = (),
    kwargs: Mapping[str, Any] | None = None,
) -> EnvEntry:
    """Register an environment with Gymnasium; registering the same thing again is allowed.

    Raises:
        UserError: the id is taken by something else.
    """
    entry = EnvEntry(id, entry_point, summary, extra, needs, dict(kwargs or {}))
    if id in _catalogue:
        if _catalogue[id].entry_point != entry_point:
            raise UserError(f"environment id {id!r} is taken by {_catalogue[id].entry_point!r}")
        _catalogue[id] = entry
    import gymnasium

    if id not in gymnasium.registry:
        # The bare environment: its own checks are stricter than the passive wrappers.
        gymnasium.register(
            id, entry_point, kwargs=dict(kwargs or {}), disable_env_checker=True, order_enforce=False
        )
    _catalogue[id] = entry
    return entry


def catalogue() -> dict[str, EnvEntry]:
    """Every registered environment of this package and its plug-ins, by id. Plug-ins are packages that name a
    function in the entry point group `agentrl.envs` which calls `agentrl.register`."""
    for plugin in importlib.metadata.entry_points(group="agentrl.envs"):
        plugin.load()()
    return dict(_catalogue)
