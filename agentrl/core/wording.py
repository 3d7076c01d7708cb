"""Schemas and values in a few words, for messages that a policy reads."""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import Any

from agentrl.core.jsonvalues import NAMES, json_type, resolve


def expected(schema: Mapping[str, Any], root: Mapping[str, Any]) -> str:
    """What a schema asks for, in words: "an integer", "one of 'a', 'b'"."""
    if "$ref" in schema:
        return expected(resolve(schema["$ref"], root), root)
    if branches := schema.get("anyOf") or schema.get("oneOf"):
        return " or ".join(dict.fromkeys(expected(branch, root) for branch in branches))
    if "enum" in schema or "const" in schema:
        options = [
            json.dumps(option, ensure_ascii=False) for option in schema.get("enum", [schema.get("const")])
        ]
        return options[0] if len(options) == 1 else "one of " + shorten(", ".join(options), 200)
    kinds = schema.get("type", "value")
    return " or ".join(NAMES.get(kind, kind) for kind in ([kinds] if isinstance(kinds, str) else kinds))


def brief(schema: Mapping[str, Any], root: Mapping[str, Any] | None = None, depth: int = 0) -> str:
    """A schema in one short line: `{"query": string, "limit"?: integer}`."""
    root = schema if root is None else root
    if "$ref" in schema:
        name = schema["$ref"].rpartition("/")[2]
        return name if depth > 3 else brief(resolve(schema["$ref"], root), root, depth + 1)
    if branches := schema.get("anyOf") or schema.get("oneOf"):
        return " | ".join(dict.fromkeys(brief(branch, root, depth + 1) for branch in branches))
    if "enum" in schema or "const" in schema:
        return " | ".join(
            json.dumps(option, ensure_ascii=False) for option in schema.get("enum", [schema.get("const")])
        )
    kinds = schema.get("type")
    if kinds == "array":
        inner = [brief(item, root, depth + 1) for item in schema.get("prefixItems", ())]
        if not inner and schema.get("items"):
            inner = [f"{brief(schema['items'], root, depth + 1)}, ..."]
        return f"[{', '.join(inner)}]" if inner or schema.get("maxItems") == 0 else "list"
    if kinds == "object":
        needed = schema.get("required", ())
        parts = [
            f"{json.dumps(name)}{'' if name in needed else '?'}: {brief(item, root, depth + 1)}"
            for name, item in schema.get("properties", {}).items()
        ]
        if isinstance(rest := schema.get("additionalProperties"), dict):
            parts.append(f"...: {brief(rest, root, depth + 1)}")
        return "{" + ", ".join(parts) + "}" if parts or rest is False else "object"
    return " | ".join(kinds) if isinstance(kinds, list) else kinds or "any"


def shown(value: Any) -> str:
    """A value as a message shows it: its type where that is not plain to see, and at most 60 characters."""
    text = shorten(json.dumps(value, ensure_ascii=False), 60)
    return {"string": f"the string {text}", "array": f"the list {text}", "object": f"the object {text}"}.get(
        json_type(value), text
    )


def shorten(text: str, limit: int) -> str:
    return text if len(text) <= limit else text[: limit - 3] + "..."
