"""Games of the six task types, made from a scene and a random generator.

Invariant: a game is a function of (split, seed, task types): same arguments, same bytes, in every process. Unseen scenes
appear in the test split alone.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from random import Random
from typing import Any

from agentrl.core.failures import UnknownName, UserError
from agentrl.envs.alfworld import rules

VERSION = 1
TASKS: dict[str, tuple[str, ...]] = {
    "pick_and_place_simple": rules.KINDS,
    "look_at_obj_in_light": ("LivingRoom", "Bedroom"),
    "pick_clean_then_place_in_recep": ("Kitchen", "Bathroom"),
    "pick_heat_then_place_in_recep": ("Kitchen",),
    "pick_cool_then_place_in_recep": ("Kitchen",),
    "pick_two_obj_and_place": rules.KINDS,
}
"""The task types, and the kinds of room that have them (as in the original)."""
NEEDS = {
    "pick_clean_then_place_in_recep": ("Cleanable", "SinkBasin"),
    "pick_heat_then_place_in_recep": ("Heatable", "Microwave"),
    "pick_cool_then_place_in_recep": ("Coolable", "Fridge"),
}
OPENABLE = frozenset({"Fridge", "Cabinet", "Microwave", "Drawer", "Safe"})
ABILITY_FACTS = {
    "Heatable": "heatable",
    "Coolable": "coolable",
    "Cleanable": "cleanable",
    "Toggleable": "toggleable",
    "Sliceable": "sliceable",
}
DRAWS = 200


@dataclass(frozen=True, slots=True)
class Thing:
    """An object: its id, its kind and the id of the place where it lies at the start."""

    id: str
    kind: str
    place: str


@dataclass(frozen=True, slots=True)
class Game:
    """A room with things in it and something to do.

    Attributes:
        task: the task type.
        scene: number of the room.
        target, parent, lamp: the kinds that the goal names; `parent` is empty for `look_at_obj_in_light`, `lamp`
            for all others.
        words: the task as the policy reads it.
        places: id and kind of each place.
        things: what lies there.
    """

    split: str
    seed: int
    task: str
    scene: int
    target: str
    parent: str
    lamp: str
    words: str
    places: tuple[tuple[str, str], ...]
    things: tuple[Thing, ...]

    @property
    def id(self) -> str:
        """As the original names its folders: type, target, movable receptacle, destination, scene."""
        return f"{self.task}-{self.target}-None-{self.parent or self.lamp}-{self.scene}"


def check_tasks(tasks: Sequence[str]) -> tuple[str, ...]:
    """The task types that were asked for; all where none is.

    Raises:
        UnknownName: with the nearest known ones.
    """
    for task in tasks:
        if task not in TASKS:
            raise UnknownName("ALFWorld task type", task, TASKS)
    return tuple(dict.fromkeys(tasks)) or tuple(TASKS)


def draw(split: str, seed: int, tasks: Sequence[str] = (), attempt: int = 0) -> Game:
    """The game of a seed. Seeds go through the task types in turn.

    Args:
        attempt: another game of the same seed, where a planner could not solve the first.
    """
    chosen = check_tasks(tasks)
    task = chosen[seed % len(chosen)]
    numbers = [n for n in rules.scene_numbers(unseen=split == "test") if rules.kind_of(n) in TASKS[task]]
    rng = Random(f"alfworld/{VERSION}/{split}/{seed}/{task}/{attempt}")
    for _ in range(DRAWS):
        game = furnish(split, seed, task, rng.choice(numbers), rng)
        if game is not None:
            return game
    raise UserError(f"no {task} game was found for seed {seed} in {DRAWS} draws")


def furnish(split: str, seed: int, task: str, number: int, rng: Random) -> Game | None:
    """Put things into a room and choose a goal; None where the room has nothing for this task."""
    scene = rules.scene(number)
    kinds = {kind for _, kind in scene.places}
    choices = goals(task, scene, kinds)
    if not choices:
        return None
    target, parent, lamp = rng.choice(choices)
    counts = {kind: rng.choice((1, 1, 1, 2, 2, 3)) for kind in scene.things if rng.random() < 0.65}
    counts[target] = max(counts.get(target, 1), 2 if task == "pick_two_obj_and_place" else 1)
    if lamp:
        counts[lamp] = 1
    things = []
    for kind in sorted(counts):
        for index in range(counts[kind]):
            homes = [place for place, holder in scene.places if kind in rules.fits()[holder]]
            if kind == target:  # or it would be done before it begins
                homes = [place for place in homes if (place, parent) not in scene.places]
            if homes:
                things.append(Thing(rules.mangled(f"{kind}|{index + 1}|00|00"), kind, rng.choice(homes)))
    if sum(thing.kind == target for thing in things) < (2 if task == "pick_two_obj_and_place" else 1):
        return None
    words = rng.choice(rules.phrasings(task)).format(
        obj=target.lower(), recep=parent.lower(), toggle=lamp.lower()
    )
    return Game(split, seed, task, number, target, parent, lamp, words, scene.places, tuple(things))


def goals(task: str, scene: rules.Scene, kinds: set[str]) -> list[tuple[str, str, str]]:
    """All (target, parent, lamp) that make a goal of a type in a room."""
    carried = [kind for kind in scene.things if kind not in rules.abilities()["Toggleable"]]
    if task == "look_at_obj_in_light":
        lamps = [kind for kind in scene.things if kind in rules.abilities()["Toggleable"]]
        return [(target, "", lamp) for target in carried for lamp in lamps]
    ability, appliance = NEEDS.get(task, ("", ""))
    if appliance and appliance not in kinds:
        return []
    return [
        (target, parent, "")
        for target in carried
        if not ability or target in rules.abilities()[ability]
        for parent in sorted(kinds)
        if target in rules.fits()[parent]
        and parent != appliance
        and any(target in rules.fits()[kind] for kind in kinds - {parent})
    ]


def problem(game: Game) -> str:
    """The game in PDDL."""
    held = game.things
    kinds = sorted({kind for _, kind in game.places} | {"SinkBasin", "Microwave", "Fridge"})
    sorts = sorted({thing.kind for thing in held} | {"Knife", "ButterKnife"})
    spots = {place: f"loc_bar_{index}" for index, (place, _) in enumerate(game.places, start=1)}
    facts = ["(atLocation agent1 loc_bar_0)"]
    for place, kind in game.places:
        facts += [f"(receptacleType {place} {kind}Type)", f"(receptacleAtLocation {place} {spots[place]})"]
        if kind in OPENABLE:
            facts.append(f"(openable {place})")
    for thing in held:
        facts += [
            f"(objectType {thing.id} {thing.kind}Type)",
            f"(inReceptacle {thing.id} {thing.place})",
            f"(objectAtLocation {thing.id} {spots[thing.place]})",
        ]
        facts += [
            f"({ABILITY_FACTS[ability]} {thing.id})"
            for ability, able in sorted(rules.abilities().items())
            if thing.kind in able
        ]
        if thing.kind not in rules.abilities()["Toggleable"]:
            facts.append(f"(pickupable {thing.id})")
    facts += [
        f"(canContain {kind}Type {sort}Type)"
        for kind in kinds
        for sort in sorts
        if sort in rules.fits()[kind]
    ]
    goal = rules.goal(game.task).format(obj=game.target, recep=game.parent, toggle=game.lamp, mrecep="")
    return "\n".join(
        (
            f"(define (problem {game.task}_{game.scene}_{game.seed})",
            "(:domain alfred)",
            "(:objects agent1 - agent",
            f"{' '.join(sort + 'Type' for sort in sorts)} - otype",
            f"{' '.join(kind + 'Type' for kind in kinds)} - rtype",
            f"{' '.join(thing.id for thing in held)} - object",
            f"{' '.join(place for place, _ in game.places)} - receptacle",
            f"loc_bar_0 {' '.join(spots.values())} - location)",
            f"(:init (= (total-cost) 0) {' '.join(facts)})",
            goal.replace("#", "-"),
        )
    )


def core_of(game: Game) -> Game:
    """A smaller game whose plans are plans of the whole one, with what a plan needs and no more: as many targets as are
    asked for, the lamp, the places where they lie, one destination and one appliance.

    No precondition and no effect of an action names a thing or a place that the action does not act on, so nothing that is
    left out can stand in the way. The planner needs it: of two objects in a room with 25 places, it may search for minutes.
    """
    count = 2 if game.task == "pick_two_obj_and_place" else 1
    targets = [thing for thing in game.things if thing.kind == game.target][:count]
    things = (*targets, *(thing for thing in game.things if thing.kind == game.lamp))
    homes = {thing.place for thing in things}
    wanted = {game.parent, NEEDS.get(game.task, ("", ""))[1]}
    first = {kind: place for place, kind in reversed(game.places)}
    kept = homes | {first[kind] for kind in wanted if kind in first}
    places = tuple((place, kind) for place, kind in game.places if place in kept)
    return replace(game, things=things, places=places)


def document(game: Game, walkthrough: Sequence[str] | None) -> dict[str, Any]:
    """The game file (`game.tw-pddl`) as TextWorld and the official loaders read it."""
    return {
        "pddl_domain": rules.domain(),
        "grammar": rules.grammar().replace("UNKNOWN GOAL", game.words),
        "pddl_problem": problem(game),
        "solvable": walkthrough is not None,
        "walkthrough": None if walkthrough is None else list(walkthrough),
    }


def trajectory(game: Game) -> dict[str, Any]:
    """What the official loaders read of `traj_data.json`."""
    return {
        "task_type": game.task,
        "task_id": f"{game.split}_{game.seed}",
        "pddl_params": {
            "object_target": game.target,
            "parent_target": game.parent,
            "toggle_target": game.lamp,
            "mrecep_target": "",
            "object_sliced": False,
        },
        "scene": {"scene_num": game.scene, "floor_plan": f"FloorPlan{game.scene}"},
        "turk_annotations": {"anns": [{"task_desc": game.words, "high_descs": []}]},
    }
