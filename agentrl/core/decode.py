"""The strict decoder: JSON text in, annotated Python values out, or a `ToolError` that the policy sees."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any

from pydantic import ValidationError

from agentrl.core.failures import ToolError, nearest

if TYPE_CHECKING:
    from agentrl.core.tool import Tool


def decode_arguments(tool: Tool, raw: str) -> dict[str, Any]:
    """Arguments of a call.

    Raises:
        ToolError: `malformed_json` or `invalid_arguments`; nothing else, whatever `raw` is.
    """
    value = parse_json(raw)
    if isinstance(value, str):
        value = parse_json(value)
    if value is None:
        value = {}
    if not isinstance(value, dict):
        raise ToolError(f"arguments must be a JSON object, not {json.dumps(value)[:80]}", "malformed_json")
    known = tool.signature.model.model_fields
    for name in value:
        if name not in known:
            close = nearest(name, known)
            hint = f"; did you mean {close[0]!r}?" if close else ""
            raise ToolError(f"unknown argument {name!r} of {tool.name}{hint}", "invalid_arguments")
    try:
        model = tool.signature.model.model_validate_json(json.dumps(value), strict=True)
    except (ValidationError, ValueError) as error:
        first = error.errors()[0] if isinstance(error, ValidationError) else {"loc": (), "msg": str(error)}
        where = ".".join(map(str, first["loc"]))
        raise ToolError(f"argument {where!r} of {tool.name}: {first['msg']}", "invalid_arguments") from None
    return {name: getattr(model, name) for name in known}


def parse_json(raw: str) -> Any:
    if not raw.strip():
        return None
    try:
        return json.loads(raw, parse_float=number, parse_constant=refuse)
    except (ValueError, RecursionError) as error:
        raise ToolError(f"arguments are not valid JSON: {str(error)[:120]}", "malformed_json") from None


def number(text: str) -> int | float:
    value = float(text)
    return int(value) if value.is_integer() else value


def refuse(text: str) -> Any:
    raise ValueError(f"{text} is not a JSON number")
