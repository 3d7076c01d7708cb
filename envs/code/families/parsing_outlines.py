"""A family about outlines by indentation.

Invariant: a statement says of every malformed input that is tested which error it raises.
"""

from __future__ import annotations

import random
from typing import Any

from agentrl.envs.code.families.writing import FOREIGN, WORDS, fill, functions, words
from agentrl.envs.code.task import Family, Problem


def outlines(rng: random.Random) -> Problem:
    width, bullet = rng.choice([1, 2, 3, 4]), rng.choice(["", "- ", "* ", "+ ", "> "])
    shape = rng.choice(["dict", "pair", "paths"])
    glue, note = rng.choice([".", "/", ">", " : "]), rng.choice(["#", "%", "!"])
    returns, described, build = {
        "dict": ("list[dict]", "a node is the dictionary with the keys `title` (string) and `children` (list of nodes), in this order", "{'title': title, 'children': children}"),
        "pair": ("list[list]", "a node is the list `[title, children]`, where children is a list of nodes", "[title, children]"),
        "paths": ("list[str]", f"the result lists, for each leaf (line without children) from top to bottom, the titles from the top level down to it, joined by `{glue}`", ""),
    }[shape]  # fmt: skip
    source = fill(
        """
        def tree(text: str):
            top: list = []
            levels = [top]
            for number, line in enumerate(text.split("\\n"), 1):
                body = line.lstrip(" ")
                if not body or body.startswith(<<note!r>>):
                    continue
                depth, rest = divmod(len(line) - len(body), <<width>>)
                if rest or depth > len(levels) - 1 or not body.startswith(<<bullet!r>>):
                    raise ValueError(f"line {number}")
                title = body[<<size>>:].strip()
                if not title:
                    raise ValueError(f"line {number}: no title")
                children: list = []
                del levels[depth + 1 :]
                levels[depth].append(<<build>>)
                levels.append(children)
            return <<result>>


        def leaves(nodes: list, above: tuple = ()) -> list[str]:
            result = []
            for title, children in nodes:
                path = (*above, title)
                result += leaves(children, path) if children else [<<glue!r>>.join(path)]
            return result
        """,
        width=width, bullet=bullet, note=note, size=len(bullet), glue=glue,
        build=build or "[title, children]", result="leaves(top)" if shape == "paths" else "top",
    )  # fmt: skip
    statement = f"""
    Write `tree(text: str) -> {returns}` in `solution.py`. It reads an outline, one title on a line; lines are separated by line feeds.

    A line at depth d is indented by {width} times d spaces, followed by {f"{bullet!r} and then " if bullet else ""}the title; spaces around a title are removed. It is a child of
    the nearest earlier line at depth d - 1. Lines of spaces only, and lines whose first character other than a space is `{note}`, are
    skipped and do not influence anything.

    {"The result is the list of the top nodes: " if shape != "paths" else "Here "}{described}. An outline without titles gives an empty list.

    `ValueError` is raised {f"if an indentation is no multiple of {width}, " if width > 1 else ""}if a line is more than one level deeper than the title before it (the first title
    must be at depth 0){f", if {bullet!r} is missing, or if a title is empty" if bullet else ""}.
    """

    def write(depths: list[int], names: list[str]) -> str:
        return "\n".join(" " * (width * d) + bullet + n for d, n in zip(depths, names, strict=True))

    def grow(size: int) -> list[int]:
        depths = [0]
        while len(depths) < size:
            depths.append(rng.randint(0, min(depths[-1] + 1, 7)))
        return depths

    def some(size: int) -> str:
        return write(grow(size), words(rng, size, [*WORDS, *FOREIGN, "two words", "a-b"]))

    deep = write(list(range(30)), [f"n{i}" for i in range(30)])
    noted = (
        "\n\n".join(
            [
                write([0], ["a"]),
                f"   {note} note",
                write([1], ["b"]),
                f"{note}",
                "  ",
                write([1, 0], ["c  ", "d"]),
            ]
        )
        + "\n"
    )
    wrong = [
        write([1], ["x"]),
        write([0, 2], ["a", "b"]),
        write([0, 1, 0, 2], list("abcd")),
        " " * (width * 2) + bullet + "q",
    ]
    wrong += (
        [bullet + "a\n" + " " * (width + 1) + bullet + "b"]
        if width > 1
        else [bullet + "a\n\t" + bullet + "b\n" + " " * 3 + bullet + "c"]
    )
    wrong += [bullet + "a\nplain", bullet + "a\n" + bullet, bullet.rstrip() + "x"] if bullet else []
    flat = [f"t{i}" for i in range(300)]

    def complete(answers: list[Any]) -> bool:
        read = [n if shape == "paths" else n["title"] if shape == "dict" else n[0] for n in answers[0]]
        empty = all(
            shape == "paths" or (n["children"] if shape == "dict" else n[1]) == [] for n in answers[0]
        )
        return read == flat and empty and len(answers[1]) == 1

    return functions(
        statement,
        source,
        [("tree", write([0, 1, 1, 0], ["fruit", "fig", "pear", "nuts"])), ("tree", write([0, 2], ["a", "b"]))],
        [
            [("tree", ""), ("tree", f"\n {note} x\n"), ("tree", write([0], ["one"]))], ("tree", noted), [("tree", w) for w in wrong], ("tree", deep),
            ("tree", write([0, 1, 2, 1, 2, 0, 1], list("abcabca"))), *(("tree", some(size)) for size in (3, 6, 10, 15, 60)),
        ],
        [("flat-and-deep", [("tree", write([0] * 300, flat)), ("tree", write([0, 1], ["p", "q"]))], complete)],
    )  # fmt: skip


FAMILIES: tuple[Family, ...] = (Family("outline-tree", "parsing", "medium", outlines),)
