"""Easy families about strings: masking, picking, naming, squeezing.

Invariant: every family draws its rules, not only its inputs, from the generator of random numbers.
"""

from __future__ import annotations

import random
import re
import string

from agentrl.envs.code.families.writing import FOREIGN, WORDS, fill, functions, letters, words
from agentrl.envs.code.task import Family, Problem


def mask_middle(rng: random.Random) -> Problem:
    head, tail, mark = rng.randint(1, 3), rng.randint(1, 4), rng.choice("*#•_")
    name = rng.choice(["mask", "redact", "conceal"])
    kind, alphabet = rng.choice(
        [
            ("ASCII digits", string.digits),
            ("ASCII letters", string.ascii_letters),
            ("ASCII letters and digits", string.ascii_letters + string.digits),
        ]
    )
    short, code = rng.choice(
        [
            ("all of them are replaced", "hidden = set(places)"),
            ("only the first of them stays and the others are replaced", "hidden = set(places[1:])"),
            ("raise `ValueError`", "raise ValueError('too short to mask')"),
        ]
    )
    source = fill(
        """
        MASKED = set(<<alphabet!r>>)


        def <<name>>(code: str) -> str:
            places = [index for index, character in enumerate(code) if character in MASKED]
            if len(places) <= <<head>> + <<tail>>:
                <<code>>
            else:
                hidden = set(places[<<head>> : len(places) - <<tail>>])
            return "".join(<<mark!r>> if index in hidden else character for index, character in enumerate(code))
        """,
        alphabet=alphabet, name=name, head=head, tail=tail, code=code, mark=mark,
    )  # fmt: skip
    statement = f"""
    Write `{name}(code: str) -> str` in `solution.py`. It hides the middle of an identifier.

    The maskable characters of `code` are its {kind}. The first {head} and the last {tail} maskable characters
    stay as they are, every maskable character between them is replaced by {mark!r}. All other characters
    (separators, spaces, non-ASCII characters) always stay in place and do not count. If `code` has no more than
    {head + tail} maskable characters: {short}.
    """

    def sample(size: int) -> str:
        return letters(rng, alphabet * 3 + "-. /é", size)

    full = letters(rng, alphabet, head + tail)
    long = sample(300) + full + alphabet[:1]

    def keeps(answers: list[str]) -> bool:
        maskable = [i for i, c in enumerate(long) if c in alphabet]
        hidden = set(maskable[head : len(maskable) - tail])
        return len(answers[0]) == len(long) and all(
            new == (mark if i in hidden else old)
            for i, (old, new) in enumerate(zip(long, answers[0], strict=True))
        )

    texts = [full, full + alphabet[-1], "-".join(full) + ".", "é-" + letters(rng, alphabet, 12) + "-日本"]
    texts += [
        alphabet[1] * 15,
        letters(rng, alphabet, head + tail + 2),
        "  " + letters(rng, alphabet, 20) + "  ",
    ]
    texts += [alphabet[2], "", *(sample(size) for size in (18, 25, 40))]
    examples = [
        "-".join(letters(rng, alphabet, 4) for _ in range(3)),
        letters(rng, alphabet, head + tail - 1),
    ]
    return functions(
        statement,
        source,
        [(name, text) for text in examples],
        [(name, text) for text in texts],
        [("keeps-the-rest", [(name, long)], keeps)],
    )


def pick_words(rng: random.Random) -> Problem:
    least, letter = rng.randint(4, 6), rng.choice("aeor")
    rule, keep = rng.choice(
        [
            (f"have at least {least} characters", f"len(word) >= {least}"),
            (f"contain the letter `{letter}` in either case", f"{letter!r} in word.lower()"),
            ("have an even number of characters", "len(word) % 2 == 0"),
            ("have an odd number of characters", "len(word) % 2 == 1"),
            (f"do not contain the letter `{letter}` in either case", f"{letter!r} not in word.lower()"),
        ]
    )
    change, changed = rng.choice(
        [
            ("written in upper case", "word.upper()"),
            ("written backwards", "word[::-1]"),
            ("written with its first character repeated at its end", "word + word[0]"),
            ("preceded by its number of characters", "str(len(word)) + word"),
            ("written in angle brackets (`<word>`)", "'<' + word + '>'"),
        ]
    )
    order, ordered = rng.choice(
        [
            ("from the last to the first", "kept[::-1]"),
            ("shortest first, words of one length in the order of the text", "sorted(kept, key=len)"),
            ("in ascending order of code points", "sorted(kept)"),
            ("longest first, of one length in ascending order of code points", "sorted(kept, key=lambda w: (-len(w), w))"),
        ]
    )  # fmt: skip
    once, unique = rng.choice(
        [
            ("A word that occurs several times is taken once for each occurrence.", "kept"),
            ("A word that occurs several times (same case) is taken only once, at its first place.", "list(dict.fromkeys(kept))"),
        ]
    )  # fmt: skip
    glue, nothing = rng.choice(["-", "/", ", ", " + ", "|"]), rng.choice(["none", "nothing", "-", "(empty)"])
    source = fill(
        """
        def pick(text: str) -> str:
            kept = [word for word in text.split() if <<keep>>]
            kept = <<unique>>
            kept = <<ordered>>
            return <<glue!r>>.join(<<changed>> for word in kept) or <<nothing!r>>
        """,
        keep=keep, unique=unique, ordered=ordered, glue=glue, changed=changed, nothing=nothing,
    )  # fmt: skip
    statement = f"""
    Write `pick(text: str) -> str` in `solution.py`. Words are separated by any amount of white space (as
    `str.split()` does); everything else, punctuation included, belongs to a word.

    Take the words that {rule}. {once} Put them in this order: {order}. The order and the rule are about the words
    as they stand in the text. Then each word is {change}, and the words are joined by {glue!r}. If no word
    is taken, return {nothing!r}.
    """
    pool = WORDS + FOREIGN
    texts = ["", " \n\t ", "x", "Atlas atlas ATLAS Atlas", " ".join(FOREIGN), "oak, oak! (oak) oak oak,"]
    texts += ["  ".join(words(rng, size, pool)) for size in (4, 6, 8, 12, 25)]
    texts += ["\n".join(words(rng, 60)), "\t".join(words(rng, 200, pool))]
    return functions(
        statement,
        source,
        [("pick", " ".join(words(rng, 6))), ("pick", " ".join(words(rng, 4)))],
        [("pick", text) for text in texts],
    )


def slugs(rng: random.Random) -> Problem:
    signs = dict(
        rng.sample(
            [("&", "and"), ("+", "plus"), ("@", "at"), ("%", "percent"), ("€", "euro"), ("#", "number")], 2
        )
    )
    signs = {sign: word if rng.random() < 0.7 else word[:1] for sign, word in signs.items()}  # fmt: skip
    sep, limit, empty = rng.choice("-_.~"), rng.randint(18, 30), rng.choice(["untitled", "page", "none", "x"])
    stop = sorted(rng.sample(["the", "a", "of", "in", "an", "to", "for"], 3))
    case = rng.choice(["lower", "upper"])
    source = fill(
        """
        import re

        SIGNS = <<signs!r>>
        STOP = <<stop!r>>


        def slug(title: str) -> str:
            for sign, word in SIGNS.items():
                title = title.replace(sign, " " + word + " ")
            found = re.findall("[A-Za-z0-9]+", title)
            found = [word for word in found if word.lower() not in STOP]
            if not found:
                return <<empty!r>>
            result = found[0][:<<limit>>]
            for word in found[1:]:
                if len(result) + 1 + len(word) > <<limit>>:
                    break
                result += <<sep!r>> + word
            return result.<<case>>()
        """,
        signs=signs, stop=stop, empty=empty, limit=limit, sep=sep, case=case,
    )  # fmt: skip
    (one, first), (two, second) = signs.items()
    statement = f"""
    Write `slug(title: str) -> str` in `solution.py`; it makes a short name for an address.

    First every `{one}` becomes the separate word `{first}` and every `{two}` the separate word `{second}`. Words are
    then the longest runs of ASCII letters and digits; every other character only separates. Drop the words
    {", ".join(f"`{w}`" for w in stop)} (in any case). Join the others by `{sep}`, in order, with at most {limit} characters in
    all: stop before the first word that no longer fits (later, shorter words are not tried). If even the first word is
    too long, it is cut to {limit} characters. The result is in {case} case. If no word is left, return `{empty}` exactly
    like this.
    """
    pool = [
        *WORDS,
        *FOREIGN,
        *stop,
        *(w.upper() for w in stop),
        one,
        two,
        "x" + one + "y",
        two * 2,
        "3rd",
        "(2024)",
        "it's",
    ]
    fits = "a1" * (limit // 2 - 2)
    texts = [
        "",
        "---",
        f"{stop[0]} {stop[1].title()}",
        "b" * (limit + 9),
        "c" * limit,
        f"{fits} b c d e f",
        one + two,
    ]
    texts += [
        "日本 Zürich",
        f"x {'y' * limit} z",
        *(" ".join(words(rng, size, pool)) for size in (3, 5, 9, 40)),
    ]
    long = " ".join(words(rng, 30, pool)) + " tail"

    def tidy(answers: list[str]) -> bool:
        return all(
            0 < len(a) <= limit
            and re.fullmatch(f"[A-Za-z0-9]+(?:{re.escape(sep)}[A-Za-z0-9]+)*", a) is not None
            and not {part.lower() for part in a.split(sep)} & set(stop)
            for a in answers
        )  # fmt: skip

    return functions(
        statement,
        source,
        [
            ("slug", f"{stop[0].title()} {' '.join(words(rng, 2))} {one} Co."),
            ("slug", f"{two}5 " + ", ".join(words(rng, 7))),
        ],
        [("slug", text) for text in texts],
        [("well-formed", [("slug", long), ("slug", long[::-1]), ("slug", long.upper())], tidy)],
    )


def squeeze_runs(rng: random.Random) -> Problem:
    limit = rng.randint(2, 4)
    left, right = rng.choice([("{", "}"), ("[", "]"), ("<", ">"), ("(", ")"), ("~", "~"), ("^", ";")])
    what, test = rng.choice(
        [
            ("", "True"),
            ("of an ASCII letter ", "character.isascii() and character.isalpha()"),
            ("of an ASCII digit ", "character in '0123456789'"),
            (
                "of a character that is not an ASCII letter ",
                "not (character.isascii() and character.isalpha())",
            ),
            ("of a space, a hyphen, a dot or an ASCII digit ", "character in ' -.0123456789'"),
        ]
    )
    count, number = rng.choice(
        [("the length of the run", "size"), (f"the length of the run minus {limit}", f"size - {limit}")]
    )
    first = rng.random() < 0.5
    source = fill(
        """
        from itertools import groupby


        def squeeze(text: str) -> str:
            parts = []
            for character, group in groupby(text):
                size = len(list(group))
                if size > <<limit>> and (<<test>>):
                    parts.append(<<piece>>)
                else:
                    parts.append(character * size)
            return "".join(parts)
        """,
        limit=limit, test=test,
        piece=f"{left!r} + str({number}) + {right!r} + character" if first else f"character + {left!r} + str({number}) + {right!r}",
    )  # fmt: skip
    form = f"{left}n{right}c" if first else f"c{left}n{right}"
    statement = f"""
    Write `squeeze(text: str) -> str` in `solution.py`. A run is a longest stretch of one and the same character
    (upper and lower case are different characters).

    Every run {what}that is longer than {limit} characters is replaced by `{form}`, where `c` is the character and `n`
    is {count}, in decimal. All other runs stay as they are. Nothing is escaped: brackets or digits that
    stand in the text are ordinary characters. The empty string stays empty.
    """

    def runs(count: int) -> str:
        sizes = (1, limit - 1, limit, limit + 1, limit + 2, 12)
        return "".join(letters(rng, "aB07- .é", 1) * rng.choice(sizes) for _ in range(count))

    long = runs(80)

    def expand(answers: list[str]) -> bool:
        mark = re.escape(left) + r"(\d+)" + re.escape(right)
        extra = 0 if number == "size" else limit
        pattern = mark + "(.)" if first else "(.)" + mark

        def repeat(match: re.Match[str]) -> str:
            size, character = (match[1], match[2]) if first else (match[2], match[1])
            return character * (int(size) + extra)

        return len(answers[0]) < len(long) and re.sub(pattern, repeat, answers[0]) == long

    sets = "a0-é"
    texts = [
        "",
        "aA" * 5,
        *("".join(c * (limit + d) for c in sets) for d in (0, 1, 2)),
        "7" * 100 + "b" * 1000,
    ]
    texts += [
        left * (limit + 1) + right * 6 + "q" * 9 + "44444",
        *(runs(size) for size in (3, 5, 9, 40)),
        "\n" * 6 + "z" * 7 + "日" * 5 + "00000",
    ]
    return functions(
        statement,
        source,
        [("squeeze", "xx" + "y" * (limit + 3) + "11111 "), ("squeeze", "A" * limit + "-" * (limit + 1))],
        [("squeeze", text) for text in texts],
        [("expands-again", [("squeeze", long)], expand)],
    )


FAMILIES: tuple[Family, ...] = (
    Family("mask-middle", "strings", "easy", mask_middle),
    Family("pick-words", "strings", "easy", pick_words),
    Family("title-slugs", "strings", "easy", slugs),
    Family("squeeze-runs", "strings", "easy", squeeze_runs),
)
