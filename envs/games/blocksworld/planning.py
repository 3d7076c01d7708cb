"""A next action that leads to a goal from any state.

The strategy GN1 of Gupta and Nau (1992), as Slaney and Thiébaux (Artificial Intelligence 125, 2001) name it: put a block
where it belongs as soon as what it belongs on is finished, else put a misplaced block on the table.

Invariant: no block is moved more than twice, and every block that is moved has to be: the plan has at most twice as many
actions as the shortest one.
"""

from __future__ import annotations

from typing import TypeAlias

from agentrl.envs.games.blocksworld.rules import HELD, TABLE, Piles

Move: TypeAlias = tuple[str, int, int]
"""A tool, the block that it moves, and the other block of it (`TABLE` where there is none)."""


def next_move(piles: Piles, goal: Piles) -> Move:
    """What to do now; `piles` is not the goal."""
    done = [finished(piles, goal, block) for block in range(len(piles))]

    def ready(block: int) -> bool:
        """Whether this block could be put where it stays."""
        on = goal[block]
        return on == TABLE or (done[on] and on not in piles)

    if HELD in piles:
        block = piles.index(HELD)
        if goal[block] != TABLE and ready(block):
            return "stack", block, goal[block]
        return "put_down", block, TABLE
    clear = [block for block in range(len(piles)) if block not in piles and not done[block]]
    block = next((one for one in clear if ready(one)), -1)
    if block < 0:
        block = next(one for one in clear if piles[one] != TABLE)
    return ("pick_up", block, TABLE) if piles[block] == TABLE else ("unstack", block, piles[block])


def finished(piles: Piles, goal: Piles, block: int) -> bool:
    """Whether a block and all below it stand where they stay."""
    while block != TABLE:
        if piles[block] != goal[block]:
            return False
        block = goal[block]
    return True
