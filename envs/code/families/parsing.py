"""Easy families about parsing: pairs, spans of time, ranges and fixed columns.

Invariant: a statement says of every malformed input that is tested which error it raises.
"""

from __future__ import annotations

import random
from typing import Any

from agentrl.envs.code.families.writing import FOREIGN, WORDS, fill, functions, letters, words
from agentrl.envs.code.task import Family, Problem, load


def pairs_line(rng: random.Random) -> Problem:
    sep, eq = rng.sample(";,|&/", 1)[0], rng.choice([":", "=", "->", ":=", "~"])
    lower = rng.random() < 0.5
    twice, code = rng.choice(
        [
            ("the last value counts, at the place of the first", "result[key] = value"),
            ("the first value counts", "result.setdefault(key, value)"),
            ("`KeyError` is raised", "result[key] = value if key not in result else fail(key)"),
            (
                "the values are joined by `+` in order",
                "result[key] = result[key] + '+' + value if key in result else value",
            ),
        ]
    )
    bare, flag = rng.choice(
        [
            ("`ValueError` is raised", None),
            ("its value is `'yes'`", "yes"),
            ("its value is the empty string", ""),
            ("its value is `'on'`", "on"),
        ]
    )
    source = fill(
        """
        def parse(line: str) -> dict[str, str]:
            result: dict[str, str] = {}
            for part in line.split(<<sep!r>>):
                if not part.strip():
                    continue
                key, mark, value = part.partition(<<eq!r>>)
                key, value = key.strip()<<lower>>, value.strip()
                if not mark:
                    value = <<flag>>
                if not key:
                    raise ValueError(f"no key in {part!r}")
                <<code>>
            return result


        def fail(key: str) -> str:
            raise KeyError(key)


        def missing(part: str) -> str:
            raise ValueError(f"no value in {part!r}")
        """,
        sep=sep, eq=eq, lower=".lower()" if lower else "", code=code,
        flag="missing(part)" if flag is None else repr(flag),
    )  # fmt: skip
    statement = f"""
    Write `parse(line: str) -> dict[str, str]` in `solution.py`.

    The line consists of parts separated by `{sep}`. Parts that are empty or all white space are skipped. A part is a key, `{eq}`
    and a value; the first `{eq}` of the part counts, further ones belong to the value. White space around keys and values is
    removed{" and keys are turned into lower case" if lower else "; keys keep their case"}. If a part has no `{eq}`, it is a key alone: {bare}. An empty key raises
    `ValueError`, an empty value after `{eq}` is an empty string. If a key occurs again, {twice}. The keys of the
    result are in the order of their first occurrence. Parts are handled from left to right and the first fault decides.
    """

    def line(size: int) -> str:
        keys = rng.sample([*WORDS, *FOREIGN], size)
        return f"{rng.choice(['', ' '])}{sep} ".join(
            f"{key}{rng.choice(['', ' '])}{eq} {value}"
            for key, value in zip(keys, words(rng, size, [*WORDS, "", "7", "a b"]), strict=True)
        )

    texts: list[Any] = [
        [("parse", ""), ("parse", f" {sep}{sep} x{eq}1 {sep}")],
        ("parse", f"A{eq}1{sep}a{eq}2{sep}A{eq}3{sep}b{eq}4"),
    ]
    texts += [
        ("parse", f"url{eq}x{eq}y{eq}{sep}k{eq}{sep}z{eq} "),
        ("parse", f"Solo{sep}b{eq}2"),
        [("parse", f"{eq}1"), ("parse", f"a{eq}1{sep} {eq} {sep}b")],
    ]
    texts += [
        ("parse", f"x{eq}1{sep}y{eq}2{sep}x{eq}1{sep}\tx\t{eq}\t3"),
        *(("parse", line(size)) for size in (1, 3, 5, 8, 20)),
    ]
    long = {f"{w}{i}": v for i, (w, v) in enumerate(zip(words(rng, 80), words(rng, 80), strict=True))}
    text = sep.join(f" {k} {eq}{v}" for k, v in long.items())
    wanted = {(k.lower() if lower else k): v for k, v in long.items()}
    return functions(
        statement,
        source,
        [("parse", f"Name{eq} fig {sep} size{eq}3{eq}4"), ("parse", f"a{eq}1{sep} b{eq}2{sep}a {eq}5"), ("parse", f"q{eq}1{sep}go")],
        [*texts, [("parse", f"a{eq}1{sep}b"), ("parse", f"b{sep}a"), ("parse", f"b{sep}b{eq}x")]],
        [("reads-what-was-written", [("parse", text)], lambda answers: list(answers[0].items()) == list(wanted.items()))],
    )  # fmt: skip


def spans(rng: random.Random) -> Problem:
    names = rng.sample(["k", "w", "h", "m", "p", "t", "z", "q"], 4)
    factors = [rng.choice([4, 5, 6, 8, 10, 12, 24, 60]) for _ in range(3)]
    values = [1, factors[0], factors[0] * factors[1], factors[0] * factors[1] * factors[2]]
    units = dict(zip(names[::-1], values[::-1], strict=True))
    spaced, ordered = rng.random() < 0.5, rng.random() < 0.6
    zero = f"0{names[0]}"
    source = fill(
        """
        import re

        UNITS = <<units!r>>


        def count(text: str) -> int:
            if not re.fullmatch(r"<<blank>>(?:[0-9]+<<blank>>[<<letters>>]<<blank>>)+", text):
                raise ValueError(f"not a span: {text!r}")
            found = re.findall("([0-9]+) *([a-z])", text)
            places = [list(UNITS).index(unit) for _, unit in found]
            if len(set(places)) < len(places) or (<<ordered>> and places != sorted(places)):
                raise ValueError(f"units of {text!r}")
            return sum(int(number) * UNITS[unit] for number, unit in found)


        def write(total: int) -> str:
            if total < 0:
                raise ValueError("negative")
            parts = []
            for unit, size in UNITS.items():
                number, total = divmod(total, size)
                if number:
                    parts.append(f"{number}{unit}")
            return "<<glue>>".join(parts) or <<zero!r>>
        """,
        units=units, blank=" *" if spaced else "", letters="".join(names), ordered=ordered, zero=zero, glue=" " if spaced else "",
    )  # fmt: skip
    rule = "in descending order of size" if ordered else "in any order"
    statement = f"""
    Write `count(text: str) -> int` and `write(total: int) -> str` in `solution.py`. A span is measured in four units:
    {", ".join(f"one `{a}` is {factors[i]} `{b}`" for i, (a, b) in enumerate(zip(names[1:], names, strict=False)))}, and `{names[0]}` is the smallest.

    `count` reads one or more pairs of a number (ASCII digits, leading zeros allowed) and the letter of a unit, {rule},
    each unit at most once{"; any number of spaces (but no other white space) may stand before, between and after numbers and letters" if spaced else ", without any white space"}. It
    returns the span in `{names[0]}`; a number may exceed the next unit. Everything else raises `ValueError`: an empty text, a sign, a
    fraction, another letter or case, a unit twice{", a wrong order" if ordered else ""}.

    `write` returns the shortest form of a span given in `{names[0]}`: the largest units first, each number less than what makes up the next
    larger unit, units with number 0 left out, {"one space between the pairs" if spaced else "nothing between the pairs"}. It returns `{zero}` for 0 and raises `ValueError` for a negative total.
    """
    s, m, n, x = names
    some = [rng.randint(1, values[3] * 3) for _ in range(30)]
    write = load(source)["write"]
    bad = [
        "",
        " ",
        "7",
        f"-1{s}",
        f"1.5{m}",
        f"1{s.upper()}",
        f"1{s}2{s}",
        f"{m}1",
        f"1{m} x",
        f"1{s}2",
        f"٣{s}",
        f"1{s}\n",
    ]

    def total(text: str) -> int:
        return sum(
            int(part[:-1]) * units[part[-1]]
            for part in (
                text.split() if spaced else "".join(c + " " if c.isalpha() else c for c in text).split()
            )
        )

    def good(answers: list[str]) -> bool:
        return [total(a) for a in answers] == some and all(
            len(a) <= len(write(n)) for a, n in zip(answers, some, strict=True)
        )

    return functions(
        statement,
        source,
        [("count", f"2{n}{' ' * spaced}5{m}"), ("write", values[2] + 3 * values[1]), ("count", f"3 {x.upper()}")],
        [
            [("count", f"1{unit}") for unit in names], ("count", f"1{x}{' ' * spaced}2{n}{' ' * spaced}3{m}{' ' * spaced}4{s}"), [("count", text) for text in bad],
            [("count", f"00{rng.randint(1, 9)}{m}007{s}"), ("count", f"999{m}")], [("count", f" 1 {n}  2{s} "), ("count", f"5{s}3{n}"), ("count", f"1{x}1{s}1{m}")],
            *([("count", write(n)) for n in some[i : i + 3]] for i in (0, 3)), [("write", n) for n in (0, 1, values[3])],
            [("write", v - 1) for v in values[1:]], [("write", -1), ("write", -values[3])], ("write", values[3] * 1000 + values[1]), *([("write", n) for n in some[i : i + 3]] for i in (6, 9)),
        ],
        [("shortest-form-of-the-same-span", [("write", n) for n in some], good)],
    )  # fmt: skip


def ranges(rng: random.Random) -> Problem:
    sep, dash, step = (
        rng.choice([",", ";", "|", "+"]),
        rng.choice(["..", "-", ":", "~", ">"]),
        rng.choice("/%x@"),
    )
    inclusive, down = rng.random() < 0.5, rng.random() < 0.5
    order, arranged = rng.choice(
        [
            ("in the order in which they are listed, repetitions included", "result"),
            ("in the order in which they are first listed, each once", "list(dict.fromkeys(result))"),
            ("in ascending order, each once", "sorted(set(result))"),
            ("in descending order, repetitions included", "sorted(result, reverse=True)"),
        ]
    )
    source = fill(
        """
        import re


        def numbers(text: str) -> list[int]:
            result: list[int] = []
            for part in text.split(<<sep!r>>) if text.strip() else []:
                match = re.fullmatch(r"([0-9]+)(?:<<dash>>([0-9]+)(?:<<step>>([0-9]+))?)?", part.strip())
                if not match:
                    raise ValueError(f"not a range: {part!r}")
                first = int(match[1])
                last = int(match[2]) if match[2] else first
                width = int(match[3]) if match[3] else 1
                if width == 0:
                    raise ValueError("a step of zero")
                if match[2] is None:
                    result.append(first)
                elif first <= last:
                    result += range(first, last + <<extra>>, width)
                else:
                    <<falling>>
            return <<arranged>>
        """,
        sep=sep, dash=dash.replace(".", "[.]"), step=step, extra=int(inclusive), arranged=arranged,
        falling=f"result += range(first, last - {int(inclusive)}, -width)" if down else "raise ValueError(f'falling range: {part!r}')",
    )  # fmt: skip
    statement = f"""
    Write `numbers(text: str) -> list[int]` in `solution.py`.

    The text lists items separated by `{sep}`. An item is a number `a`, a range `a{dash}b`, or a range with a step `a{dash}b{step}s`; numbers are one or
    more ASCII digits. A range begins with a and goes on in steps of s (1 if it is not given) as long as it does not pass b; b itself {"belongs" if inclusive else "does not belong"}
    to it if it is met{"" if inclusive else f" (so `4{dash}4` is empty)"}. If b is less than a, {"the range counts down from a in the same way" if down else "`ValueError` is raised"}. White space is allowed around
    items but not inside of them.

    The numbers are returned {order}. A text that is empty or all white space gives an empty list. An item that is empty or malformed and a step of 0
    raise `ValueError`.
    """

    def item() -> str:
        a, b = rng.randint(0, 30), rng.randint(0, 40)
        a, b = (min(a, b), max(a, b)) if not down or rng.random() < 0.6 else (a, b)
        return rng.choice([f"{a}", f"{a}{dash}{b}", f"{a}{dash}{b}{step}{rng.randint(1, 6)}"])

    bad = [
        sep,
        f"1{sep}",
        f"{sep}1",
        f"1{dash}",
        f"{dash}2",
        f"1 {dash} 3",
        f"1{dash}2{dash}3",
        f"1{step}2",
        "a",
        "-1",
        f"1{dash}5{step}0",
        "1.5",
        "²",
    ]
    bad = [b for b in bad if not (b == "1.5" and dash == ".")]
    good = [
        f"3{dash}3",
        f"0{dash}1",
        f"2{dash}9{step}3{sep} 1 {sep}1",
        f"10{dash}19{step}9",
        f"10{dash}20{step}100",
    ]

    def listed(answers: list[list[int]]) -> bool:
        runs = set(range(0, 4000 + int(inclusive), 7)) | {5, 9}
        flat = answers[0]
        return (
            set(flat) == runs
            and (flat[-1] == 0 if "descending" in order else flat[0] == 0)
            and len(flat) - len(runs) == 2 * ("included" in order)
        )

    big = f"0{dash}4000{step}7{sep}5{sep}5{sep}9{sep}9"
    return functions(
        statement,
        source,
        [("numbers", f"7{sep} 2{dash}5{sep}3"), ("numbers", f"1{dash}10{step}4"), ("numbers", f"9{dash}6")],
        [
            [("numbers", ""), ("numbers", "  "), ("numbers", "0")], [("numbers", text) for text in bad], *(("numbers", text) for text in good[2:]),
            [("numbers", text) for text in good[:2]], [("numbers", f"8{dash}1{step}3"), ("numbers", f"4{dash}2{sep}2{dash}4"), ("numbers", f"2{dash}1")],
            ("numbers", f"007{sep}12{sep}007{sep}1{dash}03"),
            *(("numbers", f"{sep} ".join(item() for _ in range(size))) for size in (2, 3, 5, 9)),
        ],
        [("many-numbers", [("numbers", big)], listed)],
    )  # fmt: skip


def columns(rng: random.Random) -> Problem:
    names = rng.sample(["code", "name", "amount", "day", "place", "rate", "state", "owner"], 4)
    kinds = rng.sample(["text", "number", "cents", "flag"], 4)
    widths = [
        {"text": rng.randint(5, 9), "number": rng.randint(3, 6), "cents": rng.randint(6, 9), "flag": 1}[k]
        for k in kinds
    ]
    yes, no = rng.choice(["YN", "TF", "+-", "10"])
    pad, gap = rng.choice("._ "), rng.randint(0, 2)
    fields, start = [], 0
    for name, kind, width in zip(names, kinds, widths, strict=True):
        fields.append((name, kind, start, start + width))
        start += width + gap
    length = start - gap
    source = fill(
        """
        import re

        FIELDS = <<fields!r>>


        def record(line: str) -> dict:
            line = line.removesuffix("\\n")
            if len(line) != <<length>>:
                raise ValueError(f"{len(line)} characters instead of <<length>>")
            result = {}
            for name, kind, start, end in FIELDS:
                piece = line[start:end]
                if kind == "text":
                    result[name] = piece.rstrip(<<pad!r>>)
                elif kind == "flag":
                    if piece not in <<flags!r>>:
                        raise ValueError(f"{name}: {piece!r}")
                    result[name] = piece == <<yes!r>>
                else:
                    digits = piece.lstrip(" ")
                    if digits == "":
                        result[name] = None
                        continue
                    if not re.fullmatch("-?[0-9]+" if kind == "number" else "-?[0-9]+[.][0-9]{2}", digits):
                        raise ValueError(f"{name}: {piece!r}")
                    result[name] = int(digits.replace(".", ""))
            return result
        """,
        fields=fields, length=length, pad=pad, flags=(yes, no), yes=yes,
    )  # fmt: skip
    meaning = {
        "text": f"text; {'spaces' if pad == ' ' else f'`{pad}`'} at its end {'are' if pad == ' ' else 'is'} removed however often, nothing else",
        "number": "an integer: digits with an optional `-`, as `int`",
        "cents": "an amount such as `-12.05`: optional `-`, digits, a dot and exactly two digits; as `int` in hundredths (-1205)",
        "flag": f"`{yes}` for True or `{no}` for False; anything else is an error",
    }
    table = "\n".join(
        f"    - `{n}`, columns {a + 1} to {b}: {meaning[k]};"
        if b - a > 1
        else f"    - `{n}`, column {a + 1}: {meaning[k]};"
        for n, k, a, b in fields
    )
    statement = f"""
    Write `record(line: str) -> dict` in `solution.py`. It reads one line of {length} characters with fixed columns, numbered from 1, into a dictionary with
    these keys in this order:

{table}

    Numbers and amounts have spaces only in front; digits are ASCII; if their columns are all spaces the value is None. Columns between the fields hold anything and
    are ignored. One line feed at the end of the line is allowed and does not count. `ValueError` is raised if the length is wrong or a field is malformed.
    """

    def line(**given: str) -> str:
        result = ""
        for _, kind, a, b in fields:
            width = b - a
            text = {
                "text": lambda w=width: rng.choice([*WORDS, *FOREIGN])[:w].ljust(w, pad),
                "number": lambda w=width: str(rng.choice([0, 7, -3, 12, 99])).rjust(w),
                "cents": lambda w=width: rng.choice(["0.00", "-1.50", "12.34", "99.09"]).rjust(w),
                "flag": lambda w=width: rng.choice([yes, no]),
            }[kind]()
            result += given.get(kind, text) + letters(rng, "x |", gap)
        return result[:length]

    width = dict(zip(kinds, widths, strict=True))
    bads = [
        line(flag="?"),
        line(number="1 ".rjust(width["number"])),
        line(cents="1.5".rjust(width["cents"])),
        line(cents="1,50".rjust(width["cents"])),
        line(number="+1".rjust(width["number"])),
        line(number="--1".rjust(width["number"])),
    ]
    key = dict(zip(kinds, names, strict=True))
    amounts = [rng.randint(-9999, 9999) for _ in range(25)]
    lines = [
        line(cents=f"{'-' if c < 0 else ''}{abs(c) // 100}.{abs(c) % 100:02}".rjust(width["cents"]))
        for c in amounts
    ]

    def read(answers: list[dict[str, Any]]) -> bool:
        return [a[key["cents"]] for a in answers] == amounts and all(list(a) == names for a in answers)

    return functions(
        statement,
        source,
        [("record", line()), ("record", line()), ("record", line()[:-1])],
        [
            *(("record", line() + "\n" * (i % 2)) for i in range(4)), ("record", line(text=pad * width["text"])), ("record", line(text=f"{pad}a{pad}b".ljust(width["text"], pad))),
            ("record", line(number=" " * width["number"], cents=" " * width["cents"])), ("record", line(number="-" + "0" * (width["number"] - 1))),
            ("record", line(number="9" * width["number"], cents="-" + "0" * (width["cents"] - 4) + ".07")), [("record", bad) for bad in bads],
            [("record", text) for text in ("", line() + " ", line() + "\n\n", line()[1:])], [("record", line()) for _ in range(5)],
        ],
        [("amounts-in-hundredths", [("record", text) for text in lines], read)],
    )  # fmt: skip


FAMILIES: tuple[Family, ...] = (
    Family("pairs-line", "parsing", "easy", pairs_line),
    Family("time-spans", "parsing", "easy", spans),
    Family("number-ranges", "parsing", "easy", ranges),
    Family("fixed-columns", "parsing", "easy", columns),
)
