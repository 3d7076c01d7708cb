"""Families about text layout: tables, headings and paragraphs.

Invariant: every width, mark and order that a statement names is drawn from the generator of random numbers.
"""

from __future__ import annotations

import random
import re
from itertools import pairwise

from agentrl.envs.code.families.writing import FOREIGN, WORDS, fill, functions, letters, words
from agentrl.envs.code.task import Family, Problem


def tables(rng: random.Random) -> Problem:
    bar, rule = rng.choice(["|", "  ", ":", "/"]), rng.choice("-=~.")
    limit, more = rng.randint(6, 10), rng.choice(["…", ">", "+"])
    blank = rng.choice(["-", "", "?", "n/a"])
    numbers, numbered = rng.choice([("right", "rjust"), ("left", "ljust")])
    texts, written = ("left", "ljust") if numbers == "right" else ("right", "rjust")
    frame = rng.random() < 0.5
    source = fill(
        """
        import re


        def table(head: list[str], rows: list[list[str]]) -> list[str]:
            if not head or any(len(row) > len(head) for row in rows):
                raise ValueError("no columns, or a row with too many cells")
            rows = [row + [<<blank!r>>] * (len(head) - len(row)) for row in rows]
            columns = []
            for index, title in enumerate(head):
                cells = [row[index] for row in rows]
                numeric = bool(cells) and all(re.fullmatch("-?[0-9]+", c) or c == <<blank!r>> for c in cells)
                cells = [c if len(c) <= <<limit>> else c[: <<limit>> - 1] + <<more!r>> for c in [title, *cells]]
                width = max(map(len, cells))
                cells = [c.<<numbered>>(width) if numeric else c.<<written>>(width) for c in cells]
                columns.append([cells[0], <<rule!r>> * width, *cells[1:]])
            return [<<edge!r>> + <<bar!r>>.join(line) + <<edge!r>> for line in zip(*columns)]
        """,
        blank=blank, limit=limit, more=more, numbered=numbered, written=written, rule=rule, bar=bar, edge=bar.strip() if frame else "",
    )  # fmt: skip
    edge = bar.strip() if frame else ""
    between = "two spaces" if bar == "  " else f"`{bar}`"
    statement = f"""
    Write `table(head: list[str], rows: list[list[str]]) -> list[str]` in `solution.py`; it returns the lines of a table: the titles, a rule, then each row.

    A row with fewer cells than `head` is filled up on its right with cells {blank!r}; a row with more, or an empty `head`, raises `ValueError`. Cells and titles of more than {limit} characters are cut to
    their first {limit - 1}, followed by `{more}`. A column is as wide as its widest title or cell after that. Columns with at least one row, whose cells all are integers (optional `-`, ASCII
    digits) or {blank!r}, are aligned to the {numbers}, all others to the {texts}, the title included; they are padded with spaces, also at the ends of lines. What counts as an integer is
    decided before cutting. The rule is `{rule}` over the whole width of each column. Columns are separated by {between} in all lines{f", and every line begins and ends with `{edge}`" if edge else ", nothing else surrounds them"}. Arguments are not changed.
    """

    def cell() -> str:
        return rng.choice(
            [
                rng.choice(WORDS),
                rng.choice(FOREIGN),
                str(rng.randint(-99, 9999)),
                letters(rng, "ab ", limit + 3),
                blank,
                "",
                "1.5",
            ]
        )

    def rows(count: int, width: int, ragged: bool = False) -> list[list[str]]:
        kinds = [rng.random() < 0.5 for _ in range(width)]
        full = [[str(rng.randint(-50, 99999)) if k else cell() for k in kinds] for _ in range(count)]
        return [row[: rng.randint(0, width)] if ragged else row for row in full]

    def head(width: int) -> list[str]:
        return [
            rng.choice(["id", "Name", "a long title", "n", "größe", "x" * limit, ""]) for _ in range(width)
        ]

    big = rows(60, 4)

    def lined_up(answers: list[list[str]]) -> bool:
        return (
            len(answers[0]) == 62
            and len({len(line) for line in answers[0]}) == 1
            and set(answers[0][1]) <= set(rule + bar)
        )

    inputs = [
        (head(1), []),
        (head(3), []),
        (head(2), [[], ["7"]]),
        (["a"], [["y" * limit], ["z" * (limit + 1)]]),
        (["n", "m"], [["1" * (limit + 2), "x"], ["-5", blank]]),
    ]
    inputs += [
        (head(width), rows(count, width, ragged))
        for count, width, ragged in ((1, 2, False), (3, 3, False), (4, 3, True), (6, 5, True), (30, 3, False))
    ]
    faults = [
        ("table", [], []),
        ("table", [], [[]]),
        ("table", ["a"], [["1", "2"]]),
        ("table", ["a", "b"], [["1"], ["1", "2", "3"]]),
    ]
    return functions(
        statement,
        source,
        [("table", ["item", "count"], [["tea", "12"], ["a long name here", "5"]]), ("table", ["k", "v"], [["1"], ["20", "x"]])],
        [*(("table", *arguments) for arguments in inputs), faults],
        [("lines-of-one-length", [("table", ["a", "b", "c", "d"], big)], lined_up)],
    )  # fmt: skip


def headings(rng: random.Random) -> Problem:
    mark, fence = rng.choice("#=*!"), rng.choice(["```", "~~~", "%%%", '"""'])
    styles = [rng.choice(["decimal", "decimal", "letter"]) for _ in range(3)]
    start, glue, end = rng.randint(0, 3), rng.choice([".", "-", "/"]), rng.choice([" ", ") ", ": ", ". "])
    deepest, drop = rng.choice([2, 3]), rng.random() < 0.5
    skip = rng.choice(["!", "-", "_"]) if mark != "!" else "-"
    source = fill(
        """
        import re

        STYLES = <<styles!r>>


        def number(text: str) -> str:
            counts: list[int] = []
            open_block = False
            result = []
            for line in text.split("\\n"):
                if line.startswith(<<fence!r>>):
                    open_block = not open_block
                match = re.fullmatch("([<<mark>>]+) +([^ ].*)", line)
                if open_block or not match or len(match[1]) > <<deepest>> or match[2].startswith(<<skip!r>>):
                    result.append(line)
                    continue
                depth = len(match[1])
                if depth > len(counts) + 1:
                    raise ValueError(f"a level is missing above {line!r}")
                counts = counts[:depth] + [<<start>> - 1] * (depth - len(counts))
                counts[-1] += 1
                label = <<glue!r>>.join(map(sign, STYLES, counts))
                result.append(<<prefix>>label + <<end!r>> + match[2])
            return "\\n".join(result)


        def sign(style: str, count: int) -> str:
            return str(count) if style == "decimal" else chr(ord("a") + count - <<start>>)
        """,
        styles=styles, fence=fence, mark=mark, deepest=deepest, skip=skip, start=start, glue=glue, end=end,
        prefix="" if drop else "match[1] + ' ' + ",
    )  # fmt: skip
    names = {"decimal": f"a decimal number counted from {start}", "letter": "a letter counted from `a`"}
    statement = f"""
    Write `number(text: str) -> str` in `solution.py`; it numbers the headings of a text. Lines are separated by line feeds and are kept as they are, except for headings.

    A heading of level n is a line that begins with exactly n `{mark}` (n from 1 to {deepest}), one or more spaces and a title, which is not empty. It is replaced by {"" if drop else f"the same `{mark}`, a space, "}its label, {end!r} and the title. The label has one part for each level from 1 to n, joined by `{glue}`:
    {"; ".join(f"level {i + 1} is {names[s]}" for i, s in enumerate(styles[:deepest]))}. A heading counts on from the previous heading of its level under the same higher heading; under a new higher heading counting starts again.

    Not headings are: titles that begin with `{skip}`, more than {deepest} `{mark}`, and all lines from one that begins with {fence!r} up to and including the next that does (or to the end of the text). `ValueError` is raised for a heading
    more than one level deeper than the heading before it (a first heading must have level 1). No level has more than 26 headings in a row.
    """

    def line(depth: int) -> str:
        return mark * depth + " " * rng.randint(1, 2) + rng.choice([*WORDS, *FOREIGN, "Two words", "1.5"])

    def some(size: int) -> str:
        depth, lines = 1, [line(1)]
        for _ in range(size):
            if rng.random() < 0.4:
                lines.append(
                    rng.choice(
                        [
                            "",
                            "plain text",
                            mark + "x",
                            " " + mark + " y",
                            mark * (deepest + 1) + " z",
                            mark + " " + skip + "skipped",
                            f"{fence}\n{mark} code\n{fence}",
                        ]
                    )
                )
            else:
                depth = rng.randint(1, min(depth + 1, deepest))
                lines.append(line(depth))
        return "\n".join(lines)

    flat = "\n".join(f"{mark} t{i}\n\ntext" for i in range(20))
    first = [str(start + i) if styles[0] == "decimal" else chr(97 + i) for i in range(20)]

    def counted(answers: list[str]) -> bool:
        lines = answers[0].split("\n")
        lead = "" if drop else mark + " "
        return (
            lines[::3] == [f"{lead}{label}{end}t{i}" for i, label in enumerate(first)]
            and set(lines[1::3]) == {""}
            and len(lines) == 60
        )

    d = mark * 2
    inputs = [
        f"{mark} a\n{d} b\n{d} c\n{mark} d\n{d} e\n",
        f"{fence}\n{mark} a\n{d} b\n{fence}x\n{mark} c",
        f"{mark} a\n{fence}\n{mark} b\n\n",
        f"{mark} {skip}a\n{mark}  {skip} b\n{mark} c {skip}",
    ]
    inputs += [some(size) for size in (3, 5, 8, 12, 20)]
    return functions(
        statement,
        source,
        [("number", f"{mark} Intro\n\n{mark} Use\n{d} Easy\n{d} Hard"), ("number", f"{d} a")],
        [
            *(("number", text) for text in inputs), [("number", ""), ("number", "\n"), ("number", mark), ("number", mark + "x"), ("number", f"{mark} ")],
            [("number", f"text\n{d} x"), ("number", f"{mark} {skip}a\n{d} b"), ("number", f"{fence}\n{mark} a\n{fence}\n{d} b")],
            [("number", f"{d} {skip}a"), ("number", f"{mark * (deepest + 1)} b\n{mark} c")],
        ],
        [("counts-in-order", [("number", flat)], counted)],
    )  # fmt: skip


def paragraphs(rng: random.Random) -> Problem:
    first, rest = rng.choice([(0, 2), (2, 0), (4, 0), (0, 4), (1, 3), (3, 1)])
    cut, mark = rng.random() < 0.6, rng.choice("-\\~+")
    layout = rng.choice(["left", "right", "full", "center"])
    bullet = rng.choice("-*+>")
    source = fill(
        """
        def wrap(text: str, width: int) -> list[str]:
            if width < 10:
                raise ValueError("too narrow")
            result: list[str] = []
            for words in paragraphs(text):
                if result:
                    result.append("")
                lines: list[list[str]] = [[]]
                waiting = words[::-1]
                while waiting:
                    word = waiting.pop()
                    room = width - (<<first>> if len(lines) == 1 else <<rest>>)
                    used = sum(len(w) + 1 for w in lines[-1])
                    if used + len(word) <= room:
                        lines[-1].append(word)
                    elif lines[-1]:
                        lines.append([])
                        waiting.append(word)
                    elif <<cut>>:
                        lines[-1].append(word[: room - 1] + <<mark!r>>)
                        waiting.append(word[room - 1 :])
                    else:
                        lines[-1].append(word)
                for index, line in enumerate(lines):
                    indent = <<first>> if index == 0 else <<rest>>
                    result.append(" " * indent + layout(line, width - indent, index == len(lines) - 1))
            return result


        def paragraphs(text: str) -> list[list[str]]:
            found: list[list[str]] = []
            fresh = True
            for line in text.split("\\n"):
                words = line.split()
                if not words:
                    fresh = True
                    continue
                if fresh or words[0] == <<bullet!r>>:
                    found.append([])
                found[-1] += words
                fresh = False
            return found


        def layout(words: list[str], width: int, last: bool) -> str:
            <<code>>
        """,
        first=first, rest=rest, cut=cut, mark=mark, bullet=bullet,
        code={
            "left": "return ' '.join(words)",
            "right": "return ' '.join(words).rjust(width)",
            "center": "text = ' '.join(words)\n    return ' ' * max(0, (width - len(text)) // 2) + text",
            "full": """if last or len(words) == 1:
        return ' '.join(words)
    gaps = len(words) - 1
    each, extra = divmod(width - sum(map(len, words)), gaps)
    return ''.join(w + ' ' * (each + (i < extra)) for i, w in enumerate(words[:-1])) + words[-1]""",
        }[layout],
    )  # fmt: skip
    rule = {
        "left": "Lines have single spaces between words and no spaces at the end.",
        "right": "Words of a line have single spaces between them; further spaces behind the indentation move the line to the right so that it is `width` characters long (a longer line stays as it is).",
        "center": "Words of a line have single spaces between them; behind the indentation stand half of the missing spaces (rounded down), so that the line is centered in what is left of `width`; no spaces at the end.",
        "full": "Every line but the last of a paragraph is widened to exactly `width` if it has two words or more: missing spaces are spread evenly over its gaps, and the leftmost gaps get one more if they do not divide evenly. Other lines have single spaces.",
    }[layout]
    statement = f"""
    Write `wrap(text: str, width: int) -> list[str]` in `solution.py`; `width` counts characters, and less than 10 raises `ValueError`.

    Paragraphs are separated by one or more lines of white space only; besides, a line whose first word is a lone `{bullet}` begins a new paragraph (the `{bullet}` is its first word). Within
    a paragraph all white space, line feeds included, only separates words. Result lines are filled greedily: a word goes into the current line if the line, indentation included, does not exceed `width`, otherwise into the next one.
    The first line of a paragraph is indented by {first} space{"s" * (first != 1)}, the others by {rest}. A word that does not fit into the current line although that is still empty {f"is cut: as many characters as fit together with a final `{mark}` fill that line, and the remainder is treated as the next word" if cut else "stands alone in a line that exceeds the width"}.

    {rule} Between two paragraphs there is one empty string; without words the list is empty.
    """

    def prose_text(size: int) -> str:
        pool = [*WORDS, *FOREIGN, "a", "I", "to", bullet, "x" * rng.randint(8, 30)]
        return "".join(
            w + rng.choice([" ", " ", " ", "  ", "\n", "\n\n", "\n \n"]) for w in words(rng, size, pool)
        )

    long = [w for w in words(rng, 300) if len(w) < 8]
    exact = " ".join(["abcd"] * 12)

    def sound(answers: list[list[str]]) -> bool:
        lines = answers[0]
        fits = all(len(line) <= 24 for line in lines) and all(
            len(above.split())
            and sum(len(w) + 1 for w in above.split()) + len(below.split()[0]) + (first if i == 0 else rest)
            > 24
            for i, (above, below) in enumerate(pairwise(lines))
        )
        return (
            fits
            and [w for line in lines for w in line.split()] == long
            and lines[0].startswith(" " * first)
            and re.match(" " * rest, lines[1]) is not None
        )

    return functions(
        statement,
        source,
        [("wrap", "oak ash elm fig ivy\n\nrye moss", 12), ("wrap", f"tea\n{bullet} a{'b' * 14} c", 11), ("wrap", "x", 9)],
        [
            [("wrap", "", 10), ("wrap", " \n\n ", 40), ("wrap", "one", 10)], [("wrap", "a", 0), ("wrap", "", -1)], *(("wrap", exact, width) for width in (14, 19, 23)),
            ("wrap", "y" * 45, 10), ("wrap", f"a {'z' * 10} b {'w' * 9} c {'v' * 11}", 10), ("wrap", f"p q\n {bullet} r s {bullet} t\n{bullet}u\n\n\n{bullet}\n\nend", 10),
            *(("wrap", prose_text(size), width) for size, width in ((6, 12), (15, 17), (40, 30), (200, 60))), ("wrap", "日本 żółw " * 9, 15),
        ],
        [("greedy-and-complete", [("wrap", "  ".join(long), 24)], sound)],
    )  # fmt: skip


FAMILIES: tuple[Family, ...] = (
    Family("cut-tables", "text", "easy", tables),
    Family("numbered-headings", "text", "easy", headings),
    Family("wrapped-paragraphs", "text", "medium", paragraphs),
)
