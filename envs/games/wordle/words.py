"""The words that can be hidden and guessed: the list that ships, or a file of the user's.

Invariant: sorted, each once, lower case, all of one length; every split has some.
"""

from __future__ import annotations

import functools
import json
from importlib import resources
from pathlib import Path

from agentrl.core.failures import UserError
from agentrl.envs.generated import in_split

LENGTHS = (4, 5, 6)


@functools.cache
def shipped_words(length: int) -> tuple[str, ...]:
    """Common English words of 4, 5 or 6 letters."""
    lines = json.loads(resources.files(__package__).joinpath("words.json").read_text("utf-8"))[str(length)]
    return tuple(word for line in lines for word in line.split())


@functools.lru_cache(maxsize=8)
def words_of_file(path: Path, length: int) -> tuple[str, ...]:
    """The words of a file, one a line.

    Raises:
        UserError: the file cannot be read, a line is no word of `length` letters a to z (named by its number), or a split
            would have no word.
    """
    try:
        lines = path.read_text("utf-8").splitlines()
    except (OSError, UnicodeDecodeError) as error:
        raise UserError(
            f"words: {path} cannot be read: {getattr(error, 'strerror', None) or error}"
        ) from error
    found = set()
    for number, line in enumerate(lines, start=1):
        word = line.strip().lower()
        if not word:
            continue
        if len(word) != length or not (word.isascii() and word.isalpha()):
            raise UserError(
                f"words: line {number} of {path} is no word of {length} letters a to z: {line[:30]!r}"
            )
        found.add(word)
    for split in ("train", "validation", "test"):
        if not any(in_split(word, split) for word in found):
            raise UserError(f"words: {path} has too few words ({len(found)}): none is in the split {split!r}")
    return tuple(sorted(found))


@functools.lru_cache(maxsize=32)
def answers(words: tuple[str, ...], split: str) -> tuple[str, ...]:
    """The words that are hidden in a split."""
    return tuple(word for word in words if in_split(word, split))
