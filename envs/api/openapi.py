"""From an OpenAPI document to tools: one tool for each operation.

Invariant: a tool's arguments are the operation's parameters and the members of its JSON body in one object, each with
the type, the bounds and the description that the document gives; `request_of` puts them back where they belong. Any
document of version 3.0 or 3.1 will do; what cannot be said in a tool's schema (a file upload) is refused by name.
"""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Collection, Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any
from urllib.parse import quote

from agentrl.core.failures import UserError
from agentrl.core.jsonvalues import Schema
from agentrl.core.kinds import Kind, any_json, same_value
from agentrl.core.schema import Signature
from agentrl.core.tool import Tool

METHODS = ("get", "put", "post", "delete", "options", "head", "patch", "trace")
DROPPED = ("example", "examples", "xml", "externalDocs", "discriminator", "deprecated", "title", "readOnly")


@dataclass(frozen=True, slots=True)
class Request:
    """An HTTP request as plain data; `path` has its parameters filled in."""

    method: str
    path: str
    query: Mapping[str, Any]
    body: Any = None
    headers: Mapping[str, str] | None = None


@dataclass(frozen=True, slots=True)
class Operation:
    """One operation of a document.

    Attributes:
        id: its operationId as a tool name; made from method and path where it has none.
        method: in capitals. path: the template, with `{name}`.
        parameters: JSON Schema of the merged arguments.
        places: argument -> (`path`, `query`, `header` or `body`, name there); a body that is no object is one argument
            with the place `("whole", "")`.
        responses: status -> JSON Schema of the body, references resolved.
    """

    id: str
    method: str
    path: str
    description: str
    parameters: Schema
    places: Mapping[str, tuple[str, str]]
    responses: Mapping[str, Schema]

    def request_of(self, arguments: Mapping[str, Any]) -> Request:
        """The request of a call."""
        path, query, headers = self.path, {}, {}
        members: dict[str, Any] = {}
        body: Any = None
        for name, value in arguments.items():
            place, there = self.places[name]
            if place == "path":
                path = path.replace("{" + there + "}", quote(plain_text(value), safe=""))
            elif place == "query":
                query[there] = value
            elif place == "header":
                headers[there] = plain_text(value)
            elif place == "body":
                members[there] = value
            else:
                body = value
        if any(place == "body" for place, _ in self.places.values()):
            body = members
        return Request(self.method, path, query, body, headers or None)

    @property
    def signature(self) -> Signature:
        properties = self.parameters["properties"]
        kinds = {
            name: Kind(schema, same_value, any_json, hashable=False) for name, schema in properties.items()
        }
        return Signature(self.id, self.description, self.parameters, kinds)


def plain_text(value: Any) -> str:
    return value if isinstance(value, str) else json.dumps(value)


def load(source: str | Path | Mapping[str, Any]) -> Mapping[str, Any]:
    """A document from a `.json` or `.yaml` file, or as it is.

    Raises:
        UserError: no such file, or not an OpenAPI 3 document.
    """
    if isinstance(source, Mapping):
        document: Any = source
    else:
        path = Path(source)
        try:
            text = path.read_text(encoding="utf-8")
        except (OSError, UnicodeDecodeError) as error:
            raise UserError(f"cannot read the OpenAPI document {path}: {error}") from None
        document = parsed(text, path)
    version = str(document.get("openapi", "")) if isinstance(document, Mapping) else ""
    if not version.startswith("3.") or not isinstance(document.get("paths"), Mapping):
        raise UserError("an OpenAPI document has `openapi: 3.x` and `paths`; this one does not")
    return document


def parsed(text: str, path: Path) -> Any:
    if path.suffix in (".yaml", ".yml"):
        try:
            import yaml
        except ImportError:
            raise UserError(
                f"{path.name} is YAML: pip install pyyaml, or give the document as JSON"
            ) from None
        try:
            return yaml.safe_load(text)
        except yaml.YAMLError as error:
            raise UserError(f"{path.name} is not YAML: {str(error).splitlines()[0]}") from None
    try:
        return json.loads(text)
    except ValueError as error:
        raise UserError(f"{path.name} is not JSON: {error}") from None


def operations(document: Mapping[str, Any]) -> tuple[Operation, ...]:
    """Every operation, in the document's order.

    Raises:
        UserError: a reference that leads nowhere or outside the document, or two operations of one name.
    """
    found: dict[str, Operation] = {}
    for path, item in document["paths"].items():
        item = resolved(item, document)
        for method in METHODS:
            if method in item:
                one = operation(document, method, path, item[method], item.get("parameters", ()))
                if one.id in found:
                    raise UserError(f"two operations are called {one.id!r}: {found[one.id].path} and {path}")
                found[one.id] = one
    return tuple(found.values())


def operation(
    document: Mapping[str, Any], method: str, path: str, data: Mapping[str, Any], above: Any
) -> Operation:
    """One operation; its own parameters win over those of its path."""
    name = re.sub(
        r"[^A-Za-z0-9_-]+", "_", str(data.get("operationId") or f"{method}_{path.strip('/')}")
    ).strip("_")[:64]
    defs: dict[str, Schema] = {}
    properties: dict[str, Schema] = {}
    places: dict[str, tuple[str, str]] = {}
    required: list[str] = []
    declared: dict[tuple[str, str], Mapping[str, Any]] = {}
    for given in (*above, *data.get("parameters", ())):
        one = resolved(given, document)
        declared[one["in"], one["name"]] = one
    for (place, there), one in declared.items():
        if place == "cookie":
            continue
        schema = translate(one.get("schema") or content_schema(one, document) or {}, document, defs)
        add(properties, places, place, there, described(schema, one.get("description")))
        if one.get("required") or place == "path":
            required.append(next(reversed(properties)))
    body = resolved(data.get("requestBody") or {}, document)
    if body:
        raw = content_schema(body, document)
        if raw is None:
            raise UserError(f"operation {name}: its request body is not JSON")
        schema = translate(raw, document, defs, writing=True)
        whole = follow(schema, defs)
        if whole.get("type") == "object" and "properties" in whole:
            for there, member in whole["properties"].items():
                add(properties, places, "body", there, member)
                if there in whole.get("required", ()) and body.get("required", False):
                    required.append(next(reversed(properties)))
        else:
            add(properties, places, "whole", "body", described(schema, body.get("description")))
            if body.get("required"):
                required.append(next(reversed(properties)))
    parameters: Schema = {"type": "object", "properties": properties}
    if required:
        parameters["required"] = required
    parameters["additionalProperties"] = False
    if defs:
        parameters["$defs"] = defs
    says = "\n".join(text for text in (data.get("summary"), data.get("description")) if text)
    return Operation(
        name, method.upper(), path, says or f"{method.upper()} {path}", parameters, places,
        dict(response_schemas(document, data)),
    )  # fmt: skip


def add(
    properties: dict[str, Schema], places: dict[str, tuple[str, str]], place: str, there: str, schema: Schema
) -> None:
    """An argument under its own name, or under `place_name` where that is taken."""
    name = there if there not in properties else f"{place}_{there}"
    properties[name], places[name] = schema, (place, there)


def response_schemas(document: Mapping[str, Any], data: Mapping[str, Any]) -> Iterator[tuple[str, Schema]]:
    for status, given in data.get("responses", {}).items():
        raw = content_schema(resolved(given, document), document)
        defs: dict[str, Schema] = {}
        schema = {} if raw is None else translate(raw, document, defs)
        yield str(status), {**schema, "$defs": defs} if defs else schema


def content_schema(holder: Mapping[str, Any], document: Mapping[str, Any]) -> Any:
    """The schema of the JSON content of a body, a response or a parameter; None if it has none."""
    for kind, media in (holder.get("content") or {}).items():
        if "json" in kind:
            return media.get("schema", {})
    return None


def described(schema: Schema, text: str | None) -> Schema:
    return {**schema, "description": text} if text and "description" not in schema else schema


def resolved(value: Any, document: Mapping[str, Any]) -> Any:
    """What a reference `#/a/b` leads to; anything else is itself."""
    seen = 0
    while isinstance(value, Mapping) and "$ref" in value:
        ref, seen = str(value["$ref"]), seen + 1
        if not ref.startswith("#/") or seen > 32:
            raise UserError(f"the reference {ref!r} does not lead into the document")
        value = document
        for part in ref[2:].split("/"):
            part = part.replace("~1", "/").replace("~0", "~")
            if not isinstance(value, Mapping) or part not in value:
                raise UserError(f"the reference {ref!r} leads nowhere")
            value = value[part]
    return value


def follow(schema: Schema, defs: Mapping[str, Schema]) -> Schema:
    return defs[schema["$ref"].rpartition("/")[2]] if "$ref" in schema else schema


def translate(
    schema: Any, document: Mapping[str, Any], defs: dict[str, Schema], inside: tuple[str, ...] = (),
    *, writing: bool = False,
) -> Any:  # fmt: skip
    """A schema in the form of tools: references inlined except where a schema contains itself, `nullable` as a type.

    Args:
        inside: references that are being followed. writing: leave out what is `readOnly`.
    """
    if isinstance(schema, list):
        return [translate(item, document, defs, inside, writing=writing) for item in schema]
    if not isinstance(schema, Mapping):
        return schema
    if "$ref" in schema:
        ref = str(schema["$ref"])
        name = re.sub(r"\W+", "_", ref.rpartition("/")[2])
        if ref in inside:
            defs.setdefault(name, {})
            return {"$ref": f"#/$defs/{name}"}
        inner = translate(resolved(schema, document), document, defs, (*inside, ref), writing=writing)
        if name in defs:
            defs[name] = inner
            inner = {"$ref": f"#/$defs/{name}"}
        rest = {key: value for key, value in schema.items() if key not in ("$ref", *DROPPED)}
        return {**inner, **rest}
    out: Schema = {}
    for key, value in schema.items():
        if key in DROPPED or key.startswith("x-") or key == "nullable":
            continue
        if key == "properties":
            out[key] = {
                name: translate(item, document, defs, inside, writing=writing)
                for name, item in value.items()
                if not (writing and resolved(item, document).get("readOnly"))
            }
        elif key in ("enum", "const", "default", "required"):
            out[key] = value
        else:
            out[key] = translate(value, document, defs, inside, writing=writing)
    out = merged(out)
    if "required" in out and "properties" in out:
        out["required"] = [name for name in out["required"] if name in out["properties"]]
    if schema.get("nullable") and isinstance(out.get("type"), str):
        out["type"] = [out["type"], "null"]
        if "enum" in out and None not in out["enum"]:
            out["enum"] = [*out["enum"], None]
    return out


def merged(schema: Schema) -> Schema:
    """`allOf` of objects as one object: policies read that more easily, and its members can be arguments."""
    parts = schema.get("allOf")
    if not parts or any("$ref" in part or not ("properties" in part or "required" in part) for part in parts):
        return schema
    rest = {key: value for key, value in schema.items() if key != "allOf"}
    out: Schema = {"type": "object", "properties": {}, "required": []}
    for part in (*parts, rest):
        out["properties"] |= part.get("properties", {})
        out["required"] += [name for name in part.get("required", ()) if name not in out["required"]]
        out |= {key: value for key, value in part.items() if key not in ("properties", "required")}
    return out


def tool_of(
    one: Operation, answer: Callable[[Operation, dict[str, Any]], Any], *, waits: bool = False
) -> Tool:
    """The tool of an operation; its answer is what `answer(operation, arguments)` returns.

    Args:
        waits: `answer` returns an awaitable (an environment with `safety = "async"`).
    """

    def run(**arguments: Any) -> Any:
        return answer(one, arguments)

    return Tool(one.id, one.description, one.parameters, run, waits, one.signature)


def tools_of_document(
    source: str | Path | Mapping[str, Any],
    send: Callable[[Operation, Request], Any],
    *,
    only: Collection[str] | None = None,
    waits: bool = False,
) -> tuple[Tool, ...]:
    """The tools of a document, given as data or by path.

    Args:
        send: answers a request: `(operation, request) -> anything that a tool may return`.
        only: names of the operations to offer; all by default.

    Raises:
        UserError: not a document, or a name that it does not have.
    """
    found = operations(load(source))
    if only is not None and (unknown := set(only) - {one.id for one in found}):
        raise UserError(f"the document has no operation {', '.join(sorted(unknown))}")

    def answer(one: Operation, arguments: dict[str, Any]) -> Any:
        return send(one, one.request_of(arguments))

    return tuple(tool_of(one, answer, waits=waits) for one in found if only is None or one.id in only)
