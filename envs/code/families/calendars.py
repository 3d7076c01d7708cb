"""Families about dates and times, all of them ISO text or plain numbers.

Invariant: nothing depends on today or on a time zone of the machine.
"""

from __future__ import annotations

import itertools
import random
from datetime import date, timedelta
from typing import Any

from agentrl.envs.code.families.writing import fill, functions
from agentrl.envs.code.task import Family, Problem

DAYS = ("Monday", "Tuesday", "Wednesday", "Thursday", "Friday", "Saturday", "Sunday")


def day(rng: random.Random, first: int = 1999, last: int = 2031) -> str:
    start = date(first, 1, 1)
    return (start + timedelta(rng.randrange((date(last, 12, 31) - start).days))).isoformat()


def working_days(rng: random.Random) -> Problem:
    rest = sorted(rng.sample(range(7), rng.randint(1, 2)))
    both = rng.random() < 0.5
    half = rng.choice([n for n in range(7) if n not in rest])
    halves = rng.random() < 0.5
    source = fill(
        """
        from datetime import date, timedelta


        def working(start: str, end: str, holidays: list) -> float:
            first, last = date.fromisoformat(start), date.fromisoformat(end)
            if last < first:
                raise ValueError("the end is before the start")
            total = 0.0
            day = first
            while day < last or (<<both!r>> and day == last):
                if day.weekday() not in <<rest!r>> and day.isoformat() not in holidays:
                    total += 0.5 if <<halves!r>> and day.weekday() == <<half!r>> else 1
                day += timedelta(1)
            return total
        """,
        both=both, rest=rest, halves=halves, half=half,
    )  # fmt: skip
    free = " and ".join(f"{DAYS[n]}s" for n in rest)
    part = f" A {DAYS[half]} counts half." if halves else ""
    statement = f"""
    Write `working(start: str, end: str, holidays: list) -> float` in `solution.py`.

    Count the working days from `start` to `end` (ISO dates), {"both included" if both else "`start` included, `end` not"}. {free} are free, and so are the
    dates in `holidays` (ISO dates, in any order, perhaps on free days).{part} Return a number; raise `ValueError` if `end` is before
    `start`.
    """

    def some(length: int, count: int) -> tuple[Any, ...]:
        start = date.fromisoformat(day(rng))
        free = [(start + timedelta(rng.randint(-3, length + 3))).isoformat() for _ in range(count)]
        return ("working", start.isoformat(), (start + timedelta(length)).isoformat(), free)

    inputs: list[Any] = [
        some(n, k) for n, k in ((6, 0), (13, 2), (30, 5), (365, 9), (40, 20), (1, 0), (90, 3))
    ]
    same = day(rng)
    inputs += [
        ("working", same, same, []),
        ("working", "2024-02-26", "2024-03-04", ["2024-02-29"]),
        ("working", "2021-05-02", "2021-05-01", []),
    ]
    inputs += [("working", "2023-12-25", "2024-01-07", ["2023-12-25", "2023-12-25", "2024-01-01"])]
    return functions(statement, source, [some(9, 1), some(20, 2)], inputs)


def billing(rng: random.Random) -> Problem:
    every = rng.choice((1, 2, 3, 6))
    late = rng.choice(("last", "next"))
    shift = rng.choice(("", "before", "after"))
    source = fill(
        """
        import calendar
        from datetime import date, timedelta


        def due(start: str, count: int) -> list:
            first = date.fromisoformat(start)
            found = []
            for number in range(1, count + 1):
                months = first.month - 1 + <<every!r>> * number
                year, month = first.year + months // 12, months % 12 + 1
                last = calendar.monthrange(year, month)[1]
                if first.day <= last:
                    when = date(year, month, first.day)
                elif <<last!r>>:
                    when = date(year, month, last)
                else:
                    when = date(year, month, last) + timedelta(1)
                while <<shift!r>> and when.weekday() >= 5:
                    when += timedelta(1 if <<shift!r>> == "after" else -1)
                found.append(when.isoformat())
            return found
        """,
        every=every, last=late == "last", shift=shift,
    )  # fmt: skip
    period = "every month" if every == 1 else f"every {every} months"
    missing = "the last day of that month" if late == "last" else "the first day of the month after"
    weekend = {
        "": "",
        "before": " A date on a Saturday or Sunday moves to the Friday before.",
        "after": " A date on a Saturday or Sunday moves to the Monday after.",
    }[shift]
    statement = f"""
    Write `due(start: str, count: int) -> list` in `solution.py`.

    A contract begins at `start` (an ISO date) and is paid {period} on the same day of the month, for the first time {"one month" if every == 1 else f"{every} months"}
    after `start`. Where a month has no such day, {missing} takes its place; the payments after that are on the original day again.{weekend} Return
    the first `count` payment dates as ISO dates, in order; an empty list if `count` is 0.
    """
    inputs: list[Any] = [("due", day(rng), rng.randint(2, 9)) for _ in range(5)]
    inputs += [
        ("due", "2023-01-31", 14),
        ("due", "2024-01-30", 5),
        ("due", "2023-08-31", 8),
        ("due", "2020-02-29", 25),
        ("due", "2021-12-31", 3),
        ("due", day(rng), 0),
    ]

    def rising(answers: list[Any]) -> bool:
        return len(answers[0]) == 40 and answers[0] == sorted(set(answers[0]))

    return functions(
        statement,
        source,
        [("due", "2022-11-30", 4), ("due", day(rng), 2)],
        inputs,
        [("forty-in-order", [("due", "2019-10-31", 40)], rising)],
    )


def bookings(rng: random.Random) -> Problem:
    gap = rng.choice((0, 5, 10, 15, 30))
    earliest = rng.choice((7, 8, 9)) * 60
    latest = rng.choice((17, 18, 20)) * 60
    source = fill(
        """
        def minutes(text: str) -> int:
            hours, _, rest = text.partition(":")
            return int(hours) * 60 + int(rest)


        def free(bookings: list, length: int) -> list:
            busy = sorted((minutes(a), minutes(b)) for a, b in bookings)
            found, at = [], <<earliest!r>>
            for start, end in [*busy, (<<latest!r>> + <<gap!r>>, <<latest!r>> + <<gap!r>>)]:
                until = min(start - <<gap!r>>, <<latest!r>>)
                if until - at >= length and until > at:
                    found.append(f"{at // 60:02}:{at % 60:02}-{until // 60:02}:{until % 60:02}")
                at = max(at, end + <<gap!r>>)
            return found
        """,
        earliest=earliest, latest=latest, gap=gap,
    )  # fmt: skip
    pause = f" Between a booking and a free slot beside it there must be {gap} minutes." if gap else ""
    day_ = f"{earliest // 60:02}:00 to {latest // 60:02}:00"
    statement = f"""
    Write `free(bookings: list, length: int) -> list` in `solution.py`.

    A room is open from {day_}. `bookings` is a list of tuples `(start, end)` of times `HH:MM` with `start` before `end`, in any order; they may overlap, and
    reach out of the opening hours.{pause} Return the free slots of at least `length` minutes (a positive number), as long as possible each, as text
    `HH:MM-HH:MM`, in order of time. The opening and the closing of the room need no pause.
    """

    def some(count: int) -> list[tuple[str, str]]:
        found = []
        for _ in range(count):
            start = rng.randrange(earliest - 60, latest, 5)
            end = start + rng.randrange(5, 150, 5)
            found.append((f"{start // 60:02}:{start % 60:02}", f"{end // 60:02}:{end % 60:02}"))
        return found

    inputs: list[Any] = [("free", some(n), rng.choice((10, 15, 20, 45, 60))) for n in (1, 2, 3, 4, 5, 7, 9)]
    inputs += [
        ("free", [], 30),
        ("free", [], 24 * 60),
        ("free", [("00:00", "23:59")], 1),
        ("free", some(3), 1),
    ]
    return functions(statement, source, [("free", some(2), 30), ("free", some(3), 45)], inputs)


def numbered_weeks(rng: random.Random) -> Problem:
    start = rng.randrange(7)
    rule = rng.choice(("first", "full", "most"))
    separator = rng.choice(("-W", "/", " week "))
    source = fill(
        """
        from datetime import date, timedelta


        def begin(year: int) -> date:
            first = date(year, 1, 1)
            monday = first - timedelta((first.weekday() - <<start!r>>) % 7)
            inside = 7 - (first - monday).days
            if <<rule!r>> == "first" or inside == 7 or (<<rule!r>> == "most" and inside >= 4):
                return monday
            return monday + timedelta(7)


        def week(day: str) -> str:
            when = date.fromisoformat(day)
            year = when.year + 1
            while when < begin(year):
                year -= 1
            return f"{year}<<separator>>{(when - begin(year)).days // 7 + 1:02}"
        """,
        start=start, rule=rule, separator=separator,
    )  # fmt: skip
    told = {
        "first": "that holds 1 January (so that the last days of December may belong to week 1 of the next year)",
        "full": "that lies wholly in the year (days before it belong to the last week of the year before)",
        "most": "of which at least four days lie in the year (days before it belong to the last week of the year before, and the last days "
        "of December may belong to week 1 of the next year)",
    }[rule]
    statement = f"""
    Write `week(day: str) -> str` in `solution.py`.

    Weeks begin on {DAYS[start]}. Week 1 of a year is the first week {told}; the weeks after it are numbered on until week 1 of the next year
    begins. Return the year and the number, in two digits, of the week that holds `day` (an ISO date), as `YYYY{separator}NN`.
    """
    years = rng.sample(range(1995, 2035), 6)
    inputs: list[Any] = [[("week", f"{y}-01-01"), ("week", f"{y}-12-31")] for y in years]
    inputs += [[("week", f"{y}-01-0{n}") for n in (2, 3, 4, 5, 6, 7)] for y in years[:2]]
    inputs += [("week", day(rng)) for _ in range(3)] + [("week", "2024-02-29"), ("week", f"{years[0]}-12-29")]

    def together(answers: list[Any]) -> bool:
        changes = [n for n in range(1, len(answers)) if answers[n] != answers[n - 1]]
        return (
            len(answers) == 28
            and len(changes) in (3, 4)
            and all(b - a == 7 for a, b in itertools.pairwise(changes))
        )

    opening = date(rng.choice(years), 12, 18)
    run = [("week", (opening + timedelta(n)).isoformat()) for n in range(28)]
    return functions(
        statement,
        source,
        [("week", day(rng)), ("week", f"{years[1] + 40}-01-01")],
        inputs,
        [("seven-days-each", run, together)],
    )


FAMILIES = (
    Family("working-days", "dates", "easy", working_days),
    Family("billing-dates", "dates", "medium", billing),
    Family("free-slots", "dates", "medium", bookings),
    Family("numbered-weeks", "dates", "hard", numbered_weeks),
)
