"""A family about a language of conditions on rows.

Invariant: the grammar that a statement describes is drawn from the generator of random numbers, the reference follows it.
"""

from __future__ import annotations

import random
from typing import Any

from agentrl.envs.code.families.writing import fill, functions
from agentrl.envs.code.task import Family, Problem, load


def filters(rng: random.Random) -> Problem:
    both, either, negate = rng.choice(
        [
            ("and", "or", "not"),
            ("&", "|", "!"),
            ("all", "any", "no"),
            ("AND", "OR", "NOT"),
            ("plus", "else", "un"),
        ]
    )
    equal, other, less, more = rng.choice(
        [
            ("=", "!=", "<", ">"),
            ("is", "isnt", "below", "above"),
            ("==", "<>", "<", ">"),
            ("eq", "ne", "lt", "gt"),
        ]
    )
    has, quote = rng.choice(["contains", "has", "~", "includes"]), rng.choice("\"'`")
    tighter, absent = rng.random() < 0.6, rng.choice(["false", "KeyError"])
    names = rng.sample(["size", "name", "city", "age", "tag", "rank"], 4)
    numeric, textual = names[:2], names[2:]
    first, second = (either, both) if tighter else (both, either)
    source = fill(
        """
        import operator
        import re

        TESTS = {
            <<equal!r>>: operator.eq, <<other!r>>: operator.ne, <<less!r>>: operator.lt,
            <<more!r>>: operator.gt, <<has!r>>: lambda a, b: b in a,
        }
        JOIN = {<<both!r>>: all, <<either!r>>: any}
        TOKEN = re.compile(<<token!r>>)


        def select(query: str, rows: list[dict]) -> list[dict]:
            tokens, index = [], 0
            query = query.rstrip(" ")
            while index < len(query):
                match = TOKEN.match(query, index)
                if not match:
                    raise ValueError(f"not understood at {index}")
                number, text, word = match.groups()
                tokens.append(("value", int(number)) if number else ("value", text) if text is not None else ("word", word))
                index = match.end()
            test, rest = joined(tokens, [<<first!r>>, <<second!r>>])
            if rest:
                raise ValueError(f"unexpected {rest[0][1]!r}")
            return [row for row in rows if test(row)]


        def joined(tokens, words):
            if not words:
                return single(tokens)
            test, tokens = joined(tokens, words[1:])
            tests = [test]
            while tokens[:1] == [("word", words[0])]:
                test, tokens = joined(tokens[1:], words[1:])
                tests.append(test)
            return (lambda row: JOIN[words[0]](test(row) for test in tests)), tokens


        def single(tokens):
            if tokens[:1] == [("word", <<negate!r>>)]:
                test, tokens = single(tokens[1:])
                return (lambda row: not test(row)), tokens
            if tokens[:1] == [("word", "(")]:
                test, tokens = joined(tokens[1:], [<<first!r>>, <<second!r>>])
                if tokens[:1] != [("word", ")")]:
                    raise ValueError("an open bracket")
                return test, tokens[1:]
            if [kind for kind, _ in tokens[:3]] != ["word", "word", "value"] or tokens[1][1] not in TESTS:
                raise ValueError("no comparison")
            field, name, value = (token[1] for token in tokens[:3])
            if not re.fullmatch("[a-z]+", field):
                raise ValueError(f"not a field: {field}")
            return (lambda row: compare(row, field, name, value)), tokens[3:]


        def compare(row, field, name, value):
            if field not in row:
                <<absent>>
            if type(row[field]) is not type(value) or (name == <<has!r>> and isinstance(value, int)):
                return name == <<other!r>>
            return TESTS[name](row[field], value)
        """,
        both=both, either=either, negate=negate, equal=equal, other=other, less=less, more=more, has=has,
        token=f" *(?:(-?[0-9]+)|{quote}([^{quote}]*){quote}|([A-Za-z]+|[()]|[!=<>~&|]+))",
        first=first, second=second, absent="return False" if absent == "false" else "raise KeyError(field)",
    )  # fmt: skip
    statement = f"""
    Write `select(query: str, rows: list[dict]) -> list[dict]` in `solution.py`; it returns the rows for which the query holds, in their order. Values in rows are `int` or `str`.

    A comparison is a field (letters a to z), one of `{equal}` (equal), `{other}` (not equal), `{less}` (less), `{more}` (greater), `{has}` (the row's text contains the given
    text), and a value: an integer (optional `-`, digits) or a text between two {quote} (without escapes). Texts are compared by code points, with case. If the row's value and the given one are
    of different types, or `{has}` is used with integers, only `{other}` holds. For a field that the row lacks {"the comparison is false (so its negation holds)" if absent == "false" else "`KeyError` is raised, unless the comparison is not reached: conditions are evaluated from left to right only until the result is certain"}.

    Comparisons are combined by `{both}` (all of them), `{either}` (at least one) and the prefix `{negate}`, which binds tightest and may be repeated; `{second}` binds tighter
    than `{first}`; `(` and `)` group. Tokens are separated by spaces; spaces around brackets, numbers and texts are optional.

    A query that does not have this form, the empty one included, raises `ValueError`, even for no rows.
    """
    towns = ["oak", "Oak", "ash", "river", "", "café", "7"]

    def row() -> dict[str, Any]:
        result: dict[str, Any] = {name: rng.randint(-3, 9) for name in numeric} | {
            name: rng.choice(towns) for name in textual
        }
        if rng.random() < 0.2:
            result[numeric[0]] = "7"
        return result

    def comparison() -> str:
        if rng.random() < 0.5:
            return f"{rng.choice(numeric)} {rng.choice([equal, other, less, more])} {rng.randint(-2, 8)}"
        return f"{rng.choice(textual)} {rng.choice([equal, other, less, more, has])} {quote}{rng.choice([*towns, 'a'])}{quote}"

    def query(depth: int) -> str:
        kind = rng.random()
        if depth == 0 or kind < 0.1:
            return comparison()
        if kind < 0.25:
            return f"{negate} ({query(depth - 1)})" if rng.random() < 0.6 else f"{negate} {comparison()}"
        if kind < 0.4:
            return f"({query(depth - 1)})"
        return f"{query(depth - 1)} {rng.choice([both, either])} {query(depth - 1)}"

    rows = [row() for _ in range(12)]
    n, t = numeric[1], textual[0]
    lacking = [{n: 1}, {t: "oak"}, {n: 5, t: "ash"}, {}]
    bad = [
        "",
        "  ",
        n,
        f"{n} {equal}",
        f"{n} {equal} {n}",
        f"5 {equal} {n}",
        f"({n} {equal} 5",
        f"{n} {equal} 5)",
        f"{n} {equal} 5 {both}",
        f"{negate}",
        f"{n} {equal} 5 {n} {equal} 5",
        f"{t} {equal} {quote}oak",
        "()",
        f"{n} likes 5",
        f"{n} {equal} 5 ; {n} {equal} 6",
    ]
    flat = f"{n} {less} 3 {first} {t} {equal} {quote}oak{quote} {second} {n} {more} 4"
    split = query(3)
    check = load(source)["select"]
    kept = check(split, rows)
    return functions(
        statement,
        source,
        [("select", f"{n} {more} 2 {both} {negate} {t} {equal} {quote}oak{quote}", [{n: 3, t: "oak"}, {n: 4, t: "elm"}]), ("select", f"{n} {more}", [])],
        [
            [("select", q, []) for q in bad[:8]], [("select", q, rows[:1]) for q in bad[8:]], *([("select", comparison(), rows) for _ in range(3)] for _ in range(2)),
            [("select", flat, rows), ("select", f"({flat})", rows + lacking[2:3]), ("select", f"{t} {equal} {quote}ash{quote} {second} {n} {less} 4 {first} {n} {equal} 5", rows)],
            [("select", f"{q}", rows) for q in (f"{numeric[0]} {equal} 7", f"{numeric[0]} {other} 7", f"{numeric[0]} {less} {quote}8{quote}", f"{t} {has} {quote}{quote}", f"{n} {has} 1")],
            *(("select", f"{q}", lacking[:2]) for q in (f"{n} {equal} 1", f"{negate} {n} {equal} 1")), ("select", f"{n} {equal} 1 {either} {t} {equal} {quote}oak{quote}", lacking),
            *([("select", query(depth), rows) for _ in range(3)] for depth in (2, 3, 4)),
        ],
        [("a-query-and-its-negation-part-the-rows", [("select", f"({split})", rows), ("select", f"{negate} ({split})", rows), ("select", f"{negate} {negate}({split})", rows[::-1])], lambda a: a[0] == kept and a[1] == [r for r in rows if r not in kept] and a[2] == kept[::-1])],
    )  # fmt: skip


FAMILIES: tuple[Family, ...] = (Family("row-filters", "parsing", "hard", filters),)
