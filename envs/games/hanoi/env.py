"""`Hanoi-v0`: the Tower of Hanoi from any state to any other.

Invariant: every state can be reached from every other, so no move loses a task; a pair of start and goal is in one split
only.
"""

from __future__ import annotations

from random import Random
from typing import ClassVar, TypeAlias

from agentrl.core.env import Safety, ToolEnv
from agentrl.core.messages import Action, call
from agentrl.core.tool import tool
from agentrl.envs.games.drawing import TaskKey, check_between, drawn
from agentrl.envs.games.hanoi.rules import PEGS, Peg, State, described, moved
from agentrl.envs.games.hanoi.solving import distance, next_move

Pair: TypeAlias = tuple[State, State]
FAR = 0.5
"""Start and goal of a random task are at least so far apart, as a share of the 2^n - 1 moves that n disks can need."""


class HanoiEnv(ToolEnv):
    """Bring disks on three pegs from one arrangement into another.

    Args:
        disks: 3 to 10.
        split: `train`, `validation` or `test`: no pair of start and goal is in two.
        max_turns: by default twice as many as the hardest task needs.
    """

    safety: ClassVar[Safety] = "inline"

    def __init__(self, *, disks: int = 4, split: str = "train", max_turns: int | None = None) -> None:
        check_between("disks", disks, 3, 10)
        super().__init__(split=split, max_turns=2 * (2**disks - 1) if max_turns is None else max_turns)
        self.disks = disks
        self.instructions = (
            f"Move the disks so that every disk is on its peg of the goal. Disk 1 is the smallest, disk {disks} the "
            "largest. A move takes the top disk of one peg and puts it on another peg; a disk may not lie on a "
            "smaller one. Disks are listed from the bottom to the top of a peg."
        )
        self.now: State = ()
        self.goal: State = ()

    def task(self) -> str:
        key = TaskKey("hanoi", self.split, self.task_seed, (self.disks,))
        self.now, self.goal = drawn(key, self._pair, lambda pair: f"{''.join(pair[0])} {''.join(pair[1])}")
        return f"{described(self.now)}\n\nThe goal:\n{described(self.goal)}"

    def _pair(self, rng: Random) -> Pair | None:
        start, goal = (tuple(PEGS[int(rng.random() * 3)] for _ in range(self.disks)) for _ in range(2))
        return (start, goal) if distance(start, goal) >= FAR * (2**self.disks - 1) else None

    @tool
    def move(self, source: Peg, target: Peg) -> str:
        """Move the top disk of one peg onto another peg.

        Args:
            source: the peg to take it from.
            target: the peg to put it on.
        """
        self.now = moved(self.now, source, target)
        if self.now != self.goal:
            return described(self.now)
        self.finish(1.0, success=True)
        return f"{described(self.now)}\nThis is the goal."

    def state_key(self) -> str:
        return "".join(self.now)

    def expert(self) -> Action:
        """The first move of a shortest way."""
        source, target = next_move(self.now, self.goal)
        return call("move", source=source, target=target)
