"""What a docstring says of a function and of each of its arguments (Google style)."""

from __future__ import annotations

import inspect
import re
from collections.abc import Iterable

ARGUMENTS = re.compile(r"(?:^|(?<=\s))(?:Args|Arguments|Parameters|Attributes):(?=\s|$)")
OTHER = re.compile(
    r"(?:^|(?<=\s))(?:Returns|Return|Raises|Yields|Examples?|Notes?|References|See Also):(?=\s|$)", re.M
)


def parse_docstring(doc: str | None, names: Iterable[str]) -> tuple[str, dict[str, str]]:
    """The description and the text of each named argument that the docstring mentions.

    Reads a block (`Args:` and one indented `name: text` per argument, with optional `(type)` and indented
    further lines) and the short form on one line: `Guess. Args: number: your guess. again: ask twice.`
    """
    text = inspect.cleandoc(doc or "")
    found = ARGUMENTS.search(text)
    other = OTHER.search(text)
    description = text[: min(match.start() for match in (found, other) if match)] if found or other else text
    if found is None:
        return description.strip(), {}
    later = OTHER.search(text, found.end())
    block = text[found.end() : later.start() if later else len(text)]
    known = "|".join(sorted(map(re.escape, names), key=len, reverse=True))
    if not known:
        return description.strip(), {}
    if block.partition("\n")[0].strip():
        start = re.compile(rf"(?:^|(?<=\s))({known})(?:\s*\([^)]*\))?:\s")
        return description.strip(), {name: sentence(body) for name, body in split(start, block)}
    block = inspect.cleandoc("\n" + block)
    start = re.compile(r"^\*{0,2}(\w+)(?:\s*\([^)\n]*\))?:(?=\s|$)", re.M)
    return description.strip(), {
        name: sentence(body) for name, body in split(start, block) if re.fullmatch(known, name)
    }


def split(start: re.Pattern[str], text: str) -> list[tuple[str, str]]:
    """(name, what follows it) for each match of `start`."""
    matches = list(start.finditer(text))
    ends = [*(match.start() for match in matches[1:]), len(text)]
    return [(match[1], text[match.end() : end]) for match, end in zip(matches, ends, strict=False)]


def sentence(text: str) -> str:
    return " ".join(text.split())
