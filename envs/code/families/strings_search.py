"""Families about sets of strings: natural order and abbreviations.

Invariant: where several answers are right, a property accepts each of them.
"""

from __future__ import annotations

import random
from itertools import pairwise
from typing import Any

from agentrl.envs.code.families.writing import FOREIGN, WORDS, fill, functions, letters
from agentrl.envs.code.task import Family, Problem, load


def natural_order(rng: random.Random) -> Problem:
    first, falling, fold = rng.random() < 0.5, rng.random() < 0.4, rng.random() < 0.5
    sign, at_end = rng.choice("_.~@"), rng.random() < 0.5
    tie, tied = rng.choice(
        [
            ("in the order in which they were given", "0"),
            ("in ascending order of code points", "name"),
            ("the shorter first, of one length in the order in which they were given", "len(name)"),
            ("the longer first, of one length in ascending order of code points", "(-len(name), name)"),
        ]
    )
    source = fill(
        """
        import re


        def key(name: str):
            parts = []
            for part in re.findall("[0-9]+|[^0-9]+", name):
                if part[0] in "0123456789":
                    parts.append((<<number>>, <<sign>>int(part), ""))
                else:
                    parts.append((<<text>>, 0, <<part>>))
            return (name.startswith(<<special!r>>) is <<at_end>>, parts, <<tied>>)


        def arrange(names: list[str]) -> list[str]:
            return sorted(names, key=key)
        """,
        number=0 if first else 1, text=1 if first else 0, sign="-" if falling else "",
        part="part.lower()" if fold else "part", special=sign, at_end=at_end, tied=tied,
    )  # fmt: skip
    statement = f"""
    Write `arrange(names: list[str]) -> list[str]` in `solution.py`; it returns the names in a new order and leaves
    its argument alone.

    Names that begin with `{sign}` come {"after" if at_end else "before"} all others. Within each of the two groups a name is cut into parts:
    longest runs of ASCII digits (numbers) and longest runs of other characters (texts). Names are compared part by part:
    two numbers by their integer value, the {"greater" if falling else "smaller"} first; two texts by code points{" after `str.lower()`" if fold else ", case as it is"};
    of a number and a text the {"number" if first else "text"} is first. A name whose parts are all used up comes before one that has more.
    Names that are equal so far (for example `a7` and `a07`{", or `A7`" if fold else ""}) are put {tie}.
    """
    stems = ["file", "File", "v", "img-", "", "ch ", "é", "Z", sign, sign + "x"]

    def some(size: int) -> list[str]:
        return [
            rng.choice(stems) + rng.choice(["", "0", "00", "000"]) + str(rng.choice([0, 1, 2, 9, 10, 11, 100, 2024]))
            + rng.choice(["", "", "a", "B", ".txt", "-3", "-12", "-012"])
            for _ in range(size)
        ]  # fmt: skip

    long = some(150)
    keyed: Any = load(source)["key"]

    def ordered(answers: list[list[str]]) -> bool:
        keys = [keyed(name) for name in answers[0]]
        return sorted(answers[0]) == sorted(long) and all(a <= b for a, b in pairwise(keys))

    lists: list[list[str]] = [
        [],
        ["", "1", "a", sign],
        ["a10", "a9", "a1", "a010", "a01", "A1", "A01"],
        ["x2", "x", "x02", "X2", "2x", "2"],
    ]
    lists += [
        ["1.10", "1.9", "1.9.1", "01.9"],
        [f"{sign}b", "b", f"{sign}1", "1", f"x{sign}"],
        list(FOREIGN),
        [str(10**n) for n in range(30)],
    ]
    lists += [some(size) for size in (5, 9, 14, 40)]
    return functions(
        statement,
        source,
        [("arrange", ["p12", "p7", "p", f"{sign}q", "p7b", "12"]), ("arrange", ["k07", "K7", "k7", "k007"])],
        [("arrange", names) for names in lists],
        [("orders-what-was-given", [("arrange", long)], ordered)],
    )


def abbreviations(rng: random.Random) -> Problem:
    least, ends = rng.randint(1, 3), rng.random() < 0.3
    mark, fold = rng.choice("!.=$"), rng.random() < 0.5
    unknown, many = rng.sample(["KeyError", "ValueError", "LookupError"], 2)
    part, test = ("suffix", "endswith") if ends else ("prefix", "startswith")
    source = fill(
        """
        def shorten(words: list[str]) -> dict[str, str]:
            result = {}
            for word in words:
                others = [<<other>> for other in words if <<other>> != <<word>>]
                for size in range(<<least>>, len(word) + 1):
                    part = <<cut>>
                    if not any(other.<<test>>(part<<folded>>) for other in others):
                        result[word] = part
                        break
                else:
                    result[word] = word + <<mark!r>>
            return result


        def expand(words: list[str], text: str) -> str:
            if text.endswith(<<mark!r>>):
                whole = text[:-1]<<folded>>
                found = [word for word in words if word<<folded>> == whole]
            else:
                found = [word for word in words if word<<folded>>.<<test>>(text<<folded>>)]
            if len(text) < <<least>> or not found:
                raise <<unknown>>(text)
            if len(found) > 1:
                raise <<many>>(text)
            return found[0]
        """,
        other="other.lower()" if fold else "other", word="word.lower()" if fold else "word",
        folded=".lower()" if fold else "", least=least, mark=mark, test=test, unknown=unknown, many=many,
        cut="word[len(word) - size :]" if ends else "word[:size]",
    )  # fmt: skip
    statement = f"""
    Write two functions in `solution.py`. `words` holds different words{" (different also when case is ignored)" if fold else ""} without `{mark}`.

    `shorten(words: list[str]) -> dict[str, str]` maps each word, in the order given, to its shortest {part} of at least
    {least} character{"s" if least > 1 else ""} that is no {part} of another of the words{", ignoring case; the word's own case is kept" if fold else " (case matters)"}. A word without such a
    {part} (it is shorter, or is itself a {part} of another word) is mapped to the whole word followed by `{mark}`.

    `expand(words: list[str], text: str) -> str` returns the only word that `text` is a {part} of{", ignoring case" if fold else ""}; if `text` ends
    in `{mark}`, the word that equals the rest of it{", ignoring case" if fold else ""}. It raises `{unknown}` if there is no such word or if `text`
    has fewer than {least} character{"s" if least > 1 else ""} (`{mark}` included), and otherwise `{many}` if there are several words.
    """
    stems = [
        "con",
        "Conf",
        "confirm",
        "config",
        "conform",
        "list",
        "listen",
        "Lis",
        "silent",
        "a",
        "ab",
        "abc",
        "Tab",
        "table",
        "stable",
        "café",
    ]

    def some(size: int) -> list[str]:
        unique = {
            w.lower(): w for w in (*rng.sample(stems, min(size, 12)), *rng.sample(WORDS, min(size, 20)))
        }
        return list(unique.values())[:size] if size < 30 else list(unique.values())

    lists = [some(size) for size in (4, 6, 9, 12, 40)]
    big = [letters(rng, "ab", 9) + str(i) for i in range(60)]
    both = [w[::-1] for w in lists[3]]
    shorten = load(source)["shorten"]
    queries = [*(v.upper() for v in shorten(lists[3]).values()), "c", "li", "e", "", mark, "zz"]

    def faithful(answers: list[dict[str, str]]) -> bool:
        return list(answers[0]) == big and all(
            [w for w in big if getattr(w, test)(short)] == [word] and len(short) >= least
            and (len(short) == least or sum(getattr(w, test)(short[1:] if ends else short[:-1]) for w in big) > 1)
            for word, short in answers[0].items()
        )  # fmt: skip

    return functions(
        statement,
        source,
        [("shorten", ["start", "stop", "status", "art"]), ("expand", ["start", "stop"], "sto"), ("expand", ["on", "son"], "on" + mark)],
        [
            [("shorten", []), ("shorten", ["é"])], *(("shorten", words) for words in lists), ("shorten", both),
            [("shorten", ["aa", "aab", "aabb", "baa", "b"]), ("shorten", ["Aa", "aB", "Ba"])],
            [("expand", lists[3], text) for text in shorten(lists[3]).values()], [("expand", lists[3], text) for text in queries],
            [("expand", ["in", "inn", "min"], text) for text in ("in", "in" + mark, "IN" + mark, "inn", "mi", "nn", "n", "mini")],
            [("expand", [], "abc"), ("expand", lists[4], lists[4][0])],
        ],
        [("short-and-unambiguous", [("shorten", big)], faithful)],
    )  # fmt: skip


FAMILIES: tuple[Family, ...] = (
    Family("natural-order", "strings", "medium", natural_order),
    Family("unique-abbreviations", "strings", "medium", abbreviations),
)
