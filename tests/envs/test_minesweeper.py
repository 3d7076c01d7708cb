from itertools import combinations
from random import Random

import pytest

import agentrl
from agentrl.core.failures import InfrastructureFailure, ToolError
from agentrl.core.messages import call, text_of
from agentrl.envs.games.board import as_board, put
from agentrl.envs.games.minesweeper import rules
from agentrl.envs.games.minesweeper.deduction import deduce
from agentrl.envs.games.minesweeper.drawing import random_layout, solvable
from agentrl.envs.games.minesweeper.rules import neighbours_of, truth_of

# One mine in the upper right corner, one in the lower left.
TRUTH = "0 0 1 *\n0 0 1 1\n1 1 0 0\n* 1 0 0"
HIDDEN = as_board("." * 16, 4)


def cells_of(bits):
    return {cell for cell in range(bits.bit_length()) if bits >> cell & 1}


def by_enumeration(board, mines, rows, columns):
    """The cells that are safe, and those that are mines, on every board that looks like this one."""
    hidden = [index for index in range(0, len(board), 2) if board[index] in ".F"]
    looks = [
        set(chosen)
        for chosen in combinations(hidden, mines)
        if all(
            truth_of(frozenset(chosen), rows, columns)[index] == board[index]
            for index in range(0, len(board), 2)
            if index not in hidden
        )
    ]
    assert looks
    safe = set(hidden) - set().union(*looks)
    return {index // 2 for index in safe}, {index // 2 for index in set.intersection(*looks)}


def test_a_board_by_hand():
    assert truth_of({6, 24}, 4, 4) == TRUTH
    assert neighbours_of(4, 4)[0] == (2, 8, 10)
    assert len(neighbours_of(4, 4)[10]) == 8


def test_revealing_by_hand():
    assert rules.revealed(HIDDEN, TRUTH, 6, 4, 4) is None
    assert rules.revealed(HIDDEN, TRUTH, 4, 4, 4) == put(HIDDEN, 4, "1")


def test_a_zero_reveals_its_neighbours_and_no_mine():
    board = rules.revealed(HIDDEN, TRUTH, 0, 4, 4)
    # From the upper left region over the diagonal (a 0 touches a 0) to the lower right one.
    assert board == "0 0 1 .\n0 0 1 1\n1 1 0 0\n. 1 0 0"


@pytest.mark.parametrize(
    ("index", "board", "said"), [(0, put(HIDDEN, 0, "0"), "revealed"), (0, put(HIDDEN, 0, "F"), "flag")]
)
def test_what_cannot_be_revealed(index, board, said):
    with pytest.raises(ToolError, match=said):
        rules.revealed(board, TRUTH, index, 4, 4)


def test_flags_by_hand():
    board = rules.flagged(HIDDEN, 6)
    assert board[6] == "F"
    assert rules.flagged(board, 6) == HIDDEN
    with pytest.raises(ToolError, match="revealed"):
        rules.flagged(put(HIDDEN, 0, "1"), 0)


def test_deduction_by_hand():
    # 1 2 1 in the middle row against a hidden row: the mines are at its ends (a classic).
    board = ". . . .\n1 2 1 1\n0 0 0 0\n0 0 0 0"
    assert truth_of({0, 4}, 4, 4).splitlines()[1] == "1 2 1 1"
    safe, full = deduce(board, 2, 4, 4)
    assert (cells_of(safe), cells_of(full)) == ({1, 3}, {0, 2})
    assert deduce(HIDDEN, 2, 4, 4) == (0, 0)


def test_the_number_of_mines_is_used():
    board = (
        ". 1 0 0\n. 1 0 0\n1 1 0 0\n0 0 0 0"  # row 3 says that one of the two above is a mine: it is row 2's
    )
    assert cells_of(deduce(board, 1, 4, 4)[1]) == {4}


@pytest.mark.parametrize("seed", range(30))
def test_what_is_concluded_is_true_on_every_board_that_looks_like_this(seed):
    rng = Random(seed)
    layout = None
    while layout is None:
        layout = random_layout(rng, 4, 5, 4)
    board, truth = layout
    for _ in range(rng.randrange(4)):
        hidden = [index for index in range(0, len(board), 2) if board[index] == "." and truth[index] != "*"]
        if hidden:
            board = rules.revealed(board, truth, rng.choice(hidden), 4, 5)
    if "." not in board:
        return
    safe, full = (cells_of(bits) for bits in deduce(board, 4, 4, 5))
    surely_safe, surely_mines = by_enumeration(board, 4, 4, 5)
    assert safe <= surely_safe
    assert full <= surely_mines


def test_seeing_more_never_concludes_less():
    rng = Random(3)
    for _ in range(60):
        layout = random_layout(rng, 6, 6, 7)
        if layout is None:
            continue
        board, truth = layout
        known, mined = deduce(board, 7, 6, 6)
        hidden = [index for index in range(0, len(board), 2) if board[index] == "." and truth[index] != "*"]
        if not hidden:
            continue
        index = rng.choice(hidden)
        more = put(board, index, truth[index])
        safe, full = deduce(more, 7, 6, 6)
        assert cells_of(known) - {index // 2} <= cells_of(safe)
        assert cells_of(mined) <= cells_of(full)


def test_boards_that_need_a_guess_are_known():
    truth = "* * 1 0\n3 4 3 1\n1 * * 1\n1 2 2 1"
    seen = rules.revealed(HIDDEN, truth, 6, 4, 4)
    assert seen == ". . 1 0\n. . 3 1\n. . . .\n. . . ."
    assert by_enumeration(seen, 4, 4, 4)[0] == set()  # no cell is surely safe
    assert not solvable((seen, truth), 4, 4, 4)
    # All but two mines in one column: what is hidden there is told apart by the digits beside it.
    seen, truth = ". 1 0 0\n. 1 0 0\n. 1 0 0\n. 1 0 0", truth_of({0, 24}, 4, 4)
    assert rules.revealed(HIDDEN, truth, 6, 4, 4) == seen
    assert by_enumeration(seen, 2, 4, 4) == ({4, 8}, {0, 12})
    assert solvable((seen, truth), 4, 4, 2)


def test_every_task_is_solved_by_what_is_seen_alone():
    env = agentrl.make("Minesweeper-v0")
    for seed in range(30):
        env.reset(seed=seed, options={"split": env.splits[seed % 3]})
        assert env.truth.count("*") == env.mines == 5
        assert "*" not in env.board
        assert env.board.count(".") >= 10
        board = env.board
        truth, env.truth = env.truth, ""  # the expert does not look
        while board.count(".") > 5:
            env.board = board
            action = env.expert()
            safe, _ = deduce(board, 5, 6, 6)
            assert action.tool_calls[0].name == "reveal"
            board = rules.revealed(board, truth, 2 * min(cells_of(safe)), 6, 6)
            assert board is not None


def test_the_expert_goes_on_from_wherever_a_policy_has_got_to():
    env = agentrl.make("Minesweeper-v0", max_turns=300)
    won = 0
    for seed in range(60):
        rng = Random(seed)
        env.reset(seed=seed)
        info = {}
        for _ in range(6):
            name = rng.choice(["reveal", "flag", "flag"])
            info = env.step(call(name, row=rng.randrange(6) + 1, column=rng.randrange(6) + 1))[-1]
            if "success" in info:
                break
        else:
            while "success" not in info:
                info = env.step(env.expert())[-1]
                assert not info["tool_errors"]
            assert info["success"]
            won += 1
    assert won > 20


def test_a_game_by_hand():
    env = agentrl.make("Minesweeper-v0", rows=4, columns=4, mines=2)
    for last, said in ((3, "Every safe cell is revealed."), (None, "That was a mine.")):
        env.reset(seed=0)
        env.board, env.truth = HIDDEN, TRUTH
        observation, reward, terminated, *_ = env.step(call("reveal", row=1, column=3))
        assert (text_of(observation).splitlines()[0], reward, terminated) == (". . 1 .", 0.0, False)
        assert text_of(env.step(call("flag", row=1, column=4))[0]).splitlines()[0] == ". . 1 F"
        assert "has a flag" in text_of(env.step(call("reveal", row=1, column=4))[0])
        if last:
            observation, reward, terminated, _, info = env.step(call("reveal", row=4, column=4))
        else:
            observation, reward, terminated, _, info = env.step(call("reveal", row=4, column=1))
        assert text_of(observation).endswith(said)
        assert (reward, terminated, info["success"]) == (float(bool(last)), True, bool(last))


def test_a_board_that_needs_a_guess_is_our_fault_not_the_policys():
    env = agentrl.make("Minesweeper-v0", rows=4, columns=4, mines=2)
    env.reset(seed=0)
    env.board = HIDDEN
    with pytest.raises(InfrastructureFailure, match="needs a guess"):
        env.expert()
