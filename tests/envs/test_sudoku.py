import itertools
from random import Random

import pytest

import agentrl
from agentrl.core.failures import ToolError
from agentrl.core.messages import call, text_of
from agentrl.envs.games.board import as_board, place_of
from agentrl.envs.games.sudoku import rules
from agentrl.envs.games.sudoku.drawing import lines, pattern, shuffled
from agentrl.envs.games.sudoku.rules import BOXES, units_of
from agentrl.envs.games.sudoku.solving import as_cells, candidates, solution_of, solutions

FOUR = "1 . 3 4\n. 4 . 2\n2 . 4 .\n. 3 . 1"


def correct(cells, size):
    """Whether a full grid keeps the rules, written down another way than the solver's."""
    high, wide = BOXES[size]
    grid = [cells[at : at + size] for at in range(0, size * size, size)]
    parts = [*grid, *zip(*grid, strict=True)]
    for top, left in itertools.product(range(0, size, high), range(0, size, wide)):
        parts.append([grid[top + y][left + x] for y in range(high) for x in range(wide)])
    return all(sorted(part) == list(range(1, size + 1)) for part in parts)


def test_there_are_288_grids_of_size_4():
    found = solutions((0,) * 16, 4, 1000)
    assert len(found) == len(set(found)) == 288
    assert all(correct(cells, 4) for cells in found)


def test_a_published_grid_of_size_9():
    # The example of Wikipedia's article on Sudoku.
    text = (
        "530070000600195000098000060800060003400803001700020006060000280000419005000080079",
        "534678912672195348198342567859761423426853791713924856961537284287419635345286179",
    )
    given, full = (tuple(map(int, digits)) for digits in text)
    assert solutions(given, 9, 2) == [full]
    fewer = tuple(0 if cell < 40 else digit for cell, digit in enumerate(given))
    assert len(solutions(fewer, 9, 2)) == 2
    assert solutions((5, 5, *given[2:]), 9, 2) == []


@pytest.mark.parametrize(("size", "holes"), [(4, 8), (4, 11), (6, 18), (6, 24), (9, 40), (9, 54)])
def test_every_task_has_one_solution(size, holes):
    rng = Random(1)
    for _ in range(6):
        shown, solved = shuffled(size, holes, rng)
        assert shown.count(".") == holes
        assert solutions(as_cells(shown), size, 2) == [as_cells(solved)]
        assert correct(as_cells(solved), size)


def test_patterns_are_the_same_whenever_they_are_made():
    first = pattern(4, 8, 3)
    pattern.cache_clear()
    assert pattern(4, 8, 3) == first
    assert len({pattern(4, 8, number) for number in range(20)}) > 10


def test_an_order_of_lines_keeps_the_boxes_whole():
    for seed in range(20):
        order = lines(6, 2, Random(seed))
        assert sorted(order) == list(range(6))
        assert all({order[at] // 2, order[at + 1] // 2} == {order[at] // 2} for at in (0, 2, 4))


def test_units_by_hand():
    names = [
        (name, [place_of(place, 6) for place in places]) for name, places in units_of(6)[8]
    ]  # row 2, column 3
    assert names == [
        ("row 2", [(2, column) for column in (1, 2, 4, 5, 6)]),
        ("column 3", [(row, 3) for row in (1, 3, 4, 5, 6)]),
        ("the box", [(1, 1), (1, 2), (1, 3), (2, 1), (2, 2)]),
    ]


def test_placements_by_hand():
    index = 2 * 1  # row 1, column 2
    assert rules.place(FOUR, index, 2, 4) == "1 2 3 4\n. 4 . 2\n2 . 4 .\n. 3 . 1"
    for digit, said in (
        (1, "row 1 already has a 1, at row 1, column 1"),
        (3, "row 1 already has a 3, at row 1, column 3"),
        (0, "digits are 1 to 4"),
        (5, "digits are 1 to 4"),
    ):
        with pytest.raises(ToolError, match=said):
            rules.place(FOUR, index, digit, 4)
    with pytest.raises(ToolError, match="column 2 already has a 3, at row 4, column 2"):
        rules.place(FOUR, 2 * 9, 3, 4)
    with pytest.raises(ToolError, match="the box already has a 4, at row 2, column 2"):
        rules.place("." + FOUR[1:6] + "." + FOUR[7:], 0, 4, 4)
    with pytest.raises(ToolError, match="row 1, column 1 already holds 1"):
        rules.place(FOUR, 0, 2, 4)


def test_a_wrong_digit_that_nobody_can_see_to_be_wrong_is_taken_and_can_be_erased():
    grid = ". . . .\n. . . .\n. . . .\n. . . ."
    wrong = rules.place(grid, 0, 3, 4)
    assert rules.erase(wrong, grid, 0, 4) == grid
    with pytest.raises(ToolError, match="row 1, column 2 is empty"):
        rules.erase(wrong, grid, 2, 4)
    with pytest.raises(ToolError, match="row 1, column 1 is given"):
        rules.erase(FOUR, FOUR, 0, 4)


def test_candidates_by_hand():
    counts = candidates(as_cells(FOUR), 4)
    assert counts == {1: 1, 4: 1, 6: 1, 9: 1, 11: 1, 12: 1, 14: 1}


@pytest.mark.parametrize("size", [4, 6, 9])
def test_the_expert_goes_on_from_wherever_a_policy_has_got_to(size):
    env = agentrl.make("Sudoku-v0", size=size, max_turns=500)
    erased = 0
    for seed in range(15):
        rng = Random(seed)
        env.reset(seed=seed)
        info = {}
        for _ in range(100):
            row, column, digit = (rng.randrange(size) + 1 for _ in range(3))
            info = env.step(call("place", row=row, column=column, digit=digit))[-1]
            if "success" in info:
                break
        while "success" not in info:
            action = env.expert()
            erased += action.tool_calls[0].name == "erase"
            info = env.step(action)[-1]
            assert not info["tool_errors"]
        assert info["success"]
        assert as_cells(env.grid) == solution_of(env.given, size)
    assert erased > 5


def test_a_game_by_hand():
    env = agentrl.make("Sudoku-v0")
    env.reset(seed=0)
    env.given = env.grid = as_board("1234341221434.2.", 4)
    observation, reward, terminated, *_ = env.step(call("place", row=4, column=2, digit=3))
    assert (text_of(observation).splitlines()[-1], reward, terminated) == ("4 3 2 .", 0.0, False)
    assert text_of(env.step(call("erase", row=4, column=1))[0]) == "error: row 4, column 1 is given"
    observation, reward, terminated, _, info = env.step(call("place", row=4, column=4, digit=1))
    assert text_of(observation).splitlines()[-2:] == ["4 3 2 1", "The grid is solved."]
    assert (reward, terminated, info["success"]) == (1.0, True, True)
