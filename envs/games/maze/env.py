"""`Maze-v0`: find the exit of a maze of which one sees the corridors that one stands in.

Invariant: the exit can be reached in every task; no maze is in two splits.
"""

from __future__ import annotations

from random import Random
from typing import ClassVar, Literal, NamedTuple, TypeAlias, get_args

from agentrl.core.env import Safety, ToolEnv
from agentrl.core.failures import ToolError, UserError
from agentrl.core.messages import Action, call
from agentrl.core.tool import tool
from agentrl.envs.games.drawing import TaskKey, check_between, drawn
from agentrl.envs.games.maze.rules import (
    DIRECTIONS,
    Direction,
    cell_at,
    distances,
    drawing,
    free,
    next_stretch,
    offset,
    place_of,
    random_maze,
    stretches,
)

Seen: TypeAlias = Literal["local", "full"]


class Layout(NamedTuple):
    """A task: the maze, where one begins, and where the exit is."""

    maze: str
    start: int
    goal: int


class MazeEnv(ToolEnv):
    """Find the exit of a maze.

    Args:
        size: cells of a side, 4 to 20.
        view: `local` (the corridors in the four directions) or `full` (the whole maze).
        loops: how many of the walls between cells are missing, 0 to 0.5; 0: there is one way only.
        split: `train`, `validation` or `test`: no maze is in two.
        max_turns: by default 6 for every cell of a side.
    """

    safety: ClassVar[Safety] = "inline"

    def __init__(
        self,
        *,
        size: int = 8,
        view: Seen = "local",
        loops: float = 0.0,
        split: str = "train",
        max_turns: int | None = None,
    ) -> None:
        check_between("size", size, 4, 20)
        if view not in get_args(Seen):
            raise UserError(f"view must be {' or '.join(get_args(Seen))}, not {view!r:.40}")
        if isinstance(loops, bool) or not isinstance(loops, int | float) or not 0 <= loops <= 0.5:
            raise UserError(f"loops must be a number from 0 to 0.5, got {loops!r:.40}")
        super().__init__(split=split, max_turns=6 * size if max_turns is None else max_turns)
        self.size, self.view, self.loops = size, view, float(loops)
        self.instructions = f"Find the exit of a maze of {size} x {size} cells. Rows are counted from the north, columns from the west."
        self.layout = Layout("", 0, 0)
        self.here = 0

    def task(self) -> str:
        key = TaskKey("maze", self.split, self.task_seed, (self.size, self.loops))
        self.layout = drawn(key, self._layout, lambda layout: layout.maze)
        self.here = self.layout.start
        row, column = cell_at(self.layout.goal, self.size)
        return f"The exit is in row {row}, column {column}.\n{self._shown()}"

    def _layout(self, rng: Random) -> Layout | None:
        """A maze, and two cells that are a good way apart but not farther than can be gone twice over."""
        maze = random_maze(rng, self.size, self.loops)
        start, goal = (
            place_of(1 + int(rng.random() * self.size), 1 + int(rng.random() * self.size), self.size)
            for _ in range(2)
        )
        far = distances(maze, goal, self.size)
        near = far[start] < (self.size if self.loops else 2 * self.size)
        if near or stretches(far, maze, start, self.size) > 3 * self.size:
            return None
        return Layout(maze, start, goal)

    @tool
    def move(self, direction: Direction, steps: int = 1) -> str:
        """Go through the maze.

        Args:
            direction: where to.
            steps: how many cells.
        """
        if steps < 1:
            raise ToolError("steps must be at least 1")
        open_cells = free(self.layout.maze, self.here, direction, self.size)
        if open_cells == 0:
            raise ToolError(f"there is a wall in the {direction}")
        gone = min(steps, open_cells)
        step = 2 * offset(direction, self.size)
        for _ in range(gone):
            self.here += step
            if self.here == self.layout.goal:
                self.finish(1.0, success=True)
                return "You are at the exit."
        stopped = f"After {gone} there is a wall. " if gone < steps else ""
        return f"{stopped}{self._shown()}"

    def _shown(self) -> str:
        if self.view == "full":
            return drawing(self.layout.maze, self.here, self.layout.goal)
        row, column = cell_at(self.here, self.size)
        ways = []
        for direction in DIRECTIONS:
            cells = free(self.layout.maze, self.here, direction, self.size)
            ways.append(f"{direction} {cells} open" if cells else f"{direction} wall")
        return f"You are in row {row}, column {column}: {', '.join(ways)}."

    def state_key(self) -> str:
        """Where one is."""
        return str(cell_at(self.here, self.size))

    def expert(self) -> Action:
        """A shortest way to the exit, straight on as far as it goes. It knows the maze."""
        maze, _, goal = self.layout
        direction, steps = next_stretch(distances(maze, goal, self.size), maze, self.here, self.size)
        return call("move", direction=direction, steps=steps)
