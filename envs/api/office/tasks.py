"""Task templates of the office.

Invariant: a free slot is one in which nobody who comes is busy, by the calendar alone; what is to be written is given
word for word.
"""

from __future__ import annotations

from typing import Any

from agentrl.envs.api.names import Draw
from agentrl.envs.api.office.service import CLOSES, OFFICE, OPENS, busy
from agentrl.envs.api.service import Call
from agentrl.envs.api.state import Row, State
from agentrl.envs.api.task import Draft, Template, pages

TEAMS = ("sales", "support", "finance")
ROOMS = {"Aspen": 4, "Birch": 6, "Cedar": 10}
DAYS = ("2031-09-01", "2031-09-02", "2031-09-03")
KINDS = ("review", "planning", "sync", "retrospective", "interview")


def at(day: str, hour: int) -> str:
    return f"{day}T{hour:02d}:00"


def world(draw: Draw, *, events: int = 16, mails: int = 12) -> State:
    """Six people, three rooms, three days of events, mails, contacts."""
    people: dict[str, Row] = {}
    for first, last in draw.persons(6):
        email = f"{first}.{last}@office.example".lower()
        people[email] = {"email": email, "name": f"{first} {last}", "team": draw.one(TEAMS)}
    emails, subjects = list(people), draw.titles(events + mails)
    rows: dict[str, Row] = {}
    for index in range(events):
        day, hour = draw.one(DAYS), draw.number(OPENS, CLOSES - 2)
        title = f"{' '.join(subjects[index])} {draw.one(KINDS)}"
        row: dict[str, Any] = {
            "id": f"E{index + 1}",
            "title": title,
            "day": day,
            "start": at(day, hour),
            "end": at(day, hour + draw.number(1, 2)),
            "attendees": draw.some(emails, draw.number(2, 3)),
            "room": draw.one([None, *ROOMS]),
        }
        taken = [one for one in rows.values() if one["start"] < row["end"] and row["start"] < one["end"]]
        if not any(set(one["attendees"]) & set(row["attendees"]) for one in taken):
            rows[row["id"]] = {
                **row,
                "room": None if any(one["room"] == row["room"] for one in taken) else row["room"],
            }
    letters: dict[str, Row] = {}
    for index in range(mails):
        sender, *to = draw.some(emails, draw.number(2, 3))
        subject = " ".join(subjects[events + index])
        letters[f"M{index + 1}"] = {
            "id": f"M{index + 1}",
            "sender": sender,
            "to": to,
            "subject": subject,
            "body": f"Please look at {subject}.",
            "folder": draw.one(("inbox", "inbox", "archive")),
            "sent_at": "2031-08-30T08:00",
        }
    contacts: dict[str, Row] = {}
    for (first, last), company in zip(draw.persons(6), [*draw.titles(2)] * 3, strict=True):
        email = f"{first}@{company[0]}{company[1]}.example".lower()
        phone = f"+43 {draw.number(1000000, 9999999)}"
        contacts[email] = {
            "email": email,
            "name": f"{first} {last}",
            "phone": phone,
            "company": " ".join(company),
        }
    rooms = {name: {"id": name, "seats": seats} for name, seats in ROOMS.items()}
    tables: dict[str, dict[str, Row]] = {
        "people": people,
        "rooms": rooms,  # type: ignore[dict-item]
        "events": rows,
        "mails": letters,
        "contacts": contacts,
        "reminders": {},
    }
    return State(tables, {"events": events + 1, "mails": mails + 1}, "2031-08-31T08:00")


def name_of(state: State, email: str) -> str:
    return str(state.tables["people"][email]["name"])


def find(state: State, operation: str, **arguments: Any) -> list[Call]:
    return pages(OFFICE, state, operation, arguments)


def who(state: State, *emails: str) -> list[Call]:
    return [("listPeople", {"q": name_of(state, email)}) for email in emails]


def first_free(state: State, emails: list[str], day: str, hours: int) -> int | None:
    """The first hour of a day from which nobody of these is busy for so long."""
    spans = [span for email in emails for span in busy(state, email, day)]
    for hour in range(OPENS, CLOSES - hours + 1):
        start, end = at(day, hour), at(day, hour + hours)
        if not any(span["start"] < end and start < span["end"] for span in spans):
            return hour
    return None


def move(draw: Draw) -> Draft | None:
    """A meeting goes to the first slot of another day in which all who come are free."""
    state = world(draw)
    event = draw.one(list(state.tables["events"].values()))
    day = draw.one([one for one in DAYS if one != event["day"]])
    hours = int(event["end"][11:13]) - int(event["start"][11:13])
    hour = first_free(state, event["attendees"], day, hours)
    t = event["title"]
    text = draw.one(
        (
            f'Move the event "{t}" to {day}: to the first time at which everybody who comes is free, as long as now and without '
            "a room. If there is none, change nothing: the outcome is no_free_slot.",
            f'"{t}" has to take place on {day}. Find the earliest slot of the same length in which nobody who comes is busy, '
            "move it there, and give up its room. Without such a slot: leave it, outcome no_free_slot.",
        )
    )
    reads = find(state, "listEvents", q=t)
    reads += [("getFreeBusy", {"email": email, "day": day}) for email in event["attendees"]]
    if hour is None:
        return Draft(text, state, [], reads, reads[-len(event["attendees"]) :], outcome="no_free_slot")
    new = {"id": event["id"], "day": day, "start": at(day, hour), "end": at(day, hour + hours), "room": None}
    return Draft(text, state, [("updateEvent", new)], reads)


def meet(draw: Draw) -> Draft | None:
    """A new meeting of two in their first free slot, with a mail that invites."""
    state = world(draw)
    host, guest = draw.some(list(state.tables["people"]), 2)
    day, hours = draw.one(DAYS), draw.number(1, 2)
    hour = first_free(state, [host, guest], day, hours)
    if hour is None:
        return None
    title = f"{' '.join(draw.titles(1)[0])} {draw.one(KINDS)}"
    a, b = name_of(state, host), name_of(state, guest)
    text = draw.one(
        (
            f'Put the event "{title}" of {hours} hour(s) into the calendars of {a} and {b}, on {day} at the first time when both '
            f'are free, without a room. Then send a mail from {a} to {b}: subject "{title}", body "See your calendar.".',
            f'{a} wants to meet {b} on {day} for {hours} hour(s): event "{title}", no room, as early as both are free. {a} also '
            f'sends {b} a mail with the subject "{title}" and the body "See your calendar.".',
        )
    )
    event = {
        "title": title,
        "day": day,
        "start": at(day, hour),
        "end": at(day, hour + hours),
        "attendees": [host, guest],
    }
    mail = {"sender": host, "to": [guest], "subject": title, "body": "See your calendar."}
    reads = [
        *who(state, host, guest),
        *(("getFreeBusy", {"email": one, "day": day}) for one in (host, guest)),
    ]
    return Draft(text, state, [("createEvent", event), ("createMail", mail)], reads)


def replace(draw: Draw) -> Draft | None:
    """Somebody takes another one's place in all events of a day; where both are there already, one just leaves."""
    state = world(draw)
    out, into = draw.some(list(state.tables["people"]), 2)
    day = draw.one(DAYS)
    rows = [row for row in state.tables["events"].values() if row["day"] == day and out in row["attendees"]]
    if not rows:
        return None
    writes: list[Call] = [
        (
            "updateEvent",
            {
                "id": row["id"],
                "attendees": list(dict.fromkeys(into if e == out else e for e in row["attendees"])),
            },
        )
        for row in rows
    ]
    a, b = name_of(state, out), name_of(state, into)
    text = draw.one(
        (
            f"{a} is ill on {day}. In all events of that day {b} takes the place of {a} (nobody is listed twice).",
            f"On {day}, put {b} in the place of {a} among the attendees of every event that {a} was to attend; list nobody twice.",
        )
    )
    return Draft(
        text, state, writes, [*who(state, out, into), *find(state, "listEvents", attendees=out, day=day)]
    )


def clear(draw: Draw) -> Draft | None:
    """A room is closed for a day: its events lose it, and who comes first is told."""
    state = world(draw)
    day, room = draw.one(DAYS), draw.one(list(ROOMS))
    rows = [row for row in state.tables["events"].values() if row["day"] == day and row["room"] == room]
    if not rows:
        return None
    sender = draw.one(list(state.tables["people"]))
    writes: list[Call] = []
    for row in rows:
        writes.append(("updateEvent", {"id": row["id"], "room": None}))
        body = f"{room} is closed."
        writes.append(
            ("createMail", {"sender": sender, "to": row["attendees"], "subject": row["title"], "body": body})
        )
    a = name_of(state, sender)
    text = draw.one(
        (
            f"The room {room} is closed on {day}. Take it away from every event of that day, and for each of these events send "
            f'one mail from {a} to all its attendees: subject = title of the event, body "{room} is closed.".',
            f"No event may be in {room} on {day}: remove the room from them (no other one instead). {a} writes one mail per such "
            f'event to everybody who attends it, with the title as subject and the body "{room} is closed.".',
        )
    )
    return Draft(text, state, writes, [*who(state, sender), *find(state, "listEvents", day=day, room=room)])


def archive(draw: Draw) -> Draft | None:
    """All mails of one sender in the inbox are archived."""
    state = world(draw)
    sender = draw.one(list(state.tables["people"]))
    rows = [
        row for row in state.tables["mails"].values() if row["folder"] == "inbox" and row["sender"] == sender
    ]
    if not rows:
        return None
    writes: list[Call] = [("updateMail", {"id": row["id"], "folder": "archive"}) for row in rows]
    a = name_of(state, sender)
    text = draw.one(
        (
            f"Archive every mail in the inbox that {a} sent.",
            f"Mails from {a} that are in the inbox go to the archive.",
        )
    )
    return Draft(
        text, state, writes, [*who(state, sender), *find(state, "listMails", folder="inbox", sender=sender)]
    )


def contact(draw: Draw) -> Draft | None:
    """A company has a new name: all its contacts get it; one leaves it."""
    state = world(draw)
    rows = list(state.tables["contacts"].values())
    company = draw.one(sorted({row["company"] for row in rows}))
    staff = [row for row in rows if row["company"] == company]
    gone = draw.one(staff)
    new = " ".join(draw.titles(1)[0])
    writes: list[Call] = [("deleteContact", {"email": gone["email"]})]
    writes += [("updateContact", {"email": row["email"], "company": new}) for row in staff if row is not gone]
    text = draw.one(
        (
            f"The company {company} is now called {new}: correct it in all contacts. {gone['name']} has left it; delete that "
            "contact.",
            f"Delete the contact {gone['name']}. The other contacts of {company} get {new} as their company.",
        )
    )
    return Draft(text, state, writes, find(state, "listContacts", company=company))


def cancel(draw: Draw) -> Draft | None:
    """Somebody's events of a day are cancelled where only two would come; from larger ones the person is taken out."""
    state = world(draw)
    person, day = draw.one(list(state.tables["people"])), draw.one(DAYS)
    rows = [
        row for row in state.tables["events"].values() if row["day"] == day and person in row["attendees"]
    ]
    if not rows:
        return None
    writes: list[Call] = []
    for row in rows:
        if len(row["attendees"]) == 2:
            writes.append(("deleteEvent", {"id": row["id"]}))
        else:
            rest = [email for email in row["attendees"] if email != person]
            writes.append(("updateEvent", {"id": row["id"], "attendees": rest}))
    a = name_of(state, person)
    text = draw.one(
        (
            f"{a} is away on {day}. Delete the events of that day which {a} would attend with only one other person, and take "
            f"{a} out of the larger ones.",
            f"Clear the calendar of {a} for {day}: events of two are deleted, from all others {a} is removed as an attendee.",
        )
    )
    return Draft(
        text, state, writes, [*who(state, person), *find(state, "listEvents", attendees=person, day=day)]
    )


TEMPLATES: dict[str, Template] = {
    "move": move,
    "meet": meet,
    "replace": replace,
    "clear-room": clear,
    "archive": archive,
    "contacts": contact,
    "cancel": cancel,
}
