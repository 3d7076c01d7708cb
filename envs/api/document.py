"""The OpenAPI 3.1 document of a service, built from its resources and its special operations."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from agentrl.core.jsonvalues import Schema
from agentrl.envs.api.crud import LARGEST_PAGE, PER_PAGE
from agentrl.envs.api.resource import CODES, Resource, Special, component

PAGE: dict[str, Schema] = {
    "page": {"type": "integer", "minimum": 1, "default": 1, "description": "Which page, from 1."},
    "per_page": {
        "type": "integer", "minimum": 1, "maximum": LARGEST_PAGE, "default": PER_PAGE, "description": "Rows of a page.",
    },
}  # fmt: skip
ERROR: Schema = {
    "type": "object",
    "properties": {"code": {"type": "string"}, "message": {"type": "string"}},
    "required": ["code", "message"],
    "additionalProperties": False,
}
DELETED: Schema = {
    "type": "object",
    "properties": {"deleted": {"type": "string"}},
    "required": ["deleted"],
    "additionalProperties": False,
}


def closed(properties: Mapping[str, Schema], required: Sequence[str]) -> Schema:
    """An object with these members and no others."""
    schema: Schema = {"type": "object", "properties": dict(properties), "additionalProperties": False}
    return {**schema, "required": list(required)} if required else schema


def page_schema(item: Schema) -> Schema:
    count: Schema = {"type": "integer", "minimum": 0}
    members = {"items": {"type": "array", "items": item}, "total": count, "page": count, "per_page": count}
    return closed(members, list(members))


def build(
    title: str, about: str, resources: Sequence[Resource], specials: Sequence[Special]
) -> dict[str, Any]:
    """The whole document."""
    paths: dict[str, dict[str, Any]] = {}
    schemas: dict[str, Schema] = {"Error": ERROR, "Deleted": DELETED}
    for resource in resources:
        schemas |= components(resource)
        for path, method, operation in operations_of(resource):
            paths.setdefault(path, {})[method] = operation
    for special in specials:
        paths.setdefault(special.path, {})[special.method] = special_operation(special)
    return {
        "openapi": "3.1.0",
        "info": {"title": title, "version": "1.0.0", "description": about},
        "paths": paths,
        "components": {
            "schemas": schemas,
            "responses": {
                name: {"description": f"{status} {name}", "content": json_of(component("Error"))}
                for status, name in CODES.items()
            },
        },
    }


def components(resource: Resource) -> dict[str, Schema]:
    """Schemas of a row, of a page, and of what creation and update take."""
    name, fields = resource.name, resource.fields
    out = {
        name: closed(fields, list(fields)),
        f"{name}Page": page_schema(component(name)),
    }
    if resource.create:
        members = {key: fields[key] for key in resource.create if key != resource.parent}
        for key, value in resource.defaults.items():
            if key in members:
                members[key] = {**members[key], "default": value}
        out[f"{name}New"] = closed(members, [key for key in resource.required if key in members])
    if resource.update:
        out[f"{name}Change"] = {
            **closed({key: fields[key] for key in resource.update}, ()), "minProperties": 1,
        }  # fmt: skip
    return out


def operations_of(resource: Resource) -> list[tuple[str, str, dict[str, Any]]]:
    """(path, method, operation) of what the resource offers."""
    name, table, key = resource.name, resource.table, resource.key
    parent = resource.parent
    top = f"/{resource.refs[parent]}/{{{parent}}}/{table}" if parent else f"/{table}"
    one = f"/{table}/{{{key}}}"
    above = [parameter(parent, "path", resource.fields[parent])] if parent else []
    itself = [parameter(key, "path", resource.fields[key])]
    words = resource.about or f"A {name} is a row of {table}."
    out: list[tuple[str, str, dict[str, Any]]] = []
    if "list" in resource.offers:
        filters = [parameter(item, "query", item_schema(resource.fields[item])) for item in resource.filters]
        if resource.search:
            said = f"Words that must occur in {' or '.join(resource.search)}."
            filters.append(parameter("q", "query", {"type": "string", "description": said}))
        filters += [parameter(item, "query", schema) for item, schema in PAGE.items()]
        statuses: tuple[int, ...] = (404, 422) if parent else (422,)
        summary = f"List {table}" + (f" of one {parent}." if parent else ".")
        out.append(
            (top, "get", described(f"list{resource.many}", summary, words, above + filters, None, 200, component(f"{name}Page"), statuses))
        )  # fmt: skip
    if resource.create:
        statuses = (403, 404, 409, 422) if parent else (403, 409, 422)
        out.append(
            (top, "post", described(f"create{name}", f"Create a {name}.", "", above, component(f"{name}New"), 201, component(name), statuses))
        )  # fmt: skip
    if "get" in resource.offers:
        out.append(
            (one, "get", described(f"get{name}", f"Get one {name}.", "", itself, None, 200, component(name), (404, 422)))
        )  # fmt: skip
    if resource.update:
        out.append(
            (one, "patch", described(f"update{name}", f"Change fields of a {name}; those not given stay.", "", itself, component(f"{name}Change"), 200, component(name), (403, 404, 409, 422)))
        )  # fmt: skip
    if resource.delete:
        out.append(
            (one, "delete", described(f"delete{name}", f"Delete a {name}.", "", itself, None, 200, component("Deleted"), (403, 404, 409, 422)))
        )  # fmt: skip
    return out


def special_operation(special: Special) -> dict[str, Any]:
    parameters = [
        {**parameter(name, place, schema), "required": place == "path" or name in special.required}
        for name, (place, schema) in special.parameters.items()
    ]
    body = None
    if special.body:
        body = closed(special.body, [name for name in special.required if name in special.body])
    return described(
        special.id, special.summary, "", parameters, body, special.status, special.returns, special.errors
    )


def described(
    id: str, summary: str, about: str, parameters: list[dict[str, Any]], body: Schema | None, status: int,
    returns: Schema, errors: Sequence[int],
) -> dict[str, Any]:  # fmt: skip
    """An operation object."""
    out: dict[str, Any] = {"operationId": id, "summary": summary}
    if about:
        out["description"] = about
    if parameters:
        out["parameters"] = parameters
    if body is not None:
        out["requestBody"] = {"required": True, "content": json_of(body)}
    out["responses"] = {
        str(status): {"description": "Done.", "content": json_of(returns)},
        **{str(code): {"$ref": f"#/components/responses/{CODES[code]}"} for code in errors},
    }
    return out


def parameter(name: str, place: str, schema: Schema) -> dict[str, Any]:
    bare = {key: value for key, value in schema.items() if key != "description"}
    out: dict[str, Any] = {"name": name, "in": place, "required": place == "path", "schema": bare}
    if "description" in schema:
        out["description"] = schema["description"]
    return out


def item_schema(schema: Schema) -> Schema:
    """A list is narrowed by one of its items."""
    if schema.get("type") != "array":
        return schema
    return {**schema["items"], **{key: schema[key] for key in ("description",) if key in schema}}


def json_of(schema: Schema) -> dict[str, Any]:
    return {"application/json": {"schema": schema}}
