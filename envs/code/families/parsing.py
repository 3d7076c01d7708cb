"""Easy families about parsing: pairs and spans of time.

Invariant: a statement says of every malformed input that is tested which error it raises.
"""

from __future__ import annotations

import random
from typing import Any

from agentrl.envs.code.families.writing import FOREIGN, WORDS, fill, functions, words
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


FAMILIES: tuple[Family, ...] = (
    Family("pairs-line", "parsing", "easy", pairs_line),
    Family("time-spans", "parsing", "easy", spans),
)
