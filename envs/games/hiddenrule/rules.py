"""What follows from probes of a hidden order.

Invariant: `Known` is closed: if one item is known to come before another, it is known to come before all that this one is
known to come before. Probes are answered truly, so nothing known is ever wrong. Every function is pure.

A probe has two answers, so whoever submits after q probes tells at most 2^q orders apart: of n! equally likely ones it is
right with a probability of at most 2^q / n!, however it chooses.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from math import comb, factorial
from typing import Any


@dataclass(frozen=True, slots=True)
class Known:
    """Sets of items as bit masks, one for every item.

    Attributes:
        after: the items that are known to come after it.
        before: the items that are known to come before it.
    """

    after: tuple[int, ...]
    before: tuple[int, ...]

    def __deepcopy__(self, memo: Any) -> Known:
        return self  # it never changes


def nothing(count: int) -> Known:
    """What is known of so many items at the start."""
    return Known((0,) * count, (0,) * count)


def learned(known: Known, first: int, second: int) -> Known:
    """What is known once it is told that `first` comes before `second`, which was not known to be otherwise."""
    if known.after[first] >> second & 1:
        return known
    early, late = known.before[first] | 1 << first, known.after[second] | 1 << second
    after, before = list(known.after), list(known.before)
    for item in bits(early):
        after[item] |= late
    for item in bits(late):
        before[item] |= early
    return Known(tuple(after), tuple(before))


def bits(mask: int) -> Iterator[int]:
    """The items of a set."""
    while mask:
        low = mask & -mask
        yield low.bit_length() - 1
        mask ^= low


def share(known: Known) -> float:
    """Of how many of all pairs it is known which comes first, 0 to 1."""
    return sum(map(int.bit_count, known.after)) / comb(len(known.after), 2)


def next_probe(known: Known) -> tuple[int, int] | None:
    """Two items to compare: insertion of one item after the other by halving; None where the order is known.

    Among the items that are sorted already, those known to come before the next one are a prefix and those known to come
    after it a suffix, whatever was probed before; the middle of what is between is asked.
    """
    for item in range(1, len(known.after)):
        sorted_ones = (1 << item) - 1
        open_ones = sorted_ones & ~(known.after[item] | known.before[item])
        if open_ones:
            chain = [other for other in range(item) if open_ones >> other & 1]
            chain.sort(key=lambda other: (known.before[other] & sorted_ones).bit_count())
            return item, chain[len(chain) // 2]
    return None


def order_of(known: Known) -> list[int]:
    """The items, the first one first, where the order is known."""
    return sorted(range(len(known.before)), key=lambda item: known.before[item].bit_count())


def needed(count: int) -> int:
    """Probes that a sure solution of some order of so many items needs: log2(n!), rounded up."""
    return (factorial(count) - 1).bit_length()


def enough(count: int) -> int:
    """Probes within which `next_probe` knows every order of so many items: each item is inserted among k others by
    halving, which takes the number of k's binary digits at most."""
    return sum(others.bit_length() for others in range(1, count))
