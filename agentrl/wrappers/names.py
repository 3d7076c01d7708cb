"""Wrappers by name, as recipes and the command line give them."""

from __future__ import annotations

import importlib
import inspect
from collections.abc import Mapping
from typing import Any

from agentrl.core.env import ToolEnv
from agentrl.core.failures import UnknownName, UserError
from agentrl.core.registry import import_module
from agentrl.wrappers.base import Wrapper

SHIPPED: Mapping[str, str] = {
    "turn_limit": "agentrl.wrappers.turns:TurnLimit",
    "shorten": "agentrl.wrappers.shorten:Shorten",
    "text_actions": "agentrl.wrappers.actions:TextActions",
    "shape_reward": "agentrl.wrappers.shaping:ShapeReward",
    "recorder": "agentrl.wrappers.recorder:Recorder",
}


def wrapped(env: ToolEnv, wrap: Any) -> ToolEnv:
    """The environment in its wrappers, the first of them innermost.

    Args:
        wrap: a list of names (`turn_limit`, `module:Class`) or of tables with a `name` and the wrapper's arguments.

    Raises:
        UnknownName: no such wrapper or argument, with the nearest known ones.
        UserError: anything else that is wrong with it; the environment is closed then.
    """
    try:
        for spec in [wrap] if isinstance(wrap, str | Mapping) else list(wrap):
            env = one(env, spec)
    except BaseException:
        env.close()
        raise
    return env


def one(env: ToolEnv, spec: Any) -> ToolEnv:
    arguments = dict(spec) if isinstance(spec, Mapping) else {"name": spec}
    name = arguments.pop("name", None)
    if not isinstance(name, str):
        raise UserError(f"a wrapper is a name, or a table with a name and arguments, not {spec!r:.80}")
    wrapper = wrapper_class(name)
    parameters = list(inspect.signature(wrapper).parameters)[1:]
    for argument in arguments:
        if argument not in parameters:
            raise UnknownName(f"argument of {name}", str(argument), parameters)
    try:
        return wrapper(env, **arguments)
    except TypeError as error:
        raise UserError(f"{name}: {str(error).rpartition('() ')[2] or error}") from error


def wrapper_class(name: str) -> type[Wrapper]:
    place = SHIPPED.get(name, name)
    module, colon, attribute = place.rpartition(":")
    if not colon:
        raise UnknownName("wrapper", name, SHIPPED)
    found = getattr(
        importlib.import_module(module) if name in SHIPPED else import_module(module), attribute, None
    )
    if not (isinstance(found, type) and issubclass(found, Wrapper)):
        raise UserError(f"{place} is not a Wrapper")
    return found
