"""Wordle: what a guess is told of the hidden word.

Invariant: a letter is marked as often as the hidden word has it, right places first, then from the left; so the marks of a word
for itself are all `g`. Every function is pure.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Sequence
from typing import TypeAlias

RIGHT, ELSEWHERE, ABSENT = "g", "y", "-"
Told: TypeAlias = tuple[str, str]
"""A guess and its marks."""


def marks_of(guess: str, hidden: str) -> str:
    """One mark a letter: `g` right letter, right place; `y` the letter is elsewhere; `-` no (further) such letter."""
    left = [b for a, b in zip(guess, hidden, strict=True) if a != b]
    marks = []
    for a, b in zip(guess, hidden, strict=True):
        if a == b:
            marks.append(RIGHT)
        elif a in left:
            left.remove(a)
            marks.append(ELSEWHERE)
        else:
            marks.append(ABSENT)
    return "".join(marks)


def consistent(words: Iterable[str], told: Sequence[Told]) -> list[str]:
    """The words that could be the hidden one."""
    return [word for word in words if all(marks_of(guess, word) == marks for guess, marks in told)]


def unused(guess: str, told: Sequence[Told]) -> str:
    """The hint that a guess in hard mode leaves unused, in words; empty if it uses all."""
    for before, marks in told:
        for place, (letter, mark) in enumerate(zip(before, marks, strict=True)):
            if mark == RIGHT and guess[place] != letter:
                return f"letter {place + 1} is {letter}"
        needed = Counter(letter for letter, mark in zip(before, marks, strict=True) if mark != ABSENT)
        for letter, times in needed.items():
            if guess.count(letter) < times:
                return f"the word has {letter}" + (f" {times} times" if times > 1 else "")
    return ""


def shown(told: Sequence[Told]) -> str:
    return "\n".join(f"{guess}  {marks}" for guess, marks in told)
