"""`Sokoban-v0`: push boxes onto goals in a room that can be solved.

Invariant: the state is the player's place and the boxes'; the room of a task is in one split only, whatever stands in it.
"""

from __future__ import annotations

from random import Random
from typing import ClassVar

from agentrl.core.env import Safety, ToolEnv
from agentrl.core.failures import InfrastructureFailure, UserError
from agentrl.core.messages import Action, call
from agentrl.core.tool import tool
from agentrl.envs.games.drawing import TRIES, TaskKey, check_between, remembered
from agentrl.envs.games.sokoban.drawing import Task, played_backwards, random_room
from agentrl.envs.games.sokoban.rules import DIRECTIONS, Direction, State, draw, moved, solved, steps_of
from agentrl.envs.games.sokoban.solving import solve
from agentrl.envs.generated import in_split

NAMES = {name[0]: name for name in DIRECTIONS}
FIRST_LOOK, PATIENCE = 3000, 10**6


class SokobanEnv(ToolEnv):
    """Push every box onto a goal; a box can be pushed, never pulled.

    Args:
        size: rows and columns of the room with its walls, 6 to 10.
        boxes: 1 to 4.
        split: `train`, `validation` or `test`: no room (walls and goals) is in two.
        max_turns: by default 20, and one for every cell and box.
    """

    instructions = (
        "Push every box onto a goal. Moving against a box pushes it one cell, if the cell behind it is free; boxes "
        "cannot be pulled. # is a wall, _ floor, O a goal, X a box, * a box on a goal, P you, S you on a goal."
    )
    safety: ClassVar[Safety] = "inline"

    def __init__(
        self, *, size: int = 6, boxes: int = 1, split: str = "train", max_turns: int | None = None
    ) -> None:
        check_between("size", size, 6, 10)
        check_between("boxes", boxes, 1, 4)
        super().__init__(split=split, max_turns=20 + boxes * size**2 if max_turns is None else max_turns)
        self.size, self.boxes = size, boxes
        self.steps = steps_of(size)
        self.room = ""
        self.first = self.now = State(0, ())
        self.plan: tuple[State, str] = (self.now, "")

    def task(self) -> str:
        key = TaskKey("sokoban", self.split, self.task_seed, (self.size, self.boxes))
        self.room, self.first = remembered(key, self._task)
        self.now, self.plan = self.first, (self.first, "")
        return draw(self.room, self.now)

    def _task(self, rng: Random) -> Task:
        for _ in range(TRIES):
            room = random_room(rng, self.size, self.boxes)
            if in_split(room, self.split) and (state := played_backwards(rng, room, self.size)):
                return room, state
        raise UserError(f"no room of size {self.size} with {self.boxes} boxes was found: make it larger")

    @tool
    def move(self, direction: Direction) -> str:
        """Walk one cell, or push the box that stands there.

        Args:
            direction: where to.
        """
        before = self.now.boxes
        self.now = moved(self.room, self.now, self.steps[direction])
        shown = draw(self.room, self.now)
        if self.now.boxes is not before and solved(self.room, self.now.boxes):
            self.finish(1.0, success=True)
            return f"{shown}\nEvery box is on a goal."
        return shown

    @tool
    def restart(self) -> str:
        """Put the boxes and yourself back to where they were at the start."""
        self.now = self.first
        return draw(self.room, self.now)

    def state_key(self) -> str:
        return f"{self.now.player} {self.now.boxes}"

    def expert(self) -> Action:
        """The next move of a solution; where none is found from here, a restart."""
        here, moves = self.plan
        if here != self.now or not moves:
            budget = PATIENCE if self.now == self.first else FIRST_LOOK
            found = solve(self.room, self.now, self.size, budget)
            if found is None:
                if self.now == self.first:
                    raise InfrastructureFailure("expert", type(self).__name__, "no solution was found")
                return call("restart")
            moves = found
        direction = NAMES[moves[0]]
        self.plan = (moved(self.room, self.now, self.steps[direction]), moves[1:])
        return call("move", direction=direction)
