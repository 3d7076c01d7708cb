"""Families about parsing structured text: quoted fields and sections.

Invariant: a statement says of every malformed input that is tested which error it raises.
"""

from __future__ import annotations

import random

from agentrl.envs.code.families.writing import FOREIGN, WORDS, fill, functions, letters, words
from agentrl.envs.code.task import Family, Problem


def quoted_fields(rng: random.Random) -> Problem:
    sep, quote, mark = rng.choice(",;|\t:"), rng.choice("\"'`*"), rng.choice("\\^~")
    doubled, trim = rng.random() < 0.5, rng.random() < 0.5
    source = fill(
        """
        def fields(line: str) -> list[str]:
            result, index = [], 0
            while True:
                if <<trim>>:
                    while index < len(line) and line[index] == " ":
                        index += 1
                if index < len(line) and line[index] == <<quote!r>>:
                    value, index = quoted(line, index + 1)
                    if <<trim>>:
                        while index < len(line) and line[index] == " ":
                            index += 1
                    if index < len(line) and line[index] != <<sep!r>>:
                        raise ValueError(f"text behind a quote at {index}")
                else:
                    end = line.find(<<sep!r>>, index)
                    end = len(line) if end < 0 else end
                    value = line[index:end]<<strip>>
                    if <<quote!r>> in value:
                        raise ValueError("a quote inside of a plain field")
                    index = end
                result.append(value)
                if index == len(line):
                    return result
                index += 1


        def quoted(line: str, index: int) -> tuple[str, int]:
            value = ""
            while index < len(line):
                if <<special>>:
                    if index + 1 == len(line):
                        break
                    value += line[index + 1]
                    index += 2
                elif line[index] == <<quote!r>>:
                    return value, index + 1
                else:
                    value += line[index]
                    index += 1
            raise ValueError("a quote is not closed")
        """,
        trim=trim, quote=quote, sep=sep, strip=".rstrip(' ')" if trim else "",
        special=f"line[index : index + 2] == {quote * 2!r}" if doubled else f"line[index] == {mark!r}",
    )  # fmt: skip
    seen = "the tab character" if sep == "\t" else f"`{sep}`"
    escape = (
        f"two {quote} in a row stand for one"
        if doubled
        else f"`{mark}` makes the next character, whichever, stand for itself (and is itself dropped)"
    )
    spaces = (
        "Spaces around a field (outside of its quotes) are removed."
        if trim
        else "Spaces are part of a field, so a quote counts as the first character only directly after the separator."
    )
    statement = f"""
    Write `fields(line: str) -> list[str]` in `solution.py`. It cuts a line into the fields that {seen} separates.

    {spaces} A field whose first character is {quote} is quoted: it goes on to the next closing {quote}, the quotes do not belong to its
    value, and a separator within is an ordinary character. Within a quoted field {escape}. All other fields are plain and
    taken literally{"" if doubled else f" (`{mark}` has no meaning there)"}.

    An empty line is one empty field, and a separator at the end is followed by an empty field. `ValueError` is raised for a quote that is not closed, for anything
    but a separator{" (after spaces)" if trim else ""} behind a closing quote, and for a {quote} inside of a plain field.
    """
    q, e = quote, quote * 2 if doubled else mark + quote

    def write(value: str) -> str:
        if not doubled:
            value = value.replace(mark, mark * 2)
        return q + value.replace(q, e) + q

    def value(size: int) -> str:
        return letters(rng, "ab" + sep + q + mark + " é", size)

    rows = [[value(rng.randint(0, 9)) for _ in range(size)] for size in (2, 4, 9, 150)]
    plain = words(rng, 40, [*WORDS, *FOREIGN, ""])
    mixed = sep.join(f"  {p} " if i % 3 else write(p) for i, p in enumerate(plain[:12]))
    faults = [
        q,
        f"a{sep}{q}b",
        f"{q}a{q}b",
        f"a{q}",
        f"a{sep}b{q}c{q}",
        f"{q}a{q}{sep}{q}",
        f"{q}{q} x",
        f"{q}a{e}",
        f"x{q}y{sep}z",
    ]
    return functions(
        statement,
        source,
        [("fields", f"tea{sep}{q}a{sep}b{q}{sep} c"), ("fields", f"{write('x' + q + 'y')}{sep}"), ("fields", f"{q}open")],
        [
            [("fields", ""), ("fields", sep * 3)], ("fields", sep.join(plain)), ("fields", mixed), [("fields", q + q), ("fields", write(q * 3))],
            *(("fields", sep.join(map(write, row))) for row in rows[:3]), [("fields", text) for text in faults],
            ("fields", f"a{mark}{sep}{mark}b{sep}{write(mark)}"), [("fields", f"  a b  {sep} {q} c {q} {sep}  "), ("fields", f" {q}x{q}")],
        ],
        [("reads-what-was-quoted", [("fields", sep.join(map(write, rows[3])))], lambda answers: answers[0] == rows[3])],
    )  # fmt: skip


def sections(rng: random.Random) -> Problem:
    left, right = rng.choice(["[]", "<>", "{}", "()"])
    eq, note, over = (
        rng.choice(["=", ":", "->"]),
        rng.choice(["#", ";", "//", "--"]),
        rng.choice(["<", ":", "|", "from"]),
    )
    default = rng.choice(["common", "default", "global", "base"])
    yes, no = rng.choice([("yes", "no"), ("on", "off"), ("true", "false")])
    typed = rng.random() < 0.6
    source = fill(
        """
        import re


        def settings(text: str) -> dict[str, dict]:
            result: dict[str, dict] = {}
            current = <<default!r>>
            for number, line in enumerate(text.split("\\n"), 1):
                line = line.strip()
                if not line or line.startswith(<<note!r>>):
                    continue
                if line.startswith(<<left!r>>):
                    match = re.fullmatch("([a-z]+)(?: <<over>> ([a-z]+))?", line[1:-1])
                    if not match or not line.endswith(<<right!r>>):
                        raise ValueError(f"line {number}: bad section")
                    current = match[1]
                    if current in result:
                        raise ValueError(f"line {number}: section again")
                    if match[2] is not None and match[2] not in result:
                        raise KeyError(match[2])
                    result[current] = dict(result[match[2]]) if match[2] else {}
                    continue
                key, mark, value = line.partition(<<eq!r>>)
                if not mark or not key.strip():
                    raise ValueError(f"line {number}: no key and value")
                result.setdefault(current, {})[key.strip()] = typed(value.strip())
            return result


        def typed(value: str):
            if <<typed>>:
                if value in (<<yes!r>>, <<no!r>>):
                    return value == <<yes!r>>
                if re.fullmatch("-?[0-9]+", value):
                    return int(value)
            return value
        """,
        left=left, right=right, eq=eq, note=note, over="[|]" if over == "|" else over, default=default, yes=yes, no=no, typed=typed,
    )  # fmt: skip
    values = (
        f"The value `{yes}` becomes True and `{no}` False (only in this case), an optional `-` and ASCII digits an `int`; other values are strings."
        if typed
        else "All values are strings."
    )
    statement = f"""
    Write `settings(text: str) -> dict[str, dict]` in `solution.py`. Lines are separated by line feeds; white space around a line is ignored, and so are
    empty lines and lines that begin with `{note}` (a `{note}` further right is no comment).

    A line that begins with `{left}` opens a section: `{left}name{right}`, or `{left}name {over} parent{right}` (single spaces, names are one or more letters a to z).
    The second form begins as a copy of what an earlier section `parent` holds when it is read. Every other line is `key {eq} value`: the first `{eq}`
    counts, white space around key and value is ignored, a later line for a key replaces the value. {values} Keys before the
    first section belong to the section `{default}`, which exists only if there are such keys or it is opened. Sections without keys are kept.

    `ValueError` is raised for a malformed section line, a section that exists already, a line without `{eq}` and an empty key; `KeyError` for a
    parent that does not exist. The first fault decides.
    """

    def entry() -> str:
        blank = rng.choice(["", " "])
        return f"{rng.choice(WORDS)}{blank}{eq}{blank}{rng.choice([*WORDS, yes, no, '7', '-12', '', '4.5', '007', yes.upper(), 'a ' + eq + ' b', 'x ' + note])}"

    def text(size: int) -> str:
        lines, names = [entry() for _ in range(rng.randint(0, 2))], []
        for name in rng.sample([w for w in WORDS if w.islower()], size):
            parent = f" {over} {rng.choice(names)}" if names and rng.random() < 0.6 else ""
            lines += [
                "",
                f"{left}{name}{parent}{right}",
                *(entry() for _ in range(rng.randint(0, 3))),
                f"  {note} {entry()}",
            ]
            names.append(name)
        return "\n".join(lines)

    a = f"k {eq} 1\n"
    faults = [
        f"{left}a",
        f"{left}{right}",
        f"{left}A{right}",
        f"{left}a{right}\n{left}a{right}",
        f"{a}word",
        f"{a}{eq} 2",
        f"{left}a  {over} b{right}",
        f"{left}b {over}{right}",
    ]
    missing = [
        f"{left}a {over} b{right}",
        f"{left}a{right}\n{left}b {over} c{right}\n{left}c{right}",
        f"{left}a {over} a{right}",
        f"{left}x {over} {default}{right}",
    ]
    chain = "\n".join(
        [f"{left}a{right}", f"n{eq}0"]
        + [f"{left}{'b' * i} {over} {'b' * (i - 1) or 'a'}{right}\nk{'x' * i}{eq}v" for i in range(1, 60)]
    )
    return functions(
        statement,
        source,
        [
            ("settings", f"{left}low{right}\nsize {eq} 4\nopen{eq}{yes}\n{left}high {over} low{right}\nsize {eq} 9"),
            ("settings", f"{note} nothing\nkey{eq} a{eq}b"), ("settings", f"{left}x {over} y{right}"),
        ],
        [
            [("settings", ""), ("settings", f"\n{note}\n"), ("settings", f"{left}a{right}")], ("settings", f"{a}{left}{'q'}{right}\n\n{left}p {over} {default}{right}"),
            [("settings", f) for f in faults], [("settings", f) for f in missing], ("settings", f"{a}{left}{default}{right}"),
            ("settings", f"{left}a{right}\nk{eq}1\n{left}b {over} a{right}\nk{eq}2\nj{eq}3\n{left}c {over} b{right}\n k {eq}\n{left}d {over} a{right}"),
            *(("settings", text(size)) for size in (1, 2, 4, 8)),
        ],
        [("copies-along-a-chain", [("settings", chain)], lambda x: [len(s) for s in x[0].values()] == list(range(1, 61)) and list(x[0]) == ["a", *("b" * i for i in range(1, 60))] and x[0]["b" * 59]["kx"] == "v")],
    )  # fmt: skip


FAMILIES: tuple[Family, ...] = (
    Family("quoted-fields", "parsing", "medium", quoted_fields),
    Family("inheriting-sections", "parsing", "medium", sections),
)
