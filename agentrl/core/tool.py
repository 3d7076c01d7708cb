"""`@tool`: a function that a policy may call, with its schema and its strict decoder."""

from __future__ import annotations

import inspect
from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Any, TypeVar

from agentrl.core.decode import decode_arguments
from agentrl.core.failures import UserError
from agentrl.core.schema import Signature, signature_of

F = TypeVar("F", bound=Callable[..., Any])
MARK = "__agentrl_tool__"


@dataclass(frozen=True, slots=True)
class Tool:
    """A callable tool.

    Attributes:
        name, description: what the policy is told.
        parameters: JSON schema of the arguments.
        function: called with the decoded arguments as keywords.
        signature: the decoder's model of the arguments.
    """

    name: str
    description: str
    parameters: dict[str, Any]
    function: Callable[..., Any]
    signature: Signature
    is_async: bool

    @classmethod
    def of(cls, function: Callable[..., Any], *, name: str | None = None, description: str | None = None) -> Tool:
        signature = signature_of(function)
        return cls(
            name or function.__name__,
            description or signature.description,
            signature.schema,
            function,
            signature,
            inspect.iscoroutinefunction(function),
        )

    @property
    def spec(self) -> dict[str, Any]:
        return {
            "type": "function",
            "function": {"name": self.name, "description": self.description, "parameters": self.parameters},
        }

    def call(self, arguments: str) -> Any:
        return self.function(**decode_arguments(self, arguments))

    async def acall(self, arguments: str) -> Any:
        result = self.call(arguments)
        return await result if inspect.isawaitable(result) else result


def tool(function: F | None = None, *, name: str | None = None, description: str | None = None) -> Any:
    """Mark a function or a method of a `ToolEnv` as a tool; it stays callable as before."""

    def mark(target: F) -> F:
        signature_of(target)
        setattr(target, MARK, {"name": name, "description": description})
        return target

    return mark if function is None else mark(function)


def tools_of(instance: object) -> tuple[Tool, ...]:
    """The tools of an instance in order of declaration, base classes first; an override keeps its place."""
    names = dict.fromkeys(
        key for cls in reversed(type(instance).__mro__) for key, value in vars(cls).items() if hasattr(value, MARK)
    )
    tools = []
    for key in names:
        method = getattr(instance, key)
        tools.append(Tool.of(method, **getattr(method, MARK, {})))
    seen = [item.name for item in tools]
    if len(set(seen)) != len(seen):
        raise UserError(f"{type(instance).__name__} has two tools of one name: {', '.join(seen)}")
    return tuple(tools)


__all__ = ["Tool", "replace", "tool", "tools_of"]
