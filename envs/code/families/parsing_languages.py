"""Families about small languages: literals, and sums with their own precedence.

Invariant: the grammar that a statement describes is drawn from the generator of random numbers, the reference follows it.
"""

from __future__ import annotations

import random
from itertools import pairwise
from typing import Any

from agentrl.envs.code.families.writing import FOREIGN, fill, functions, letters
from agentrl.envs.code.task import Family, Problem, load


def literals(rng: random.Random) -> Problem:
    left, right = rng.choice(["[]", "()", "<>", "{}"])
    sep, quote, mark = rng.choice(",;|"), rng.choice("'\"`"), rng.choice("\\^~")
    yes, no, none = rng.choice(
        [("true", "false", "null"), ("yes", "no", "nil"), ("on", "off", "none"), ("T", "F", "N")]
    )
    trailing, fault = rng.random() < 0.5, rng.choice(["ValueError", "SyntaxError"])
    source = fill(
        """
        import re

        WORDS = {<<yes!r>>: True, <<no!r>>: False, <<none!r>>: None}


        def dumps(value) -> str:
            for word, meaning in WORDS.items():
                if value is meaning:
                    return word
            if isinstance(value, int):
                return str(value)
            if isinstance(value, str):
                text = value.replace(<<mark!r>>, <<mark!r>> * 2).replace(<<quote!r>>, <<mark!r>> + <<quote!r>>)
                return <<quote!r>> + text + <<quote!r>>
            return <<left!r>> + <<sep!r>>.join(map(dumps, value)) + <<right!r>>


        def loads(text: str):
            value, index = item(text, blank(text, 0))
            if blank(text, index) != len(text):
                raise <<fault>>(f"more text at {index}")
            return value


        def blank(text: str, index: int) -> int:
            while index < len(text) and text[index] == " ":
                index += 1
            return index


        def item(text: str, index: int):
            if index == len(text):
                raise <<fault>>("the text ends too early")
            if text[index] == <<left!r>>:
                return sequence(text, index + 1)
            if text[index] == <<quote!r>>:
                return string(text, index + 1)
            match = re.compile("-?[0-9]+|[A-Za-z]+").match(text, index)
            if not match or (match[0] not in WORDS and match[0][-1] not in "0123456789"):
                raise <<fault>>(f"no value at {index}")
            return (WORDS[match[0]] if match[0] in WORDS else int(match[0])), match.end()


        def sequence(text: str, index: int):
            values = []
            index = blank(text, index)
            while text[index : index + 1] != <<right!r>>:
                value, index = item(text, index)
                values.append(value)
                index = blank(text, index)
                if text[index : index + 1] == <<sep!r>>:
                    index = blank(text, index + 1)
                    if not <<trailing>> and text[index : index + 1] == <<right!r>>:
                        raise <<fault>>("a separator without a value")
                elif text[index : index + 1] != <<right!r>>:
                    raise <<fault>>(f"no separator at {index}")
            return values, index + 1


        def string(text: str, index: int):
            value = ""
            while index < len(text) and text[index] != <<quote!r>>:
                if text[index] == <<mark!r>>:
                    index += 1
                    if text[index : index + 1] not in (<<mark!r>>, <<quote!r>>):
                        raise <<fault>>(f"bad escape at {index}")
                value += text[index]
                index += 1
            if index == len(text):
                raise <<fault>>("an open string")
            return value, index + 1
        """,
        left=left, right=right, sep=sep, quote=quote, mark=mark, yes=yes, no=no, none=none, trailing=trailing, fault=fault,
    )  # fmt: skip
    statement = f"""
    Write `loads(text: str)` and its inverse `dumps(value) -> str` in `solution.py`, for this notation of nested lists. A value is

    - an integer: ASCII digits with an optional `-` directly in front (leading zeros are allowed);
    - one of the words `{yes}` (True), `{no}` (False), `{none}` (None), in exactly this case;
    - a string between two {quote}, in which `{mark}{quote}` stands for {quote} and `{mark}{mark}` for `{mark}`; `{mark}` before anything else is an error;
    - a list `{left}a{sep}b{right}` of any number of values, separated by `{sep}`; {"one separator after the last value is allowed (but not in a list without values)" if trailing else "no separator may follow the last value"}.

    Spaces, but no other white space, may stand around the text as a whole and around values, `{left}`, `{right}` and `{sep}`. `loads` raises `{fault}` for every text that
    is not exactly one value. `dumps` writes a value of these types without spaces, without superfluous separators or zeros, and escapes only what must be escaped.
    """
    dumps = load(source)["dumps"]

    def value(depth: int) -> Any:
        kind = rng.random()
        if depth and kind < 0.5:
            return [value(depth - 1) for _ in range(rng.randint(0, 4))]
        text = letters(rng, "ab é" + quote + mark + sep + left, rng.randint(0, 5))
        return rng.choice([True, False, None, rng.randint(-99, 99), text, text, rng.choice(FOREIGN)])

    def spaced(text: str) -> str:
        return text if quote in text else text.replace(sep, f" {sep}  ").replace(left, f"{left} ") + " "

    values = [[value(3) for _ in range(4)] for _ in range(8)]
    q = quote
    bad = [
        "",
        " ",
        left,
        right,
        f"{left}1",
        f"1{right}",
        f"{left}{sep}{right}",
        f"{left}1{sep}{sep}2{right}",
        f"{left}1 2{right}",
        f"{q}a",
        f"{q}a{mark}b{q}",
        f"{q}{mark}",
    ]
    bad += [
        "1 2",
        "- 1",
        "+1",
        yes.swapcase(),
        "1.5",
        yes + "x",
        f"{left}1{sep}\n2{right}",
        f"{q}a{q}{q}b{q}",
        "--1",
        "12a",
    ]
    deep: Any = []
    for _ in range(60):
        deep = [deep, 1]
    return functions(
        statement,
        source,
        [("loads", f"{left}1{sep} {q}a{mark}{q}b{q}{sep} {left}{right}{sep}{yes}{right}"), ("dumps", [None, [-5, mark]]), ("loads", f"{left}1{sep}{right}")],
        [
            *([("loads", spaced(dumps(v))) for v in group] for group in values[:3]), *([("dumps", v) for v in group] for group in values[3:5]),
            [("loads", t) for t in bad[:8]], [("loads", t) for t in bad[8:16]], [("loads", t) for t in bad[16:]],
            [("loads", t) for t in ("007", "-0", f" {none} ", f"{q}{q}", f"{left} {left} {right} {right}", f"{left}{left}2{sep} {right}{sep}{no}{right}")],
            [("loads", dumps(deep)), ("dumps", deep)], [("dumps", ""), ("dumps", []), ("dumps", q + mark + q), ("dumps", 0), ("dumps", True), ("dumps", 1)],
        ],
        [("dumps-is-read-back", [("dumps", v) for v in values[5:]], lambda a: all(load(source)["loads"](t) == v and len(t) <= len(dumps(v)) for t, v in zip(a, values[5:], strict=True)))],
    )  # fmt: skip


def sums(rng: random.Random) -> Problem:
    bank = {
        "+": ("the sum", "a + b"), "-": ("the difference a - b", "a - b"), "*": ("the product", "a * b"),
        "^": ("the larger one", "max(a, b)"), "_": ("the smaller one", "min(a, b)"), "|": ("the absolute difference", "abs(a - b)"),
        "/": ("the quotient a / b rounded down; `ZeroDivisionError` if b is 0", "a // b"),
        "%": ("the remainder a - b * (a / b rounded down); `ZeroDivisionError` if b is 0", "a % b"),
        "&": ("two times a plus b", "2 * a + b"), "@": ("a minus two times b", "a - 2 * b"),
    }  # fmt: skip
    signs = rng.sample(["-", "/", "@", "%"], 2) + rng.sample(["+", "*", "^", "_", "|", "&"], 3)
    rng.shuffle(signs)
    levels = [signs[:2], signs[2:3], signs[3:]] if rng.random() < 0.5 else [signs[:1], signs[1:3], signs[3:]]
    rightward = [rng.random() < 0.4 for _ in levels]
    if all(rightward) or not any(rightward):
        rightward[0] = not rightward[0]
    unary, effect, code = rng.choice(
        [
            ("~", "negates the value", "-value"),
            ("!", "doubles the value", "2 * value"),
            ("#", "squares the value", "value * value"),
            ("$", "adds 1 to the value", "value + 1"),
        ]
    )
    source = fill(
        """
        import re

        SIGNS = {<<table>>}
        LEVELS = <<levels!r>>  # the loosest first: signs, and whether they group from the right


        def evaluate(text: str) -> int:
            tokens = re.findall("[0-9]+|[^ ]", text)
            value, rest = level(tokens, 0)
            if rest:
                raise ValueError(f"unexpected {rest[0]!r}")
            return value


        def level(tokens: list[str], depth: int):
            if depth == len(LEVELS):
                return operand(tokens)
            signs, rightward = LEVELS[depth]
            value, tokens = level(tokens, depth + 1)
            values, found = [value], []
            while tokens and tokens[0] in signs:
                found.append(tokens[0])
                value, tokens = level(tokens[1:], depth + 1)
                values.append(value)
            if rightward:
                result = values.pop()
                while values:
                    result = SIGNS[found.pop()](values.pop(), result)
            else:
                result = values[0]
                for sign, value in zip(found, values[1:]):
                    result = SIGNS[sign](result, value)
            return result, tokens


        def operand(tokens: list[str]):
            if not tokens:
                raise ValueError("the text ends too early")
            if re.fullmatch("[0-9]+", tokens[0]):
                return int(tokens[0]), tokens[1:]
            if tokens[0] == <<unary!r>>:
                value, tokens = operand(tokens[1:])
                return <<code>>, tokens
            if tokens[0] == "(":
                value, tokens = level(tokens[1:], 0)
                if tokens[:1] == [")"]:
                    return value, tokens[1:]
            raise ValueError("no value, or an open bracket")
        """,
        table=", ".join(f"{s!r}: lambda a, b: {bank[s][1]}" for s in signs), levels=[(a, b) for a, b in zip(levels, rightward, strict=True)],
        unary=unary, code=code,
    )  # fmt: skip
    table = "\n".join(f"    - `a {s} b`: {bank[s][0]}" for s in signs)
    groups = "; ".join(
        f"{' and '.join(f'`{s}`' for s in a)} ({'from the right' if b else 'from the left'})"
        for a, b in zip(levels, rightward, strict=True)
    )
    a, b = levels[0][0], levels[-1][-1]
    statement = f"""
    Write `evaluate(text: str) -> int` in `solution.py`. It computes expressions of non-negative integers (ASCII digits), brackets `(` `)`, the prefix
    `{unary}`, which {effect} of the operand behind it and binds tightest (`{unary}{unary}2` is allowed), and these signs:

{table}

    From the loosest to the tightest the signs are: {groups}. Signs of the same level group in the direction given: from the left `a {a} b {a} c` means
    `(a {a} b) {a} c`, from the right `a {a} (b {a} c)`, also when the level has two signs that are mixed. A `-` is never a prefix. Spaces may stand
    anywhere except inside of numbers (`1 2` is two numbers).

    `ValueError` is raised for everything else: an empty text, a missing operand or sign, brackets that do not match, other characters.
    """

    def expression(depth: int) -> str:
        kind = rng.random()
        if depth == 0 or kind < 0.15:
            return str(rng.randint(1, 12))
        if kind < 0.25:
            return unary + (f"({expression(depth - 1)})" if rng.random() < 0.5 else str(rng.randint(1, 9)))
        if kind < 0.45:
            return f"({expression(depth - 1)})"
        return f"{expression(depth - 1)} {rng.choice(signs)} {expression(depth - 1)}"

    evaluate = load(source)["evaluate"]

    def fine(text: str) -> bool:
        try:
            return abs(evaluate(text)) < 10**12
        except ZeroDivisionError:
            return False

    def some(size: int, depth: int) -> list[Any]:
        result: list[Any] = []
        while len(result) < size:
            text = expression(depth)
            if fine(text):
                result.append(("evaluate", text))
        return result

    chains = [
        ("evaluate", "9" + "".join(f" {s} {rng.randint(1, 7)}" for s in (x, y, x, y)))
        for level in levels
        for x in level
        for y in level
    ]
    zero = next(s for s in signs if s in "/%@-")
    bad = [
        "",
        "  ",
        f"1 {a}",
        f"{b} 2",
        f"1 {a} {b} 2",
        "(1",
        "1)",
        "()",
        "1 2",
        "x",
        unary,
        f"1 {unary} 2",
        "(1) (2)",
        "1.5",
        f"2 {a} ²",
    ]
    texts = [text for _, text in some(12, 3)]
    bracketed = [("evaluate", f"({text})") for text in texts] + [
        ("evaluate", f"(({text})) {a} 3") for text in texts
    ]
    safe = [step for step in bracketed if fine(step[1])]
    wanted = [evaluate(text) for _, text in safe]
    return functions(
        statement,
        source,
        [("evaluate", f"8 {a} 3 {b} 2 {a} 1"), ("evaluate", f"{unary}(2 {signs[2]} 5) {b} 3"), ("evaluate", f"4 {a}")],
        [
            [("evaluate", t) for t in ("7", " 007 ", f"{unary}3", f"{unary * 3}2", "((5))")], [step for step in chains if fine(step[1])], [("evaluate", t) for t in bad[:8]], [("evaluate", t) for t in bad[8:]],
            *([("evaluate", f"9 {x} 4 {y} 2"), ("evaluate", f"(9 {x} 4) {y} 2"), ("evaluate", f"9{y}(4{x}2)"), ("evaluate", f"{unary}9 {y} {unary}4")] for x, y in pairwise(signs)),
            some(6, 3), some(6, 4), some(2, 7), [("evaluate", f"6 {zero} 0"), ("evaluate", f"6 {zero} (1 {zero} 1)")],
        ],
        [("brackets-around-the-whole", safe, lambda answers: answers == wanted)],
    )  # fmt: skip


FAMILIES: tuple[Family, ...] = (
    Family("nested-literals", "parsing", "hard", literals),
    Family("own-arithmetic", "parsing", "hard", sums),
)
