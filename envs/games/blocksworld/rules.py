"""Blocksworld: blocks on a table, one hand that holds at most one of them.

Invariant: `piles[b]` is what block `b` stands on: another block, `TABLE`, or `HELD` for the one in the hand. A block
carries at most one other. Every function is pure; a move that the rules forbid is a `ToolError`.
"""

from __future__ import annotations

from random import Random
from typing import TypeAlias

from agentrl.core.failures import ToolError

Piles: TypeAlias = tuple[int, ...]
TABLE, HELD = -1, -2
NAMES = "ABCDEFGHIJKL"


def pick_up(piles: Piles, block: int) -> Piles:
    """Take a block from the table into the hand."""
    needs_empty_hand(piles)
    if piles[block] != TABLE:
        raise ToolError(f"{NAMES[block]} is not on the table: unstack it")
    needs_clear(piles, block)
    return moved(piles, block, HELD)


def put_down(piles: Piles, block: int) -> Piles:
    """Put the block in the hand on the table."""
    needs_held(piles, block)
    return moved(piles, block, TABLE)


def unstack(piles: Piles, block: int, off: int) -> Piles:
    """Take a block from the block below it into the hand."""
    needs_empty_hand(piles)
    if piles[block] != off:
        raise ToolError(f"{NAMES[block]} is not on {NAMES[off]}")
    needs_clear(piles, block)
    return moved(piles, block, HELD)


def stack(piles: Piles, block: int, on: int) -> Piles:
    """Put the block in the hand on another block."""
    needs_held(piles, block)
    if block == on:
        raise ToolError(f"{NAMES[block]} cannot stand on itself")
    needs_clear(piles, on)
    return moved(piles, block, on)


def moved(piles: Piles, block: int, to: int) -> Piles:
    return (*piles[:block], to, *piles[block + 1 :])


def needs_empty_hand(piles: Piles) -> None:
    if HELD in piles:
        raise ToolError(f"the hand holds {NAMES[piles.index(HELD)]}")


def needs_held(piles: Piles, block: int) -> None:
    if piles[block] != HELD:
        raise ToolError(f"the hand does not hold {NAMES[block]}")


def needs_clear(piles: Piles, block: int) -> None:
    if block in piles:
        raise ToolError(f"{NAMES[piles.index(block)]} stands on {NAMES[block]}")


def towers(piles: Piles) -> str:
    """The towers, each from bottom to top, e.g. `A C | B`; what is in the hand is in none."""
    above = {below: block for block, below in enumerate(piles) if below >= 0}
    out = []
    for block, below in enumerate(piles):
        if below == TABLE:
            tower = NAMES[block]
            while (block := above.get(block, HELD)) != HELD:
                tower += " " + NAMES[block]
            out.append(tower)
    return " | ".join(out)


def described(piles: Piles) -> str:
    """What the policy is shown."""
    hand = NAMES[piles.index(HELD)] if HELD in piles else "empty"
    return f"table: {towers(piles)}\nhand: {hand}"


def random_piles(rng: Random, blocks: int) -> Piles:
    """Blocks in random order, each on the table or on a tower that is there."""
    order = list(range(blocks))
    rng.shuffle(order)
    piles = [TABLE] * blocks
    tops: list[int] = []
    for block in order:
        at = int(rng.random() * (len(tops) + 1))
        if at < len(tops):
            piles[block] = tops[at]
            tops[at] = block
        else:
            tops.append(block)
    return tuple(piles)
