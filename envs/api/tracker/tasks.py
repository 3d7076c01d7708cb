"""Task templates of the issue tracker.

Invariant: whatever a gold plan writes can be found by the reads before it; who acts (the author of comments) is named.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from agentrl.envs.api.names import Draw
from agentrl.envs.api.service import Call
from agentrl.envs.api.state import Row, State
from agentrl.envs.api.task import Draft, Template, pages
from agentrl.envs.api.tracker.service import PRIORITIES, STATES, TRACKER, TYPES

TEAMS = ("platform", "mobile", "data")
LABELS = ("ui", "backend", "security", "performance", "docs", "release", "customer", "flaky")
VERBS = (
    "crash in",
    "slow start of",
    "wrong totals in",
    "missing button in",
    "timeout of",
    "typo in",
    "memory leak in",
)
BODIES = (
    "I can see this too.",
    "Is there a way around it?",
    "Fixed on my machine.",
    "Logs are attached.",
    "Any news?",
)


def world(draw: Draw, *, people: int = 6, projects: int = 2, issues: int = 22) -> State:
    """Users, projects, labels, issues, comments and links."""
    users: dict[str, Row] = {}
    for first, last in draw.persons(people):
        login = f"{first}.{last}".lower()
        users[login] = {"login": login, "name": f"{first} {last}", "team": draw.one(TEAMS)}
    logins = list(users)
    plans: dict[str, Row] = {}
    names = draw.titles(projects + 8)
    for head, tail in names[:projects]:
        key = (head[:2] + tail[:2]).upper()
        plans[key] = {"key": key, "name": f"{head} {tail}", "lead": draw.one(logins)}
    keys = list(plans)
    counts = {key: draw.number(1, 40) for key in keys}
    rows: dict[str, Row] = {}
    used: set[str] = set()
    while len(rows) < issues:
        title = f"{draw.one(VERBS)} the {' '.join(draw.one(names[projects:]))}"
        if title in used:
            continue
        used.add(title)
        project = draw.one(keys)
        key = f"{project}-{counts[project]}"
        counts[project] += draw.number(1, 3)
        when = f"2031-03-{draw.number(1, 20):02d}T10:00:00Z"
        rows[key] = {
            "key": key,
            "project": project,
            "title": title,
            "type": draw.one(TYPES),
            "state": draw.one(STATES),
            "priority": draw.one(PRIORITIES),
            "assignee": draw.one([*logins, None]),
            "labels": draw.some(LABELS, draw.number(0, 2)),
            "created_at": when,
            "updated_at": when,
        }
    comments: dict[str, Row] = {}
    for number in range(1, 15):
        comments[f"C{number}"] = {
            "id": f"C{number}",
            "issue": draw.one(list(rows)),
            "author": draw.one(logins),
            "body": draw.one(BODIES),
            "created_at": "2031-03-20T12:00:00Z",
        }
    links: dict[str, Row] = {}
    for number in range(1, 7):
        source, target = draw.some(list(rows), 2)
        links[f"L{number}"] = {"id": f"L{number}", "source": source, "target": target, "kind": "relates_to"}
    tables: dict[str, Mapping[str, Row]] = {
        "users": users,
        "projects": plans,
        "labels": {name: {"name": name, "color": draw.one(("red", "green", "blue"))} for name in LABELS},
        "issues": rows,
        "comments": comments,
        "links": unique_links(links),
        "milestones": {},
    }
    return State(tables, {**counts, "comments": 15, "links": 7}, "2031-03-21T09:00:00Z")


def unique_links(links: Mapping[str, Row]) -> dict[str, Row]:
    kept: dict[tuple[str, str], Row] = {}
    for row in links.values():
        kept.setdefault((row["source"], row["target"]), row)
    return {row["id"]: row for row in kept.values()}


def some_issues(state: State, /, **wanted: Any) -> list[Row]:
    """Issues with these values; `labels`: one that they carry."""
    return [
        row
        for row in state.tables["issues"].values()
        if all(value in row[key] if key == "labels" else row[key] == value for key, value in wanted.items())
    ]


def change(state: State, row: Row, /, **values: Any) -> State:
    return state.put("issues", row["key"], {**row, **values})


def find(state: State, /, **arguments: Any) -> list[Call]:
    return pages(TRACKER, state, "listIssues", arguments)


def person(state: State, login: str) -> str:
    return str(state.tables["users"][login]["name"])


def look_up(state: State, *logins: str) -> list[Call]:
    """Finding the logins of people whose names are given."""
    return [("listUsers", {"q": person(state, login)}) for login in logins]


def reassign(draw: Draw) -> Draft | None:
    """Every open bug with a label in a project goes from one person to another."""
    state = world(draw)
    project = draw.one(list(state.tables["projects"].values()))
    giver, taker = draw.some(list(state.tables["users"]), 2)
    label = draw.one(LABELS)
    wanted = {"project": project["key"], "type": "bug", "state": "open", "labels": label, "assignee": giver}
    for row in draw.some(some_issues(state, project=project["key"]), 4):
        labels = list(dict.fromkeys([label, *row["labels"]]))[:2]
        kind = draw.one(("bug", "bug", "feature"))
        state = change(state, row, type=kind, state="open", labels=labels, assignee=giver)
    writes: list[Call] = [
        ("updateIssue", {"key": row["key"], "assignee": taker}) for row in some_issues(state, **wanted)
    ]
    a, b, p = person(state, giver), person(state, taker), project["name"]
    text = draw.one(
        (
            f"Reassign every open bug with the label {label} in the project {p} from {a} to {b}.",
            f"{a} hands over to {b}: in the project {p}, all bugs that are open, carry the label {label} and are assigned "
            f"to {a} must be assigned to {b}.",
        )
    )
    reads = [("listProjects", {"q": p}), *look_up(state, giver, taker), *find(state, **wanted)]
    return Draft(text, state, writes, reads)


def unassigned(draw: Draw) -> Draft | None:
    """What nobody works on goes to the lead of the project, with a priority."""
    state = world(draw)
    project = draw.one(list(state.tables["projects"].values()))
    priority, kind = draw.one(("high", "urgent")), draw.one(TYPES)
    for row in draw.some(some_issues(state, project=project["key"]), 3):
        state = change(
            state, row, state=draw.one(("open", "open", "closed")), assignee=None, type=kind, priority="low"
        )
    rows = some_issues(state, project=project["key"], state="open", type=kind, assignee=None)
    lead = project["lead"]
    writes: list[Call] = [
        ("updateIssue", {"key": row["key"], "assignee": lead, "priority": priority}) for row in rows
    ]
    p = project["name"]
    text = draw.one(
        (
            f"In the project {p}, give every open {kind} that has no assignee to the lead of the project and set its "
            f"priority to {priority}.",
            f"Open issues of type {kind} in {p} without an assignee: assign them to the project's lead, priority {priority}.",
        )
    )
    reads = [("listProjects", {"q": p}), *find(state, project=project["key"], type=kind, state="open")]
    return Draft(text, state, writes, reads)


def duplicate(draw: Draw) -> Draft | None:
    """Close one issue as a duplicate of another: link, comment, state."""
    state = world(draw)
    rows = [row for row in state.tables["issues"].values() if row["state"] != "closed"]
    if len(rows) < 2:
        return None
    copy, original = draw.some(rows, 2)
    author = draw.one(list(state.tables["users"]))
    a = person(state, author)
    text = draw.one(
        (
            f'The issue "{copy["title"]}" is a duplicate of "{original["title"]}". Link it (duplicates), comment on it in the '
            f'name of {a} with "Duplicate of KEY" (KEY is the key of the original), and close it.',
            f'Close "{copy["title"]}" as a duplicate: a link of kind duplicates to "{original["title"]}", then a comment by '
            f'{a} that says "Duplicate of KEY", KEY being the key of the other issue.',
        )
    )
    writes: list[Call] = [
        ("createLink", {"source": copy["key"], "target": original["key"], "kind": "duplicates"}),
        (
            "createComment",
            {"issue": copy["key"], "author": author, "body": f"Duplicate of {original['key']}"},
        ),
        ("updateIssue", {"key": copy["key"], "state": "closed"}),
    ]
    reads = [*find(state, q=copy["title"]), *find(state, q=original["title"]), *look_up(state, author)]
    return Draft(text, state, writes, reads)


def least_busy(draw: Draw) -> Draft | None:
    """A new issue goes to that member of a team who has the fewest open issues."""
    state = world(draw)
    team = draw.one(TEAMS)
    members = [row["login"] for row in state.tables["users"].values() if row["team"] == team]
    loads = sorted((len(some_issues(state, assignee=login, state="open")), login) for login in members)
    if not 2 <= len(loads) <= 4 or loads[0][0] == loads[1][0]:
        return None
    project = draw.one(list(state.tables["projects"].values()))
    head, tail = draw.titles(1)[0]
    title, label = f"{draw.one(VERBS)} the {head} {tail}", draw.one(LABELS)
    kind, priority = draw.one(TYPES), draw.one(PRIORITIES)
    p = project["name"]
    text = draw.one(
        (
            f'File a new issue in the project {p}: title "{title}", type {kind}, priority {priority}, label {label}. Assign it '
            f"to the member of the team {team} who has the fewest open issues (state open, any project).",
            f'We need a {kind} in {p} called "{title}" with the label {label} and priority {priority}. Of the team {team}, '
            "whoever has the fewest issues in the state open gets it.",
        )
    )
    new = {
        "project": project["key"],
        "title": title,
        "type": kind,
        "priority": priority,
        "assignee": loads[0][1],
        "labels": [label],
    }
    reads: list[Call] = [("listProjects", {"q": p}), ("listUsers", {"team": team})]
    reads += [("listIssues", {"assignee": login, "state": "open"}) for login in members]
    return Draft(text, state, [("createIssue", new)], reads)


def relabel(draw: Draw) -> Draft | None:
    """One label replaces another everywhere, and the old one is deleted."""
    state = world(draw)
    old, new = draw.some(LABELS, 2)
    for row in some_issues(state, state="closed", labels=old):
        state = change(state, row, labels=[label for label in row["labels"] if label != old])
    rows = some_issues(state, labels=old)
    if not 2 <= len(rows) <= 6:
        return None
    writes: list[Call] = [
        (
            "updateIssue",
            {
                "key": row["key"],
                "labels": list(dict.fromkeys(new if label == old else label for label in row["labels"])),
            },
        )
        for row in rows
    ]
    writes.append(("deleteLabel", {"name": old}))
    keys = " and ".join(row["name"] for row in state.tables["projects"].values())
    text = draw.one(
        (
            f"In the tracker of {keys}, the label {old} is to be replaced by {new}: every issue that carries {old} must carry "
            f"{new} instead (its other labels stay). Delete the label {old} afterwards.",
            f"Merge the label {old} into {new} in all issues of {keys}, keep all other labels, and then delete {old}.",
        )
    )
    return Draft(text, state, writes, find(state, labels=old))


def unblock(draw: Draw) -> Draft | None:
    """A closed blocker: its links go, and what nothing else blocks is open again."""
    state = world(draw)
    rows = draw.some(list(state.tables["issues"].values()), 5)
    blocker, other, *targets = rows
    state = change(change(state, blocker, state="closed"), other, state="in_progress")
    links = dict(state.tables["links"])
    number = 7
    held = draw.one(targets)
    for target in targets:
        state = change(state, target, state="blocked")
        for source in (blocker, other) if target is held else (blocker,):
            links[f"L{number}"] = {
                "id": f"L{number}",
                "source": source["key"],
                "target": target["key"],
                "kind": "blocks",
            }
            number += 1
    state = State({**state.tables, "links": links}, {**state.next, "links": number}, state.now)
    gone = [row for row in links.values() if row["source"] == blocker["key"] and row["kind"] == "blocks"]
    writes: list[Call] = [("deleteLink", {"id": row["id"]}) for row in gone]
    writes += [("updateIssue", {"key": row["key"], "state": "open"}) for row in targets if row is not held]
    t = blocker["title"]
    text = draw.one(
        (
            f'"{t}" is closed and blocks nothing any more. Remove its links of kind blocks, and set every issue that it '
            "blocked to open unless another issue blocks it too.",
            f'The blocker "{t}" is done: delete all links by which it blocks others; the issues that nothing else blocks go '
            "from blocked to open.",
        )
    )
    reads = [*find(state, q=t), ("listLinks", {"source": blocker["key"], "kind": "blocks"})]
    reads += [("listLinks", {"target": row["key"], "kind": "blocks"}) for row in targets]
    return Draft(text, state, writes, reads)


def tidy_comments(draw: Draw) -> Draft | None:
    """Delete somebody's comments on an issue and leave one in another name."""
    state = world(draw)
    issue = draw.one(list(state.tables["issues"].values()))
    author, other = draw.some(list(state.tables["users"]), 2)
    comments = dict(state.tables["comments"])
    for number in range(15, 15 + draw.number(2, 12)):
        comments[f"C{number}"] = {
            "id": f"C{number}",
            "issue": issue["key"],
            "author": draw.one((author, author, other)),
            "body": draw.one(BODIES),
            "created_at": "2031-03-20T13:00:00Z",
        }
    state = State({**state.tables, "comments": comments}, {**state.next, "comments": 40}, state.now)
    gone = [row for row in comments.values() if row["issue"] == issue["key"] and row["author"] == author]
    if not 1 <= len(gone) <= 9:
        return None
    body = f"{len(gone)} comments removed"
    writes: list[Call] = [("deleteComment", {"id": row["id"]}) for row in gone]
    writes.append(("createComment", {"issue": issue["key"], "author": other, "body": body}))
    a, b, t = person(state, author), person(state, other), issue["title"]
    text = draw.one(
        (
            f'Delete all comments by {a} on the issue "{t}". Then comment there in the name of {b}: "N comments removed", '
            "where N is how many you deleted.",
            f'On "{t}" the comments of {a} are to be removed. {b} leaves the comment "N comments removed" (N: their number).',
        )
    )
    reads = [*find(state, q=t), *look_up(state, author, other)]
    reads += pages(TRACKER, state, "listComments", {"issue": issue["key"]})
    return Draft(text, state, writes, reads)


def leaving(draw: Draw) -> Draft | None:
    """Somebody leaves: each unfinished issue goes to the lead of its own project."""
    state = world(draw, projects=3)
    leaver = draw.one(list(state.tables["users"]))
    leads = {key: row["lead"] for key, row in state.tables["projects"].items()}
    rows = [row for row in some_issues(state, assignee=leaver) if row["state"] != "closed"]
    if leaver in leads.values() or not 2 <= len(rows) <= 7 or len({row["project"] for row in rows}) < 2:
        return None
    writes: list[Call] = [
        ("updateIssue", {"key": row["key"], "assignee": leads[row["project"]]}) for row in rows
    ]
    a = person(state, leaver)
    text = draw.one(
        (
            f"{a} leaves. Everything assigned to {a} that is not closed goes to the lead of the project it belongs to.",
            f"Hand each issue of {a} that is not closed to the lead of its project.",
        )
    )
    reads = [*look_up(state, leaver), *find(state, assignee=leaver), ("listProjects", {})]
    return Draft(text, state, writes, reads)


TEMPLATES: dict[str, Template] = {
    "reassign": reassign,
    "unassigned": unassigned,
    "duplicate": duplicate,
    "least-busy": least_busy,
    "relabel": relabel,
    "unblock": unblock,
    "tidy-comments": tidy_comments,
    "leaving": leaving,
}
