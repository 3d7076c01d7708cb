import functools
from itertools import combinations_with_replacement
from random import Random

import numpy as np
import pytest

import agentrl
from agentrl.core.failures import ToolError
from agentrl.core.messages import call, text_of
from agentrl.envs.games.nim.rules import moves, nim_sum, taken, winning_moves, wins


@functools.cache
def searched(heaps, misere):
    """Whether the player to move wins, by looking at every game."""
    if not any(heaps):
        return misere  # the other player took the last object
    return any(not searched(tuple(sorted(taken(heaps, *move))), misere) for move in moves(heaps))


@pytest.mark.parametrize("misere", [False, True])
def test_the_theory_agrees_with_a_search_of_every_game(misere):
    for heaps in combinations_with_replacement(range(6), 4):
        assert wins(heaps, misere) == searched(heaps, misere), heaps
        good = [move for move in moves(heaps) if not searched(tuple(sorted(taken(heaps, *move))), misere)]
        assert winning_moves(heaps, misere) == good


def test_the_sum_by_hand():
    assert nim_sum((3, 4, 5)) == 2
    assert winning_moves((3, 4, 5), False) == [(0, 2)]
    assert winning_moves((1, 4, 5), False) == []
    assert winning_moves((1, 1, 3), True) == [(2, 2)]  # leaves three ones, of which the other takes the last
    assert winning_moves((1, 1, 3), False) == [(2, 3)]


@pytest.mark.parametrize(
    ("heap", "count", "said"),
    [(2, 1, "heaps are 1 to 2"), (-1, 1, "heaps are 1"), (0, 0, "1 to 3"), (0, 4, "1 to 3"), (1, 1, "empty")],
)
def test_what_the_rules_forbid(heap, count, said):
    with pytest.raises(ToolError, match=said):
        taken((3, 0), heap, count)


def test_every_task_is_won_by_the_first_player():
    for misere in (False, True):
        env = agentrl.make("Nim-v0", misere=misere)
        for seed in range(60):
            env.reset(seed=seed, options={"split": env.splits[seed % 3]})
            assert wins(env.heaps, misere)
            assert len(env.heaps) == 4
            assert 1 <= min(env.heaps) <= max(env.heaps) <= 9


@pytest.mark.parametrize("misere", [False, True])
def test_the_expert_keeps_what_is_won_against_a_perfect_opponent(misere):
    env = agentrl.make("Nim-v0", skill=1.0, misere=misere)
    for seed in range(60):
        env.reset(seed=seed)
        info = {}
        while "success" not in info:
            assert wins(env.heaps, misere)
            info = env.step(env.expert())[-1]
        assert info["success"]


def won_by_any_move(skill, seeds=300):
    """The share of games that random legal moves win."""
    env, won = agentrl.make("Nim-v0", skill=skill), 0
    for seed in range(seeds):
        rng, info = Random(seed), {}
        env.reset(seed=seed)
        while "success" not in info:
            heap, count = rng.choice(moves(env.heaps))
            info = env.step(call("take", heap=heap + 1, count=count))[-1]
        won += info["success"]
    return won / seeds


def test_the_opponent_is_as_good_as_it_is_said_to_be():
    shares = [won_by_any_move(skill) for skill in (0.0, 0.5, 0.9, 1.0)]
    assert sorted(shares, reverse=True) == shares
    assert 0.3 < shares[0] < 0.7
    assert shares[2] < 0.08
    assert shares[3] < 0.03


def test_the_opponent_makes_mistakes_as_often_as_told():
    env = agentrl.make("Nim-v0", skill=0.7)
    perfect = []
    for seed in range(1500):
        env.reset(seed=seed)
        heap, count = Random(seed).choice(moves(env.heaps))
        left = taken(env.heaps, heap, count)
        if good := winning_moves(left, False):
            perfect.append(env._reply(left) in good)
    # Where a random move is meant, it is a good one by chance: about one move in twenty.
    assert 0.70 < np.mean(perfect) < 0.76


def test_the_opponent_is_the_same_in_a_fork_and_another_one_for_another_seed():
    env = agentrl.make("Nim-v0")
    replies = set()
    for seed in range(20):
        env.reset(seed=seed)
        replies.add(env._reply((9, 8, 7, 6)))
        assert env._reply((9, 8, 7, 6)) == env._reply((9, 8, 7, 6))
    assert len(replies) > 1


def test_a_game_by_hand():
    env = agentrl.make("Nim-v0", skill=1.0)
    env.reset(seed=0)
    env.heaps = (1, 2, 0, 0)
    assert text_of(env.step(call("take", heap=3, count=1))[0]).startswith("error: you cannot take that many")
    observation, reward, terminated, *_ = env.step(call("take", heap=2, count=1))
    assert (reward, terminated) == (0.0, False)
    assert text_of(observation) in (
        "The opponent takes 1 from heap 1.\nheaps: 0 1 0 0",
        "The opponent takes 1 from heap 2.\nheaps: 1 0 0 0",
    )
    observation, reward, *_, info = env.step(env.expert())
    assert (text_of(observation), reward, info["success"]) == ("You win.", 1.0, True)


def test_a_lost_game_by_hand():
    env = agentrl.make("Nim-v0", skill=1.0)
    env.reset(seed=0)
    env.heaps = (1, 2, 0, 0)
    observation, reward, terminated, _, info = env.step(call("take", heap=1, count=1))
    assert text_of(observation) == "The opponent takes 2 from heap 2.\nYou lose."
    assert (reward, terminated, info["success"]) == (0.0, True, False)
    assert "last object loses" in text_of(agentrl.make("Nim-v0", misere=True).reset(seed=0)[0])
