from collections import Counter

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import agentrl
from agentrl.core.failures import UserError
from agentrl.core.messages import call, text_of
from agentrl.envs.games.wordle.rules import consistent, marks_of, unused
from agentrl.envs.games.wordle.strategy import as_number, next_guess, patterns
from agentrl.envs.games.wordle.words import LENGTHS, answers, shipped_words

WORDS = st.text("abc", min_size=5, max_size=5)


@pytest.mark.parametrize(
    ("guess", "hidden", "marks"),
    [
        ("crane", "crane", "ggggg"),
        ("crane", "moist", "-----"),
        ("speed", "erase", "y-yy-"),  # two e in both: one s, two e are elsewhere
        ("speed", "abide", "--y-y"),  # the hidden word has one e: the first is marked
        ("allee", "eagle", "yy-yg"),
        ("level", "lemon", "gg---"),  # the second e and l are one too many
        ("aabbb", "bbaab", "yyyyg"),
    ],
)
def test_marks_by_hand(guess, hidden, marks):
    assert marks_of(guess, hidden) == marks


@given(WORDS, WORDS)
def test_a_letter_is_marked_as_often_as_both_have_it(guess, hidden):
    marks = marks_of(guess, hidden)
    shared = Counter(guess) & Counter(hidden)
    found = Counter(letter for letter, mark in zip(guess, marks, strict=True) if mark != "-")
    assert found == shared
    assert [mark == "g" for mark in marks] == [a == b for a, b in zip(guess, hidden, strict=True)]


@given(st.lists(WORDS, min_size=1, max_size=6), st.lists(WORDS, min_size=1, max_size=6))
def test_all_marks_at_once_are_the_same_marks(guesses, hidden):
    expected = [[as_number(marks_of(guess, word)) for word in hidden] for guess in guesses]
    assert np.array_equal(patterns(guesses, hidden), expected)


def test_hints_of_hard_mode_by_hand():
    told = [("speed", "y-yy-")]
    assert unused("crane", told) == "the word has s"
    assert unused("arise", told) == "the word has e 2 times"
    assert unused("erase", told) == ""
    assert unused("abbot", [("crane", "--g--")]) == "letter 3 is a"


@pytest.mark.parametrize("length", LENGTHS)
def test_the_list_is_sorted_and_every_split_has_its_own_words(length):
    words = shipped_words(length)
    assert list(words) == sorted(set(words))
    assert all(len(word) == length and word.isascii() and word.islower() for word in words)
    parts = [answers(words, split) for split in ("train", "validation", "test")]
    assert sum(map(len, parts)) == len(words) >= 599
    assert set().union(*parts) == set(words)
    assert min(map(len, parts)) > 40


@pytest.mark.slow
@pytest.mark.parametrize("length", LENGTHS)
def test_the_expert_finds_every_word_in_six_guesses(length):
    words, known = shipped_words(length), {}
    for hidden in words:
        told = ()
        while not told or told[-1][0] != hidden:
            if told not in known:
                known[told] = next_guess(words, told, hard=False)
            told = (*told, (known[told], marks_of(known[told], hidden)))
            assert hidden in consistent([hidden], told)
        assert len(told) <= 6, hidden


def test_in_hard_mode_the_expert_keeps_the_rules():
    env = agentrl.make("Wordle-v0", hard=True)
    for seed in range(20):
        env.reset(seed=seed)
        over = False
        while not over:
            *_, terminated, truncated, info = env.step(env.expert())
            assert info["tool_errors"] == []
            over = terminated or truncated


def test_what_is_no_guess_costs_none():
    env = agentrl.make("Wordle-v0")
    env.reset(seed=0)
    for word, said in (("ab", "5 letters"), ("abcde", "not in the word list"), ("crän!", "a to z")):
        shown, *_, info = env.step(call("guess", word=word))
        assert said in text_of(shown)
        assert len(info["tool_errors"]) == 1
    assert env.told == ()
    env = agentrl.make("Wordle-v0", any_word=True)
    env.reset(seed=0)
    env.step(call("guess", word=" ABCDE "))
    assert env.told[0][0] == "abcde"


def test_after_the_last_guess_the_word_is_told_and_not_before():
    env = agentrl.make("Wordle-v0", guesses=2)
    env.reset(seed=3)
    wrong = [word for word in env.words if word != env.hidden][:2]
    shown, *_ = env.step(call("guess", word=wrong[0]))
    assert env.hidden not in text_of(shown)
    shown, reward, terminated, _, info = env.step(call("guess", word=wrong[1]))
    assert f"The word was {env.hidden}." in text_of(shown)
    assert (reward, terminated, info["success"]) == (0.0, True, False)


def test_a_list_of_ones_own(tmp_path):
    path = tmp_path / "words.txt"
    path.write_text("\n".join(shipped_words(5)[:100]) + "\n\n")
    env = agentrl.make("Wordle-v0", words=str(path))
    env.reset(seed=1)
    assert env.hidden in shipped_words(5)[:100]
    path = tmp_path / "broken.txt"
    path.write_text("crane\ntoolong\n")
    with pytest.raises(UserError, match=r"line 2 of .*broken.txt is no word of 5 letters"):
        agentrl.make("Wordle-v0", words=str(path))
    path = tmp_path / "few.txt"
    path.write_text("crane\n")
    with pytest.raises(UserError, match="too few words"):
        agentrl.make("Wordle-v0", words=str(path))
    with pytest.raises(UserError, match="cannot be read"):
        agentrl.make("Wordle-v0", words=str(tmp_path / "none.txt"))
