"""Families about comparing two strings: wildcards and cheapest edits.

Invariant: where several answers are right, a property accepts each of them.
"""

from __future__ import annotations

import random
from typing import Any

from agentrl.envs.code.families.writing import fill, functions, letters
from agentrl.envs.code.task import Family, Problem, load


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
    Family("wildcard-match", "strings", "hard", wildcards),
    Family("cheapest-edits", "strings", "hard", cheapest_edits),
)
