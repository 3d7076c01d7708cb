"""Families about comparing strings: natural order, abbreviations, wildcards and cheapest edits.

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


def wildcards(rng: random.Random) -> Problem:
    one, run, digits, escape = rng.sample("?*#%+~$!", 4)
    left, right = rng.choice([("[", "]"), ("{", "}"), ("(", ")"), ("<", ">")])
    no, wall = rng.choice("^-&"), rng.choice("/.:|")
    crosses, whole = rng.random() < 0.4, rng.random() < 0.6
    source = fill(
        """
        def matches(pattern: str, text: str) -> bool:
            items = parse(pattern)
            reached = {0} if <<whole>> else set(range(len(text) + 1))
            for kind, allowed in items:
                after = set()
                for start in sorted(reached):
                    if kind == "run" or kind == "digits":
                        end = start
                        if kind == "run":
                            after.add(start)
                        while end < len(text) and fits(kind, allowed, text[end]):
                            end += 1
                            if end in after:
                                break  # an earlier start went on from here
                            after.add(end)
                    elif start < len(text) and fits(kind, allowed, text[start]):
                        after.add(start + 1)
                reached = after
            return len(text) in reached if <<whole>> else bool(reached)


        def fits(kind: str, allowed: str, character: str) -> bool:
            if kind == "run":
                return <<crosses>> or character != <<wall!r>>
            if kind == "one":
                return character != <<wall!r>>
            if kind == "digits":
                return character in "0123456789"
            if kind == "not":
                return character not in allowed and character != <<wall!r>>
            return character in allowed


        def parse(pattern: str) -> list[tuple[str, str]]:
            items, index = [], 0
            while index < len(pattern):
                character = pattern[index]
                index += 1
                if character == <<escape!r>>:
                    if index == len(pattern):
                        raise ValueError("nothing is escaped")
                    items.append(("in", pattern[index]))
                    index += 1
                elif character == <<left!r>>:
                    end = pattern.find(<<right!r>>, index)
                    members = pattern[index:end]
                    negated = members.startswith(<<no!r>>)
                    members = members[negated:]
                    if end < 0 or not members:
                        raise ValueError("an open or empty set")
                    items.append(("not" if negated else "in", members))
                    index = end + 1
                else:
                    kinds = {<<one!r>>: "one", <<run!r>>: "run", <<digits!r>>: "digits"}
                    items.append((kinds.get(character, "in"), character))
            return items
        """,
        whole=whole, crosses=crosses, wall=wall, escape=escape, left=left, right=right, no=no, one=one, run=run, digits=digits,
    )  # fmt: skip
    statement = f"""
    Write `matches(pattern: str, text: str) -> bool` in `solution.py`: whether the pattern matches {"the whole text" if whole else "some part of the text, which may be empty"}.
    In a pattern

    - `{one}` stands for one character other than `{wall}`;
    - `{run}` stands for any number of characters, none included, {"whatever they are" if crosses else f"other than `{wall}`"};
    - `{digits}` stands for one or more ASCII digits;
    - `{left}abc{right}` stands for one character that is listed, `{left}{no}abc{right}` for one that is neither listed nor `{wall}`; the
      first `{right}` after `{left}` ends the set, all other characters in it (also `{escape}`) mean themselves;
    - `{escape}` makes the next character, whichever, stand for itself;
    - every other character stands for itself, in its case.

    `ValueError` is raised, whatever the text, if the pattern ends in a `{escape}` that escapes nothing, if a set is not closed, or if a set
    lists no character. It must be fast for patterns with many `{run}` and texts of a thousand characters.
    """

    def text(size: int) -> str:
        return letters(rng, "ab1" + wall, size)

    def pattern(size: int) -> str:
        parts = ["a", "b", "1", wall, one, run, digits, f"{left}a1{right}", f"{left}{no}b{right}", run]
        return "".join(rng.choice(parts) for _ in range(size))

    def literal(value: str) -> str:
        return "".join(escape + c for c in value)

    odd = one + run + digits + escape + left + right + no + wall + "é"
    pairs = [
        [("matches", pattern(size), text(size + extra)) for extra in (0, 0, 1, 1, 2, 3, 0)]
        for size in (2, 3, 3, 4, 6)
    ]
    word = text(7)
    texts = [word, word + "x", "x" + word, word[1:], word.replace("a", "b") + "a", odd, word + wall]
    steps = [("matches", literal(w), t) for w in (word, odd) for t in texts]
    expected = [(w == t) if whole else (w in t) for w in (word, odd) for t in texts]
    return functions(
        statement,
        source,
        [("matches", f"a{run}{digits}", "ab42"), ("matches", f"{one}{wall}{left}{no}xy{right}", f"a{wall}x"), ("matches", f"{left}ab", "a")],
        [
            *pairs,
            [("matches", "", ""), ("matches", "", "a"), ("matches", run, ""), ("matches", run * 3, "ab" + wall), ("matches", digits, "")],
            [("matches", p, t) for p in (f"a{one}c", f"a{run}c", f"{left}{no}c{right}c") for t in (f"a{wall}c", "abc", "ac", f"{wall}c", "éc")],
            [("matches", p, "a") for p in ("a" + escape, f"a{left}", f"{left}{right}", f"{left}{no}{right}", f"{run}{left}a", escape + left)],
            [("matches", (f"a{run}" * 25) + "b", "a" * 1000), ("matches", (f"a{run}" * 25) + "b", "a" * 1000 + "b")],
            [("matches", digits + digits, t) for t in ("1", "12", "1a2", "x123", "²3")],
            [("matches", f"{left}{escape}{one}{right}{escape}{run}", t) for t in (escape + run, one + run, one + "z", run + run)],
        ],
        [("escaped-text-matches-itself", steps, lambda answers: answers == expected)],
    )  # fmt: skip


def cheapest_edits(rng: random.Random) -> Problem:
    add, drop = rng.randint(2, 5), rng.randint(2, 5)
    change = rng.randint(3, add + drop - 1)
    near, swap = rng.randint(1, change - 1), rng.randint(1, change)
    group = rng.choice(["aeiou", "aeiouy", "0123456789", "bdpq", "lrmn"])
    names = rng.choice(
        [
            ("add", "drop", "change", "swap", "keep"),
            ("ins", "del", "sub", "xch", "same"),
            ("+", "-", "~", "%", "="),
        ]
    )
    source = fill(
        """
        ADD, DROP, CHANGE, SWAP, KEEP = <<names!r>>


        def price(step) -> int:
            name = step[0]
            if name == CHANGE:
                return <<near>> if step[1] in <<group!r>> and step[2] in <<group!r>> else <<change>>
            return {ADD: <<add>>, DROP: <<drop>>, SWAP: <<swap>>, KEEP: 0}[name]


        def edits(old: str, new: str) -> list[tuple]:
            best = {(0, 0): (0, None)}
            for i in range(len(old) + 1):
                for j in range(len(new) + 1):
                    options = []
                    if i:
                        options.append((DROP, old[i - 1]))
                    if j:
                        options.append((ADD, new[j - 1]))
                    if i and j:
                        same = old[i - 1] == new[j - 1]
                        options.append((KEEP, old[i - 1]) if same else (CHANGE, old[i - 1], new[j - 1]))
                    if i > 1 and j > 1 and old[i - 2 : i] == new[j - 2 : j][::-1] and old[i - 1] != old[i - 2]:
                        options.append((SWAP, old[i - 2], old[i - 1]))
                    for step in options:
                        cost = best[before(i, j, step)][0] + price(step)
                        if (i, j) not in best or cost < best[i, j][0]:
                            best[i, j] = (cost, step)
            steps, i, j = [], len(old), len(new)
            while i or j:
                steps.append(best[i, j][1])
                i, j = before(i, j, steps[-1])
            return steps[::-1]


        def before(i: int, j: int, step) -> tuple[int, int]:
            back = {ADD: (0, 1), DROP: (1, 0), SWAP: (2, 2)}.get(step[0], (1, 1))
            return i - back[0], j - back[1]


        def cost(old: str, new: str) -> int:
            return sum(price(step) for step in edits(old, new))
        """,
        names=names, near=near, group=group, change=change, add=add, drop=drop, swap=swap,
    )  # fmt: skip
    statement = f"""
    Write `edits(old: str, new: str) -> list[tuple]` and `cost(old: str, new: str) -> int` in `solution.py`.

    `edits` returns a cheapest list of steps that, from left to right, consume all of `old` and produce all of `new`; if several lists are
    equally cheap, any of them is right. A step is one of

    - `({names[4]!r}, c)`: consumes and produces the character c, costs 0;
    - `({names[1]!r}, c)`: consumes c, costs {drop};
    - `({names[0]!r}, c)`: produces c, costs {add};
    - `({names[2]!r}, c, d)`: consumes c and produces d, another character; costs {near} if both are in `{group}`, else {change};
    - `({names[3]!r}, c, d)`: consumes c and then d, produces d and then c, where c and d differ; costs {swap}.

    `cost` returns the sum of the costs of such a list. Case matters; two empty strings need no steps. Strings have up to 60 characters.
    """
    costing = load(source)["cost"]
    price: Any = load(source)["price"]
    alphabet = "xyz" + group[:3] + "é"

    def sample() -> tuple[str, str]:
        old = letters(rng, alphabet, rng.randint(3, 12))
        new = list(old)
        for _ in range(rng.randint(1, 4)):
            spot = rng.randrange(len(new) + 1)
            new[spot : spot + rng.randint(0, 2)] = letters(rng, alphabet, rng.randint(0, 2))
        if len(new) > 2:
            new[-2:] = new[:-3:-1]
        return old, "".join(new)

    pairs = [sample() for _ in range(24)]
    pairs += [("", ""), ("", "zx"), (group[:2], ""), (group[:2] * 3, group[1::-1] * 3), ("xyz", "xyz")]

    def applies(pairs: list[tuple[str, str]]) -> Any:
        best = [costing(*pair) for pair in pairs]
        sides = {
            names[0]: ("", "c"),
            names[1]: ("c", ""),
            names[2]: ("c", "d"),
            names[3]: ("cd", "dc"),
            names[4]: ("c", "c"),
        }

        def side(steps: list[tuple[str, ...]], which: int) -> str:
            return "".join(
                dict(zip("cd", step[1:], strict=False))[x] for step in steps for x in sides[step[0]][which]
            )

        def judge(answers: list[Any]) -> bool:
            return all(
                side(steps, 0) == old and side(steps, 1) == new and sum(map(price, steps)) == least
                and all(len(step) == 2 or step[1] != step[2] for step in steps)
                for steps, (old, new), least in zip(answers, pairs, best, strict=True)
            )  # fmt: skip

        return judge

    long = [(letters(rng, alphabet, 30), letters(rng, alphabet, 32))]
    groups = [pairs[:6], pairs[6:10], pairs[10:12], pairs[24:], long]
    return functions(
        statement,
        source,
        [("cost", "stone", "tones"), ("cost", group[:2], group[1::-1]), ("cost", "x" + group[0], "y" + group[2])],
        [
            *([("cost", *pair) for pair in pairs[i : i + 3]] for i in range(12, 24, 3)),
            [("cost", *pair) for pair in pairs[24:]], [("cost", "Xy", "xY"), ("cost", "xy" * 5, "yx" * 5)],
        ],
        [(f"edits-{i}", [("edits", *pair) for pair in group], applies(group)) for i, group in enumerate(groups)],
    )  # fmt: skip


FAMILIES: tuple[Family, ...] = (
    Family("natural-order", "strings", "medium", natural_order),
    Family("unique-abbreviations", "strings", "medium", abbreviations),
    Family("wildcard-match", "strings", "hard", wildcards),
    Family("cheapest-edits", "strings", "hard", cheapest_edits),
)
