"""Environments by name: Gymnasium's own registry, with nearest names in errors.

`gymnasium.make("agentrl/Search-v0")` and `agentrl.make("Search-v0")` are the same thing. A name may also be
a place: `my_module:Class`, `path/to/file.py:Class` or Gymnasium's `my_module:Registered-v0`.
"""

from __future__ import annotations

import importlib
import importlib.util
import inspect
import sys
from collections.abc import Callable, Mapping
from pathlib import Path
from types import ModuleType
from typing import Any

import gymnasium
from gymnasium.vector import AutoresetMode

from agentrl.core.catalogue import NAMESPACE, EnvEntry, catalogue
from agentrl.core.env import ToolEnv, digest
from agentrl.core.failures import MissingExtra, UnknownName, UserError
from agentrl.core.vector import ToolVectorEnv

WRAPPERS = "agentrl.wrappers.names"


def resolve(name: str) -> EnvEntry:
    """The entry that `name` means; the namespace `agentrl/` may be left out.

    Raises:
        UnknownName: with the nearest known ids.
        UserError: a file or module that is not there or holds no environment.
    """
    entries = catalogue()
    for candidate in (name, f"{NAMESPACE}/{name}"):
        if candidate in entries:
            return entries[candidate]
    module_ref, colon, attribute = name.rpartition(":")
    if not colon:
        raise UnknownName("environment", name, entries)
    module = import_module(module_ref)
    entries = catalogue()
    for candidate in (attribute, f"{NAMESPACE}/{attribute}"):
        if candidate in entries:
            return entries[candidate]
    target = getattr(module, attribute, None)
    if target is None:
        raise UnknownName(
            f"environment in {module_ref}", attribute, [n for n, v in vars(module).items() if is_env(v)]
        )
    if not is_env(target):
        raise UserError(f"{name} is not a ToolEnv class")
    return EnvEntry(name, target, first_line(target.__doc__))


def make(name: str, **kwargs: Any) -> ToolEnv:
    """Make an environment by name.

    Args:
        kwargs: the constructor's arguments; and `wrap`, the wrappers to put around it (see `agentrl.wrappers`).

    Raises:
        UnknownName: with the nearest known ids.
        MissingExtra: the environment needs an extra that is not installed.
        UserError: a constructor argument that it does not take.
    """
    return make_entry(resolve(name), **kwargs)


def make_entry(entry: EnvEntry, *, wrap: Any = (), **kwargs: Any) -> ToolEnv:
    env = make_bare(entry, **kwargs)
    if not wrap:
        return env
    # By name: wrappers stand on environments and are nothing that the core knows.
    return importlib.import_module(WRAPPERS).wrapped(env, wrap)


def make_bare(entry: EnvEntry, **kwargs: Any) -> ToolEnv:
    env_class = load_class(entry)
    check_arguments(entry.id, env_class, kwargs)
    try:
        if entry.id in gymnasium.registry:
            env = gymnasium.make(entry.id, **kwargs).unwrapped
        else:
            env = env_class(**{**(entry.kwargs or {}), **kwargs})
    except ModuleNotFoundError as error:
        raise _missing(entry, error) from error
    if not isinstance(env, ToolEnv):
        raise UserError(f"{entry.id} is a {type(env).__name__}, not a ToolEnv")
    return env


def make_vec(
    name: str,
    num_envs: int = 1,
    *,
    autoreset_mode: AutoresetMode | str = AutoresetMode.NEXT_STEP,
    **kwargs: Any,
) -> ToolVectorEnv:
    """Many environments of one name, played in step (see `ToolVectorEnv`).

    Args:
        autoreset_mode: Gymnasium's, or its value: `NextStep`, `SameStep` or `Disabled`.
        kwargs: constructor arguments of each.

    Raises: what `make` raises, and
        UserError: a bad number or mode, or an environment that must not share a process.
    """
    entry = resolve(name)
    modes = {str(mode.value): mode for mode in AutoresetMode}
    mode = autoreset_mode if isinstance(autoreset_mode, AutoresetMode) else modes.get(autoreset_mode)
    if mode is None:
        raise UnknownName("autoreset_mode", str(autoreset_mode), modes)
    first = make_entry(entry, **kwargs)
    return ToolVectorEnv(first, another(entry, **kwargs), num_envs, autoreset_mode=mode)


def another(entry: EnvEntry, *, wrap: Any = (), **kwargs: Any) -> Callable[[], ToolEnv]:
    """Makes more environments after a first one: nothing is looked up and checked again."""
    if wrap:
        return lambda: make_entry(entry, wrap=wrap, **kwargs)
    env_class, arguments = load_class(entry), {**(entry.kwargs or {}), **kwargs}
    return lambda: env_class(**arguments)


def check_arguments(name: str, env_class: Callable[..., ToolEnv], kwargs: Mapping[str, Any]) -> None:
    """Refuse constructor arguments that the environment does not take, naming the nearest that it does."""
    parameters = inspect.signature(env_class).parameters
    if any(parameter.kind is parameter.VAR_KEYWORD for parameter in parameters.values()):
        return
    for argument in kwargs:
        if argument not in parameters:
            raise UnknownName(f"argument of {name}", argument, parameters)


def load_class(entry: EnvEntry) -> Callable[..., ToolEnv]:
    """The class behind an entry, imported.

    Raises:
        MissingExtra: what it imports is not installed.
    """
    if callable(entry.entry_point):
        return entry.entry_point
    module_ref, _, attribute = entry.entry_point.partition(":")
    try:
        return getattr(importlib.import_module(module_ref), attribute)
    except ModuleNotFoundError as error:
        raise _missing(entry, error) from error


def import_module(ref: str) -> ModuleType:
    """Import a dotted module or a Python file by path; a file is imported once."""
    if not (ref.endswith(".py") or "/" in ref):
        try:
            return importlib.import_module(ref)
        except ModuleNotFoundError as error:
            file = ref.replace(".", "/") + ".py"
            hint = f"; did you mean the file {file}?" if Path(file).is_file() else ""
            raise UserError(f"no module named {error.name!r}{hint}") from error
    path = Path(ref).expanduser().resolve()
    name = f"agentrl_file_{path.stem}_{digest(str(path))[:8]}"
    if name in sys.modules:
        return sys.modules[name]
    spec = importlib.util.spec_from_file_location(name, path) if path.is_file() else None
    if spec is None or spec.loader is None:
        raise UserError(f"no Python file at {ref}")
    module = importlib.util.module_from_spec(spec)
    sys.modules[name] = module
    try:
        spec.loader.exec_module(module)
    except Exception as error:
        del sys.modules[name]
        raise UserError(f"{ref} cannot be imported: {type(error).__name__}: {error}") from error
    return module


def is_env(value: Any) -> bool:
    return isinstance(value, type) and issubclass(value, ToolEnv) and value is not ToolEnv


def first_line(doc: str | None) -> str:
    return (doc or "").strip().partition("\n")[0]


def _missing(entry: EnvEntry, error: ModuleNotFoundError) -> Exception:
    if entry.extra and (error.name or "").partition(".")[0] in entry.needs:
        return MissingExtra(entry.extra, entry.id)
    return error
