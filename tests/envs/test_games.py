"""What all games have in common."""

import itertools

import gymnasium.utils.env_checker
import numpy as np
import pytest

import agentrl
from agentrl.check import check_env
from agentrl.check.audit import audit_env
from agentrl.core.failures import ToolError, UserError
from agentrl.core.messages import call, text_of
from agentrl.envs.games.board import as_board, index_of, place_of, put
from agentrl.envs.games.drawing import TaskKey, drawn, forget, remembered
from agentrl.envs.generated import in_split

GAMES = [
    "Blocksworld",
    "Countdown",
    "Hanoi",
    "HiddenRule",
    "Mastermind",
    "Maze",
    "Minesweeper",
    "Nim",
    "Sokoban",
    "Sudoku",
    "TwentyQuestions",
    "Wordle",
]
SETTINGS = [
    ("Blocksworld", {"blocks": 3}),
    ("Blocksworld", {"blocks": 12}),
    ("Countdown", {"numbers": 3, "largest": 10, "target": (10, 30)}),
    ("Countdown", {"numbers": 6, "largest": 100, "target": (100, 999)}),
    ("Sokoban", {"size": 6, "boxes": 4}),
    ("Sokoban", {"size": 10, "boxes": 4}),
    ("Minesweeper", {"rows": 4, "columns": 4, "mines": 3}),
    ("Minesweeper", {"rows": 6, "columns": 10}),
    ("Minesweeper", {"rows": 10, "columns": 10}),
    ("Nim", {"heaps": 2, "largest": 20, "misere": True}),
    ("Nim", {"heaps": 6, "largest": 5, "skill": 1}),
    ("Sudoku", {"size": 6}),
    ("Sudoku", {"size": 9, "holes": 54}),
    ("Maze", {"size": 4}),
    ("Maze", {"size": 20, "loops": 0.5, "view": "full"}),
    ("Mastermind", {"pegs": 5, "colours": 8}),
    ("Mastermind", {"pegs": 4, "colours": 8, "repeats": False}),
    ("Wordle", {"length": 4}),
    ("Wordle", {"length": 6}),
]
WRONG = [
    ("Blocksworld", {"blocks": 2}, "3 to 12"),
    ("Blocksworld", {"blocks": "5"}, "whole number"),
    ("Countdown", {"numbers": 7}, "3 to 6"),
    ("Countdown", {"largest": 9}, "10 to 100"),
    ("Countdown", {"target": 24}, "lowest and the highest"),
    ("Countdown", {"target": (10, 12)}, "20 to 1010"),
    ("Sokoban", {"size": 5}, "6 to 10"),
    ("Sokoban", {"boxes": 5}, "1 to 4"),
    ("Minesweeper", {"rows": 3}, "4 to 10"),
    ("Minesweeper", {"mines": 8}, "2 to 7"),
    ("Nim", {"heaps": 1}, "2 to 6"),
    ("Nim", {"heaps": 3, "largest": 7}, "too few start"),
    ("Nim", {"skill": 1.5}, "0 to 1"),
    ("Nim", {"misere": "no"}, "true or false"),
    ("Sudoku", {"size": 5}, "4, 6 or 9"),
    ("Sudoku", {"holes": 12}, "4 to 11"),
    ("Sudoku", {"max_turns": -1}, "at least 1"),
    ("Maze", {"max_turns": 0}, "at least 1"),
    ("Maze", {"size": 3}, "4 to 20"),
    ("Maze", {"view": "some"}, "local or full"),
    ("Maze", {"loops": 0.6}, "0 to 0.5"),
    ("Mastermind", {"pegs": 2}, "3 to 5"),
    ("Mastermind", {"pegs": 3, "colours": 5}, "125 codes"),
    ("Mastermind", {"repeats": "no"}, "true or false"),
    ("Wordle", {"length": 7}, "4 to 6"),
    ("Wordle", {"guesses": 0}, "1 to 20"),
    ("Wordle", {"hard": 1}, "true or false"),
]


def make(game, **kwargs):
    return agentrl.make(f"{game}-v0", **kwargs)


def finish(env):
    """The expert plays on to the end: the last reward, the turns, the last info."""
    for turns in itertools.count(1):
        _, reward, terminated, truncated, info = env.step(env.expert())
        if terminated or truncated:
            return reward, turns, info


@pytest.mark.slow
@pytest.mark.parametrize("game", GAMES)
def test_the_rules_hold(game):
    report = check_env(f"agentrl/{game}-v0")
    assert report.ok, [check for check in report.checks if not check.ok]


@pytest.mark.slow
@pytest.mark.parametrize("game", GAMES)
def test_nothing_is_won_without_playing(game):
    document = audit_env(f"agentrl/{game}-v0", episodes=30)
    assert document["ok"], document["policies"]


@pytest.mark.parametrize("game", GAMES)
def test_gymnasiums_checker_passes(game):
    gymnasium.utils.env_checker.check_env(make(game), skip_render_check=True)


@pytest.mark.parametrize("game", GAMES)
def test_the_expert_solves_every_task_of_every_split(game):
    env = make(game)
    for split, seed in itertools.product(env.splits, range(40)):
        env.reset(seed=seed, options={"split": split})
        reward, turns, info = finish(env)
        assert (reward, info["success"], info["turn"]) == (1.0, True, turns), (split, seed)


@pytest.mark.parametrize(("game", "kwargs"), SETTINGS)
def test_the_expert_solves_every_size(game, kwargs):
    env = make(game, **kwargs)
    for split, seed in itertools.product(env.splits, range(3)):
        env.reset(seed=seed, options={"split": split})
        assert finish(env)[2]["success"], (split, seed)


@pytest.mark.parametrize(("game", "kwargs", "said"), WRONG)
def test_wrong_settings_are_refused(game, kwargs, said):
    with pytest.raises(UserError, match=said):
        make(game, **kwargs)


HIDDEN = {
    "Mastermind": lambda env: env.secret,
    "Maze": lambda env: env.layout.maze,
    "TwentyQuestions": lambda env: env.hidden,
    "Wordle": lambda env: env.hidden,
}


@pytest.mark.parametrize("game", GAMES)
def test_no_task_is_in_two_splits(game):
    def asked(env, seed, split):
        text = text_of(env.reset(seed=seed, options={"split": split})[0])
        return HIDDEN[game](env) if game in HIDDEN else text

    env = make(game)
    tasks = {split: {asked(env, seed, split) for seed in range(120)} for split in env.splits}
    for one, other in itertools.combinations(env.splits, 2):
        assert not tasks[one] & tasks[other]
    assert len(tasks["train"]) > 60


@pytest.mark.parametrize("game", GAMES)
def test_a_fork_goes_its_own_way(game):
    env, other = make(game), make(game)
    env.reset(seed=5)
    before = env.state_key()
    other.restore(env.snapshot())
    other.step(other.expert())
    assert (env.state_key(), env.turn, other.turn) == (before, 0, 1)
    assert other.state_key() != before
    assert finish(env)[2]["success"]


@pytest.mark.parametrize("game", GAMES)
def test_a_snapshot_is_small(game):
    env = make(game)
    env.reset(seed=5)
    env.step(env.expert())
    state = {
        name: value
        for name, value in env.snapshot().payload.items()
        if not name.startswith("_") and name not in ("np_random", "options", "tools")
    }
    assert len(repr(state)) < 3000


def test_what_a_split_is():
    shares = [
        np.mean([in_split(str(n), split) for n in range(4000)]) for split in ("train", "validation", "test")
    ]
    assert [round(share, 1) for share in shares] == [0.8, 0.1, 0.1]
    assert all(
        sum(in_split(str(n), split) for split in ("train", "validation", "test")) == 1 for n in range(500)
    )


def test_a_game_a_split_and_a_seed_name_one_source_of_chance():
    keys = [TaskKey(game, split, seed) for game in "ab" for split in "cd" for seed in (0, 1)]
    draws = {key.rng().random() for key in keys}
    assert len(draws) == 8
    assert TaskKey("a", "c", 0).rng().random() in draws


def test_a_task_is_drawn_once_and_settings_tell_tasks_apart():
    draws = []

    def draw(rng):
        draws.append(rng.random())
        return len(draws)

    forget()
    keys = [TaskKey("once", "train", 0, (settings,)) for settings in (1, 2, 1)]
    assert [remembered(key, draw) for key in keys] == [1, 2, 1]
    assert len(draws) == 2
    forget()
    assert remembered(keys[0], draw) == 3


def test_settings_that_leave_no_task_are_said():
    with pytest.raises(UserError, match="no task of these settings"):
        drawn(TaskKey("none", "test", 0), lambda rng: None, str)
    content = next(str(n) for n in range(100) if in_split(str(n), "train"))
    assert drawn(TaskKey("one", "train", 0), lambda rng: content, str) == content
    with pytest.raises(UserError, match="'test'"):
        drawn(TaskKey("one", "test", 0), lambda rng: content, str)


def test_a_board_by_hand():
    board = as_board("abcdef", 3)
    assert board == "a b c\nd e f"
    assert [board[index_of(row, column, 2, 3)] for row in (1, 2) for column in (1, 2, 3)] == list("abcdef")
    assert place_of(index_of(2, 3, 2, 3), 3) == (2, 3)
    assert put(board, index_of(2, 1, 2, 3), "X") == "a b c\nX e f"
    for row, column in ((0, 1), (3, 1), (1, 0), (1, 4), (10**400, 1)):
        with pytest.raises(ToolError, match="rows are 1 to 2, columns 1 to 3"):
            index_of(row, column, 2, 3)


@pytest.mark.parametrize(
    ("game", "tool", "arguments"),
    [
        ("Countdown", "combine", {"a": 10**4400 // 3, "op": "+", "b": 1}),
        ("Countdown", "answer", {"expression": "9" * 5000}),
        ("Countdown", "answer", {"expression": "9" * 199}),
        ("Minesweeper", "reveal", {"row": -(10**400), "column": 1}),
        ("Nim", "take", {"heap": 1, "count": 10**400}),
        ("Nim", "take", {"heap": 10**400, "count": 1}),
        ("Sudoku", "place", {"row": 1, "column": 1, "digit": 10**400}),
        ("Blocksworld", "stack", {"block": "A" * 5000, "on": ""}),
        ("Sokoban", "move", {"direction": ""}),
    ],
)
def test_absurd_arguments_are_answered(game, tool, arguments):
    env = make(game)
    env.reset(seed=0)
    before = env.state_key()
    try:
        message = call(tool, **arguments)
    except ValueError:  # Python does not write integers of so many digits
        message = call(tool, **{**arguments, "a": 10**400})
    observation, reward, terminated, _, info = env.step(message)
    text = text_of(observation)
    assert text.startswith("error: ")
    assert len(text) < 700
    assert (reward, terminated, len(info["tool_errors"]), env.state_key()) == (0.0, False, 1, before)
