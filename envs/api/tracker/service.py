"""The issue tracker: projects, users, labels, issues, comments, links, milestones.

Invariant: a closed issue can only be reopened; a link joins two different issues, once for each kind.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

from agentrl.core.jsonvalues import Schema
from agentrl.envs.api.crud import do_update, found
from agentrl.envs.api.resource import (
    Answer,
    Refusal,
    Resource,
    Special,
    component,
    many_of,
    numbered,
    one_of,
    text,
)
from agentrl.envs.api.service import Call, Service
from agentrl.envs.api.state import Row, State

STATES = ("open", "in_progress", "blocked", "closed")
TYPES = ("bug", "feature", "chore")
PRIORITIES = ("low", "medium", "high", "urgent")
KINDS = ("blocks", "duplicates", "relates_to")
WHEN: Schema = {"type": "string", "description": "Date and time."}
PERSON: Schema = {"type": ["string", "null"], "description": "Login of the assignee; null for nobody."}


def issue_key(state: State, values: Mapping[str, Any]) -> tuple[str, State]:
    number, after = state.numbered(values["project"])
    return f"{values['project']}-{number}", after


USERS = Resource(
    "users", "User", "login",
    {"login": text("Login."), "name": text("Full name."), "team": text("Team.")},
    filters=("team",), search=("login", "name"),
)  # fmt: skip
PROJECTS = Resource(
    "projects", "Project", "key",
    {"key": text("Short key in capitals."), "name": text("Name."), "lead": text("Login of the lead.")},
    search=("key", "name"), refs={"lead": "users"}, update=("name", "lead"),
)  # fmt: skip
LABELS = Resource(
    "labels", "Label", "name",
    {"name": text("Name of the label.", most=40), "color": one_of("red", "green", "blue", "grey")},
    create=("name", "color"), required=("name",), defaults={"color": "grey"}, update=("color",), delete=True,
)  # fmt: skip
ISSUES = Resource(
    "issues", "Issue", "key",
    {
        "key": text("Key, such as ABC-12."),
        "project": text("Key of the project."),
        "title": text("Title."),
        "type": one_of(*TYPES),
        "state": one_of(*STATES, about="A closed issue must be reopened (state open) before it can be changed."),
        "priority": one_of(*PRIORITIES),
        "assignee": PERSON,
        "labels": many_of(text(), "Names of labels; an update replaces them all."),
        "created_at": WHEN,
        "updated_at": WHEN,
    },
    create=("project", "title", "type", "priority", "assignee", "labels"), required=("project", "title", "type"),
    defaults={"state": "open", "priority": "medium", "assignee": None, "labels": []},
    update=("title", "type", "state", "priority", "assignee", "labels"),
    filters=("project", "type", "state", "priority", "assignee", "labels"), search=("title",),
    refs={"project": "projects", "assignee": "users", "labels": "labels"}, made=issue_key,
    volatile=("created_at", "updated_at"), unordered=("labels",), stamps=("created_at", "updated_at"),
)  # fmt: skip
COMMENTS = Resource(
    "comments", "Comment", "id",
    {
        "id": text("Number of the comment."),
        "issue": text("Key of the issue."),
        "author": text("Login of the author."),
        "body": text("What it says."),
        "created_at": WHEN,
    },
    create=("issue", "author", "body"), required=("issue", "author", "body"), update=("body",), delete=True,
    filters=("author",), refs={"issue": "issues", "author": "users"}, parent="issue", made=numbered("C", "comments"),
    nameless=True, volatile=("created_at",), stamps=("created_at",), offers=("list",),
)  # fmt: skip
LINKS = Resource(
    "links", "Link", "id",
    {
        "id": text("Number of the link."),
        "source": text("Key of the issue that blocks, duplicates or relates to the target."),
        "target": text("Key of the other issue."),
        "kind": one_of(*KINDS),
    },
    create=("source", "target", "kind"), required=("source", "target", "kind"), delete=True,
    filters=("source", "target", "kind"), refs={"source": "issues", "target": "issues"},
    made=numbered("L", "links"), nameless=True, offers=("list",),
)  # fmt: skip
MILESTONES = Resource(
    "milestones", "Milestone", "name",
    {"name": text("Name."), "project": text("Key of the project."), "due": text("Date, YYYY-MM-DD.")},
    create=("name", "project", "due"), required=("name", "project", "due"), update=("due",), delete=True,
    filters=("project",), refs={"project": "projects"},
)  # fmt: skip


def guard(state: State, resource: Resource, old: Row | None, new: Row | None) -> None:
    """Raises: Refusal: a change that the tracker does not make."""
    if (
        resource is ISSUES
        and old
        and new
        and old["state"] == "closed"
        and new["state"] != "open"
        and new != old
    ):
        raise Refusal(409, "closed", f"{old['key']} is closed: reopen it first (state open)")
    if resource is LINKS and new:
        if new["source"] == new["target"]:
            raise Refusal(422, "same_issue", "an issue cannot be linked to itself")
        told = ("source", "target", "kind")
        if any(all(row[name] == new[name] for name in told) for row in state.tables["links"].values()):
            raise Refusal(409, "exists", "there is such a link already")


def add_label(state: State, given: Mapping[str, Any]) -> Answer:
    row = found(state, ISSUES, given["key"])
    labels = list(dict.fromkeys([*row["labels"], given["label"]]))
    return do_update(ISSUES, guard, state, {"key": given["key"], "labels": labels})


def count_issues(state: State, given: Mapping[str, Any]) -> Answer:
    found(state, PROJECTS, given["key"])
    rows = [row for row in state.tables["issues"].values() if row["project"] == given["key"]]
    return state, 200, {name: sum(row["state"] == name for row in rows) for name in STATES}


def repair(state: State, goal: State, base: State) -> Iterator[Call]:
    """A closed issue that must change and stay closed is reopened first."""
    for key, wanted in goal.tables["issues"].items():
        row = state.tables["issues"].get(key)
        if row and row is not wanted and row["state"] == wanted["state"] == "closed":
            told = ("title", "type", "priority", "assignee")
            if any(row[name] != wanted[name] for name in told) or set(row["labels"]) != set(wanted["labels"]):
                yield "updateIssue", {"key": key, "state": "open"}


TRACKER = Service(
    "tracker",
    "an issue tracker",
    "projects, their issues with labels, assignees, comments and links.",
    (USERS, PROJECTS, LABELS, ISSUES, COMMENTS, LINKS, MILESTONES),
    (
        Special(
            "addLabel", "post", "/issues/{key}/labels", "Add one label to an issue.", add_label, component("Issue"),
            {"key": ("path", text("Key of the issue."))}, {"label": text("Name of the label.")}, ("label",),
            errors=(404, 409, 422),
        ),
        Special(
            "countIssues", "get", "/projects/{key}/counts", "Count the issues of a project by state.", count_issues,
            {
                "type": "object", "additionalProperties": False, "required": list(STATES),
                "properties": {name: {"type": "integer"} for name in STATES},
            },
            {"key": ("path", text("Key of the project."))},
        ),
    ),
    guard,
    extra=(
        "addLabel", "countIssues", "createMilestone", "listMilestones", "updateMilestone", "deleteMilestone",
        "getMilestone", "updateProject", "updateLabel", "getLabel",
    ),
    repair=repair,
)  # fmt: skip
