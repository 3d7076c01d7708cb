"""Families of small packages with a bug, described as a user would: by its symptom.

Invariant: the submission is the whole package; the package as it is given fails at least two hidden tests and passes at
least two.
"""

from __future__ import annotations

import random
import sys
from collections.abc import Mapping, Sequence
from types import ModuleType
from typing import Any

from agentrl.envs.code.families.writing import prose
from agentrl.envs.code.task import Call, Family, Problem, Raises, Test


def answers(files: Mapping[str, str], calls: Sequence[Call]) -> list[Any]:
    """What a trusted package answers to calls `package.module:function`; it is not importable afterwards."""
    names = [path.removesuffix(".py").replace("/", ".").removesuffix(".__init__") for path in files]
    sources = dict(zip(names, files.values(), strict=True))
    before = {name: sys.modules.get(name) for name in names}
    try:
        modules = {name: ModuleType(name) for name in names}
        for name, module in modules.items():
            module.__package__ = name.rpartition(".")[0] or name
            if "." not in name:
                module.__path__ = []
        sys.modules.update(modules)
        # Modules that others need come first in `files`.
        for name in sorted(names, key=lambda name: "." in name):
            exec(compile(sources[name], name, "exec"), vars(modules[name]))
        found: list[Any] = []
        for call in calls:
            module_name, _, function = call.target.partition(":")
            try:
                found.append(getattr(modules[module_name], function)(*call.args))
            except Exception as error:
                found.append(Raises(type(error).__name__))
        return found
    finally:
        for name, module in before.items():
            if module is None:
                sys.modules.pop(name, None)
            else:
                sys.modules[name] = module


def broken(
    statement: str,
    fixed: Mapping[str, str],
    change: tuple[str, str, str],
    calls: Sequence[Call],
    example: Call,
) -> Problem:
    """A package with one piece of code exchanged.

    Args:
        change: path, the right code, the wrong code.
        example: a call that the wrong code answers wrongly; shown with what it should give.
    """
    path, right, wrong = change
    assert fixed[path].count(right) == 1, (path, right)
    files = {**fixed, path: fixed[path].replace(right, wrong)}
    expected, given = answers(fixed, calls), answers(files, calls)
    tests = tuple(
        Test(f"{call.target.partition(':')[2]}-{n}", (call,), (value,))
        for n, (call, value) in enumerate(zip(calls, expected, strict=True))
    )
    same = sum(repr(a) == repr(b) for a, b in zip(expected, given, strict=True))
    assert 2 <= same <= len(calls) - 2, (change, same, len(calls))
    [want], [have] = answers(fixed, [example]), answers(files, [example])
    assert repr(want) != repr(have), change
    shown = ", ".join(map(repr, example.args))
    report = f"{example.target.partition(':')[2]}({shown}) == {want!r}, but it gives {have!r}"
    if isinstance(have, Raises):
        report = f"{example.target.partition(':')[2]}({shown}) == {want!r}, but it raises {have.name}"
    listing = ", ".join(f"`{name}`" for name in fixed)
    text = f"{prose(statement)}\n\nFor example, this should hold (`{example.target.partition(':')[0]}`):\n\n    {report}\n\nFind the fault and mend it in the files ({listing}); keep all names and everything that works."
    return Problem(text, dict(fixed), tests, files, tuple(fixed))


def shop(rng: random.Random) -> Problem:
    name = rng.choice(("shop", "kiosk", "market", "bazaar"))
    rate, least, part = rng.choice((5, 8, 10)), rng.choice((3, 4, 5)), rng.choice((10, 15, 20))
    fixed = {
        f"{name}/__init__.py": f'"""A small {name}."""\n',
        f"{name}/money.py": '"""Money in cents."""\n\n\ndef percent(cents: int, rate: int) -> int:\n    """Rounded half up."""\n    return (cents * rate + 50) // 100\n\n\ndef shown(cents: int) -> str:\n    sign = "-" if cents < 0 else ""\n    return f"{sign}{abs(cents) // 100}.{abs(cents) % 100:02}"\n',
        f"{name}/cart.py": f'"""Carts: lists of (article, price in cents, count)."""\n\nfrom {name}.money import percent, shown\n\n\ndef merged(cart: list) -> list:\n    """One line for each article and price, in order of first occurrence."""\n    counts = {{}}\n    for article, price, count in cart:\n        counts[article, price] = counts.get((article, price), 0) + count\n    return [(article, price, count) for (article, price), count in counts.items() if count > 0]\n\n\ndef line_total(price: int, count: int) -> int:\n    """From {least} pieces on, {part} percent less."""\n    total = price * count\n    return total - percent(total, {part}) if count >= {least} else total\n\n\ndef total(cart: list) -> int:\n    net = sum(line_total(price, count) for _, price, count in merged(cart))\n    return net + percent(net, {rate})\n\n\ndef receipt(cart: list) -> str:\n    lines = [f"{{count}} x {{article}}: {{shown(line_total(price, count))}}" for article, price, count in merged(cart)]\n    return "\\n".join([*lines, f"total: {{shown(total(cart))}}"])\n',
    }
    bugs = [
        (
            (f"{name}/money.py", "(cents * rate + 50) // 100", "cents * rate // 100"),
            "Totals are sometimes a cent too low.",
            [("tea", 335, 1)],
        ),
        (
            (f"{name}/cart.py", f"if count >= {least} else", f"if count > {least} else"),
            "Some customers miss their reduction for buying many pieces.",
            [("tea", 200, least)],
        ),
        (
            (
                f"{name}/cart.py",
                "counts[article, price] = counts.get((article, price), 0) + count",
                "counts[article, price] = count",
            ),
            "Articles that are put into the cart twice are charged only once.",
            [("tea", 100, 1), ("tea", 100, 1)],
        ),
        (
            (f"{name}/money.py", "abs(cents) % 100:02", "abs(cents) % 100"),
            "Receipts show odd amounts.",
            [("tea", 100, 1), ("pin", 3, 1)],
        ),
        (
            (
                f"{name}/cart.py",
                "for (article, price), count in counts.items() if count > 0",
                "for (article, price), count in counts.items()",
            ),
            "Articles that were taken out again (by a negative count) still appear on the receipt.",
            [("tea", 150, 2), ("tea", 150, -2), ("jam", 250, 1)],
        ),
    ]
    change, symptom, cart = rng.choice(bugs)
    articles = ["tea", "jam", "soap", "rice", "pin"]
    carts: list[list[tuple[str, int, int]]] = [
        [
            (rng.choice(articles), rng.choice((100, 103, 333, 249, 5)), rng.randint(1, least + 1))
            for _ in range(rng.randint(1, 6))
        ]
        for _ in range(5)
    ]
    carts += [
        [],
        [("rice", 100, 2)],
        [("rice", 333, 1)],
        [("rice", 120, least)],
        [("jam", 50, 1), ("jam", 50, 2)],
        [("jam", 7, 1), ("pin", 301, 1)],
        [("jam", 90, 1), ("jam", 90, -1), ("pin", 40, 1)],
        [("soap", 70, 3), ("soap", 70, -3)],
        [("rice", 335, 1), ("jam", 5, -2)],
        [("soap", 40, 1), ("soap", 40, 2)],
        [("pin", 500, least)],
        [("pin", 245, 1)],
    ]
    calls = [Call(f"{name}.cart:receipt", (one,)) for one in carts] + [
        Call(f"{name}.money:shown", (n,)) for n in (-1205, 1250)
    ]
    calls += [Call(f"{name}.cart:line_total", (101, 1))]
    statement = f"The package `{name}/` computes receipts of carts. {symptom}"
    return broken(statement, fixed, change, calls, Call(f"{name}.cart:receipt", (cart,)))


def library(rng: random.Random) -> Problem:
    name = rng.choice(("library", "archive", "toolpool"))
    days, fee, most = rng.choice((7, 14, 21)), rng.choice((10, 20, 25)), rng.choice((300, 500))
    fixed = {
        f"{name}/__init__.py": f'"""Loans of a {name}."""\n',
        f"{name}/dates.py": '"""Dates as ISO text."""\n\nfrom datetime import date, timedelta\n\n\ndef add(day: str, days: int) -> str:\n    return (date.fromisoformat(day) + timedelta(days)).isoformat()\n\n\ndef between(first: str, last: str) -> int:\n    """Days from the first to the last; negative if it is earlier."""\n    return (date.fromisoformat(last) - date.fromisoformat(first)).days\n',
        f"{name}/loans.py": f'"""Loans: tuples (item, person, day lent, day returned or \'\')."""\n\nfrom {name}.dates import add, between\n\nDAYS, FEE, MOST = {days}, {fee}, {most}\n\n\ndef due(lent: str) -> str:\n    return add(lent, DAYS)\n\n\ndef fee(lent: str, returned: str) -> int:\n    """Cents: FEE for each day after the due day, at most MOST."""\n    late = max(0, between(due(lent), returned))\n    return min(MOST, late * FEE)\n\n\ndef debts(loans: list, today: str) -> list:\n    """(person, cents) of all who owe something, by person; loans that are still out count until today."""\n    owed = {{}}\n    for _, person, lent, returned in loans:\n        owed[person] = owed.get(person, 0) + fee(lent, returned or today)\n    return sorted((person, cents) for person, cents in owed.items() if cents)\n\n\ndef out(loans: list, today: str) -> list:\n    """Items that are out on a day, sorted, overdue ones marked with a star."""\n    found = []\n    for item, _, lent, returned in loans:\n        if lent <= today and (not returned or returned > today):\n            found.append(item + ("*" if today > due(lent) else ""))\n    return sorted(found)\n',
    }
    late = (("saw", "Ann", "2024-03-01", ""),)
    twice = [("saw", "Ann", "2024-01-01", "2024-03-20"), ("axe", "Ann", "2024-01-01", "2024-03-20")]
    bugs: list[tuple[tuple[str, str, str], str, Call]] = [
        (
            (f"{name}/loans.py", "owed.get(person, 0) + fee(", "fee("),
            "People who are late with several items pay for one only.",
            Call(f"{name}.loans:debts", (twice, "2024-04-01")),
        ),
        (
            (f"{name}/loans.py", "returned or today", "returned or due(lent)"),
            "Whoever never brings an item back owes nothing.",
            Call(f"{name}.loans:debts", (list(late), "2024-05-01")),
        ),
        (
            (f"{name}/loans.py", "returned > today", "returned >= today"),
            "Items are shown as out on the day on which they were brought back.",
            Call(f"{name}.loans:out", ([("saw", "Ann", "2024-03-01", "2024-03-05")], "2024-03-05")),
        ),
        (
            (f"{name}/loans.py", "today > due(lent)", "today >= due(lent)"),
            "Items are marked as overdue a day too early.",
            Call(f"{name}.loans:out", ([("saw", "Ann", "2024-03-01", "")], f"2024-03-{1 + days:02}")),
        ),
        (
            (f"{name}/dates.py", "+ timedelta(days)", "+ timedelta(days - 1)"),
            "Due days come a day too early.",
            Call(f"{name}.loans:due", ("2024-02-20",)),
        ),
    ]
    change, symptom, example = rng.choice(bugs)

    def some() -> list[tuple[str, str, str, str]]:
        found = []
        for item in rng.sample(["axe", "saw", "drill", "lamp", "rope", "vise"], rng.randint(3, 6)):
            start = f"2024-0{rng.randint(1, 3)}-{rng.randint(1, 28):02}"
            end = f"2024-0{rng.randint(4, 5)}-{rng.randint(1, 28):02}" if rng.random() < 0.5 else ""
            found.append((item, rng.choice(["Ann", "Bo", "Cy"]), start, end))
        return found

    edge = [("axe", "Bo", "2024-03-01", "2024-03-08"), ("lamp", "Cy", "2024-03-02", "")]
    calls = [Call(f"{name}.loans:debts", (some(), "2024-06-01")) for _ in range(3)]
    calls += [
        Call(f"{name}.loans:debts", ([], "2024-06-01")),
        Call(
            f"{name}.loans:debts",
            ([("axe", "Bo", "2024-03-01", ""), ("saw", "Bo", "2024-03-01", "")], "2024-06-01"),
        ),
    ]
    calls += [
        Call(f"{name}.loans:out", (edge, "2024-03-08")),
        Call(f"{name}.loans:out", (edge, f"2024-03-{2 + days:02}")),
        Call(f"{name}.loans:out", (some(), "2024-06-01")),
    ]
    calls += [
        Call(f"{name}.loans:out", ([("axe", "Bo", "2024-05-01", "2024-05-09")], "2024-05-09")),
        Call(f"{name}.loans:out", ([], "2024-01-01")),
    ]
    calls += [
        Call(f"{name}.loans:due", ("2023-12-20",)),
        Call(f"{name}.loans:due", ("2024-02-28",)),
        Call(f"{name}.dates:between", ("2024-02-28", "2024-03-01")),
        Call(f"{name}.dates:between", ("2024-03-01", "2024-02-28")),
    ]
    calls += [Call(f"{name}.loans:out", ([("axe", "Bo", "2024-04-01", "")], f"2024-04-{1 + days:02}"))]
    return broken(
        f"The package `{name}/` keeps account of what is lent. {symptom}", fixed, change, calls, example
    )


def scores(rng: random.Random) -> Problem:
    name = rng.choice(("league", "contest", "cup"))
    win, draw = rng.choice(((3, 1), (2, 1), (4, 2)))
    fixed = {
        f"{name}/__init__.py": f'"""Tables of a {name}."""\n',
        f"{name}/reading.py": '"""Results as text: `home 2:1 away`, one a line; empty lines and lines that begin with # do not count."""\n\n\ndef results(text: str) -> list:\n    found = []\n    for line in text.splitlines():\n        line = line.strip()\n        if not line or line.startswith("#"):\n            continue\n        home, goals, away = line.split()\n        first, second = goals.split(":")\n        found.append((home, int(first), int(second), away))\n    return found\n',
        f"{name}/table.py": f'"""The table: (team, points, difference, goals), best first."""\n\nfrom {name}.reading import results\n\n\ndef points(own: int, other: int) -> int:\n    if own == other:\n        return {draw}\n    return {win} if own > other else 0\n\n\ndef table(text: str) -> list:\n    rows = {{}}\n    for home, first, second, away in results(text):\n        for team, own, other in ((home, first, second), (away, second, first)):\n            before = rows.get(team, (0, 0, 0))\n            rows[team] = (before[0] + points(own, other), before[1] + own - other, before[2] + own)\n    order = sorted(rows.items(), key=lambda row: (-row[1][0], -row[1][1], -row[1][2], row[0]))\n    return [(team, *numbers) for team, numbers in order]\n\n\ndef leader(text: str) -> str:\n    """The first of the table, or an empty text without results."""\n    rows = table(text)\n    return rows[0][0] if rows else ""\n',
    }
    bugs = [
        (
            (
                f"{name}/table.py",
                "((home, first, second), (away, second, first))",
                "((home, first, second), (away, first, second))",
            ),
            "Guests get the points of their hosts.",
            "elm 2:0 oak",
        ),
        (
            (f"{name}/table.py", "-row[1][1], -row[1][2], row[0]", "row[1][1], -row[1][2], row[0]"),
            "Of teams with the same points the wrong one is first.",
            "elm 1:0 oak\nfir 4:0 ash",
        ),
        (
            (f"{name}/table.py", "before[1] + own - other", "own - other"),
            "Goal differences are wrong for teams that played several times.",
            "elm 3:0 oak\nelm 1:0 fir",
        ),
        (
            (f"{name}/reading.py", 'if not line or line.startswith("#")', "if not line"),
            "Results with comment lines cannot be read.",
            "# spring day\nelm 1:1 oak",
        ),
        (
            (f"{name}/table.py", "-row[1][2], row[0]", "-row[1][2]"),
            "Teams that are equal in everything are not in alphabetical order.",
            "oak 1:1 elm",
        ),
        ((f"{name}/table.py", f"return {draw}\n", "return 0\n"), "Draws are not rewarded.", "elm 1:1 oak"),
    ]
    change, symptom, text = rng.choice(bugs)
    teams = ["ash", "elm", "fir", "oak", "yew"]

    def some(games: int, comments: bool = False) -> str:
        lines = []
        for _ in range(games):
            home, away = rng.sample(teams, 2)
            lines.append(f"{home} {rng.randint(0, 3)}:{rng.randint(0, 3)} {away}")
            if comments:
                lines.append(rng.choice(("", "# a note", "   ")))
        return "\n".join([*lines, "# end"] if comments else lines)

    texts = [
        some(3),
        some(6),
        some(9),
        some(14),
        some(5, True),
        some(8, True),
        "yew 2:2 ash",
        "yew 2:2 ash\nfir 2:2 elm",
        "fir 0:2 yew\noak 0:1 ash",
        "fir 1:0 yew\nfir 2:0 ash\noak 3:0 elm",
    ]
    calls = [Call(f"{name}.table:table", (one,)) for one in texts]
    calls += [Call(f"{name}.table:leader", (one,)) for one in ("", "oak 5:0 elm")] + [
        Call(f"{name}.table:points", (2, 1)),
        Call(f"{name}.table:points", (0, 1)),
    ]
    calls += [
        Call(f"{name}.reading:results", ("elm 10:0 oak\n\n",)),
        Call(f"{name}.reading:results", ("# x\n elm 1:2 oak",)),
        Call(f"{name}.table:table", ("# a\n# b",)),
        Call(f"{name}.table:points", (1, 1)),
        Call(f"{name}.table:table", ("oak 0:0 ash",)),
    ]
    return broken(
        f"The package `{name}/` makes a table from results. {symptom}",
        fixed,
        change,
        calls,
        Call(f"{name}.table:table", (text,)),
    )


FAMILIES = (
    Family("mend-receipts", "bugfix", "medium", shop),
    Family("mend-loans", "bugfix", "hard", library),
    Family("mend-tables", "bugfix", "easy", scores),
)
