import re
from collections import Counter
from itertools import combinations, permutations, product
from math import factorial, log2
from random import Random

import gymnasium.utils.env_checker
import pytest
from hypothesis import given
from hypothesis import strategies as st
from playing import play

import agentrl
from agentrl.check import check_env
from agentrl.check.audit import audit_env
from agentrl.core.failures import UserError
from agentrl.core.messages import Message, ToolCall, call, text_of
from agentrl.envs.games.hiddenrule.rules import (
    enough,
    learned,
    needed,
    next_probe,
    nothing,
    order_of,
    share,
)


def make(**kwargs):
    return agentrl.make("HiddenRule-v0", **kwargs)


@pytest.mark.parametrize(
    ("count", "least", "most"),
    [(2, 1, 1), (3, 3, 3), (5, 7, 8), (6, 10, 11), (16, 45, 49), (64, 296, 321), (96, 499, 545)],
)
def test_the_numbers_of_probes(count, least, most):
    # 6! = 720 lies between 2^9 and 2^10; insertion takes 1 + 2 + 2 + 3 + 3.
    assert (needed(count), enough(count)) == (least, most)
    assert least - 1 < sum(map(log2, range(2, count + 1))) <= least + 1e-9


@pytest.mark.parametrize("count", [2, 3, 4, 5, 6])
def test_every_order_is_found_within_the_bound_and_some_take_all_of_it(count):
    probes = []
    for order in permutations(range(count)):
        known, asked = nothing(count), 0
        while pair := next_probe(known):
            known, asked = learned(known, *sorted(pair, key=order.index)), asked + 1
        assert tuple(order_of(known)) == order
        assert share(known) == 1.0
        probes.append(asked)
    assert max(probes) == enough(count)
    assert sum(probes) / len(probes) >= log2(factorial(count))


@given(st.permutations(range(7)), st.lists(st.tuples(st.integers(0, 6), st.integers(0, 6)), max_size=12))
def test_what_follows_is_what_every_consistent_order_says(order, pairs):
    known, told = nothing(7), set()
    for one, other in pairs:
        if one != other:
            first, second = sorted((one, other), key=order.index)
            told.add((first, second))
            known = learned(known, first, second)
    reach = set(told)
    for middle, one, other in product(range(7), repeat=3):
        if (one, middle) in reach and (middle, other) in reach:
            reach.add((one, other))
    assert reach == {
        (one, other) for one, other in product(range(7), repeat=2) if known.after[one] >> other & 1
    }
    assert reach == {
        (one, other) for one, other in product(range(7), repeat=2) if known.before[other] >> one & 1
    }
    assert share(known) == len(reach) / 21


def test_what_follows_by_hand():
    known = learned(learned(nothing(4), 2, 0), 0, 3)  # 2 before 0 before 3
    assert known.after == (0b1000, 0, 0b1001, 0)
    assert known.before == (0b0100, 0, 0, 0b0101)
    assert share(known) == 3 / 6
    assert learned(known, 2, 3) == known
    assert next_probe(known) == (1, 0)


@pytest.mark.parametrize("codes", [5, 20])
def test_the_expert_solves_every_split_with_as_many_probes_as_promised(codes):
    env = make(codes=codes)
    for split, seed in product(env.splits, range(40)):
        total, info = play(env, seed, split)
        assert (total, info["success"]) == (1.0, True)
        assert info["turn"] <= enough(codes) + 1


@pytest.mark.parametrize("codes", [64, 100])
def test_it_takes_hundreds_of_calls(codes):
    env, turns = make(codes=codes), []
    for seed in range(10):
        total, info = play(env, seed)
        assert total == 1.0
        turns.append(info["turn"])
    assert needed(codes) - 10 < min(turns) <= max(turns) <= enough(codes) + 1


def test_the_expert_goes_on_from_anywhere_and_asks_nothing_that_is_known():
    env = make(codes=12, max_turns=200)
    for seed in range(30):
        env.reset(seed=seed)
        rng, info = Random(seed), {}
        for _ in range(15):
            a, b = rng.sample(env.codes, 2)
            env.step(call("probe", a=a, b=b))
        before = share(env.known)
        while "success" not in info:
            info = env.step(env.expert())[-1]
            assert "success" in info or share(env.known) > before
            before = share(env.known)
        assert info["success"]
        assert info["turn"] <= 15 + enough(12) + 1


@pytest.mark.parametrize("probes", [0, 3, 5, 6])
def test_few_probes_win_no_more_than_the_bound_says(probes):
    """Of the 120 orders of five codes, q probes and the best guess are right of at most 2^q."""
    env, won = make(codes=5), 0
    for order in permutations(range(5)):
        env.reset(seed=3)
        env.order = tuple(env.codes[item] for item in order)
        for _ in range(probes):
            env.step(env.expert())
        guess = [env.codes[item] for item in order_of(env.known)]
        won += env.step(call("submit", order=guess))[-1]["success"]
    assert 0 < won <= 2**probes


def test_every_order_is_as_likely_as_any_other():
    env, seen = make(codes=5), Counter()
    for seed in range(6000):
        env.reset(seed=seed)
        seen[tuple(env.codes.index(code) for code in env.order)] += 1
    assert len(seen) == 120
    # Chi squared with 119 degrees of freedom: mean 119, deviation 15.4.
    assert sum((count - 50) ** 2 / 50 for count in seen.values()) < 170


def test_the_codes_of_a_task_are_in_one_split():
    env, seen = make(codes=5), {}
    for split in env.splits:
        seen[split] = set()
        for seed in range(300):
            env.reset(seed=seed, options={"split": split})
            assert len(set(env.codes)) == 5
            seen[split].add(frozenset(env.codes))
    assert all(not seen[one] & seen[other] for one, other in combinations(env.splits, 2))
    assert min(map(len, seen.values())) > 290


def test_a_game_by_hand():
    env = make(codes=5, progress=0.5)
    env.reset(seed=0)
    env.codes, env.order = ("A10", "B20", "C30", "D40", "E50"), ("C30", "A10", "E50", "B20", "D40")
    observation, reward, *_, info = env.step(call("probe", a="A10", b="C30"))
    assert text_of(observation) == "C30 comes before A10."
    assert (reward, info["reward_parts"]) == (0.05, {"progress": 0.05})  # one of ten pairs
    observation, reward, *_ = env.step(call("probe", a=" b20", b="A10"))
    assert text_of(observation) == "A10 comes before B20."
    assert reward == pytest.approx(0.1)  # and C30 comes before B20
    assert env.step(call("probe", a="C30", b="B20"))[1] == 0.0
    observation, reward, terminated, _, info = env.step(call("submit", order=list(env.order)))
    assert (text_of(observation), reward, terminated) == ("This is the order.", 1.0, True)
    assert (info["success"], info["reward_parts"]) == (True, {"outcome": 1.0})


def test_progress_sums_to_what_was_asked_for_and_is_off_by_default():
    assert play(make(codes=10, progress=0.25), 0)[0] == pytest.approx(1.25)
    env = make(codes=10)
    env.reset(seed=0)
    assert env.step(env.expert())[-1]["reward_parts"] == {}


def test_a_wrong_order_ends_the_task():
    env = make(codes=5)
    env.reset(seed=0)
    observation, reward, terminated, _, info = env.step(call("submit", order=list(reversed(env.order))))
    assert text_of(observation) == "This is not the order."
    assert (reward, terminated, info["success"]) == (0.0, True, False)


def test_several_calls_in_one_message():
    env = make(codes=5)
    env.reset(seed=0)
    env.codes, env.order = ("A10", "B20", "C30", "D40", "E50"), ("C30", "A10", "E50", "B20", "D40")
    pairs = list(combinations(env.codes, 2))
    calls = [ToolCall.make("probe", a=a, b=b) for a, b in pairs]
    observation, *_, info = env.step(
        Message("assistant", "", (*calls, ToolCall.make("submit", order=list(env.order))))
    )
    assert (info["success"], info["turn"], len(observation)) == (True, 1, 11)
    assert text_of(observation[:1]) == "A10 comes before B20."
    assert text_of(observation[1:2]) == "C30 comes before A10."


@pytest.mark.parametrize(
    ("tool", "arguments", "said"),
    [
        ("probe", {"a": "A10", "b": "a10"}, "two different"),
        ("probe", {"a": "A10", "b": "Z99"}, "no code 'Z99'"),
        ("probe", {"a": "A" * 5000, "b": "A10"}, "no code 'AAAA"),
        ("probe", {"a": "A10"}, "b"),
        ("submit", {"order": []}, "misses 5 of them, e.g. A10"),
        ("submit", {"order": ["A10", "B20", "C30", "D40", "D40"]}, "misses 1 of them, e.g. E50"),
        ("submit", {"order": ["A10", "B20", "C30", "D40", "E50", "E50"]}, "this one has 6"),
        ("submit", {"order": ["A10"] * 9000}, "misses 4"),
        ("submit", {"order": "A10 B20 C30 D40 E50"}, "list|array"),
        ("submit", {"order": None}, "order"),
    ],
)
def test_wrong_calls_are_answered(tool, arguments, said):
    env = make(codes=5)
    env.reset(seed=0)
    env.codes = env.order = ("A10", "B20", "C30", "D40", "E50")
    before = env.state_key()
    observation, reward, terminated, _, info = env.step(call(tool, **arguments))
    text = text_of(observation)
    assert text.startswith("error: ")
    assert re.search(said, text), text
    assert len(text) < 500
    assert (reward, terminated, len(info["tool_errors"]), env.state_key()) == (0.0, False, 1, before)


@pytest.mark.parametrize(
    "kwargs",
    [{"codes": 4}, {"codes": 101}, {"codes": "8"}, {"progress": 2}, {"progress": True}, {"progress": "1"}],
)
def test_wrong_settings_are_refused(kwargs):
    with pytest.raises(UserError, match="must be a"):
        make(**kwargs)


def test_the_key_is_what_is_known_and_not_how_it_came():
    env, other = make(), make()
    env.reset(seed=1)
    other.reset(seed=1)
    first, second, third = env.order[:3]
    pairs = [(first, second), (second, third)]
    for (a, b), (c, d) in zip(pairs, reversed(pairs), strict=True):
        env.step(call("probe", a=a, b=b))
        other.step(call("probe", a=d, b=c))
    assert env.state_key() == other.state_key()
    other.step(call("probe", a=first, b=third))  # follows
    assert env.state_key() == other.state_key()


def test_a_fork_goes_its_own_way_late_in_a_long_task():
    env, other = make(), make()
    env.reset(seed=5)
    for _ in range(200):
        env.step(env.expert())
    before = env.state_key()
    other.restore(env.snapshot())
    other.step(other.expert())
    assert (env.state_key(), other.state_key() != before) == (before, True)
    info = {}
    while "success" not in info:
        info = other.step(other.expert())[-1]
    assert info["success"]


def test_gymnasiums_checker_passes():
    gymnasium.utils.env_checker.check_env(make(), skip_render_check=True)


@pytest.mark.slow
def test_the_rules_hold():
    report = check_env("agentrl/HiddenRule-v0")
    assert report.ok, [check for check in report.checks if not check.ok]
    document = audit_env("agentrl/HiddenRule-v0", kwargs={"codes": 5}, episodes=30)
    assert document["ok"], document["policies"]
