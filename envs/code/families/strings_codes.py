"""Families about strings that stand for something else: escapes and ciphers.

Invariant: where there is a way there and a way back, a property tests each against the other one's rule.
"""

from __future__ import annotations

import random
import re

from agentrl.envs.code.families.writing import fill, functions, letters
from agentrl.envs.code.task import Family, Problem


def escape_codec(rng: random.Random) -> Problem:
    mark = rng.choice("\\%^!~$")
    plain = rng.sample("|,;:=/#&", 3)
    codes = dict(zip(plain, rng.sample("abpqrsuvxyz", 3), strict=True))
    codes["\n"] = rng.choice("nN")
    codes[mark] = rng.choice([mark, "m"])
    fault, name = rng.choice(
        [("ValueError", "ValueError"), ("KeyError", "KeyError"), ("LookupError", "LookupError")]
    )
    source = fill(
        """
        MARK = <<mark!r>>
        CODES = <<codes!r>>
        PLAIN = {code: character for character, code in CODES.items()}


        def escape(text: str) -> str:
            return "".join(MARK + CODES[character] if character in CODES else character for character in text)


        def unescape(text: str) -> str:
            parts, index = [], 0
            while index < len(text):
                character = text[index]
                if character == MARK:
                    index += 1
                    if index == len(text) or text[index] not in PLAIN:
                        raise <<fault>>(f"bad escape at {index - 1}")
                    character = PLAIN[text[index]]
                elif character in CODES:
                    raise <<fault>>(f"unescaped {character!r} at {index}")
                parts.append(character)
                index += 1
            return "".join(parts)
        """,
        mark=mark, codes=codes, fault=fault,
    )  # fmt: skip
    table = "\n".join(
        f"    - {'a line feed' if c == chr(10) else f'`{c}`'} becomes `{mark}{code}`"
        for c, code in codes.items()
    )
    statement = f"""
    Write `escape(text: str) -> str` and its inverse `unescape(text: str) -> str` in `solution.py`.

    `escape` replaces these characters by two characters each and leaves all others as they are:

{table}

    `unescape` turns the two-character sequences back, reading from left to right. It raises `{name}` if a `{mark}` is at the
    end of the text or is followed by a character that no sequence has there, and also if one of the replaced
    characters other than `{mark}` (for example `{plain[0]}` or a line feed) occurs in its argument.
    """
    special = "".join(codes)
    code = "".join(codes.values())

    def wild(size: int) -> str:
        return letters(rng, special + code + " é", size)

    def back(text: str) -> str:
        tail = re.escape(mark) + "(.)"
        return re.sub(tail, lambda match: {v: k for k, v in codes.items()}[match[1]], text)

    long = wild(400)

    def inverts(answers: list[str]) -> bool:
        return (
            back(answers[0]) == long and answers[1] == long and not set(answers[0]) & (set(special) - {mark})
        )

    escaped = "".join(mark + codes[c] if c in codes else c for c in long)
    first = f"{plain[0]}x{mark}{codes[plain[1]]} y{plain[2]}"
    return functions(
        statement,
        source,
        [("escape", first), ("unescape", f"{mark}{codes[plain[0]]}-{mark}{codes[mark]}"), ("unescape", "x" + mark)],
        [
            [("escape", ""), ("escape", mark * 3)],
            ("escape", special * 2), ("escape", "é\n\n" + code),
            *(("escape", wild(size)) for size in (9, 20, 60)),
            [("unescape", ""), ("unescape", mark + codes[mark] + codes[mark])],
            ("unescape", "".join(mark + c for c in code) + "日"),
            [("unescape", mark), ("unescape", "ab" + mark + "Z"), ("unescape", "ok" + plain[1])],
            [("unescape", mark + codes["\n"] + "\n"), ("unescape", mark + plain[0])],
            [("unescape", escaped[: len(escaped) // 2].rstrip(mark) + "end" + mark), ("unescape", mark + " ")],
        ],
        [("round-trip", [("escape", long), ("unescape", escaped)], inverts)],
    )  # fmt: skip


def rotor_cipher(rng: random.Random) -> Problem:
    pool = rng.choice(
        ["abcdefghijklmnopqrstuvwxyz", "abcdefghijklmnopqrstuvwxyz0123456789", "ABCDEFGHIJKLMNOPQRSTUVWXYZ "]
    )
    ring = "".join(rng.sample(pool, rng.randint(12, 20)))
    start, step = rng.randint(1, 9), rng.randint(1, 5)
    moves, rule = rng.choice(
        [
            (
                "after each character of the ring (not after others) the shift grows by",
                "if character in RING:",
            ),
            ("after each character of the text, in the ring or not, the shift grows by", "if True:"),
            (
                f"after each `{ring[0]}` of the plain text (not after other characters) the shift grows by",
                f"if plain == {ring[0]!r}:",
            ),
        ]
    )
    source = fill(
        """
        RING = <<ring!r>>


        def encode(text: str) -> str:
            return turn(text, 1)


        def decode(text: str) -> str:
            return turn(text, -1)


        def turn(text: str, sign: int) -> str:
            shift, parts = <<start>>, []
            for character in text:
                result = character
                if character in RING:
                    result = RING[(RING.index(character) + sign * shift) % len(RING)]
                parts.append(result)
                plain = character if sign == 1 else result
                <<rule>>
                    shift += <<step>>
            return "".join(parts)
        """,
        ring=ring, start=start, step=step, rule=rule,
    )  # fmt: skip
    statement = f"""
    Write `encode(text: str) -> str` and its inverse `decode(text: str) -> str` in `solution.py`.

    The ring is the string {ring!r} of {len(ring)} characters; after its last character comes its first again. `encode`
    replaces every character of the ring by the one that stands `shift` places further on in the ring; characters that
    are not in the ring stay as they are. For the first character of the text the shift is {start}; {moves} {step}.
    `decode` undoes this: `decode(encode(text)) == text` for every text.
    """

    def spin(text: str, sign: int) -> str:
        shift, result = start, ""
        for old in text:
            new = ring[(ring.index(old) + sign * shift) % len(ring)] if old in ring else old
            result += new
            plain = old if sign == 1 else new
            grows = {"if character in RING:": old in ring, "if True:": True}.get(rule, plain == ring[0])
            shift += step * grows
        return result

    def sample(size: int) -> str:
        return letters(rng, ring + ring[0] * 5 + ".é ", size)

    long = sample(500)
    secret = spin(long, 1)
    inputs = [
        [("encode", ""), ("encode", ring)],
        ("encode", ring[0] * 40),
        ("encode", ".é日" + ring[-1] * 3 + "!?" + ring[:5]),
    ]
    inputs += [("encode", sample(size)) for size in (5, 15, 80)]
    inputs += [("decode", ring), ("decode", ring[1] * 30), ("decode", spin(ring[0] * 9 + ".é " + ring, 1))]
    inputs += [("decode", sample(size)) for size in (8, 50)]
    return functions(
        statement,
        source,
        [("encode", ring[:3] + "!" + ring[0] * 2 + ring[3:6]), ("decode", ring[2:6])],
        inputs,
        [
            ("decodes-the-code", [("encode", long)], lambda a: spin(a[0], -1) == long),
            (
                "finds-the-plain-text",
                [("decode", secret), ("decode", "")],
                lambda a: spin(a[0], 1) == secret and a[1] == "",
            ),
        ],
    )


FAMILIES: tuple[Family, ...] = (
    Family("escape-codec", "strings", "medium", escape_codec),
    Family("rotor-cipher", "strings", "medium", rotor_cipher),
)
