"""When two wordings mean the same thing, by WebShop's rule: the token-set ratio of the two is above 85 of 100.

Invariant: pure functions of their two texts, symmetric. The ratio is that of two texts' longest common subsequence (2 L / (n + m));
the token-set ratio compares the words that both have with what each has besides (the measure that the `thefuzz`
package calls `token_set_ratio`; this is our own implementation of it).
"""

from __future__ import annotations

import functools
import re

from agentrl.envs.shop.records import listed

THRESHOLD = 85
NOT_WORD = re.compile(r"[\W_]+")
BASE_COLORS = listed(
    "black blue brown gold green grey gray orange pink purple red silver white yellow beige navy teal olive "
    "burgundy khaki ivory cream bronze copper turquoise violet coral charcoal lavender maroon"
)


@functools.lru_cache(maxsize=65_536)
def similar(one: str, other: str) -> bool:
    """Whether the token-set ratio is above 85."""
    return token_set_ratio(one, other) > THRESHOLD


@functools.lru_cache(maxsize=65_536)
def same_choice(one: str, other: str) -> bool:
    """Whether two values of options are the same choice: colours by their base colour, all else by `similar`."""
    return similar(base_color(one), base_color(other))


def base_color(value: str) -> str:
    """`dark blue` is `blue`; what names no base colour stays as it is. A colour is a whole word."""
    words = NOT_WORD.split(value.lower())
    return next((color for color in BASE_COLORS if color in words), value)


def token_set_ratio(one: str, other: str) -> int:
    """0 to 100; 100 if the words of one are among those of the other; 0 if a text has no words."""
    first, second = (set(NOT_WORD.sub(" ", text.lower()).split()) for text in (one, other))
    if not first or not second:
        return 0
    both = " ".join(sorted(first & second))
    if both and (first <= second or second <= first):
        return 100
    left, right = " ".join(sorted(first - second)), " ".join(sorted(second - first))
    if not both:
        return ratio(left, right)
    with_left, with_right = f"{both} {left}", f"{both} {right}"
    return max(ratio(both, with_left), ratio(both, with_right), ratio(with_left, with_right))


def ratio(one: str, other: str) -> int:
    """Twice the longest common subsequence by the sum of the lengths, in hundredths, rounded."""
    total = len(one) + len(other)
    return round(200 * common_length(one, other) / total) if total else 100


def common_length(one: str, other: str) -> int:
    """Length of the longest common subsequence, a row of the table as the bits of one number (Hyyrö 2004)."""
    places: dict[str, int] = {}
    for index, char in enumerate(one):
        places[char] = places.get(char, 0) | 1 << index
    full = (1 << len(one)) - 1
    row = full
    for char in other:
        hit = row & places.get(char, 0)
        row = ((row + hit) | (row - hit)) & full
    return len(one) - row.bit_count()
