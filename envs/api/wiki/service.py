"""The wiki: spaces, pages with revisions, links between pages, search.

Invariant: a page changes only on the newest revision (`base_revision`), every change leaves a revision, and the links of
a page are what its body says: `[[slug]]`.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from typing import Any

from agentrl.core.jsonvalues import Schema
from agentrl.envs.api.crud import found, page_of, refer
from agentrl.envs.api.document import PAGE, closed
from agentrl.envs.api.resource import (
    Answer,
    Refusal,
    Resource,
    Special,
    component,
    many_of,
    one_of,
    text,
)
from agentrl.envs.api.service import Call, Service
from agentrl.envs.api.state import Row, State

LINK = re.compile(r"\[\[([a-z0-9-]+)\]\]")
STATUSES = ("draft", "published", "archived")
SLUG: Schema = {
    "type": "string",
    "minLength": 1,
    "maxLength": 80,
    "description": "Short name in the address.",
}
COUNT: Schema = {"type": "integer", "minimum": 0}

SPACES = Resource(
    "spaces", "Space", "id", {"id": text("Short name."), "title": text("Title."), "owner": text("Login of the owner.")},
    offers=("list", "get"), search=("title",),
)  # fmt: skip
PAGES = Resource(
    "pages", "Page", "slug",
    {
        "slug": SLUG,
        "space": text("Id of the space."),
        "title": text("Title."),
        "body": text("Text; [[slug]] is a link to a page.", least=0, most=5000),
        "parent": {"type": ["string", "null"], "description": "Slug of the page above; null at the top."},
        "status": one_of(*STATUSES),
        "owner": text("Login of whoever looks after it."),
        "tags": many_of(text(), "Words to find it by."),
        "revision": {**COUNT, "description": "Number of the newest revision."},
        "updated_at": text("Date and time."),
    },
    filters=("space", "status", "owner", "tags", "parent"), search=("title", "body"),
    refs={"space": "spaces", "parent": "pages"}, volatile=("revision", "updated_at"), unordered=("tags",),
    delete=True, offers=("get",),
)  # fmt: skip
REVISIONS = Resource(
    "revisions", "Revision", "id",
    {
        "id": text("slug and number, as in home.3."),
        "page_slug": SLUG,
        "number": COUNT,
        "title": text(),
        "body": text(least=0, most=5000),
        "summary": text("Why.", least=0),
    },
    filters=(), parent="page_slug", refs={"page_slug": "pages"}, nameless=True, compared=False, offers=("list", "get"),
)  # fmt: skip
WATCHES = Resource(
    "watches", "Watch", "id", {"id": text("login and slug."), "page_slug": SLUG, "login": text("Who is told of changes.")},
    create=("id", "page_slug", "login"), required=("id", "page_slug", "login"), plural="Watches", delete=True, filters=("page_slug", "login"),
)  # fmt: skip
HIT = closed(
    {
        "slug": SLUG, "space": text(), "title": text(), "status": one_of(*STATUSES), "owner": text(),
        "tags": many_of(text()), "revision": COUNT,
    },
    ("slug", "space", "title", "status", "owner", "tags", "revision"),
)  # fmt: skip
HITS = closed({"items": {"type": "array", "items": HIT}, "total": COUNT, "page": COUNT, "per_page": COUNT},
              ("items", "total", "page", "per_page"))  # fmt: skip
CHANGES = ("space", "title", "body", "parent", "status", "owner", "tags")


def hit(row: Row) -> dict[str, Any]:
    return {name: row[name] for name in HIT["properties"]}


def search_pages(state: State, given: Mapping[str, Any]) -> Answer:
    """Pages by words and properties, without their bodies."""
    words = given.get("q", "").casefold().split()
    wanted = {name: given[name] for name in ("space", "status", "owner", "tag", "parent") if name in given}
    rows = []
    for row in state.tables["pages"].values():
        whole = f"{row['title']} {row['body']}".casefold() if words else ""
        right = all(
            value in row["tags"] if name == "tag" else row[name] == value for name, value in wanted.items()
        )
        if right and all(word in whole for word in words):
            rows.append(hit(row))
    return state, 200, page_of(rows, given)


def backlinks(state: State, given: Mapping[str, Any]) -> Answer:
    """Pages whose body has a link to this one; the page itself may be missing."""
    rows = [hit(row) for row in state.tables["pages"].values() if given["slug"] in LINK.findall(row["body"])]
    return state, 200, page_of(rows, given)


def recorded(state: State, row: Row, summary: str) -> State:
    """A page with its new revision."""
    number = row["revision"]
    key = f"{row['slug']}.{number}"
    revision = {
        "id": key, "page_slug": row["slug"], "number": number, "title": row["title"], "body": row["body"], "summary": summary,
    }  # fmt: skip
    return state.put("pages", row["slug"], row).put("revisions", key, revision)


def check(state: State, row: Row) -> None:
    """Raises: Refusal: a parent in another space, or a page under itself."""
    seen, above = {row["slug"]}, row["parent"]
    while above is not None:
        if above in seen:
            raise Refusal(409, "circle", f"{row['slug']!r:.80} would be under itself")
        seen.add(above)
        page = state.tables["pages"][above]
        above = page["parent"]
    if row["parent"] is not None and state.tables["pages"][row["parent"]]["space"] != row["space"]:
        raise Refusal(422, "other_space", "the parent is in another space")


def create_page(state: State, given: Mapping[str, Any]) -> Answer:
    if state.row("pages", given["slug"]) is not None:
        raise Refusal(409, "exists", f"there is a page {given['slug']!r:.80} already")
    if not re.fullmatch(r"[a-z0-9-]{1,80}", given["slug"]):
        raise Refusal(422, "bad_slug", "a slug has small letters, digits and hyphens")
    refer(state, PAGES, given)
    empty: dict[str, Any] = {"body": "", "parent": None, "status": "draft", "tags": []}
    row = {**empty, **{name: value for name, value in given.items() if name != "summary"}}
    row |= {"revision": 1, "updated_at": state.now}
    row = {name: row[name] for name in PAGES.fields}
    check(state, row)
    return recorded(state, row, given.get("summary", "")), 201, row


def update_page(state: State, given: Mapping[str, Any]) -> Answer:
    old = found(state, PAGES, given["slug"])
    if given["base_revision"] != old["revision"]:
        raise Refusal(409, "stale", f"the newest revision is {old['revision']}, not {given['base_revision']}")
    values = {name: given[name] for name in CHANGES if name in given}
    if not values:
        raise Refusal(422, "nothing", "nothing to change was given")
    refer(state, PAGES, values)
    row = {**old, **values, "revision": old["revision"] + 1, "updated_at": state.now}
    check(state, row)
    return recorded(state, row, given.get("summary", "")), 200, row


def revert_page(state: State, given: Mapping[str, Any]) -> Answer:
    """Title and body of an old revision, as a new one."""
    old = found(state, PAGES, given["slug"])
    revision = state.row("revisions", f"{given['slug']}.{given['number']}")
    if revision is None:
        raise Refusal(404, "not_found", f"there is no revision {given['number']} of {given['slug']!r:.80}")
    row = {**old, "title": revision["title"], "body": revision["body"], "revision": old["revision"] + 1}
    return recorded(state, row, f"back to {given['number']}"), 200, row


def delete_page(state: State, given: Mapping[str, Any]) -> Answer:
    slug = given["slug"]
    found(state, PAGES, slug)
    if any(row["parent"] == slug for row in state.tables["pages"].values()):
        raise Refusal(409, "has_children", f"there are pages under {slug!r:.80}")
    after = state.drop("pages", slug)
    for key in [key for key, row in state.tables["revisions"].items() if row["page_slug"] == slug]:
        after = after.drop("revisions", key)
    return after, 200, {"deleted": slug}


def count_words(state: State, given: Mapping[str, Any]) -> Answer:
    return state, 200, {"words": len(found(state, PAGES, given["slug"])["body"].split())}


def repair(state: State, goal: State, base: State) -> Iterator[Call]:
    """Pages that say something else, then missing ones (parents first), then those that should not be there."""
    pages, wanted = state.tables["pages"], goal.tables["pages"]
    for slug, row in wanted.items():
        mine = pages.get(slug)
        if mine is None or mine is row:
            continue
        values = {name: row[name] for name in CHANGES if differs(name, mine[name], row[name])}
        if values:
            yield "updatePage", {"slug": slug, "base_revision": mine["revision"], **values}
    for slug, row in wanted.items():
        if slug not in pages:
            empty: dict[str, Any] = {"body": "", "parent": None, "status": "draft", "tags": []}
            told = {name: row[name] for name in ("slug", *CHANGES)}
            yield (
                "createPage",
                {name: value for name, value in told.items() if name not in empty or value != empty[name]},
            )
    for slug in reversed(list(pages)):
        if slug not in wanted:
            yield "deletePage", {"slug": slug}


def differs(name: str, one: Any, other: Any) -> bool:
    return sorted(one) != sorted(other) if name == "tags" else bool(one != other)


FIELDS = PAGES.fields
SLUG_PATH: Mapping[str, tuple[str, Schema]] = {"slug": ("path", SLUG)}
SUMMARY = text("Why, for the history.", least=0)
WIKI = Service(
    "wiki",
    "a wiki",
    "spaces of pages that link to each other with [[slug]], each with its revisions.",
    (SPACES, PAGES, REVISIONS, WATCHES),
    (
        Special(
            "searchPages", "get", "/pages", "Find pages; the bodies are not shown (see getPage).", search_pages, HITS,
            {
                "q": ("query", {"type": "string", "description": "Words that must occur in title or body."}),
                "space": ("query", FIELDS["space"]), "status": ("query", FIELDS["status"]),
                "owner": ("query", FIELDS["owner"]), "tag": ("query", text("A tag that it has.")),
                "parent": ("query", text("Slug of the page above.")),
                **{name: ("query", schema) for name, schema in PAGE.items()},
            },
            errors=(422,),
        ),
        Special(
            "createPage", "post", "/pages", "Create a page.", create_page, component("Page"),
            body={name: FIELDS[name] for name in ("slug", *CHANGES)} | {"summary": SUMMARY},
            required=("slug", "space", "title", "owner"), status=201, errors=(409, 422),
        ),
        Special(
            "updatePage", "patch", "/pages/{slug}", "Change a page; what is not given stays.", update_page,
            component("Page"), SLUG_PATH,
            {
                "base_revision": {**COUNT, "description": "The newest revision, which you have read."},
                **{name: FIELDS[name] for name in CHANGES}, "summary": SUMMARY,
            },
            ("base_revision",), errors=(404, 409, 422),
        ),
        Special(
            "listBacklinks", "get", "/pages/{slug}/backlinks", "Which pages link to this one.", backlinks, HITS,
            {**SLUG_PATH, **{name: ("query", schema) for name, schema in PAGE.items()}}, errors=(422,),
        ),
        Special(
            "revertPage", "post", "/pages/{slug}/revert", "Give a page the title and body of an old revision.",
            revert_page, component("Page"), SLUG_PATH, {"number": {**COUNT, "description": "Which revision."}},
            ("number",),
        ),
        Special(
            "countWords", "get", "/pages/{slug}/words", "Count the words of a page.", count_words,
            closed({"words": COUNT}, ("words",)), SLUG_PATH,
        ),
    ),
    extra=("countWords", "listWatches", "createWatch", "deleteWatch", "getWatch", "getSpace", "getRevision"),
    repair=repair,
)  # fmt: skip
WIKI.handlers["deletePage"] = delete_page
