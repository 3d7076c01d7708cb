"""Backends by name, as commands and environments name them."""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import Any

import pydantic

from agentrl.core.failures import UnknownName, UserError
from agentrl.sandboxes.base import Backend, SandboxSpec

NAMES = ("bubblewrap", "docker", "local-unsafe")
_made: dict[str, Backend] = {}


def backend(name: str) -> Backend:
    """The backend of a name; one instance for each process. Nothing is started or looked for yet.

    Raises:
        UnknownName: with the nearest known names.
        SandboxUnavailable: `local`, which must be asked for as `local-unsafe`.
    """
    if name in _made:
        return _made[name]
    made: Backend
    if name == "bubblewrap":
        from agentrl.sandboxes.bubblewrap import Bubblewrap

        made = Bubblewrap()
    elif name == "docker":
        from agentrl.sandboxes.docker import Docker

        made = Docker()
    elif name in ("local", "local-unsafe"):
        from agentrl.sandboxes.local import Local

        made = Local(unsafe=name == "local-unsafe")
    else:
        raise UnknownName("sandbox backend", name, NAMES)
    _made[name] = made
    return made


def settings_of(settings: Mapping[str, Any] | str | None) -> dict[str, Any]:
    """Settings as they are given: plain data (a recipe), or JSON text (`--set sandbox_settings='{"processes": 64}'`).

    Raises:
        UserError: neither.
    """
    if isinstance(settings, str):
        try:
            settings = json.loads(settings or "{}")
        except ValueError as error:
            raise UserError(f"sandbox settings are no JSON object: {error}") from None
    if settings is not None and not isinstance(settings, Mapping):
        raise UserError(f"sandbox settings are an object of names and values, got {settings!r:.60}")
    return dict(settings or {})


def spec_of(settings: Mapping[str, Any] | str | None) -> SandboxSpec:
    """A spec from settings, see `settings_of`.

    Raises:
        UnknownName: a setting that there is not, with the nearest known ones.
        UserError: a value of the wrong type or out of range.
    """
    given = settings_of(settings)
    known = SandboxSpec.__dataclass_fields__
    for name in given:
        if name not in known:
            raise UnknownName("sandbox setting", name, known)
    try:
        return _ADAPTER.validate_python(given)
    except pydantic.ValidationError as error:
        first = error.errors()[0]
        name = ".".join(map(str, first["loc"])) or "?"
        raise UserError(f"sandbox {name}: {first['msg']}, got {first['input']!r}") from None


_ADAPTER = pydantic.TypeAdapter(SandboxSpec)
