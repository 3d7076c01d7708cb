"""TextWorld's PDDL engine with a game in it: moved to any point of the game, stepped, planned with.

Runs in processes of its own (see `server`): the engine is C with global state. Invariant: what a game answers is what the
unmodified engine answers (a test plays both); only work that it repeats is remembered.

What makes it fast: a game is translated from PDDL once and the translation kept (`Start`); grammar rules and queries are
parsed once per process; moving to a point of the game applies operators without deriving any text.
"""

from __future__ import annotations

import contextlib
import copy
import functools
import hashlib
import json
from collections import Counter, defaultdict
from collections.abc import Mapping, Sequence
from types import SimpleNamespace
from typing import Any

import fast_downward
import textworld
from textworld.envs import PddlEnv
from textworld.envs.pddl import logic as pddl_logic
from textworld.envs.pddl import textgen
from textworld.logic import Proposition, Rule, Type, Variable

from agentrl.envs.alfworld import rules

Start = dict[str, Any]
"""A translated game, JSON: `sas` (the planner's format), `types`, `objects` (name to type), `facts`, `actions` (name to
parameters)."""
Answer = dict[str, Any]
"""JSON: `feedback`, `commands` (list of [text, operator id]), `won`, `state` (a digest), `operator` (the one applied)."""
UNREAD = ("checked",)  # only effects of the bundled domain mention it: no answer depends on it


def speed_up() -> None:
    """Parse each grammar rule and each query once in this process, and copy contexts one level deep: the engine parses
    and deep-copies them again for every command that it lists."""
    parsed = functools.cache(lambda text, rule: original(text, rule_name=rule))
    original = textgen._parse_and_convert
    textgen._parse_and_convert = lambda text, rule_name="symbols", trace=False: copy.deepcopy(
        parsed(text, rule_name)
    )
    textgen.Rule = SimpleNamespace(parse_conjunctive_query=functools.cache(Rule.parse_conjunctive_query))
    textgen.copy_context = lambda context: (
        context
        | {
            "variables": dict(context["variables"]),
            "mapping": dict(context["mapping"]),
        }
    )


def translate(domain: str, problem: str) -> Start:
    """Translate a game; about half a second for a large room, nearly all of what loading one costs."""
    task, sas = fast_downward.pddl2sas(domain, problem)
    objects = {one.name: one.type_name for one in task.objects}
    return {
        "sas": sas,
        "objects": objects,
        "types": [[one.name, list(one.supertype_names)] for one in task.types],
        "actions": {
            action.name: [[parameter.name, parameter.type_name] for parameter in action.parameters]
            for action in task.actions
        },
        "facts": [
            [fact.predicate, list(fact.args)]
            for fact in task.init
            if hasattr(fact, "predicate") and fact.predicate != "="
        ],
    }


def solve(domain: str, problem: str) -> list[str] | None:
    """A plan (names of operators with their arguments) by the bundled planner; None if there is none."""
    try:
        _, sas = fast_downward.pddl2sas(domain, problem, optimize=True)
    except KeyError:  # the translator found the goal to hold, or to be out of reach
        return None
    library = planner()
    if not library.solve_sas(sas.encode(), False):
        return None
    steps = (fast_downward.Operator * library.get_last_plan_length())()
    library.get_last_plan(steps)
    return [step.name for step in steps]


@functools.cache
def planner() -> Any:
    """One copy of the planner's library for plans alone: a search leaves its state behind."""
    return fast_downward.load_lib()


def command_of(step: str, names: Mapping[str, str]) -> str:
    """A plan's step as the command that a policy would give; `names` by id."""
    action, *ids = step.split()
    said = [names.get(one, one) for one in ids]
    return {
        "gotolocation": lambda: f"go to {said[3]}",
        "openobject": lambda: f"open {said[2]}",
        "closeobject": lambda: f"close {said[2]}",
        "pickupobject": lambda: f"take {said[2]} from {said[3]}",
        "putobject": lambda: f"move {said[2]} to {said[3]}",
        "cleanobject": lambda: f"clean {said[3]} with {said[2]}",
        "heatobject": lambda: f"heat {said[3]} with {said[2]}",
        "coolobject": lambda: f"cool {said[3]} with {said[2]}",
        "toggleobject": lambda: f"use {said[2]}",
        "sliceobject": lambda: f"slice {said[2]} with {said[3]}",
    }[action]()


class TranslatedState(pddl_logic.PddlState):
    """The engine's state of a game that was translated before."""

    def __init__(self, library: Any, logic: Any, start: Start) -> None:
        self._facts: defaultdict[Any, set[Any]] = defaultdict(set)
        self._vars_by_type: defaultdict[Any, set[Any]] = defaultdict(set)
        self._vars_by_name: dict[str, Any] = {}
        self._var_counts: Counter[Any] = Counter()
        self._logic, self.downward_lib, self.name2type = logic, library, start["objects"]
        self._actions = {
            name: SimpleNamespace(
                parameters=[SimpleNamespace(name=one, type_name=kind) for one, kind in parameters]
            )
            for name, parameters in start["actions"].items()
        }
        for name, supertypes in start["types"]:
            with contextlib.suppress(ValueError):  # known: `object`
                logic.types.add(Type(name, supertypes))
        self.first = [
            Proposition(name, [Variable(one, self.name2type[one]) for one in arguments])
            for name, arguments in start["facts"]
        ]
        self.sas_text = start["sas"].encode()
        self.rewind()

    def rewind(self) -> None:
        """Back to the beginning; 4 ms."""
        self._facts.clear()
        self._vars_by_name.clear()
        self._vars_by_type.clear()
        self._var_counts.clear()
        self.downward_lib.load_sas(self.sas_text)
        self.add_facts(self.first)
        atoms = (pddl_logic.Atom * self.downward_lib.get_state_size())()
        self.downward_lib.get_state(atoms)
        facts = (atom.get_fact(self.name2type) for atom in atoms)
        self.add_facts([fact for fact in facts if not fact.is_negation])


class Engine(PddlEnv):
    """A game at some point of it."""

    def __init__(self, game: Mapping[str, Any], start: Start) -> None:
        super().__init__(textworld.EnvInfos(admissible_commands=True))
        self._game_data, self._game_file, self.walkthrough = game, None, None
        self._logic = pddl_logic.GameLogic(domain=game["pddl_domain"], grammar=game["grammar"])
        self._pddl_state = TranslatedState(self.downward_lib, self._logic, start)
        self._entity_infos = self._get_entity_infos()
        names = rules.names_of(tuple(one for one in self._entity_infos if "_bar_" in one))
        for info in self._entity_infos.values():
            info.name = names.get(info.id, f"{info.id} ")
        self.unread = UNREAD if game["pddl_domain"] == rules.domain() else ()
        self.path: list[int] = []
        self.planning = False
        self.first = self.begin()

    def begin(self) -> Answer:
        """What is seen at the start."""
        self.state = textworld.GameState()
        self._last_action, self._moves = None, 0
        context = {
            "state": self._pddl_state,
            "facts": list(self._pddl_state.facts),
            "variables": {},
            "mapping": {},
            "entity_infos": self._entity_infos,
        }
        return self._answer(self._logic.grammar.derive("#intro#", context), None)

    def answer(self, path: Sequence[int], command: int) -> Answer:
        """Go to the end of `path` (operator ids from the start) and apply one more operator there."""
        self.go(path)
        action = next(one for one in self._pddl_state.all_applicable_actions() if one.id == command)
        self._pddl_state.apply(action)
        self.path.append(command)
        self._last_action = action
        context = {
            "state": self._pddl_state,
            "facts": list(self._pddl_state.facts),
            "variables": {hole.name: self._entity_infos[one.name] for hole, one in action.mapping.items()},
            "mapping": action.mapping,
            "entity_infos": self._entity_infos,
        }
        return self._answer(self._logic.grammar.derive(action.feedback_rule, context), command)

    def go(self, path: Sequence[int]) -> None:
        """Move to a point of the game without deriving text; onward where it lies ahead, else from the start."""
        known = len(self.path)
        if list(path[:known]) != self.path:
            self._pddl_state.rewind()
            self.path, known = [], 0
        for operator in path[known:]:
            self._pddl_state.all_applicable_actions()  # which is how the engine looks its operators up
            self._pddl_state.apply(SimpleNamespace(id=operator))
            self.path.append(operator)

    def facts(self) -> list[str]:
        """What holds here, sorted, without what no answer depends on."""
        return sorted(str(fact) for fact in self._pddl_state.facts if fact.name not in self.unread)

    def _answer(self, feedback: str, operator: int | None) -> Answer:
        self.state.feedback = self.state.raw = feedback
        self._gather_infos()
        ids: dict[str, int] = {}
        for command, action in zip(self.state["_valid_commands"], self.state["_valid_actions"], strict=True):
            ids.setdefault(command, action.id)  # the engine, too, takes the first
        digest = hashlib.blake2b(json.dumps(self.facts()).encode(), digest_size=12).hexdigest()
        return {
            "feedback": feedback,
            "commands": sorted(ids.items()),
            "won": bool(self.state["won"]),
            "state": digest,
            "operator": operator,
        }

    def plan(self, path: Sequence[int]) -> list[str]:
        """Commands that win from the end of `path`, by the bundled planner; empty if there are none."""
        self.go(path)
        if not self.planning:
            _, sas = fast_downward.pddl2sas(
                self._game_data["pddl_domain"], self._game_data["pddl_problem"], optimize=True
            )
            self.downward_lib.load_sas_replan(sas.encode())
            self.planning = True
        if not self.downward_lib.replan(False):
            return []
        steps = (fast_downward.Operator * self.downward_lib.get_last_plan_length())()
        self.downward_lib.get_last_plan(steps)
        names = {info.id: info.name for info in self._entity_infos.values()}
        return [command_of(step.name, names) for step in steps]
