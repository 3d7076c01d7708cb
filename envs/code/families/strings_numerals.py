"""Families about numbers in strings: check characters and invented numerals.

Invariant: where there is a way there and a way back, a property tests each against the other one's rule.
"""

from __future__ import annotations

import random

from agentrl.envs.code.families.writing import fill, functions, letters
from agentrl.envs.code.task import Family, Problem, load


def check_characters(rng: random.Random) -> Problem:
    alphabet = "".join(sorted(rng.sample("ABCDEFGHJKLMNPQRSTUVWXYZ", 13))) + "0123456789"
    weights = rng.sample(range(1, 23), rng.randint(3, 5))
    offset, front = rng.randint(0, 22), rng.random() < 0.5
    side, order = rng.choice([("first", "code"), ("last", "code[::-1]")])
    source = fill(
        """
        ALPHABET = <<alphabet!r>>
        WEIGHTS = <<weights!r>>


        def character(code: str) -> str:
            if not code or set(code) - set(ALPHABET):
                raise ValueError(f"not a code: {code!r}")
            total = <<offset>>
            for index, letter in enumerate(<<order>>):
                total += ALPHABET.index(letter) * WEIGHTS[index % len(WEIGHTS)]
            return ALPHABET[total % len(ALPHABET)]


        def sign(code: str) -> str:
            return <<signed>>


        def verify(signed: str) -> bool:
            cleaned = signed.replace("-", "").replace(" ", "").upper()
            if len(cleaned) < 2 or set(cleaned) - set(ALPHABET):
                return False
            return sign(<<body>>) == cleaned
        """,
        alphabet=alphabet, weights=weights, offset=offset, order=order,
        signed="character(code) + code" if front else "code + character(code)",
        body="cleaned[1:]" if front else "cleaned[:-1]",
    )  # fmt: skip
    place = "in front of" if front else "behind"
    statement = f"""
    Write `sign(code: str) -> str` and `verify(signed: str) -> bool` in `solution.py`.

    Codes consist of the {len(alphabet)} characters of `{alphabet}`; the value of a character is its index in this string
    (0 to {len(alphabet) - 1}). The check sum of a code is {offset} plus the sum of each character's value times its weight. The
    weights {", ".join(map(str, weights))} are given out in this order, beginning with the {side} character of the code, and start again
    when they are used up. The check character is the one whose value is the check sum modulo {len(alphabet)}.

    `sign` returns the code with the check character {place} it; for an empty code or one with any other character it raises
    `ValueError`. `verify` ignores hyphens and spaces, and case (`str.upper()`); it returns whether what remains is a code of at least one
    character that is signed correctly, and never raises.
    """

    def value(code: str) -> str:
        line = code if side == "first" else code[::-1]
        total = sum(alphabet.index(c) * weights[i % len(weights)] for i, c in enumerate(line))
        return alphabet[(offset + total) % len(alphabet)]

    def signed(code: str) -> str:
        return value(code) + code if front else code + value(code)

    codes = [letters(rng, alphabet, size) for size in (4, 8, 11, 30, 200)]
    good = signed(codes[2])
    spoiled = [
        good[:i] + alphabet[(alphabet.index(c) + rng.randint(1, 22)) % 23] + good[i + 1 :]
        for i, c in enumerate(good)
    ]
    spaced = " ".join(good[i : i + 3] for i in range(0, len(good), 3))
    other = next(c for c in "ABCDEFGHJKLMNPQRSTUVWXYZ" if c not in alphabet)
    samples = [letters(rng, alphabet, rng.randint(1, 12)) for _ in range(20)]
    return functions(
        statement,
        source,
        [("sign", codes[0]), ("verify", signed(codes[0]).lower()), ("verify", codes[0])],
        [
            *(("sign", code) for code in codes[1:]), *(("sign", c) for c in (alphabet[0], alphabet[-1] * 7)),
            [("sign", ""), ("sign", codes[1][:2] + "-" + codes[1][2:]), ("sign", codes[0] + other), ("sign", codes[1].lower() + "é")],
            [("verify", good), ("verify", spaced.lower()), ("verify", good + alphabet[3])],
            [("verify", text) for text in ("", "-", alphabet[0], signed(alphabet[5]), other + good)],
        ],
        [
            ("every-change-is-noticed", [("verify", s) for s in [*spoiled, good + "- "]], lambda a: a == [False] * len(spoiled) + [True]),
            ("signatures-hold", [("sign", s) for s in samples], lambda a: a == [signed(s) for s in samples]),
        ],
    )  # fmt: skip


def numerals(rng: random.Random) -> Problem:
    symbols = rng.sample("ACDHKLMOPQRSTUVXYZ", 5)
    sizes = [1]
    for _ in range(4):
        sizes.append(sizes[-1] * rng.choice([3, 4, 5, 6, 10]))
    mark, most = rng.choice(["", "-", "'", "~"]), rng.randint(2, 4)
    top = sizes[-1] * most + rng.randint(0, sizes[3])
    tokens = list(zip(symbols, sizes, strict=True))
    tokens += [(symbols[i] + mark + symbols[i + 1], sizes[i + 1] - sizes[i]) for i in range(4)]
    source = fill(
        """
        TOKENS = <<tokens!r>>  # the greatest first


        def spell(number: int) -> str:
            if not 1 <= number <= <<top>>:
                raise ValueError(f"{number} is out of range")
            text = ""
            for token, size in TOKENS:
                text += token * (number // size)
                number %= size
            return text


        def value(numeral: str) -> int:
            number, rest = 0, numeral
            for token, size in TOKENS:
                while rest.startswith(token):
                    number, rest = number + size, rest.removeprefix(token)
            if rest or spell(number) != numeral:
                raise ValueError(f"not a numeral: {numeral!r}")
            return number
        """,
        tokens=sorted(tokens, key=lambda token: -token[1]), top=top,
    )  # fmt: skip
    statement = f"""
    Write `spell(number: int) -> str` and `value(numeral: str) -> int` in `solution.py`, for numbers from 1 to {top}.

    There are five symbols: {", ".join(f"`{a}` is worth {v}" for a, v in tokens[:5])}. Besides, for every two neighbours of this
    list there is a token, the smaller symbol followed by {f"`{mark}` and " if mark else ""}the larger symbol, that is worth the
    difference of the two; the first is `{tokens[5][0]}`, worth {tokens[5][1]}. A number is spelled by writing down, again and again, the symbol or
    token of the greatest worth that does not exceed what is left, until nothing is left.

    `value` is the inverse of `spell`. `spell` raises `ValueError` for a number out of range, `value` raises `ValueError`
    for everything that `spell` never returns (the empty string, symbols in another order or number, and so on).
    """

    def worth(numeral: str) -> int:
        plain = [sizes[symbols.index(c)] for c in numeral if c != mark]
        return sum(-a if a < b else a for a, b in zip(plain, [*plain[1:], 0], strict=True))

    def spelled(number: int) -> str:
        text = ""
        for token, size in sorted(tokens, key=lambda token: -token[1]):
            text, number = text + token * (number // size), number % size
        return text

    some = rng.sample(range(2, top), 60)
    a, b, c = symbols[:3]
    wrong = [
        "",
        a * (sizes[1] + 1),
        a + mark + c,
        b + mark + a,
        a + b + a + b,
        spelled(top) + spelled(1),
        spelled(some[0]) + "B",
        a + mark,
    ]
    value = load(source)["value"]

    def refused(text: str) -> bool:
        try:
            value(text)
        except ValueError:
            return True
        return False

    wrong = [text for text in wrong if refused(text)]
    edges = sorted({sizes[2] - 1, sizes[2], sizes[3] - sizes[2], sizes[3] + sizes[1] - 1, top - 1})
    return functions(
        statement,
        source,
        [("spell", some[1]), ("value", spelled(some[2])), ("spell", top + 1)],
        [
            ("spell", 1), ("spell", top), [("spell", n) for n in edges], *([("spell", n) for n in some[i : i + 3]] for i in (3, 6, 9)),
            [("spell", 0), ("spell", -some[0]), ("spell", top * 10)],
            ("value", spelled(top)), [("value", spelled(n)) for n in edges], *([("value", spelled(n)) for n in some[i : i + 3]] for i in (12, 15)),
            [("value", text) for text in wrong],
        ],
        [("worth-of-the-spelling", [("spell", n) for n in some[20:]], lambda x: [worth(t) for t in x] == some[20:])],
    )  # fmt: skip


FAMILIES: tuple[Family, ...] = (
    Family("check-characters", "strings", "medium", check_characters),
    Family("invented-numerals", "strings", "medium", numerals),
)
