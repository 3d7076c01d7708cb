"""Mastermind: how a guess is marked, and which guess is good.

Invariant: `marks_of` is symmetric, and a code's marks for itself are (pegs, 0). Every function is pure; what it costs to
weigh a guess is bounded.
"""

from __future__ import annotations

import functools
from collections.abc import Sequence
from typing import TypeAlias

import numpy as np

COLOURS = "ABCDEFGH"
Told: TypeAlias = tuple[str, int, int]
"""A guess, how many pegs are right, and how many more colours are right but elsewhere."""
WEIGHED, AGAINST = 400, 2000


def marks_of(guess: str, secret: str) -> tuple[int, int]:
    """(pegs of the right colour in the right place, further pegs of a right colour in a wrong place)."""
    right = sum(a == b for a, b in zip(guess, secret, strict=True))
    return right, sum(min(guess.count(colour), secret.count(colour)) for colour in set(guess)) - right


@functools.lru_cache(maxsize=16)
def all_codes(pegs: int, colours: int, repeats: bool) -> np.ndarray:
    """Every code as numbers, shape (codes, pegs), in the order of the alphabet; read only."""
    codes = np.stack(np.meshgrid(*[np.arange(colours, dtype=np.int8)] * pegs, indexing="ij"), -1).reshape(
        -1, pegs
    )
    if not repeats:
        ordered = np.sort(codes, axis=1)
        codes = codes[(ordered[:, 1:] != ordered[:, :-1]).all(axis=1)]
    codes.flags.writeable = False
    return codes


def number_of_codes(pegs: int, colours: int, repeats: bool) -> int:
    count = 1
    for place in range(pegs):
        count *= colours if repeats else max(0, colours - place)
    return count


def marked(guesses: np.ndarray, codes: np.ndarray, colours: int) -> np.ndarray:
    """`marks_of` for every pair as one number, `right * (pegs + 1) + elsewhere`, shape (guesses, codes)."""
    right = (guesses[:, None, :] == codes[None, :, :]).sum(axis=2)
    shared = sum(
        np.minimum((guesses == colour).sum(axis=1)[:, None], (codes == colour).sum(axis=1)[None, :])
        for colour in range(colours)
    )
    return right * (guesses.shape[1] + 1) + (shared - right)


def consistent(codes: np.ndarray, told: Sequence[Told], colours: int) -> np.ndarray:
    """The codes that could be the secret."""
    for guess, right, elsewhere in told:
        marks = marked(as_numbers(guess)[None], codes, colours)[0]
        codes = codes[marks == right * (codes.shape[1] + 1) + elsewhere]
    return codes


def next_guess(codes: np.ndarray, told: Sequence[Told], colours: int) -> str:
    """A code that could be the secret and whose marks leave the fewest others, at worst (Knuth, J. Recreational Mathematics 9,
    1976, restricted to codes that can win; of many, an even sample is weighed against an even sample)."""
    left = consistent(codes, told, colours)
    if len(left) == 0:  # no secret is so marked
        return as_text(codes[0])
    guesses, against = spread(left, WEIGHED), spread(left, AGAINST)
    marks = marked(guesses, against, colours)
    worst = [np.bincount(row).max() for row in marks]
    return as_text(guesses[int(np.argmin(worst))])


def spread(codes: np.ndarray, most: int) -> np.ndarray:
    return codes[:: -(-len(codes) // most)]


def as_numbers(code: str) -> np.ndarray:
    return np.array([COLOURS.index(mark) for mark in code], dtype=np.int8)


def as_text(code: np.ndarray) -> str:
    return "".join(COLOURS[number] for number in code)


def shown(told: Sequence[Told]) -> str:
    return "\n".join(f"{guess}  {right} right, {elsewhere} elsewhere" for guess, right, elsewhere in told)
