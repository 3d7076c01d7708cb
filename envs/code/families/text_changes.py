"""Families about changes of texts: scripts of changed lines and three-way merges.

Invariant: a property accepts every right answer where several are right.
"""

from __future__ import annotations

import random
from typing import Any

from agentrl.envs.code.families.writing import FOREIGN, WORDS, fill, functions, words
from agentrl.envs.code.task import Family, Problem, load


def line_changes(rng: random.Random) -> Problem:
    keep, drop, add = rng.choice(
        [("=", "-", "+"), (" ", "-", "+"), (".", "<", ">"), ("k", "d", "a"), ("|", "x", "o")]
    )
    least, fold = rng.randint(2, 4), rng.choice("@#~%")
    first = rng.choice(["drop", "add"])
    source = fill(
        """
        def changes(old: list[str], new: list[str]) -> list[str]:
            size = [[0] * (len(new) + 1) for _ in range(len(old) + 1)]
            for i in reversed(range(len(old))):
                for j in reversed(range(len(new))):
                    size[i][j] = size[i + 1][j + 1] + 1 if old[i] == new[j] else max(size[i + 1][j], size[i][j + 1])
            result, kept, i, j = [], [], 0, 0
            dropped, added = [], []
            while i < len(old) or j < len(new):
                if i < len(old) and j < len(new) and old[i] == new[j]:
                    result += <<pieces>>
                    dropped, added = [], []
                    kept.append(old[i])
                    i, j = i + 1, j + 1
                    continue
                result += folded(kept)
                kept = []
                if j == len(new) or (i < len(old) and size[i + 1][j] >= size[i][j + 1]):
                    dropped.append(<<drop!r>> + old[i])
                    i += 1
                else:
                    added.append(<<add!r>> + new[j])
                    j += 1
            return result + <<pieces>> + folded(kept)


        def folded(lines: list[str]) -> list[str]:
            if len(lines) >= <<least>>:
                return [f"<<fold>>{len(lines)}"]
            return [<<keep!r>> + line for line in lines]


        def apply(old: list[str], script: list[str]) -> list[str]:
            result, index = [], 0
            for step in script:
                sign, line = step[:1], step[1:]
                if sign == <<fold!r>> and line.isascii() and line.isdigit():
                    if index + int(line) > len(old):
                        raise ValueError("the old text is too short")
                    result += old[index : index + int(line)]
                    index += int(line)
                elif sign == <<add!r>>:
                    result.append(line)
                elif sign in (<<keep!r>>, <<drop!r>>):
                    if old[index : index + 1] != [line]:
                        raise ValueError(f"not in the old text: {step}")
                    index += 1
                    result += [line] if sign == <<keep!r>> else []
                else:
                    raise ValueError(f"not a step: {step!r}")
            if index < len(old):
                raise ValueError("the script ends too early")
            return result
        """,
        keep=keep, drop=drop, add=add, least=least, fold=fold, pieces="dropped + added" if first == "drop" else "added + dropped",
    )  # fmt: skip
    statement = f"""
    Write `changes(old: list[str], new: list[str]) -> list[str]` and `apply(old: list[str], script: list[str]) -> list[str]` in `solution.py`.
    A script is a list of steps that go through `old` from its first to its last line:

    - {keep!r} followed by a line: this is the next line of `old`, it stays;
    - {drop!r} followed by a line: this is the next line of `old`, it goes;
    - {add!r} followed by a line: a new line is put in here;
    - `{fold}` followed by a number n (ASCII digits): the next n lines of `old` stay.

    `changes` returns a script that turns `old` into `new` and in which as many lines as possible stay; if several scripts do so, any of them is right.
    Each longest stretch of staying lines is written as one `{fold}` step if it has {least} lines or more, and otherwise with {keep!r}.
    Within a stretch of other steps all {"dropped lines precede all added ones" if first == "drop" else "added lines precede all dropped ones"}.

    `apply` follows a script and returns the new lines. It raises `ValueError` if a step has another form, if a line is not the next line of `old`,
    if `old` has too few lines, or if lines of `old` are left at the end.
    """
    reference = load(source)
    apply, make = reference["apply"], reference["changes"]

    def stays(script: list[str]) -> int:
        return sum(int(s[1:]) if s[0] == fold else s[0] == keep for s in script)

    def tidy(script: list[str]) -> bool:
        kinds = "".join(
            "K" if s[0] == keep else "F" if s[0] == fold else "D" if s[0] == drop else "A" for s in script
        )
        wrong = ["AD" if first == "drop" else "DA", "KF", "FK", "FF", "K" * least]
        return not any(w in kinds for w in wrong) and all(int(s[1:]) >= least for s in script if s[0] == fold)

    def right(pairs: list[tuple[list[str], list[str]]]) -> Any:
        best = [stays(make(*pair)) for pair in pairs]

        def judge(answers: list[list[str]]) -> bool:
            return all(
                apply(old, script) == new and stays(script) == most and tidy(script)
                for script, (old, new), most in zip(answers, pairs, best, strict=True)
            )  # fmt: skip

        return judge

    def pair(size: int, pool: int) -> tuple[list[str], list[str]]:
        old = words(rng, size, WORDS[:pool])
        new = list(old)
        for _ in range(rng.randint(1, 1 + size // 4)):
            spot = rng.randrange(len(new) + 1)
            new[spot : spot + rng.randint(0, 2)] = words(rng, rng.randint(0, 2), WORDS[:pool])
        return old, new

    groups = [[pair(size, pool) for _ in range(3)] for size, pool in ((4, 3), (8, 4), (14, 20), (50, 8))]
    edge: list[tuple[list[str], list[str]]] = [([], []), ([], ["a"]), (["a"], []), (["", keep], [keep, ""])]
    edge += [(["a"] * least, ["a"] * least), (["a"] * 9, ["a"] * (least - 1)), ([fold + "3"], [drop, add])]
    old = ["a", "b", "c", "d"]
    faulty = [
        [],
        [keep + "a"],
        [keep + "b"],
        [f"{fold}5"],
        [f"{fold}4", keep + "d"],
        [f"{fold}4", ""],
        [f"{fold}x"],
        [fold],
    ]
    faulty += [[f"{fold}3", drop + "e"], ["?a", f"{fold}4"]]
    scripts = [make(*p) for group in groups for p in group]
    olds = [p[0] for group in groups for p in group]
    return functions(
        statement,
        source,
        [
            ("changes", ["a", "b", "c", "d", "e"], ["a", "b", "c", "d", "f"]), ("changes", ["x", "y"], ["y"]),
            ("apply", ["x", "y"], [drop + "x", f"{fold}1", add + "z"]), ("apply", ["x"], [keep + "y"]),
        ],
        [
            [("apply", old, script) for script in faulty[:5]], [("apply", old, script) for script in faulty[5:]],
            *([("apply", o, s) for o, s in zip(olds[i : i + 3], scripts[i : i + 3], strict=True)] for i in (0, 3, 6, 9)),
            [("apply", [], []), ("apply", [], [add, add + add]), ("apply", old, [f"{fold}0", f"{fold}04"])],
        ],
        [
            ("changes-at-the-edges", [("changes", *p) for p in edge], right(edge)),
            *((f"changes-{i}", [("changes", *p) for p in group], right(group)) for i, group in enumerate(groups)),
        ],
    )  # fmt: skip


def merges(rng: random.Random) -> Problem:
    eq = rng.choice(["=", ":", " = ", ": "])
    one, two, three = rng.choice(
        [("<ours>", "<theirs>", "<end>"), ("[ours", "|", "theirs]"), ("{", "--", "}"), ("!1", "!2", "!3")]
    )
    gone = rng.choice(["(deleted)", "(none)", "~", "-"])
    strict, order = rng.random() < 0.5, rng.choice(["base", "sorted", "ours"])
    source = fill(
        """
        def merge(base: str, ours: str, theirs: str) -> list[str]:
            first, left, right = map(read, (base, ours, theirs))
            result = []
            for key in <<keys>>:
                old, one, two = first.get(key), left.get(key), right.get(key)
                if one == two or two == old:
                    value = one
                elif one == old:
                    value = two
                elif <<rescue>>:
                    value = two if one is None else one
                else:
                    result += [<<one!r>>, show(key, one), <<two!r>>, show(key, two), <<three!r>>]
                    continue
                if value is not None:
                    result.append(show(key, value))
            return result


        def show(key: str, value: str | None) -> str:
            return <<gone!r>> if value is None else key + <<eq!r>> + value


        def read(text: str) -> dict[str, str]:
            values: dict[str, str] = {}
            for line in text.split("\\n"):
                if not line.strip():
                    continue
                key, mark, value = line.partition(<<mark!r>>)
                if not mark or not key.strip() or key.strip() in values:
                    raise ValueError(f"bad line: {line!r}")
                values[key.strip()] = value.strip()
            return values
        """,
        keys={"base": "first | left | right", "sorted": "sorted(first | left | right)", "ours": "left | right | first"}[order],
        rescue="False" if strict else "one is None or two is None", one=one, two=two, three=three, gone=gone, eq=eq, mark=eq.strip(),
    )  # fmt: skip
    arranged = {
        "base": "in the order of `base`, then those it lacks: first the ones of `ours` in its order, then the rest in the order of `theirs`",
        "sorted": "in ascending order of code points",
        "ours": "in the order of `ours`, then those it lacks: first the ones of `theirs` in its order, then the rest in the order of `base`",
    }[order]
    statement = f"""
    Write `merge(base: str, ours: str, theirs: str) -> list[str]` in `solution.py`. Each argument is a text of lines `key{eq}value` separated by line feeds;
    `ours` and `theirs` are two edited versions of `base`. The first `{eq.strip()}` of a line counts, white space around keys and values is ignored, and so are
    lines of white space only. A line without `{eq.strip()}`, an empty key, or a key twice in one text raises `ValueError`; values may be empty.

    Go through all keys, {arranged}. A version gives a key a value or lacks it. If both versions agree, that is the result. If only one of them
    differs from `base`, its word is the result, be it a change, an addition or a removal. If both differ from `base` and from each other:
    {"this" if strict else "when one removed the key and the other changed its value, the changed value is the result; otherwise this"} is a conflict.

    Return the lines of the result, `key{eq}value` for each key that is not removed. In place of a conflict stand five lines: `{one}`, the word of `ours`, `{two}`, the word
    of `theirs`, `{three}`, where a value is written `key{eq}value` and a removed key `{gone}`.
    """
    keys = rng.sample(WORDS, 9) + rng.sample(FOREIGN, 3)

    def write(values: dict[str, str]) -> str:
        lines = [f"{rng.choice(['', ' '])}{k}{eq}{v}{rng.choice(['', ' '])}" for k, v in values.items()]
        return "\n".join(lines) + rng.choice(["", "\n", "\n\n"])

    def edit(values: dict[str, str]) -> dict[str, str]:
        items = list(values.items())
        rng.shuffle(items)
        new = {k: v if rng.random() < 0.5 else rng.choice("1234") for k, v in items if rng.random() < 0.75}
        return new | {k: rng.choice("12") for k in keys if rng.random() < 0.25}

    def triple(size: int) -> tuple[str, str, str]:
        base = {k: rng.choice(["1", "2", "", f"a{eq.strip()}b"]) for k in rng.sample(keys, size)}
        return write(base), write(edit(base)), write(edit(base))

    k, j = keys[0], keys[1]
    a, b, c = f"{k}{eq}1", f"{k}{eq}2", f"{k}{eq}3"
    small = [("merge", x, y, z) for x in ("", a) for y in ("", a, b) for z in ("", a, b, c)][1:]
    big = {f"key{i:03}": str(i) for i in range(150)}
    left = {key: v if i % 3 else v + "!" for i, (key, v) in enumerate(big.items())}
    right = {key: v for i, (key, v) in enumerate(big.items()) if i % 3 != 1}
    wanted = [f"{key}{eq}{v}" for key, v in left.items() if key in right]
    three_texts = write(big), write(left), write(right)
    bad = [
        ("merge", k, "", ""),
        ("merge", "", eq + "1", ""),
        ("merge", "", "", f"{a}\n{b}"),
        ("merge", f"{a}\n{a}", "", ""),
        ("merge", "", f"{a}\nx y", a),
    ]
    return functions(
        statement,
        source,
        [("merge", f"a{eq}1\nb{eq}1\nc{eq}1", f"a{eq}2\nb{eq}1\nc{eq}2", f"a{eq}1\nc{eq}3\nd{eq}4"), ("merge", f"a{eq}1", "", f"a{eq}5")],
        [
            [("merge", "", "", ""), ("merge", " \n\n", f"{a}\n", f"\n {k} {eq} 1 ")], *(small[i::4] for i in range(4)), bad,
            ("merge", f"{a}\n{j}{eq}1", f"{j}{eq}1\n{b}", f"{keys[2]}{eq}9\n{j}{eq}\n{a}"),
            *(("merge", *triple(size)) for size in (3, 5, 8, 12)), [("merge", *triple(6)) for _ in range(5)],
        ],
        [
            ("nothing-is-lost", [("merge", *three_texts), ("merge", three_texts[0], *three_texts[:0:-1])], lambda x: [sorted(lines) for lines in x] == [wanted, wanted]),
        ],
    )  # fmt: skip


FAMILIES: tuple[Family, ...] = (
    Family("line-changes", "text", "hard", line_changes),
    Family("three-way-merge", "text", "hard", merges),
)
