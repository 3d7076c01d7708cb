"""Text to JSON values, by the letter of the standard, with errors that say how to write it again.

Invariant: whatever the text, `parse_json` returns a JSON value that can be written as UTF-8 or raises ValueError.
"""

from __future__ import annotations

import json
import math
import re
from collections.abc import Mapping
from typing import Any, NoReturn

DEEPEST = 100
"""Levels of nesting above which a text is refused."""


def parse_json(text: str) -> Any:
    """JSON as the standard has it: no NaN, no duplicate keys, no lone surrogates, at most `DEEPEST` levels.

    Raises:
        ValueError: one sentence for the policy.
    """
    try:
        value = json.loads(text, parse_float=_finite, parse_constant=_refuse, object_pairs_hook=_unique)
    except json.JSONDecodeError as error:
        raise ValueError(explain(error)) from None
    except RecursionError:
        raise ValueError(f"nested more than {DEEPEST} levels deep") from None
    except ValueError as error:
        # Python limits the digits of an integer; its message speaks of interpreter settings.
        raise ValueError("a number has too many digits" if "digits" in str(error) else str(error)) from None
    _check(value, 0)
    return value


def explain(error: json.JSONDecodeError) -> str:
    """What is wrong with the text and where, in words that help to write it again."""
    text = error.doc
    if error.msg == "Extra data":
        return f"extra text after the end at character {error.pos}: {printable(text[error.pos : error.pos + 20])!r}"
    rest = text[error.pos :].strip()
    cut = any(word.startswith(rest) for word in ("true", "false", "null", "-"))
    if cut or error.msg.startswith("Unterminated string"):
        return f"the text ends too early, after {len(text)} characters"
    around = printable(text[max(0, error.pos - 10) : error.pos + 10])
    return f"{error.msg[0].lower()}{error.msg[1:]} at character {error.pos}, near {around!r}"


STRING_OR_WORD = re.compile(
    r"""'(?P<single>(?:[^'\\]|\\.)*+)'|"(?P<double>(?:[^"\\]|\\.)*+)"|(?P<open>['"])|\b(?P<word>True|False|None)\b""",
    re.DOTALL,
)
WORDS = {"True": "true", "False": "false", "None": "null"}
ESCAPE = re.compile(r"\\(u[0-9a-fA-F]{4}|x[0-9a-fA-F]{2}|.)", re.DOTALL)
ESCAPES = {"n": "\n", "t": "\t", "r": "\r", "b": "\b", "f": "\f", "\n": ""}


def python_to_json(text: str) -> str:
    """A Python literal of lists, dicts, strings, numbers, True, False and None in JSON's spelling.

    Raises:
        ValueError: a string that does not end.
    """

    def replace(match: re.Match[str]) -> str:
        if match["open"]:
            raise ValueError("a string does not end")
        if match["word"]:
            return WORDS[match["word"]]
        body = match["single"] if match["single"] is not None else match["double"]
        return json.dumps(ESCAPE.sub(_unescape, body))

    return STRING_OR_WORD.sub(replace, text)


def _unescape(match: re.Match[str]) -> str:
    code = match[1]
    if len(code) > 1:
        return chr(int(code[1:], 16))
    if code in ESCAPES:
        return ESCAPES[code]
    return code if code in "\\'\"" else match[0]


def printable(text: str) -> str:
    """The text with lone surrogates made visible, so that it can be written anywhere."""
    return text.encode("utf-8", "backslashreplace").decode()


def _finite(text: str) -> float:
    value = float(text)
    if not math.isfinite(value):
        raise ValueError(f"the number {text[:20]} is too large")
    return value


def _refuse(text: str) -> NoReturn:
    raise ValueError(f"{text} is not a JSON number")


def _unique(pairs: list[tuple[str, Any]]) -> Mapping[str, Any]:
    out = dict(pairs)
    if len(out) < len(pairs):
        seen: set[str] = set()
        twice = next(key for key, _ in pairs if key in seen or seen.add(key))  # type: ignore[func-returns-value]
        raise ValueError(f"the key {printable(twice)[:60]!r} is given twice")
    return out


def _check(value: Any, depth: int) -> None:
    if isinstance(value, str):
        if not value.isascii():
            _check_text(value)
        return
    if not isinstance(value, list | dict):
        return
    if depth >= DEEPEST:
        raise ValueError(f"nested more than {DEEPEST} levels deep")
    if isinstance(value, dict):
        for key, item in value.items():
            _check_text(key)
            _check(item, depth + 1)
    else:
        for item in value:
            _check(item, depth + 1)


def _check_text(text: str) -> None:
    try:
        text.encode()
    except UnicodeEncodeError as error:
        raise ValueError(f"\\u{ord(text[error.start]):04x} alone is not a character") from None
