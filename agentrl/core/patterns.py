"""Random texts that match a regular expression, from a random generator alone.

Invariant: `sample_pattern(p, rng)` matches `p` in full, or `UserError` says which construct it cannot draw from
(look-around and back-references have no general sampler).
"""

from __future__ import annotations

import re
from re import _constants as codes  # type: ignore[attr-defined]
from re import _parser as parser  # type: ignore[attr-defined]
from typing import Any

import numpy as np

from agentrl.core.failures import UserError

PRINTABLE = [chr(code) for code in range(32, 127)]
MOST = 4
"""How often an open repetition is repeated beyond its minimum."""
CATEGORIES = {
    codes.CATEGORY_DIGIT: "0123456789",
    codes.CATEGORY_WORD: "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_",
    codes.CATEGORY_SPACE: " \t\n",
}
OPPOSITES = {
    codes.CATEGORY_NOT_DIGIT: codes.CATEGORY_DIGIT,
    codes.CATEGORY_NOT_WORD: codes.CATEGORY_WORD,
    codes.CATEGORY_NOT_SPACE: codes.CATEGORY_SPACE,
}


def sample_pattern(pattern: str, rng: np.random.Generator) -> str:
    """A text that `re.fullmatch(pattern, text)` accepts; open repetitions are kept short.

    Raises:
        UserError: the pattern is not one, or has no general sampler.
    """
    try:
        tree = parser.parse(pattern)
    except re.error as error:
        raise UserError(f"{pattern!r} is not a regular expression: {error}") from None
    for _ in range(20):
        text = "".join(_draw(item, rng, pattern) for item in tree)
        if re.fullmatch(pattern, text):
            return text
    raise UserError(f"no text that matches {pattern!r} was found")


def _draw(item: tuple[Any, Any], rng: np.random.Generator, pattern: str) -> str:
    code, value = item
    if code is codes.LITERAL:
        return chr(value)
    if code in (codes.IN, codes.NOT_LITERAL, codes.ANY):
        return _pick(_alphabet(code, value), rng)
    if code is codes.AT:
        return ""
    if code is codes.BRANCH:
        return "".join(_draw(part, rng, pattern) for part in _pick(value[1], rng))
    if code is codes.SUBPATTERN:
        return "".join(_draw(part, rng, pattern) for part in value[-1])
    if code is codes.ATOMIC_GROUP:
        return "".join(_draw(part, rng, pattern) for part in value)
    if code in (codes.MAX_REPEAT, codes.MIN_REPEAT, codes.POSSESSIVE_REPEAT):
        low, high, parts = value
        times = int(rng.integers(low, min(high, low + MOST) + 1))
        return "".join(_draw(part, rng, pattern) for _ in range(times) for part in parts)
    raise UserError(f"cannot draw a text from {pattern!r}: {str(code).lower()} has no sampler")


def _alphabet(code: Any, value: Any) -> list[str]:
    """The characters of a set; of an inverted one, the printable ones."""
    if code is codes.ANY:
        return PRINTABLE
    if code is codes.NOT_LITERAL:
        return [char for char in PRINTABLE if char != chr(value)]
    inverted = value[0][0] is codes.NEGATE
    chars: list[str] = []
    for kind, content in value[inverted:]:
        if kind is codes.LITERAL:
            chars.append(chr(content))
        elif kind is codes.RANGE:
            chars.extend(chr(point) for point in range(content[0], min(content[1], content[0] + 255) + 1))
        elif content in OPPOSITES:
            chars.extend(char for char in PRINTABLE if char not in CATEGORIES[OPPOSITES[content]])
        else:
            chars.extend(CATEGORIES[content])
    if inverted:
        return [char for char in PRINTABLE if char not in set(chars)]
    return chars


def _pick(options: Any, rng: np.random.Generator) -> Any:
    return options[int(rng.integers(len(options)))]
