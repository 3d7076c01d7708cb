"""`Blocksworld-v0`: rebuild towers of blocks with one hand.

Invariant: the state is one tuple of small numbers; only the goal itself earns the reward.
"""

from __future__ import annotations

from random import Random
from typing import ClassVar

from agentrl.core.env import Safety, ToolEnv
from agentrl.core.failures import ToolError
from agentrl.core.messages import Action, call
from agentrl.core.tool import tool
from agentrl.envs.games.blocksworld import rules
from agentrl.envs.games.blocksworld.planning import finished, next_move
from agentrl.envs.games.blocksworld.rules import NAMES, Piles, described, random_piles, towers
from agentrl.envs.games.drawing import TaskKey, check_between, drawn

SECOND = {"stack": "on", "unstack": "off"}


class BlocksworldEnv(ToolEnv):
    """Rebuild towers of blocks with a hand that holds one block at a time.

    Args:
        blocks: how many, 3 to 12.
        split: `train`, `validation` or `test`: no pair of start and goal is in two.
        max_turns: by default 8 for every block; the expert's plan has at most 4.
    """

    instructions = (
        "Blocks stand on a table in towers, each written from bottom to top. Your hand holds one block at a time "
        "and can only take a block that nothing stands on. Build the towers of the goal; their order does not matter."
    )
    safety: ClassVar[Safety] = "inline"

    def __init__(self, *, blocks: int = 5, split: str = "train", max_turns: int | None = None) -> None:
        check_between("blocks", blocks, 3, len(NAMES))
        super().__init__(split=split, max_turns=8 * blocks if max_turns is None else max_turns)
        self.blocks = blocks
        self.piles: Piles = ()
        self.goal: Piles = ()

    def task(self) -> str:
        key = TaskKey("blocksworld", self.split, self.task_seed, (self.blocks,))
        self.piles, self.goal = drawn(key, self._pair, lambda pair: f"{towers(pair[0])} > {towers(pair[1])}")
        return f"goal: {towers(self.goal)}\n{described(self.piles)}"

    def _pair(self, rng: Random) -> tuple[Piles, Piles] | None:
        """A start and a goal in which at least half of the blocks are misplaced."""
        start, goal = random_piles(rng, self.blocks), random_piles(rng, self.blocks)
        misplaced = sum(not finished(start, goal, block) for block in range(self.blocks))
        return (start, goal) if 2 * misplaced >= self.blocks else None

    @tool
    def pick_up(self, block: str) -> str:
        """Take a block that stands on the table into the hand.

        Args:
            block: its letter.
        """
        return self._become(rules.pick_up(self.piles, self._number(block)))

    @tool
    def put_down(self, block: str) -> str:
        """Put the block that the hand holds on the table.

        Args:
            block: its letter.
        """
        return self._become(rules.put_down(self.piles, self._number(block)))

    @tool
    def unstack(self, block: str, off: str) -> str:
        """Take a block from the block below it into the hand.

        Args:
            block: its letter.
            off: the block below it.
        """
        return self._become(rules.unstack(self.piles, self._number(block), self._number(off)))

    @tool
    def stack(self, block: str, on: str) -> str:
        """Put the block that the hand holds on another block.

        Args:
            block: its letter.
            on: the block to put it on.
        """
        return self._become(rules.stack(self.piles, self._number(block), self._number(on)))

    def _number(self, letter: str) -> int:
        number = NAMES.find(letter, 0, self.blocks) if len(letter) == 1 else -1
        if number < 0:
            raise ToolError(
                f"there is no block {letter!r:.20}: blocks are {NAMES[0]} to {NAMES[self.blocks - 1]}"
            )
        return number

    def _become(self, piles: Piles) -> str:
        self.piles = piles
        if piles == self.goal:
            self.finish(1.0, success=True)
            return f"{described(piles)}\nThat is the goal."
        return described(piles)

    def state_key(self) -> str:
        return described(self.piles)

    def expert(self) -> Action:
        """A plan that is at most twice as long as the shortest: see `planning`."""
        name, block, other = next_move(self.piles, self.goal)
        arguments = {"block": NAMES[block]}
        if name in SECOND:
            arguments[SECOND[name]] = NAMES[other]
        return call(name, **arguments)
