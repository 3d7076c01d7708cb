"""Families of scripts that compare lines: folded repetitions and joined tables.

Invariant: `report(text)` of the reference gives the output of the script, so that expectations need no process.
"""

from __future__ import annotations

import random

from agentrl.envs.code.families.text_reports import SCRIPT, script
from agentrl.envs.code.families.writing import FOREIGN, WORDS, letters, scripts
from agentrl.envs.code.task import Family, Problem


def joined_tables(rng: random.Random) -> Problem:
    sep, divider = rng.choice([",", ";", "|", ":"]), rng.choice(["---", "===", "%%", "***"])
    missing = rng.choice(["?", "none", "-", "n/a"])
    left_too, right_too = rng.random() < 0.5, rng.random() < 0.5
    out, numeric = rng.choice([" ", " / ", "\t", " > "]), rng.random() < 0.5
    source = script(
        """
        def report(text: str) -> str:
            lines = [line.strip() for line in text.splitlines()]
            if lines.count(<<divider!r>>) != 1:
                return "error: one divider expected"
            middle = lines.index(<<divider!r>>)
            tables = []
            for part in (lines[:middle], lines[middle + 1 :]):
                table: dict[str, list[str]] = {}
                for line in part:
                    if line:
                        key, _, value = line.partition(<<sep!r>>)
                        table.setdefault(key.strip(), []).append(value.strip())
                tables.append(table)
            left, right = tables
            rows = []
            for key in set(left) | set(right):
                if (key in left or <<right_too>>) and (key in right or <<left_too>>):
                    for one in left.get(key, [<<missing!r>>]):
                        for two in right.get(key, [<<missing!r>>]):
                            rows.append((key, one, two))
            rows.sort(key=lambda row: <<key>>)
            return "\\n".join(<<out!r>>.join(row) for row in rows) or "nothing"
        """,
        divider=divider, sep=sep, right_too=right_too, left_too=left_too, missing=missing, out=out, key="int(row[0])" if numeric else "row[0]",
    )  # fmt: skip
    kept = {
        (False, False): "Keys that only one table has are left out.",
        (
            True,
            True,
        ): f"Keys that only one table has are printed too, with `{missing}` in place of the other value.",
        (
            True,
            False,
        ): f"Keys that only the first table has are printed too, with `{missing}` as second value; keys that only the second has are left out.",
        (
            False,
            True,
        ): f"Keys that only the second table has are printed too, with `{missing}` as first value; keys that only the first has are left out.",
    }[left_too, right_too]
    statement = f"""
    {SCRIPT} The input is two tables with a line `{divider}` between them. White space around lines is ignored and so are empty lines. Every other line is a key{" (ASCII digits)" if numeric else ""}, `{sep}` and
    a value; the first `{sep}` counts and white space around keys and values is ignored.

    Join the tables on equal keys{", compared as text" if numeric else ""}: for each key print one line `key{out}first{out}second` for every pair of a value of the first table and a value of the second{" (here the gaps are tabs)" if out == chr(9) else ""}. {kept}

    Sort the lines by key, {"by its integer value (no two different keys have the same)" if numeric else "by code points"}; for one key, go through the values of the first table in the order of the input and, for each of them, through those of the second.
    Print `nothing` if there is no line to print, and only `error: one divider expected` if the input does not have exactly one line `{divider}`.
    """
    keys = (
        [str(n) for n in rng.sample(range(1, 300), 8)]
        if numeric
        else [*rng.sample(WORDS, 6), *rng.sample(FOREIGN, 2)]
    )

    def rows(size: int, among: list[str]) -> list[str]:
        return [
            f"{rng.choice(['', ' '])}{rng.choice(among)}{sep} {rng.choice(WORDS)}{rng.choice(['', sep + 'x', ' y'])}"
            for _ in range(size)
        ]

    def tables(a: int, b: int) -> str:
        return "\n".join([*rows(a, keys[:6]), "" * (a % 2), divider, *rows(b, keys[2:])])

    disjoint = "\n".join([*rows(3, keys[:2]), f" {divider} ", *rows(3, keys[2:4])])
    inputs = [
        "",
        divider,
        f"{divider}\n{divider}",
        f"{tables(2, 2)}\n{divider}\n",
        disjoint,
        "\n".join(rows(3, keys)),
        f"{keys[0]}{sep}\n{divider}\n{keys[0]}{sep}b\n{keys[0]}{sep}a\n\n{keys[0]}{sep}b",
    ]
    inputs += [tables(a, b) for a, b in ((1, 9), (9, 1), (5, 5), (8, 8), (30, 20))]
    cross = "\n".join(
        [f"{keys[0]}{sep}l{i}" for i in range(12)] + [divider] + [f"{keys[0]}{sep}r{i}" for i in range(15)]
    )
    pairs = [out.join((keys[0], f"l{i}", f"r{j}")) for i in range(12) for j in range(15)]
    return scripts(
        statement,
        source,
        [tables(4, 4)],
        inputs,
        [("all-pairs", cross, lambda output: output.splitlines() == pairs)],
    )


def once_only(rng: random.Random) -> Problem:
    names = {"case": rng.random() < 0.5, "space": rng.random() < 0.5, "digits": rng.random() < 0.5}
    if not any(names.values()):
        names["space"] = True
    adjacent, last = rng.random() < 0.4, rng.random() < 0.5
    front, least = rng.random() < 0.5, rng.randint(1, 2)
    mark = rng.choice(["x", "*", ":", " times"])
    rules, code = [], "line"
    if names["space"]:
        rules.append(
            "white space at both ends does not matter and any white space within counts as one space"
        )
        code = "' '.join(line.split())"
    if names["case"]:
        rules.append("case does not matter (`str.lower()`)")
        code += ".lower()"
    if names["digits"]:
        rules.append("every run of ASCII digits counts as one `0`")
        code = f"re.sub('[0-9]+', '0', {code})"
    source = "import re\n" + script(
        """
        def report(text: str) -> str:
            groups: list[list[str]] = []
            places: dict[str, int] = {}
            for line in text.splitlines():
                if not line.strip():
                    continue
                key = <<code>>
                if key not in places<<adjacent>>:
                    places[key] = len(groups)
                    groups.append([])
                groups[places[key]].append(line.rstrip())
            shown = [(group[<<which>>], len(group)) for group in groups if len(group) >= <<least>>]
            lines = [f"<<form>>" for line, count in shown]
            return "\\n".join([*lines, f"{len(shown)} of {sum(map(len, groups))}"])
        """,
        code=code, adjacent=" or places[key] != len(groups) - 1" if adjacent else "", which=-1 if last else 0, least=least,
        form=f"{{count}}{mark} {{line}}" if front else f"{{line}} {{count}}{mark}",
    )  # fmt: skip
    statement = f"""
    {SCRIPT} It folds repeated lines. Lines of white space only are ignored.

    Two lines are alike if they are equal after these rules: {"; ".join(rules)}. {"Only lines that follow each other directly (ignored lines do not count) form a group" if adjacent else "All lines of the input that are alike form a group, wherever they are"}; groups are
    ordered by their first line.

    For each group {"of two or more lines " if least == 2 else ""}print its {"last" if last else "first"} line as it is in the input, without white space at its end, {"preceded by" if front else "followed by"} the number of its lines in the form `{f"3{mark} line" if front else f"line 3{mark}"}`. Finally
    print `n of m`, where n is the number of groups printed and m the number of lines that were not ignored; for empty input this is `0 of 0`.
    """
    stems = [
        "open file 12",
        "Open file 3",
        "open  file 12",
        " open file 7 ",
        "retry",
        "RETRY",
        "retry ",
        "node7 up",
        "node12 up",
        "Node7 up",
        "é 1",
        "É 1",
    ]

    def log(size: int) -> str:
        lines: list[str] = []
        while len(lines) < size:
            lines += rng.sample(stems, 1) * rng.choice([1, 1, 2, 3])
        return "\n".join(lines[:size])

    unique = [letters(rng, "abcdef", 6) + chr(97 + i % 26) * (1 + i // 26) for i in range(100)]
    inputs = ["", "\n \n", "a", *(log(size) for size in (2, 4, 6, 9, 14, 40, 300)), "b\n\nb\nc\nb"]

    def folded(output: str) -> bool:
        lines = output.splitlines()
        return (
            lines[-1] == "100 of 300"
            and [f"3{mark} {u}" if front else f"{u} 3{mark}" for u in unique] == lines[:-1]
        )

    return scripts(
        statement,
        source,
        [log(8)],
        inputs,
        [("three-of-each", "\n".join(u for u in unique for _ in range(3)), folded)],
    )


FAMILIES: tuple[Family, ...] = (
    Family("fold-repeated-lines", "text", "easy", once_only),
    Family("joined-tables", "text", "medium", joined_tables),
)
