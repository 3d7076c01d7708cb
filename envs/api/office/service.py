"""The office: people, rooms, events, free/busy times, mails, contacts.

Invariant: no room has two events at once and an event ends after it begins; a mail that was sent is never changed.
Times are local, `YYYY-MM-DDTHH:MM`, on whole hours.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from agentrl.core.jsonvalues import Schema
from agentrl.envs.api.document import closed
from agentrl.envs.api.resource import Answer, Refusal, Resource, Special, many_of, numbered, one_of, text
from agentrl.envs.api.service import Service
from agentrl.envs.api.state import Row, State

OPENS, CLOSES = 9, 17
TIME: Schema = {
    "type": "string", "pattern": "^[0-9]{4}-[0-9]{2}-[0-9]{2}T[0-9]{2}:00$", "description": "YYYY-MM-DDTHH:00",
}  # fmt: skip
DAY: Schema = {"type": "string", "pattern": "^[0-9]{4}-[0-9]{2}-[0-9]{2}$", "description": "YYYY-MM-DD"}
ATTENDEES = many_of(text(), "E-mails of who comes.", least=1)

PEOPLE = Resource(
    "people", "Person", "email", {"email": text("E-mail."), "name": text("Full name."), "team": text("Team.")},
    plural="People", filters=("team",), search=("name",),
)  # fmt: skip
ROOMS = Resource(
    "rooms", "Room", "id", {"id": text("Name of the room."), "seats": {"type": "integer", "minimum": 1}},
)  # fmt: skip
EVENTS = Resource(
    "events", "Event", "id",
    {
        "id": text("Number of the event."),
        "title": text("Title."),
        "day": DAY,
        "start": TIME,
        "end": TIME,
        "attendees": ATTENDEES,
        "room": {"type": ["string", "null"], "description": "Name of the room; null for none."},
    },
    create=("title", "day", "start", "end", "attendees", "room"),
    required=("title", "day", "start", "end", "attendees"), defaults={"room": None},
    update=("title", "day", "start", "end", "attendees", "room"), delete=True,
    filters=("attendees", "day", "room"), search=("title",), refs={"attendees": "people", "room": "rooms"},
    made=numbered("E", "events"), unordered=("attendees",),
)  # fmt: skip
MAILS = Resource(
    "mails", "Mail", "id",
    {
        "id": text("Number of the mail."),
        "sender": text("E-mail."),
        "to": many_of(text(), "E-mails.", least=1),
        "subject": text("Subject."),
        "body": text("What it says."),
        "folder": one_of("inbox", "sent", "archive"),
        "sent_at": text("Date and time."),
    },
    create=("sender", "to", "subject", "body"), required=("sender", "to", "subject", "body"),
    defaults={"folder": "sent"}, update=("folder",), filters=("sender", "to", "folder"), search=("subject", "body"),
    refs={"sender": "people", "to": "people"}, made=numbered("M", "mails"), unordered=("to",),
    volatile=("sent_at",), stamps=("sent_at",),
)  # fmt: skip
CONTACTS = Resource(
    "contacts", "Contact", "email",
    {"email": text("E-mail."), "name": text("Full name."), "phone": text("Telephone."), "company": text("Company.")},
    create=("email", "name", "phone", "company"), required=("email", "name", "phone", "company"),
    update=("name", "phone", "company"), delete=True, filters=("company",), search=("name",),
)  # fmt: skip
REMINDERS = Resource(
    "reminders", "Reminder", "id", {"id": text("Chosen by the caller."), "event": text(), "minutes": {"type": "integer"}},
    create=("id", "event", "minutes"), required=("id", "event", "minutes"), delete=True, refs={"event": "events"},
)  # fmt: skip


def overlap(one: Row, other: Row) -> bool:
    return bool(one["start"] < other["end"] and other["start"] < one["end"])


def guard(state: State, resource: Resource, old: Row | None, new: Row | None) -> None:
    """Raises: Refusal: an event at no time, or two at once in a room."""
    if resource is not EVENTS or new is None:
        return
    if not (new["start"] < new["end"] and new["start"][:10] == new["day"] == new["end"][:10]):
        raise Refusal(422, "bad_time", "an event begins before it ends, and both are on its day")
    for row in state.tables["events"].values():
        if new["room"] and row["room"] == new["room"] and row["id"] != new["id"] and overlap(row, new):
            raise Refusal(409, "room_taken", f"{new['room']} is taken by {row['id']} at that time")


def busy(state: State, email: str, day: str) -> list[dict[str, str]]:
    return sorted(
        (
            {"start": row["start"], "end": row["end"]}
            for row in state.tables["events"].values()
            if row["day"] == day and email in row["attendees"]
        ),
        key=lambda span: span["start"],
    )


def free_busy(state: State, given: Mapping[str, Any]) -> Answer:
    if state.row("people", given["email"]) is None:
        raise Refusal(404, "not_found", f"there is no person {given['email']!r:.80}")
    return state, 200, {"email": given["email"], "busy": busy(state, given["email"], given["day"])}


def count_mails(state: State, given: Mapping[str, Any]) -> Answer:
    rows = state.tables["mails"].values()
    return state, 200, {"number": sum(row["folder"] == given["folder"] for row in rows)}


SPAN = closed({"start": TIME, "end": TIME}, ("start", "end"))
OFFICE = Service(
    "office",
    "the calendar and the mail of an office",
    f"people, rooms, events, mails and contacts. Work is from {OPENS:02d}:00 to {CLOSES}:00, in whole hours.",
    (PEOPLE, ROOMS, EVENTS, MAILS, CONTACTS, REMINDERS),
    (
        Special(
            "getFreeBusy", "get", "/people/{email}/busy", "When a person is busy on a day.", free_busy,
            closed({"email": text(), "busy": {"type": "array", "items": SPAN}}, ("email", "busy")),
            {"email": ("path", text("E-mail.")), "day": ("query", DAY)}, required=("day",),
        ),
        Special(
            "countMails", "get", "/folders/{folder}/count", "Count the mails of a folder.", count_mails,
            closed({"number": {"type": "integer"}}, ("number",)), {"folder": ("path", one_of("inbox", "sent", "archive"))},
        ),
    ),
    guard,
    extra=("countMails", "listReminders", "createReminder", "getReminder", "deleteReminder", "getRoom", "getPerson"),
)  # fmt: skip
