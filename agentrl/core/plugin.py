"""Registers the environments when Gymnasium is imported, whoever imports it.

Gymnasium 1.0 dropped its plug-in entry points, so `gymnasium.make("agentrl/Search-v0")` would need an
`import agentrl` first. `agentrl_gymnasium.pth` runs `install()` at interpreter start: it costs a millisecond
and adds a finder that steps aside as soon as it has seen Gymnasium.
"""

from __future__ import annotations

import importlib.util
import sys
from collections.abc import Sequence
from importlib.machinery import ModuleSpec
from types import ModuleType


def install() -> None:
    """Register now if Gymnasium is there, else as soon as it has been imported."""
    if "gymnasium" in sys.modules:
        register()
    elif not any(isinstance(finder, AfterGymnasium) for finder in sys.meta_path):
        sys.meta_path.insert(0, AfterGymnasium())


def register() -> None:
    from agentrl.envs import register_all

    register_all()


class AfterGymnasium:
    """A meta path finder that lets Gymnasium's own loader run and registers afterwards."""

    def find_spec(
        self, name: str, path: Sequence[str] | None, target: ModuleType | None = None
    ) -> ModuleSpec | None:
        if name != "gymnasium":
            return None
        sys.meta_path.remove(self)
        spec = importlib.util.find_spec(name)
        if spec is None or spec.loader is None:
            return spec
        original = spec.loader.exec_module

        def exec_module(module: ModuleType) -> None:
            original(module)
            register()

        spec.loader.exec_module = exec_module  # type: ignore[method-assign]
        return spec
