"""ALFWorld: household tasks in text, on the TextWorld engine, with tool calls or text commands."""

from __future__ import annotations

import re
from typing import Literal

from agentrl.core.env import ToolEnv
from agentrl.core.failures import UnknownName, UserError
from agentrl.core.messages import Action, Message, call
from agentrl.core.tool import tool
from agentrl.envs.alfworld import generator, library, rules
from agentrl.envs.alfworld.engines import SHARED
from agentrl.envs.alfworld.expert import Goal, goal_of, next_command
from agentrl.envs.alfworld.graph import SHELF, Node, PlayedGame
from agentrl.envs.generated import as_names

BANNER = "-= Welcome to TextWorld, ALFRED! =-"
SIMPLER = re.compile(r"put (\w+ \d+) (?:in/on|in|on|into) (\w+ \d+)")
TEXT = """You are in a room and have a task. Each of your messages is one command:
go to PLACE, open PLACE, close PLACE, take OBJECT from PLACE, move OBJECT to PLACE, heat OBJECT with PLACE, \
cool OBJECT with PLACE, clean OBJECT with PLACE, slice OBJECT with OBJECT, use OBJECT, examine THING, look, inventory.
Things are called by name and number, as in: take mug 1 from cabinet 3."""
TOOLS = "You are in a room and have a task. Things are called by name and number, as in: cabinet 3."
CALLS = (
    (re.compile(r"go to (?P<place>.+)"), "go_to"),
    (re.compile(r"open (?P<place>.+)"), "open"),
    (re.compile(r"close (?P<place>.+)"), "close_place"),
    (re.compile(r"take (?P<object>.+) from (?P<place>.+)"), "take"),
    (re.compile(r"move (?P<object>.+) to (?P<place>.+)"), "put"),
    (re.compile(r"heat (?P<object>.+) with (?P<appliance>.+)"), "heat"),
    (re.compile(r"cool (?P<object>.+) with (?P<appliance>.+)"), "cool"),
    (re.compile(r"clean (?P<object>.+) with (?P<appliance>.+)"), "clean"),
    (re.compile(r"slice (?P<object>.+) with (?P<knife>.+)"), "slice"),
    (re.compile(r"use (?P<object>.+)"), "use"),
    (re.compile(r"examine (?P<thing>.+)"), "examine"),
    (re.compile(r"look"), "look"),
    (re.compile(r"inventory"), "inventory"),
)
HURRY = 12  # turns that fetching, preparing and placing two things can take


class ALFWorldEnv(ToolEnv):
    """Do something in a household: find a thing, clean, heat or cool it, put it somewhere; by ALFWorld's rules and text
    (Shridhar et al. 2021, arXiv:2010.03768).

    Args:
        actions: `tools` for calls (`go_to`, `take`, ...), `text` for ALFWorld's own commands.
        tasks: task types to play; all six where none is named. Seeds go through them in turn.
        admissible: list what can be done after every answer, as some agents are given it.
        games: `generated` from the seed, or `official` ones that were downloaded.
        data: where the official ones are; `$ALFWORLD_DATA` by default.
        engines: how many engine processes may be kept ready; games beyond start theirs again when they need it.
        planner: whether `expert()` asks the bundled planner, which knows where everything is, instead of searching.
    """

    max_turns = 50
    fork = "copy"
    safety = "thread"

    def __init__(
        self,
        *,
        split: str = "train",
        max_turns: int | None = None,
        actions: Literal["tools", "text"] = "tools",
        tasks: str | tuple[str, ...] | list[str] = (),
        admissible: bool = False,
        games: Literal["generated", "official"] = "generated",
        data: str | None = None,
        engines: int = 64,
        planner: bool = False,
    ) -> None:
        rules.root()
        for name, value, known in (
            ("actions", actions, ("tools", "text")),
            ("games", games, ("generated", "official")),
        ):
            if value not in known:
                raise UnknownName(f"value of {name}", str(value), known)
        if engines < 1:
            raise UserError(f"engines must be at least 1, got {engines}")
        self.actions, self.admissible, self.games, self.data = actions, admissible, games, data
        self.tasks = generator.check_tasks(as_names("tasks", tasks))
        self.engines, self.planner = engines, planner
        if games == "official":
            library.check_official(data, split, self.tasks)
        super().__init__(split=split, max_turns=max_turns)
        if actions == "text":
            self.tools = ()
        self.instructions = TOOLS if actions == "tools" else TEXT
        self.game: PlayedGame | None = None
        self.node: Node | None = None
        self.asked = ""
        self.goal: Goal | None = None
        self.history: tuple[tuple[str, str], ...] = ()
        self.plan: tuple[str, ...] = ()

    # -- playing -----------------------------------------------------------------------------------

    def task(self) -> str:
        SHARED.enter(id(self))
        find = library.generated if self.games == "generated" else self._official
        file = find(self.split, self.task_seed, self.tasks)
        self.game = SHELF.game(file, self.engines)
        self.node, self.history, self.plan = self.game.start, (), ()
        intro = self.game.intro.removeprefix(BANNER).strip()
        self.asked = intro.rpartition("Your task is to: ")[2].strip().rstrip(".")
        self.goal = goal_of(self.asked)
        return intro + self._listed()

    def _official(self, split: str, seed: int, tasks: tuple[str, ...]) -> library.GameFile:
        return library.official(self.data, split, seed, tasks)

    def act(self, command: str) -> str:
        """Give the engine one of its own commands."""
        assert self.game is not None
        assert self.node is not None
        answer, self.node = self.game.step(self.node, command, self._make_room)
        self.history = (*self.history, (command, answer))
        if self.node.won:
            self.finish(1.0)
        return answer + self._listed()

    def _make_room(self, game: PlayedGame) -> None:
        SHELF.make_room(game, self.engines)

    def _listed(self) -> str:
        if not self.admissible or self.node is None:
            return ""
        return "\n\nYou can: " + ", ".join(self.node.commands)

    def on_text(self, text: str) -> str:
        if self.actions == "tools":
            return super().on_text(text)
        command = " ".join(text.split()).lower().removeprefix("> ")
        if found := SIMPLER.fullmatch(command):  # the wording of older releases
            command = f"move {found[1]} to {found[2]}"
        return self.act(command)

    def state_key(self) -> str | None:
        return None if self.node is None else self.node.state

    def close(self) -> None:
        if not self.closed and SHARED.leave(id(self)):
            SHELF.rest()
        super().close()

    # -- tools -------------------------------------------------------------------------------------

    @tool
    def go_to(self, place: str) -> str:
        """Go to a place and see what is there.

        Args:
            place: its name, such as `cabinet 3`.
        """
        return self.act(f"go to {place}")

    @tool
    def open(self, place: str) -> str:
        """Open the place where you are.

        Args:
            place: its name.
        """
        return self.act(f"open {place}")

    @tool
    def close_place(self, place: str) -> str:
        """Close the place where you are.

        Args:
            place: its name.
        """
        return self.act(f"close {place}")

    @tool
    def take(self, object: str, place: str) -> str:
        """Take an object from where you are. You can carry one.

        Args:
            object: its name, such as `mug 1`.
            place: where it lies.
        """
        return self.act(f"take {object} from {place}")

    @tool
    def put(self, object: str, place: str) -> str:
        """Put what you carry in or on the place where you are.

        Args:
            object: what you carry.
            place: where to put it.
        """
        return self.act(f"move {object} to {place}")

    @tool
    def heat(self, object: str, appliance: str) -> str:
        """Heat what you carry.

        Args:
            object: what you carry.
            appliance: a microwave that you stand at.
        """
        return self.act(f"heat {object} with {appliance}")

    @tool
    def cool(self, object: str, appliance: str) -> str:
        """Cool what you carry.

        Args:
            object: what you carry.
            appliance: a fridge that you stand at.
        """
        return self.act(f"cool {object} with {appliance}")

    @tool
    def clean(self, object: str, appliance: str) -> str:
        """Clean what you carry.

        Args:
            object: what you carry.
            appliance: a sinkbasin that you stand at.
        """
        return self.act(f"clean {object} with {appliance}")

    @tool
    def slice(self, object: str, knife: str) -> str:
        """Slice an object that lies here.

        Args:
            object: what to slice.
            knife: the knife that you carry.
        """
        return self.act(f"slice {object} with {knife}")

    @tool
    def use(self, object: str) -> str:
        """Switch a lamp here on or off.

        Args:
            object: the lamp, such as `desklamp 1`.
        """
        return self.act(f"use {object}")

    @tool
    def examine(self, thing: str) -> str:
        """Look at a place or an object closely.

        Args:
            thing: its name.
        """
        return self.act(f"examine {thing}")

    @tool
    def look(self) -> str:
        """See where you are."""
        return self.act("look")

    @tool
    def inventory(self) -> str:
        """See what you carry."""
        return self.act("inventory")

    # -- expert ------------------------------------------------------------------------------------

    def expert(self) -> Action | None:
        command = self.expert_command()
        return None if command is None else self.said(command)

    def expert_command(self) -> str | None:
        """What the expert would do, in the engine's words."""
        if self.node is None or self.game is None or self._over:
            return None
        if self.planner or self.goal is None:
            return self._planned()
        left = (self.max_turns or 50) - self.turn
        hints = None if left > 2 * HURRY else self.game.where()
        return next_command(self.goal, self.game.intro, self.history, hints)

    def _planned(self) -> str | None:
        """The next command of the planner's plan; it is asked again where the policy went another way."""
        assert self.game is not None
        assert self.node is not None
        done = len(self.history)
        if not self.plan or self.plan[:done] != tuple(command for command, _ in self.history):
            rest = self.game.plan(self.node, self._make_room)
            self.plan = (*(command for command, _ in self.history), *rest)
        return self.plan[done] if done < len(self.plan) else None

    def said(self, command: str) -> Action:
        """A command as an action of the format that is played."""
        if self.actions == "text":
            return Message("assistant", command)
        for pattern, name in CALLS:
            if found := pattern.fullmatch(command):
                return call(name, **found.groupdict())
        raise UserError(f"no tool does {command!r}")
