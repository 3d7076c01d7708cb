"""What was seen of a game so far: its states and the steps between them, shared by all episodes that play it.

Games are deterministic, so a step that any episode has made is known to all. Invariant: an edge holds what the engine
answered at that state; states are told apart by everything that an answer can depend on.
"""

from __future__ import annotations

import sys
import threading
from collections import OrderedDict
from collections.abc import Callable
from typing import Any

from agentrl.core.failures import Boundary
from agentrl.envs.alfworld import rules
from agentrl.envs.alfworld.engines import ANSWER_SECONDS, PREPARE_SECONDS, SHARED, EngineProcess
from agentrl.envs.alfworld.library import GameFile

NOTHING = "Nothing happens."
GAMES_KEPT = 128


class Node:
    """A state of a game; grows, never changes.

    Attributes:
        state: digest of all facts.
        commands: what can be done, and the engine's operator for it.
        path: operators that lead here from the start.
        edges: by operator, the answer and the state after it.
    """

    __slots__ = ("commands", "edges", "path", "state", "won")

    def __init__(self, answer: dict[str, Any], path: tuple[int, ...]) -> None:
        self.state: str = answer["state"]
        self.won: bool = answer["won"]
        self.commands: dict[str, int] = {
            sys.intern(text): operator for text, operator in answer["commands"] if text.rstrip() != "help"
        }
        self.path = path
        self.edges: dict[int, tuple[str, Node]] = {}


class PlayedGame:
    """A game with all that was seen of it, and its engine while one is needed."""

    def __init__(self, file: GameFile, first: dict[str, Any]) -> None:
        self.file = file
        self.intro: str = first["feedback"]
        self.start = Node(first, ())
        self.nodes = {self.start.state: self.start}
        self.lock = threading.Lock()
        self.engine: EngineProcess | None = None
        self.live = 0
        """Steps that needed the engine."""
        self._where: dict[str, str] | None = None

    def __deepcopy__(self, memo: Any) -> PlayedGame:
        return self  # shared by all episodes

    def step(self, node: Node, command: str, make_room: Callable[[PlayedGame], None]) -> tuple[str, Node]:
        """The answer to a command and the state after it; a microsecond where any episode has made this step.

        Raises:
            InfrastructureFailure: the engine broke or did not answer in time.
        """
        operator = node.commands.get(command)
        if operator is None:
            return NOTHING, node
        known = node.edges.get(operator)
        if known is None:
            make_room(self)
            with self.lock:
                known = node.edges.get(operator)  # another episode may have been first
                if known is None:
                    known = self._ask(node, operator)
        return known

    def plan(self, node: Node, make_room: Callable[[PlayedGame], None]) -> list[str]:
        """Commands that win from a state, by the bundled planner."""
        make_room(self)
        with self.lock:
            return self._engine("expert").ask(
                "expert", {"do": "plan", "path": list(node.path)}, PREPARE_SECONDS
            )

    def where(self) -> dict[str, str]:
        """Where each thing lies at the start, both by name; read once."""
        if self._where is None:
            self._where = self._read_where()
        return self._where

    def _read_where(self) -> dict[str, str]:
        translation = self.file.translation()
        assert translation is not None
        names = rules.names_of(tuple(one for one in translation["start"]["objects"] if "_bar_" in one))
        return {
            names[fact[1][0]]: names[fact[1][1]]
            for fact in sorted(translation["start"]["facts"])
            if fact[0] == "inreceptacle"
        }

    def _ask(self, node: Node, operator: int) -> tuple[str, Node]:
        request = {"do": "answer", "path": list(node.path), "command": operator}
        answer = self._engine("step").ask("step", request, ANSWER_SECONDS)
        self.live += 1
        after = self.nodes.get(answer["state"])
        if after is None:
            after = self.nodes[answer["state"]] = Node(answer, (*node.path, operator))
        node.edges[operator] = (answer["feedback"], after)
        return node.edges[operator]

    def _engine(self, where: Boundary) -> EngineProcess:
        if self.engine is None or not self.engine.alive:
            engine = SHARED.spawn()
            translation = self.file.translation()
            assert translation is not None
            request = {"do": "load", "document": self.file.document(), "start": translation["start"]}
            engine.ask(where, request, PREPARE_SECONDS)
            self.engine = engine
        return self.engine

    def rest(self, *, wait: bool = True) -> bool:
        """End the engine; what was seen stays. False if it is at work and was not to be waited for."""
        if not self.lock.acquire(blocking=wait):
            return False
        try:
            if self.engine is not None:
                self.engine.close()
                self.engine = None
            return True
        finally:
            self.lock.release()


def opened(file: GameFile) -> PlayedGame:
    """A game at its start, translated where that was not done before."""
    translation = file.translation()
    if translation is not None:
        return PlayedGame(file, translation["first"])
    engine = SHARED.spawn()
    try:
        document = file.document()
        translation = engine.ask("reset", {"do": "translate", "document": document}, PREPARE_SECONDS)
        file.keep(translation)
    except BaseException:
        engine.close()
        raise
    game = PlayedGame(file, translation["first"])
    game.engine = engine  # which has it loaded
    return game


class Shelf:
    """The games of this process: the last ones used, and a bounded number of engines."""

    def __init__(self) -> None:
        self.lock = threading.Lock()
        self.games: OrderedDict[str, PlayedGame] = OrderedDict()
        self.with_engine: OrderedDict[str, PlayedGame] = OrderedDict()

    def game(self, file: GameFile, engines: int) -> PlayedGame:
        """A game, from the shelf where it is there."""
        with self.lock:
            game = self.games.get(file.name)
            if game is not None:
                self.games.move_to_end(file.name)
                return game
        game = opened(file)
        with self.lock:
            kept = self.games.setdefault(file.name, game)
            self.games.move_to_end(file.name)
            while len(self.games) > GAMES_KEPT:
                _, old = self.games.popitem(last=False)
                if self.with_engine.pop(old.file.name, None) is not None:
                    old.rest(wait=False)
        if kept is not game:
            game.rest()
        elif game.engine is not None:
            self.make_room(game, engines)
        return kept

    def make_room(self, game: PlayedGame, engines: int) -> None:
        """Let the engines that were used least lately rest, so that one more does not make too many."""
        with self.lock:
            self.with_engine[game.file.name] = game
            self.with_engine.move_to_end(game.file.name)
            for name in list(self.with_engine)[: max(0, len(self.with_engine) - engines)]:
                if self.with_engine[name].rest(wait=False):
                    del self.with_engine[name]

    def rest(self) -> None:
        """End all engines; what was seen of the games stays."""
        with self.lock:
            games = list(self.with_engine.values())
            self.with_engine.clear()
        for game in games:
            game.rest()


SHELF = Shelf()
