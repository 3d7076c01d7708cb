"""ALFWorld on the real engine: the text is the engine's own, games are solvable, processes are shared, killed and gone."""

import importlib.util
import json
import os
import signal
import subprocess
import sys
import time
from pathlib import Path
from random import Random

import pytest

import agentrl
from agentrl.check.checker import check_env
from agentrl.core.failures import (
    DeadlineExceeded,
    InfrastructureFailure,
    MissingExtra,
    UnknownName,
    UserError,
)
from agentrl.core.messages import text_of
from agentrl.envs.alfworld import engines, expert, generator, graph, library, rules
from agentrl.envs.alfworld.env import ALFWorldEnv
from agentrl.envs.alfworld.generate import generate

INSTALLED = all(importlib.util.find_spec(name) for name in ("alfworld", "textworld", "fast_downward"))
needs_engine = pytest.mark.skipif(not INSTALLED, reason="ALFWorld's engine is not installed")


@pytest.fixture(scope="module", autouse=True)
def cache(tmp_path_factory):
    """Games of this module, in a folder of their own."""
    folder = tmp_path_factory.mktemp("cache")
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("AGENTRL_CACHE", str(folder))
        yield folder


@pytest.fixture
def env():
    made = ALFWorldEnv(actions="text")
    yield made
    made.close()


def play(env, seed, split="train"):
    """One episode of the expert: commands or calls, answers, the last info."""
    env.reset(seed=seed, options={"split": split})
    answers, over, info = [], False, {}
    while not over:
        observation, _, terminated, truncated, info = env.step(env.expert())
        answers.append(text_of(observation))
        over = terminated or truncated
    return answers, info


def processes():
    """Engine processes of this machine's user that are alive and are no zombies."""
    found = subprocess.run(["pgrep", "-f", "agentrl.envs.alfworld.server"], capture_output=True, text=True)
    return found.stdout.split()


# -- without an engine -----------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("words", "goal"),
    [
        ("put some mug on desk", ("mug", "desk", "", "", 1)),
        ("put a mug in desk", ("mug", "desk", "", "", 1)),
        ("find two pen and put them in drawer", ("pen", "drawer", "", "", 2)),
        ("put two pen in drawer", ("pen", "drawer", "", "", 2)),
        ("put a clean plate in fridge", ("plate", "fridge", "", "clean", 1)),
        ("clean some plate and put it in fridge", ("plate", "fridge", "", "clean", 1)),
        ("heat some egg and put it in garbagecan", ("egg", "garbagecan", "", "hot", 1)),
        ("put a cool egg in garbagecan", ("egg", "garbagecan", "", "cool", 1)),
        ("look at book under the desklamp", ("book", "", "desklamp", "", 1)),
        ("examine the book with the floorlamp", ("book", "", "floorlamp", "", 1)),
    ],
)
def test_the_expert_reads_every_phrasing(words, goal):
    assert expert.goal_of(words) == expert.Goal(*goal)
    assert expert.goal_of(f"please {words}") is None


def test_the_expert_remembers_what_it_saw():
    intro = "You see a cabinet 1, a desk 1, and a microwave 1.\n\nYour task is to: put a hot mug in desk."
    history = (
        ("go to cabinet 1", "You arrive at cabinet 1. The cabinet 1 is closed."),
        (
            "open cabinet 1",
            "You open the cabinet 1. The cabinet 1 is open. In it, you see a mug 2, and a pen 1.",
        ),
        ("take mug 2 from cabinet 1", "You pick up the mug 2 from the cabinet 1."),
        ("go to microwave 1", "You arrive at microwave 1. The microwave 1 is closed."),
        ("heat mug 2 with microwave 1", "You heat the mug 2 using the microwave 1."),
    )
    known = expert.learn(intro, history)
    assert known.places == ["cabinet 1", "desk 1", "microwave 1"]
    assert (known.at, known.holds, known.closed) == ("microwave 1", "mug 2", {"microwave 1"})
    assert known.inside == {"cabinet 1": ["pen 1"]}
    assert known.cared == {"mug 2": {"hot"}}
    cooled = expert.learn(intro, (*history, ("", "You cool the mug 2 using the fridge 1.")))
    assert cooled.cared == {"mug 2": {"cool"}}  # cold is no longer hot


def test_without_the_engine_the_install_command_is_named(monkeypatch):
    monkeypatch.setattr(importlib.util, "find_spec", lambda name: None)
    with pytest.raises(MissingExtra, match=r"agentrl-toolkit\[alfworld\]"):
        rules.root.__wrapped__()


# -- games -----------------------------------------------------------------------------------------


@needs_engine
def test_a_game_is_a_function_of_its_seed_and_scenes_are_split():
    games = {s: [generator.draw(s, seed) for seed in range(60)] for s in ("train", "validation", "test")}
    assert games["test"] == [generator.draw("test", seed) for seed in range(60)]
    seen, unseen = set(rules.scene_numbers(unseen=False)), set(rules.scene_numbers(unseen=True))
    assert (len(seen), len(unseen), seen & unseen) == (96, 24, set())
    assert {game.scene for game in games["test"]} <= unseen
    assert {game.scene for game in games["train"] + games["validation"]} <= seen
    for game in (game for listed in games.values() for game in listed):
        assert rules.kind_of(game.scene) in generator.TASKS[game.task]
        assert not any(
            thing.kind == game.target and (thing.place, game.parent) in game.places for thing in game.things
        )  # nothing is done before it begins
    assert {game.task for game in games["train"]} == set(generator.TASKS)


@needs_engine
def test_names_count_per_kind_from_the_last_id():
    ids = ("mug_bar_02", "mug_bar_01", "sink_bar_1_bar_sinkbasin", "cup_bar_7")
    assert rules.names_of(ids) == {
        "mug_bar_02": "mug 1",
        "mug_bar_01": "mug 2",
        "sink_bar_1_bar_sinkbasin": "sinkbasin 1",
        "cup_bar_7": "cup 1",
    }


REAL = """
import json, sys, textworld
from textworld.envs import PddlEnv
from alfworld.agents.environment.alfred_tw_env import AlfredDemangler
for path, commands in json.load(sys.stdin):
    env = AlfredDemangler(PddlEnv(textworld.EnvInfos(admissible_commands=True)))
    env.load(path)
    state = env.reset()
    out = [[state.feedback, state["admissible_commands"], False]]
    for command in commands:
        state, _, done = env.step(command)
        out.append([state.feedback, state["admissible_commands"], done])
    print(json.dumps(out))
"""


@needs_engine
@pytest.mark.slow
def test_every_answer_is_that_of_the_unmodified_engine(env, tmp_path):
    walks = []
    for seed in range(6):  # one of each task type
        env.reset(seed=seed)
        rng, start = Random(seed), env.snapshot()
        for turn in range(30):
            if turn % 7 == 6:  # another branch first, so that the engine has to come back
                here = env.snapshot()
                env.restore(start)
                env.step(rng.choice(sorted(env.node.commands)))
                env.restore(here)
            command = rng.choice(sorted(env.node.commands)) if turn < 18 else env.expert_command()
            if env.step(command)[2]:
                break
        commands = [command for command, _ in env.history]
        node, seen = env.game.start, [[env.game.intro, sorted(env.game.start.commands), False]]
        for command in commands:
            answer, node = env.game.step(node, command, env._make_room)
            seen.append([answer, sorted(node.commands), node.won])
        walks.append((str(env.game.file.path), commands, seen))
    done = subprocess.run(
        [sys.executable, "-c", REAL],
        input=json.dumps([walk[:2] for walk in walks]),
        env={**os.environ, "PYTHONHASHSEED": "0", "HOME": str(tmp_path), "ALFWORLD_DATA": str(tmp_path)},
        capture_output=True,
        text=True,
        timeout=300,
    )
    assert done.returncode == 0, done.stderr
    for line, (_, _, seen) in zip(done.stdout.splitlines(), walks, strict=True):
        real = [
            [text, [c for c in commands if c.strip() != "help"], won]
            for text, commands, won in json.loads(line)
        ]
        assert real == seen


@needs_engine
def test_generated_games_are_proved_and_their_walkthroughs_win(env, cache):
    for seed in range(6):
        env.reset(seed=seed, options={"split": "test"})
        document = env.game.file.document()
        assert document["solvable"] is True
        for command in document["walkthrough"]:
            _, reward, terminated, _, info = env.step(command)
        assert (reward, terminated, info["success"]) == (1.0, True, True)
    trajectories = list(cache.rglob("traj_data.json"))
    assert len(trajectories) == len(list(cache.rglob("game.tw-pddl"))) >= 6


# -- playing ---------------------------------------------------------------------------------------


@needs_engine
@pytest.mark.slow
@pytest.mark.parametrize("actions", ["tools", "text"])
def test_the_rules_hold(actions):
    report = check_env(ALFWorldEnv, kwargs={"actions": actions})
    assert report.ok, [check for check in report.checks if not check.ok]


@needs_engine
def test_the_expert_solves_every_type_with_calls_as_with_text():
    with_calls, with_text = ALFWorldEnv(), ALFWorldEnv(actions="text")
    try:
        for seed in range(6):
            by_call, info = play(with_calls, seed, "test")
            by_text, _ = play(with_text, seed, "test")
            assert info["success"]
            assert by_call == by_text
    finally:
        with_calls.close()
        with_text.close()


@needs_engine
def test_the_expert_is_told_where_things_are_when_its_turns_run_out():
    env = ALFWorldEnv(max_turns=12)  # from the first turn on there is no time to search
    try:
        for seed in range(12):
            assert play(env, seed)[1]["success"], seed
    finally:
        env.close()


@needs_engine
def test_the_planner_wins_from_wherever_the_policy_has_got_to():
    env = ALFWorldEnv(actions="text", planner=True)
    try:
        for seed in range(3):
            env.reset(seed=seed)
            rng = Random(seed)
            for _ in range(5):
                env.step(rng.choice(sorted(env.node.commands)))
            for _ in range(30):
                _, _, terminated, _, info = env.step(env.expert())
                if terminated:
                    break
            assert info["success"], seed
    finally:
        env.close()


@needs_engine
def test_what_cannot_be_done_changes_nothing(env):
    env.reset(seed=0)
    before, live = env.state_key(), env.game.live
    for text in ("go to the moon 1", "", "open", "take mug 1 from mug 1", "help"):
        observation, reward, terminated, *_ = env.step(text)
        assert (text_of(observation), reward, terminated) == ("Nothing happens.", 0.0, False)
    assert env.state_key() == before
    assert env.game.live == live  # the engine was not even asked


@needs_engine
def test_the_wording_of_older_releases_is_understood(env):
    env.reset(seed=0)
    walkthrough = env.game.file.document()["walkthrough"]
    for command in walkthrough:
        old = command.replace("move ", "put ").replace(" to ", " in/on ") if "move" in command else command
        _, reward, *_ = env.step(f"> {old.upper()}")
    assert reward == 1.0


@needs_engine
def test_admissible_commands_are_listed_on_demand():
    env = ALFWorldEnv(actions="text", admissible=True)
    try:
        observation, _ = env.reset(seed=1)
        listed = text_of(observation).rpartition("You can: ")[2].split(", ")
        assert listed == list(env.node.commands)
        assert "look" in listed
        observation, *_ = env.step("look")
        assert text_of(observation).count("You can: ") == 1
    finally:
        env.close()


@needs_engine
def test_a_step_that_was_made_once_needs_no_engine_again(env):
    first, _ = play(env, 3)
    live, game = env.game.live, env.game
    other = ALFWorldEnv(actions="text")
    try:
        second, _ = play(other, 3)
        assert second == first
        assert other.game is game
        assert game.live == live
    finally:
        other.close()


# -- processes -------------------------------------------------------------------------------------


@needs_engine
def test_an_engine_can_be_forked_where_it_is(env):
    env.reset(seed=44)
    env.step("look")
    path, commands = [], env.game.start.commands
    one = sorted(command for command in commands if command.startswith("go to"))[0]
    engine = env.game.engine
    there = engine.ask("step", {"do": "answer", "path": path, "command": commands[one]})
    look = dict(there["commands"])["look"]  # an operator's number depends on the state
    twin = engine.fork()
    try:
        assert twin.pid != engine.pid
        question = {"do": "answer", "path": [commands[one]], "command": look}
        assert twin.ask("step", dict(question)) == engine.ask("step", dict(question))
    finally:
        twin.close()


@needs_engine
def test_a_killed_engine_is_an_infrastructure_failure_and_the_next_reset_works(env):
    env.reset(seed=45)
    env.step("look")
    os.kill(env.game.engine.pid, signal.SIGKILL)
    unknown = next(c for c, operator in env.node.commands.items() if operator not in env.node.edges)
    with pytest.raises(InfrastructureFailure, match="has died"):
        env.step(unknown)
    assert play(env, 45)[1]["success"]


@needs_engine
def test_an_engine_that_hangs_is_given_up_at_its_deadline(env, monkeypatch):
    monkeypatch.setattr(graph, "ANSWER_SECONDS", 1.0)
    env.reset(seed=46)
    env.step("look")
    os.kill(env.game.engine.pid, signal.SIGSTOP)
    unknown = next(c for c, operator in env.node.commands.items() if operator not in env.node.edges)
    began = time.monotonic()
    with pytest.raises(DeadlineExceeded):
        env.step(unknown)
    assert time.monotonic() - began < 10
    monkeypatch.undo()
    assert play(env, 46)[1]["success"]


@needs_engine
def test_a_killed_fork_server_is_started_again(env):
    env.reset(seed=47)
    engines.SHARED.server.process.kill()
    engines.SHARED.server.process.wait()
    assert play(env, 48)[1]["success"]


@needs_engine
def test_engines_rest_when_there_are_too_many_and_none_is_left_after_the_last_close():
    before = set(processes())
    env, other = ALFWorldEnv(actions="text", engines=1), ALFWorldEnv(actions="text", engines=1)
    for seed in (49, 50, 51):
        env.reset(seed=seed)
        env.step("look")
        env.step(next(c for c in env.node.commands if c.startswith("go to")))
    other.reset(seed=49)
    assert len(graph.SHELF.with_engine) == 1
    env.close()
    assert set(processes()) - before  # the other one still plays
    other.close()
    other.close()
    until = time.monotonic() + 10
    while set(processes()) - before and time.monotonic() < until:
        time.sleep(0.05)
    assert set(processes()) - before == set()


# -- official games --------------------------------------------------------------------------------


def as_official(root: Path, split: str, seeds: range) -> None:
    """Generated games in the folders of the official download."""
    for seed in seeds:
        file = library.generated(split, seed, ())
        folder = (
            root
            / "json_2.1.1"
            / library.OFFICIAL_PARTS[split]
            / file.path.parent.parent.name
            / f"trial_{seed}"
        )
        folder.mkdir(parents=True)
        for name in ("game.tw-pddl", "traj_data.json"):
            (folder / name).write_bytes(file.path.with_name(name).read_bytes())


@needs_engine
def test_official_games_are_read_where_they_were_downloaded(tmp_path, monkeypatch, env):
    env.reset(seed=0)  # keeps the fork server up
    as_official(tmp_path, "test", range(6))
    monkeypatch.setenv("ALFWORLD_DATA", str(tmp_path))
    official = agentrl.make("ALFWorld-v0", games="official", split="test", tasks="look_at_obj_in_light")
    try:
        _, info = play(official, 0, "test")
        assert info["success"]
        assert official.game.file.path.is_relative_to(tmp_path)
        assert official.asked.split()[0] in ("look", "examine")
    finally:
        official.close()


@needs_engine
def test_what_is_no_download_is_named(tmp_path, monkeypatch, env):
    monkeypatch.delenv("ALFWORLD_DATA", raising=False)
    with pytest.raises(UserError, match="alfworld-download"):
        ALFWorldEnv(games="official")
    with pytest.raises(UserError, match=r"no folder .*json_2\.1\.1"):
        ALFWorldEnv(games="official", data=str(tmp_path))
    env.reset(seed=0)
    as_official(tmp_path, "validation", range(1))
    with pytest.raises(UserError, match="no solvable game of look_at_obj_in_light"):
        ALFWorldEnv(games="official", data=str(tmp_path), split="validation", tasks="look_at_obj_in_light")
    broken = next(tmp_path.rglob("traj_data.json"))
    broken.write_text("{")
    library.listed.cache_clear()
    with pytest.raises(UserError, match=str(broken.parent)):
        ALFWorldEnv(games="official", data=str(tmp_path), split="validation")


@needs_engine
@pytest.mark.parametrize(
    ("settings", "error", "sentence"),
    [
        ({"actions": "tool"}, UnknownName, "did you mean 'tools'"),
        ({"games": "offical"}, UnknownName, "did you mean 'official'"),
        ({"tasks": "pick_and_place"}, UnknownName, "pick_and_place_simple"),
        ({"engines": 0}, UserError, "engines must be at least 1"),
        ({"split": "valid_seen"}, UnknownName, "split"),
    ],
)
def test_bad_settings_are_named(settings, error, sentence):
    with pytest.raises(error, match=sentence):
        ALFWorldEnv(**settings)


# -- games made ahead ------------------------------------------------------------------------------


@needs_engine
def test_games_made_ahead_are_official_games(tmp_path):
    made = generate("test", 12, output=tmp_path, progress=(told := []).append)
    assert (made.games, made.made, made.refused, told[-1]) == (12, 12, 0, 12)
    assert made.by_type == dict.fromkeys(generator.TASKS, 2)
    again = generate("test", 12, output=tmp_path)
    assert (again.games, again.made) == (12, 0)
    env = ALFWorldEnv(games="official", data=str(tmp_path), split="test")
    try:
        assert [play(env, seed, "test")[1]["success"] for seed in range(12)] == [True] * 12
    finally:
        env.close()


@needs_engine
def test_two_things_in_a_room_of_many_places_are_proved_fast(tmp_path):
    """In the whole room, the planner searches for minutes."""
    made = generate("train", 1, first_seed=353, output=tmp_path)
    assert made.by_type == {"pick_two_obj_and_place": 1}
    assert made.seconds < 20


@needs_engine
@pytest.mark.parametrize(
    ("kwargs", "said"),
    [
        ({"games": 0}, "at least 1"),
        ({"workers": 0}, "at least 1"),
        ({"first_seed": -1}, "at least 0"),
        ({"split": "tests"}, "did you mean 'test'"),
        ({"tasks": ["heat"]}, "unknown ALFWorld task type"),
        ({"output": Path("/proc/none")}, "cannot be written"),
    ],
    ids=str,
)
def test_what_cannot_be_made_is_one_sentence(kwargs, said):
    with pytest.raises(UserError, match=said):
        generate(**{"split": "train", "games": 1, **kwargs})


@needs_engine
def test_the_text_id_takes_commands():
    env = agentrl.make("ALFWorldText-v0")
    try:
        env.reset(seed=3)
        assert env.tools == ()
        assert env.step("look")[4]["tool_errors"] == []
    finally:
        env.close()
