"""Easy families about parsing numbers: ranges and fixed columns.

Invariant: a statement says of every malformed input that is tested which error it raises.
"""

from __future__ import annotations

import random
from typing import Any

from agentrl.envs.code.families.writing import FOREIGN, WORDS, fill, functions, letters
from agentrl.envs.code.task import Family, Problem


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
    Family("number-ranges", "parsing", "easy", ranges),
    Family("fixed-columns", "parsing", "easy", columns),
)
