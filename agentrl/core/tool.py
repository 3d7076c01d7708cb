"""`@tool`: a function that a policy may call, with its schema and its strict decoder.

Invariant: what can go wrong with a declaration goes wrong when it is declared; what can go wrong with a call
is a `ToolError`, raised before the function runs.
"""

from __future__ import annotations

import dataclasses
import enum
import inspect
import json
import re
import sys
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field
from types import FrameType
from typing import Any, TypeVar, overload

import pydantic

from agentrl.core.decode import Decoded, decode
from agentrl.core.failures import UserError
from agentrl.core.jsonvalues import Schema
from agentrl.core.schema import Signature, signature_of

F = TypeVar("F", bound=Callable[..., Any])
MARK = "__agentrl_tool__"
NAME = re.compile(r"[A-Za-z0-9_-]{1,64}")


@dataclass(frozen=True, slots=True)
class Mark:
    """What `@tool` leaves on a function."""

    name: str
    description: str | None
    signature: Signature


@dataclass(frozen=True, slots=True)
class Tool:
    """A callable tool.

    Attributes:
        name, description: what the policy is told.
        parameters: JSON Schema of the arguments.
        function: called with the decoded arguments as keywords; for a method, the bound one.
        is_async: the function is a coroutine function.
        signature: how each argument is read and written.
    """

    name: str
    description: str
    parameters: Schema
    function: Callable[..., Any]
    is_async: bool
    signature: Signature = field(repr=False, compare=False)

    @classmethod
    def of(
        cls, function: Callable[..., Any], *, name: str | None = None, description: str | None = None
    ) -> Tool:
        """A tool from any function or bound method, decorated or not.

        Raises:
            UserError: names the function and the parameter that a policy could not fill.
        """
        mark: Mark | None = getattr(function, MARK, None)
        if not (inspect.isfunction(function) or inspect.ismethod(function)):
            if name is None:
                raise UserError(f"{function!r:.80} has no name of its own: Tool.of(..., name=...)")
            function = type(function).__call__.__get__(function)  # an object with a __call__ method
        signature = mark.signature if mark else signature_of(function, local_names(sys._getframe(1)))
        if name is None:
            name = mark.name if mark else checked_name(function.__name__)
        if description is None:
            description = mark.description if mark else None
        return cls(
            checked_name(name),
            signature.description if description is None else description,
            signature.schema,
            function,
            inspect.iscoroutinefunction(function),
            signature,
        )

    @property
    def spec(self) -> dict[str, Any]:
        """The tool in OpenAI's function format."""
        return {
            "type": "function",
            "function": {"name": self.name, "description": self.description, "parameters": self.parameters},
        }

    def decode(self, arguments: str) -> Decoded:
        """The arguments as Python values.

        Raises:
            ToolError: `malformed_json` or `invalid_arguments`.
        """
        return decode(self, arguments)

    def call(self, arguments: str) -> Any:
        """Decode and execute; of an async tool, the coroutine.

        Raises:
            ToolError: `malformed_json`, `invalid_arguments`, or what the function raises.
        """
        return self.function(**self.decode(arguments).values)

    async def acall(self, arguments: str) -> Any:
        """Decode, execute and await. Raises what `call` raises."""
        result = self.call(arguments)
        return await result if inspect.isawaitable(result) else result

    def __reduce__(self) -> tuple[Any, ...]:
        return _rebuilt, (self.function, self.name, self.description)


def _rebuilt(function: Callable[..., Any], name: str, description: str) -> Tool:
    return Tool.of(function, name=name, description=description)


@overload
def tool(function: F, /) -> F: ...
@overload
def tool(*, name: str | None = None, description: str | None = None) -> Callable[[F], F]: ...
def tool(function: F | None = None, /, *, name: str | None = None, description: str | None = None) -> Any:
    """Mark a function or a method of a `ToolEnv` as a tool; it stays callable as before.

    The policy is told the docstring (or `description`) and, for each parameter, its type, its default and what
    the docstring's `Args:` say of it.

    Raises:
        UserError: a parameter that a policy could not fill; the message names it and the function.
    """

    def mark(target: F) -> F:
        signature = signature_of(target, local_names(sys._getframe(1)))
        setattr(target, MARK, Mark(checked_name(name or target.__name__), description, signature))
        return target

    if function is None:
        return mark
    signature = signature_of(function, local_names(sys._getframe(1)))
    setattr(function, MARK, Mark(checked_name(function.__name__), None, signature))
    return function


def tools_of(instance: object) -> tuple[Tool, ...]:
    """The bound tools of an instance in order of declaration, base classes first.

    An override keeps the place of what it overrides, and its name and docstring unless it has its own; an
    override that is None takes the tool away.

    Raises:
        UserError: two tools of one name.
    """
    marks: dict[str, Mark] = {}
    for cls in reversed(type(instance).__mro__):
        for key, value in vars(cls).items():
            # A staticmethod or classmethod around a tool does not show the mark itself.
            if found := getattr(value, MARK, None) or getattr(getattr(value, "__func__", None), MARK, None):
                marks[key] = found
            elif key in marks and callable(value):
                marks[key] = overridden(marks[key], getattr(instance, key))
    bound = [(getattr(instance, key), mark) for key, mark in marks.items()]
    tools = [
        Tool(
            mark.name,
            mark.signature.description if mark.description is None else mark.description,
            mark.signature.schema,
            function,
            inspect.iscoroutinefunction(function),
            mark.signature,
        )
        for function, mark in bound
        if function is not None
    ]
    check_names(tools, type(instance).__name__)
    return tuple(tools)


def as_text(result: Any) -> str:
    """What a tool returned, as the policy reads it: text as it is, nothing as "", anything else as JSON."""
    if isinstance(result, str):
        return result
    return "" if result is None else json.dumps(result, ensure_ascii=False, default=_plain)


def _plain(value: Any) -> Any:
    if isinstance(value, enum.Enum):
        return value.value
    if isinstance(value, set | frozenset):
        return sorted(value, key=repr)  # the order of a set differs from process to process
    if dataclasses.is_dataclass(value) and not isinstance(value, type):
        return {item.name: getattr(value, item.name) for item in dataclasses.fields(value)}
    return value.model_dump(mode="json") if isinstance(value, pydantic.BaseModel) else str(value)


def overridden(mark: Mark, method: Callable[..., Any]) -> Mark:
    return Mark(mark.name, mark.description, signature_of(method))


def check_names(tools: Iterable[Tool], owner: str) -> None:
    """Raises: UserError: two tools of one name."""
    seen: dict[str, Tool] = {}
    for item in tools:
        if item.name in seen:
            functions = " and ".join(
                getattr(one.function, "__qualname__", "?") for one in (seen[item.name], item)
            )
            raise UserError(f"{owner} has two tools called {item.name!r}: {functions}")
        seen[item.name] = item


def checked_name(name: str) -> str:
    if not NAME.fullmatch(name):
        raise UserError(f"tool name {name!r} must be 1 to 64 letters, digits, _ or -: give one with name=")
    return name


def local_names(frame: FrameType | None) -> Mapping[str, Any]:
    """Names that an annotation written in this frame may refer to besides the module's: those of the class
    bodies and of the one function around it."""
    names: dict[str, Any] = {}
    while frame is not None and frame.f_locals is not frame.f_globals:
        names = {**frame.f_locals, **names}
        if frame.f_code.co_flags & inspect.CO_OPTIMIZED:
            break
        frame = frame.f_back
    return names
