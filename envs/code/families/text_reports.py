"""Families of scripts that add up the lines of standard input.

Invariant: `report(text)` of the reference gives the output of the script, so that expectations need no process.
"""

from __future__ import annotations

import random

from agentrl.envs.code.families.writing import FOREIGN, WORDS, fill, scripts, words
from agentrl.envs.code.task import Family, Problem

MAIN = """

if __name__ == "__main__":
    print(report(sys.stdin.read()))
"""
SCRIPT = "Write a script `main.py` that reads standard input (UTF-8) and prints a report on standard output."


def script(template: str, **parts: object) -> str:
    """A script around a function `report`."""
    return "import sys\n\n\n" + fill(template, **parts).rstrip() + "\n" + MAIN


def level_counts(rng: random.Random) -> Problem:
    levels = rng.choice(
        [["DEBUG", "INFO", "WARN", "ERROR"], ["low", "mid", "high", "peak"], ["T", "D", "I", "W", "E"]]
    )
    sep = rng.choice([" | ", " - ", "\t", "; "])
    place = rng.randint(0, 2)
    order, key = rng.choice([
        ("in the order of the list above", "LEVELS.index(level)"),
        ("the most frequent first, of equal counts in the order of the list above", "(-counts[level], LEVELS.index(level))"),
        ("the least frequent first, of equal counts in the order of the list above", "(counts[level], LEVELS.index(level))"),
    ])  # fmt: skip
    zeros, total, colon = (
        rng.random() < 0.5,
        rng.choice(["total", "sum", "all"]),
        rng.choice([": ", " = ", " -> "]),
    )
    source = script(
        """
        LEVELS = <<levels!r>>


        def report(text: str) -> str:
            counts = dict.fromkeys(LEVELS, 0)
            skipped = 0
            for line in text.splitlines():
                if not line.strip():
                    continue
                fields = line.split(<<sep!r>>)
                if len(fields) == 3 and fields[<<place>>].strip() in counts:
                    counts[fields[<<place>>].strip()] += 1
                else:
                    skipped += 1
            order = sorted(LEVELS, key=lambda level: <<key>>)
            lines = [level + <<colon!r>> + str(counts[level]) for level in order if counts[level] or <<zeros>>]
            lines.append(<<total!r>> + <<colon!r>> + str(sum(counts.values())))
            lines.append("skipped" + <<colon!r>> + str(skipped))
            return "\\n".join(lines)
        """,
        levels=levels, sep=sep, place=place, key=key, colon=colon, zeros=zeros, total=total,
    )  # fmt: skip
    statement = f"""
    {SCRIPT} It counts the lines of a log by level.

    A line has exactly three fields separated by {sep!r}; the {("first", "second", "third")[place]} is the level, one of {", ".join(f"`{v}`" for v in levels)} in exactly this case, white space around it is
    ignored. Lines of white space only are ignored. Any other line, one with another level included, is skipped and counted as such.

    Print one line `level{colon}count` for each level {"(also with count 0)" if zeros else "that occurs"}, {order}. Then print `{total}{colon}n`, the number of lines counted,
    and last `skipped{colon}n`. With empty input these two lines are printed all the same.
    """

    def line() -> str:
        fields = [rng.choice(WORDS), rng.choice(FOREIGN), rng.choice("0123")]
        fields[place] = rng.choice(["", " "]) + rng.choice(levels + levels[-1:] * 2)
        return rng.choice(
            [sep.join(fields)] * 6
            + [
                sep.join(fields[:2]),
                sep.join([*fields, "x"]),
                " ".join(fields),
                fields[place].swapcase() + sep + "a" + sep + "b",
                " ",
            ]
        )

    def log(size: int) -> str:
        return "\n".join(line() for _ in range(size)) + rng.choice(["", "\n"])

    inputs = [
        "",
        "\n\n",
        *(log(size) for size in (1, 2, 5, 8, 13, 21, 40, 300)),
        "no fields at all",
        sep.join(["x"] * 3),
    ]
    big = log(400)

    def adds_up(output: str) -> bool:
        rows = [part.rpartition(colon) for part in output.splitlines()]
        counts = {name: int(count) for name, _, count in rows}
        lines = sum(1 for part in big.splitlines() if part.strip())
        return (
            counts[total] + counts["skipped"] == lines
            and sum(counts.values()) == lines + counts[total]
            and len(rows) == len(counts)
        )

    return scripts(statement, source, [log(6)], inputs, [("counts-add-up", big, adds_up)])


def group_totals(rng: random.Random) -> Problem:
    sep = rng.choice([",", ";", "|"])
    columns = rng.sample(["region", "product", "clerk", "units", "price", "day"], 3)
    group, value = rng.sample(range(3), 2)
    what, code = rng.choice([
        ("sum", "sum(values)"), ("largest value", "max(values)"), ("smallest value", "min(values)"),
        ("range (largest minus smallest value)", "max(values) - min(values)"), ("mean rounded down to an integer", "sum(values) // len(values)"),
    ])  # fmt: skip
    least = rng.randint(1, 3)
    order, key = rng.choice(
        [
            (
                "by that number, the largest first, equal ones by name in ascending order of code points",
                "(-row[1], row[0])",
            ),
            (
                "by that number, the smallest first, equal ones by name in ascending order of code points",
                "(row[1], row[0])",
            ),
            ("by name in ascending order of code points", "row[0]"),
        ]
    )
    dots = rng.choice([".", "_", "-"])
    source = script(
        """
        def report(text: str) -> str:
            groups: dict[str, list[int]] = {}
            lines = [line for line in text.splitlines() if line.strip()]
            for line in lines[1:]:
                fields = [field.strip() for field in line.split(<<sep!r>>)]
                groups.setdefault(fields[<<group>>], []).append(int(fields[<<value>>]))
            rows = [(name, <<code>>, len(values)) for name, values in groups.items() if len(values) >= <<least>>]
            rows.sort(key=lambda row: <<key>>)
            if not rows:
                return "no groups"
            width = max(len(name) for name, _, _ in rows)
            size = max(len(str(number)) for _, number, _ in rows)
            return "\\n".join(
                f"{name.ljust(width, <<dots!r>>)} {str(number).rjust(size)} ({count})" for name, number, count in rows
            )
        """,
        sep=sep, group=group, value=value, code=code, least=least, key=key, dots=dots,
    )  # fmt: skip
    statement = f"""
    {SCRIPT} The input is a table: a heading line, then one line for each record. Fields are separated by `{sep}` (there is no quoting), white space around fields
    and lines of white space only are ignored. The columns are {", ".join(f"`{c}`" for c in columns)}; `{columns[value]}` is an integer, possibly negative. All lines are well-formed.

    Group the records by `{columns[group]}` (case matters) and compute for each group the {what} of `{columns[value]}`. Groups with fewer than {least} record{"s" * (least > 1)} are left out. Print the others, sorted {order}, one on
    a line: the name, filled up on its right with `{dots}` to the length of the longest printed name, a space, the number, filled up on its left with spaces to the
    length of the longest printed number, a space, and the count of records in brackets. If nothing is to be printed, print `no groups`.
    """
    names = [*rng.sample(WORDS, 5), *rng.sample(FOREIGN, 2)]
    head = sep.join(columns)

    def table(size: int, among: int) -> str:
        rows = []
        for _ in range(size):
            fields = words(rng, 3)
            fields[group], fields[value] = rng.choice(names[-among:]), str(rng.randint(-40, 900))
            rows.append(f"{sep}{rng.choice(['', ' '])}".join(fields))
        return "\n".join([head, *rows, *[""] * rng.randint(0, 2)])

    inputs = [
        "",
        head,
        *(
            table(size, among)
            for size, among in ((1, 1), (4, 1), (5, 2), (9, 3), (14, 5), (20, 7), (30, 7), (400, 7))
        ),
    ]
    same = [head]
    for name in [*names, *names, *names]:
        fields = ["x", "y", "z"]
        fields[group], fields[value] = name, "5"
        same.append(sep.join(fields))
    tied = "\n".join(same)

    def aligned(output: str) -> bool:
        lines = output.splitlines()
        return (
            sorted(line.split(" ")[0].rstrip(dots) for line in lines) == sorted(names)
            and len({len(line) for line in lines}) == 1
            and all(line.endswith("(3)") for line in lines)
        )

    return scripts(
        statement, source, [table(7, 3)], [*inputs, tied], [("one-line-for-each-group", tied + "\n", aligned)]
    )


def visits(rng: random.Random) -> Problem:
    gap = rng.choice([10, 15, 20, 30, 45])
    close, closes = rng.choice([(f"more than {gap} minutes", ">"), (f"{gap} minutes or more", ">=")])
    sep, arrow = rng.choice([" ", ",", ";"]), rng.choice(["-", "..", " to "])
    by_time = rng.random() < 0.5
    ended = rng.choice(["logout", "bye", "exit", "stop"])
    source = script(
        """
        def report(text: str) -> str:
            events = []
            for line in text.splitlines():
                if line.strip():
                    time, user, action = line.strip().split(<<sep!r>>)
                    events.append((int(time[:2]) * 60 + int(time[3:]), user, action))
            events.sort(key=lambda event: event[0])
            visits: list[list] = []
            current: dict[str, list] = {}
            for minute, user, action in events:
                visit = current.get(user)
                if visit is None or minute - visit[2] <<closes>> <<gap>>:
                    visit = current[user] = [user, minute, minute, 0]
                    visits.append(visit)
                visit[2], visit[3] = minute, visit[3] + 1
                if action == <<ended!r>>:
                    del current[user]
            visits.sort(key=lambda visit: <<key>>)
            lines = [f"{user} {clock(first)}<<arrow>>{clock(last)} {count}" for user, first, last, count in visits]
            return "\\n".join([*lines, f"visits: {len(visits)}"])


        def clock(minute: int) -> str:
            return f"{minute // 60:02}:{minute % 60:02}"
        """,
        sep=sep, closes=closes, gap=gap, ended=ended, arrow=arrow, key="(visit[1], visit[0])" if by_time else "(visit[0], visit[1])",
    )  # fmt: skip
    statement = f"""
    {SCRIPT} The input is the log of one day: each line is a time `HH:MM`, a user and an action, separated by {sep!r}. Lines of white space only are
    ignored, all others are well-formed. Lines may be out of order: first sort them by time; lines of the same minute keep the order of the input.

    Events of one user belong to the same visit until {close} pass between one event and the next of this user, or until an event whose
    action is `{ended}`, which is still part of the visit: the user's next event begins a new visit.

    Print each visit as `user first{arrow}last n`, with the times of its first and last event and its number of events, sorted by {"time of the first event, then user" if by_time else "user, then time of the first event"} (users by
    code points; where both are equal, in the order in which the visits began). Last print `visits: n`, also for empty input.
    """
    users = [*rng.sample([w for w in WORDS if w.islower()], 3), rng.choice(FOREIGN)]

    def log(size: int, among: int, spread: int) -> str:
        lines = []
        for _ in range(size):
            minute = 300 + rng.randint(0, spread)
            lines.append(
                f"{minute // 60:02}:{minute % 60:02}{sep}{rng.choice(users[:among])}{sep}{rng.choice(['open', 'read', 'save', 'read', ended])}"
            )
        return "\n".join(lines) + rng.choice(["", "\n", "\n\n"])

    def minutes(*marks: int) -> str:
        return "\n".join(f"{m // 60:02}:{m % 60:02}{sep}{users[0]}{sep}read" for m in marks)

    inputs = [
        "",
        minutes(0),
        minutes(0, gap - 1, gap * 2 - 1, 1439),
        minutes(600, 600 + gap),
        minutes(600, 601 + gap),
        minutes(60, 59, 58 - gap),
    ]
    inputs += [
        f"10:00{sep}{users[1]}{sep}{ended}\n10:00{sep}{users[1]}{sep}{ended}\n10:00{sep}{users[0]}{sep}read"
    ]
    inputs += [
        log(size, among, spread)
        for size, among, spread in ((6, 1, 90), (10, 2, 120), (16, 3, 200), (30, 4, 300), (300, 4, 800))
    ]
    big = log(200, 4, 700)

    def counted(output: str) -> bool:
        *lines, last = output.splitlines()
        return (
            sum(int(line.rpartition(" ")[2]) for line in lines) == 200
            and last == f"visits: {len(lines)}"
            and len(lines) > 4
        )

    return scripts(statement, source, [log(7, 2, 80)], inputs, [("every-event-is-in-a-visit", big, counted)])


FAMILIES: tuple[Family, ...] = (
    Family("level-counts", "text", "easy", level_counts),
    Family("group-totals", "text", "medium", group_totals),
    Family("visits-of-a-day", "text", "medium", visits),
)
