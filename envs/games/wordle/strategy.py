"""Which word to guess next: the one whose marks leave the fewest words, at worst.

Invariant: a function of the word list and of what was told; it knows nothing of splits and of the hidden word.
"""

from __future__ import annotations

import functools
from collections.abc import Sequence

import numpy as np

from agentrl.envs.games.wordle.rules import ABSENT, ELSEWHERE, RIGHT, Told, consistent, unused

MOST = 2500
"""Of a longer list, so many words are weighed as guesses, spread over the list."""
DIGIT = {ABSENT: 0, ELSEWHERE: 1, RIGHT: 2}


def next_guess(words: tuple[str, ...], told: Sequence[Told], *, hard: bool) -> str:
    """A word that could be hidden if there is only one or two; else the one with the smallest largest rest, then with the
    most information; between equals, one that could be hidden. In hard mode only words that use all hints."""
    if not told:
        return first_guess(words)
    left = consistent(words, told)
    if len(left) <= 2:
        return left[0] if left else words[0]
    pool = [word for word in words if not unused(word, told)] if hard else list(words)
    return best(spread(pool) + [word for word in left if word not in set(pool)], left)


@functools.lru_cache(maxsize=16)
def first_guess(words: tuple[str, ...]) -> str:
    return best(spread(list(words)), list(words))


def spread(pool: list[str]) -> list[str]:
    return pool[:: -(-len(pool) // MOST) or 1]


def best(pool: Sequence[str], left: Sequence[str]) -> str:
    codes = patterns(pool, left)
    possible = set(left)
    keys = []
    for row, word in zip(codes, pool, strict=True):
        sizes = np.bincount(row)
        sizes = sizes[sizes > 0]
        information = -float((sizes / len(left) * np.log(sizes / len(left))).sum())
        keys.append((int(sizes.max()), -round(information, 9), word not in possible, word))
    return min(keys)[3]


def patterns(pool: Sequence[str], left: Sequence[str]) -> np.ndarray:
    """The marks of every guess for every hidden word as numbers in base 3, shape (len(pool), len(left))."""
    guesses, hidden = letters(pool), letters(left)
    length = guesses.shape[1]
    right = guesses[:, None, :] == hidden[None, :, :]
    marks = 2 * right.astype(np.int64)
    taken = right.copy()  # letters of the hidden word that a mark has used
    for place in range(length):
        open_ = ~right[:, :, place]
        for other in range(length):
            same = guesses[:, None, place] == hidden[None, :, other]
            hit = open_ & same & ~taken[:, :, other]
            marks[:, :, place][hit] = 1
            taken[:, :, other] |= hit
            open_ = open_ & ~hit
    return marks @ (3 ** np.arange(length)[::-1])


def letters(words: Sequence[str]) -> np.ndarray:
    return np.array([list(word.encode("ascii")) for word in words], dtype=np.uint8)


def as_number(marks: str) -> int:
    """A mark string as `patterns` counts it."""
    number = 0
    for mark in marks:
        number = 3 * number + DIGIT[mark]
    return number
