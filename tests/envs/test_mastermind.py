import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import agentrl
from agentrl.core.messages import call, text_of
from agentrl.envs.games.mastermind.rules import (
    all_codes,
    as_numbers,
    as_text,
    consistent,
    marked,
    marks_of,
    next_guess,
    number_of_codes,
)

CODES = st.text("ABCDEF", min_size=4, max_size=4)


@pytest.mark.parametrize(
    ("guess", "secret", "marks"),
    [
        ("AABB", "AABB", (4, 0)),
        ("AABB", "BBAA", (0, 4)),
        ("AABC", "ADDA", (1, 1)),
        ("ABCD", "EEEE", (0, 0)),
        ("AAAA", "ABAC", (2, 0)),
        ("ABCD", "BCDA", (0, 4)),
    ],
)
def test_marks_by_hand(guess, secret, marks):
    assert marks_of(guess, secret) == marks == marks_of(secret, guess)


@given(st.lists(CODES, min_size=1, max_size=5), st.lists(CODES, min_size=1, max_size=5))
def test_all_marks_at_once_are_the_same_marks(guesses, codes):
    found = marked(np.stack([*map(as_numbers, guesses)]), np.stack([*map(as_numbers, codes)]), 6)
    expected = [
        [5 * right + elsewhere for right, elsewhere in (marks_of(g, c) for c in codes)] for g in guesses
    ]
    assert np.array_equal(found, expected)


@pytest.mark.parametrize(
    ("settings", "count"),
    [((4, 6, True), 1296), ((4, 6, False), 360), ((3, 8, False), 336), ((5, 8, True), 32768)],
)
def test_every_code_is_there_once(settings, count):
    codes = all_codes(*settings)
    assert len(codes) == len(np.unique(codes, axis=0)) == number_of_codes(*settings) == count


def test_what_could_be_the_secret():
    left = consistent(all_codes(4, 6, True), [("AABB", 4, 0)], 6)
    assert [as_text(code) for code in left] == ["AABB"]
    assert len(consistent(all_codes(4, 6, True), [("AABB", 0, 0)], 6)) == 4**4


@pytest.mark.slow
@pytest.mark.parametrize("settings", [(4, 6, True), (3, 6, True), (4, 8, False)])
def test_the_expert_finds_every_code_in_seven_guesses(settings):
    codes, known = all_codes(*settings), {}
    for secret in map(as_text, codes):
        told = ()
        while not told or told[-1][0] != secret:
            if told not in known:
                known[told] = next_guess(codes, told, settings[1])
            told = (*told, (known[told], *marks_of(known[told], secret)))
        assert len(told) <= 7, secret


def test_what_is_no_code_costs_no_guess():
    env = agentrl.make("Mastermind-v0", repeats=False)
    env.reset(seed=0)
    for code, said in (("ABC", "4 letters"), ("ABCG", "from A to F"), ("AABC", "no colour occurs twice")):
        shown, *_, info = env.step(call("guess", code=code))
        assert said in text_of(shown)
        assert len(info["tool_errors"]) == 1
    env.step(call("guess", code="a b c d"))
    assert env.told[0][0] == "ABCD"


def test_after_the_last_guess_the_code_is_told_and_not_before():
    env = agentrl.make("Mastermind-v0", guesses=1)
    env.reset(seed=0)
    wrong = "AAAA" if env.secret != "AAAA" else "BBBB"
    shown, reward, terminated, _, info = env.step(call("guess", code=wrong))
    assert f"The code was {env.secret}." in text_of(shown)
    assert (reward, terminated, info["success"]) == (0.0, True, False)
