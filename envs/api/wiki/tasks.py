"""Task templates of the wiki.

Invariant: what a page is to say can be worked out from the text of the task and from what the reads show.
"""

from __future__ import annotations

from typing import Any

from agentrl.envs.api.names import Draw
from agentrl.envs.api.service import Call
from agentrl.envs.api.state import Row, State
from agentrl.envs.api.task import Draft, Template, pages
from agentrl.envs.api.wiki.service import WIKI, recorded

TOPICS = ("guide", "checklist", "runbook", "overview", "faq", "notes")
TAGS = ("howto", "team", "legacy", "draft-2", "security", "onboarding", "reference")
SENTENCES = (
    "Ask before you change it.",
    "It is checked every Monday.",
    "The numbers are from last year.",
    "Keep the keys in the safe.",
    "Restart it after an update.",
    "It has no owner at night.",
)


def world(draw: Draw, *, number: int = 16) -> State:
    """Two spaces, pages with links, one to three revisions each."""
    owners = [f"{first}.{last}".lower() for first, last in draw.persons(5)]
    names = draw.titles(number + 2)
    spaces: dict[str, Row] = {}
    for head, tail in names[:2]:
        spaces[head] = {"id": head, "title": f"{head} {tail}", "owner": draw.one(owners)}
    state = State({"spaces": spaces, "pages": {}, "revisions": {}, "watches": {}}, {}, "2031-05-02T08:00:00Z")
    slugs: list[str] = []
    for head, tail in names[2:]:
        topic = draw.one(TOPICS)
        slug = f"{head}-{tail}-{topic}"
        space = draw.one(list(spaces))
        above = [one for one in slugs if state.tables["pages"][one]["space"] == space]
        links = draw.some(slugs, min(len(slugs), draw.number(0, 2)))
        row = {
            "slug": slug,
            "space": space,
            "title": f"{head} {tail} {topic}",
            "body": " ".join([*draw.some(SENTENCES, 2), *(f"See [[{link}]]." for link in links)]),
            "parent": draw.one([None, *above]),
            "status": draw.one(("published", "published", "draft", "archived")),
            "owner": draw.one(owners),
            "tags": draw.some(TAGS, draw.number(0, 3)),
            "revision": 1,
            "updated_at": "2031-04-01T08:00:00Z",
        }
        slugs.append(slug)
        state = recorded(state, row, "first")
    return state


def change(state: State, slug: str, **values: Any) -> State:
    row = state.tables["pages"][slug]
    return recorded(state, {**row, **values, "revision": row["revision"] + 1}, "edit")


def put(state: State, slug: str, **values: Any) -> State:
    """A page that was so from its first revision."""
    row = {**state.tables["pages"][slug], **values}
    return recorded(state, row, "first")


def page(state: State, slug: str) -> Row:
    return state.tables["pages"][slug]


def edit(state: State, slug: str, **values: Any) -> Call:
    return "updatePage", {"slug": slug, "base_revision": page(state, slug)["revision"], **values}


def read(*slugs: str) -> list[Call]:
    return [("getPage", {"slug": slug}) for slug in slugs]


def find(state: State, operation: str = "searchPages", **arguments: Any) -> list[Call]:
    return pages(WIKI, state, operation, arguments)


def linking(state: State, slug: str) -> list[str]:
    return [row["slug"] for row in state.tables["pages"].values() if f"[[{slug}]]" in row["body"]]


def full_name(login: str) -> str:
    return " ".join(part.capitalize() for part in login.split("."))


def leaf(draw: Draw, state: State) -> Row:
    """A page with none under it."""
    parents = {row["parent"] for row in state.tables["pages"].values()}
    return draw.one([row for row in state.tables["pages"].values() if row["slug"] not in parents])


def relink(draw: Draw) -> Draft | None:
    """All links to one page are to lead to another; the first is archived."""
    state = world(draw)
    old, new = draw.some(list(state.tables["pages"]), 2)
    for slug in draw.some([one for one in state.tables["pages"] if one not in (old, new)], draw.number(2, 3)):
        state = put(
            state, slug, body=page(state, slug)["body"].replace(f"[[{old}]]", "it") + f" More: [[{old}]]."
        )
    if old in linking(state, old) or page(state, old)["status"] == "archived":
        return None
    slugs = linking(state, old)
    writes = [
        edit(state, one, body=page(state, one)["body"].replace(f"[[{old}]]", f"[[{new}]]")) for one in slugs
    ]
    writes.append(edit(state, old, status="archived"))
    a, b = page(state, old)["title"], page(state, new)["title"]
    text = draw.one(
        (
            f'Every page that links to "{a}" must link to "{b}" instead; nothing else in the bodies changes. Then archive '
            f'"{a}".',
            f'"{b}" replaces "{a}": correct all links that lead to the old page, then set the status of the old one to archived.',
        )
    )
    reads = [
        *find(state, q=a),
        *find(state, q=b),
        *find(state, "listBacklinks", slug=old),
        *read(*slugs, old),
    ]
    return Draft(text, state, writes, reads)


def revert(draw: Draw) -> Draft | None:
    """Somebody spoilt a page: it gets back what it said before a sentence came in."""
    state = world(draw)
    slug = draw.one(list(state.tables["pages"]))
    head, tail = draw.titles(1)[0]
    advert = f"Buy {head} {tail} now!"
    for _ in range(draw.number(0, 2)):
        state = change(state, slug, body=page(state, slug)["body"] + " " + draw.one(SENTENCES))
    good = page(state, slug)["revision"]
    state = change(state, slug, body=page(state, slug)["body"] + " " + advert)
    for _ in range(draw.number(0, 2)):
        state = change(state, slug, body=page(state, slug)["body"] + " " + draw.one(SENTENCES))
    t = page(state, slug)["title"]
    text = draw.one(
        (
            f'Somebody put the sentence "{advert}" into the page "{t}". Bring the page back to the last revision before that.',
            f'The page "{t}" was spoilt with "{advert}". Revert it to the newest revision that does not have this sentence '
            "and is older than it.",
        )
    )
    reads = [*find(state, q=t), *pages(WIKI, state, "listRevisions", {"page_slug": slug})]
    return Draft(text, state, [("revertPage", {"slug": slug, "number": good})], reads)


def new_page(draw: Draw) -> Draft | None:
    """A new page under another one, with a link from it."""
    state = world(draw)
    above = draw.one(list(state.tables["pages"].values()))
    head, tail = draw.titles(1)[0]
    topic = draw.one(TOPICS)
    title, slug = f"{head} {tail} {topic}", f"{head}-{tail}-{topic}"
    if slug in state.tables["pages"]:
        return None
    tags = sorted(draw.some(TAGS, 2))
    body, t = draw.one(SENTENCES), above["title"]
    text = draw.one(
        (
            f'Create the page "{title}" (slug {slug}) under "{t}", in the same space and with the same owner, as a draft with '
            f'the tags {tags[0]} and {tags[1]} and the body "{body}". Then append " See [[{slug}]]." to the body of "{t}".',
            f'Under "{t}" a page is missing: "{title}", slug {slug}, status draft, tags {tags[0]} and {tags[1]}, body "{body}"; '
            f'space and owner as of the page above. The body of "{t}" must end with " See [[{slug}]]." afterwards.',
        )
    )
    new = {
        "slug": slug,
        "space": above["space"],
        "title": title,
        "owner": above["owner"],
        "parent": above["slug"],
        "tags": tags,
        "body": body,
    }
    link = edit(state, above["slug"], body=f"{above['body']} See [[{slug}]].")
    return Draft(text, state, [("createPage", new), link], [*find(state, q=t), *read(above["slug"])])


def retag(draw: Draw) -> Draft | None:
    """One tag replaces another on the published pages of a space."""
    state = world(draw)
    space = draw.one(list(state.tables["spaces"].values()))
    old, new = draw.some(TAGS, 2)
    rows = [
        row for row in state.tables["pages"].values() if row["space"] == space["id"] and old in row["tags"]
    ]
    rows = [row for row in rows if row["status"] == "published"]
    if not 1 <= len(rows) <= 6:
        return None
    writes = [
        edit(state, row["slug"], tags=list(dict.fromkeys(new if tag == old else tag for tag in row["tags"])))
        for row in rows
    ]
    s = space["title"]
    text = draw.one(
        (
            f"In the space {s}, replace the tag {old} by {new} on all published pages; other tags stay.",
            f"Published pages of {s} that are tagged {old}: they get the tag {new} instead of it.",
        )
    )
    reads: list[Call] = [("listSpaces", {"q": s})]
    return Draft(text, state, writes, [*reads, *find(state, space=space["id"], status="published", tag=old)])


def new_owner(draw: Draw) -> Draft | None:
    """Somebody's pages go to the owner of the space that each is in."""
    state = world(draw)
    giver = draw.one(sorted({row["owner"] for row in state.tables["pages"].values()}))
    owners = {key: row["owner"] for key, row in state.tables["spaces"].items()}
    rows = [
        row for row in state.tables["pages"].values() if row["owner"] == giver and row["status"] != "archived"
    ]
    if giver in owners.values() or not 1 <= len(rows) <= 7:
        return None
    writes = [edit(state, row["slug"], owner=owners[row["space"]]) for row in rows]
    text = draw.one(
        (
            f"{full_name(giver)} ({giver}) no longer works here. Each page that {giver} owns and that is not archived goes to "
            "the owner of its space.",
            f"Give every page of {giver} ({full_name(giver)}), archived ones aside, to whoever owns the space that it is in.",
        )
    )
    return Draft(text, state, writes, [("listSpaces", {}), *find(state, owner=giver)])


def remove(draw: Draw) -> Draft | None:
    """Delete a page; sentences that only link to it go from other pages."""
    state = world(draw)
    slug = leaf(draw, state)["slug"]
    for one in draw.some([one for one in state.tables["pages"] if one != slug], draw.number(1, 3)):
        body = page(state, one)["body"].replace(f" See [[{slug}]].", "") + f" See [[{slug}]]."
        state = put(state, one, body=body)
    slugs = linking(state, slug)
    if slug in slugs:
        return None
    writes = [
        edit(state, one, body=page(state, one)["body"].replace(f" See [[{slug}]].", "")) for one in slugs
    ]
    writes.append(("deletePage", {"slug": slug}))
    t = page(state, slug)["title"]
    text = draw.one(
        (
            f'Delete the page "{t}". Before that, take " See [[{slug}]]." (with the space before it) out of every page that '
            "has it.",
            f'"{t}" is to go. No page may link to it afterwards: remove the text " See [[{slug}]]." (leading space included) '
            "wherever it stands, then delete the page.",
        )
    )
    reads = [*find(state, q=t), *find(state, "listBacklinks", slug=slug), *read(*slugs)]
    return Draft(text, state, writes, reads)


def move(draw: Draw) -> Draft | None:
    """A page goes to another space, to the top, and what is under it comes along."""
    state = world(draw)
    rows = state.tables["pages"]
    children: dict[str, list[str]] = {}
    for row in rows.values():
        if row["parent"] is not None:
            children.setdefault(row["parent"], []).append(row["slug"])
    tops = [
        slug for slug, under in children.items() if len(under) <= 3 and not any(c in children for c in under)
    ]
    if not tops:
        return None
    slug = draw.one(sorted(tops))
    here, there = (
        rows[slug]["space"],
        next(key for key in state.tables["spaces"] if key != rows[slug]["space"]),
    )
    writes: list[Call] = [edit(state, slug, space=there, parent=None)]
    writes += [edit(state, child, space=there) for child in children[slug]]
    t, a, b = (
        rows[slug]["title"],
        state.tables["spaces"][here]["title"],
        state.tables["spaces"][there]["title"],
    )
    text = draw.one(
        (
            f'Move the page "{t}" from the space {a} to the space {b}, where it stands at the top (no parent). The pages '
            "directly under it move along and stay under it.",
            f'"{t}" belongs into the space {b}, not {a}: put it there without a parent, together with the pages under it.',
        )
    )
    reads: list[Call] = [("listSpaces", {}), *find(state, q=t), *read(slug), *find(state, parent=slug)]
    return Draft(text, state, writes, reads)


TEMPLATES: dict[str, Template] = {
    "relink": relink,
    "revert": revert,
    "new-page": new_page,
    "retag": retag,
    "new-owner": new_owner,
    "remove": remove,
    "move": move,
}
