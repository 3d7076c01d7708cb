import itertools
from fractions import Fraction
from random import Random

import pytest
from hypothesis import given
from hypothesis import strategies as st

import agentrl
from agentrl.core.failures import ToolError
from agentrl.core.messages import call, text_of
from agentrl.envs.games.countdown.expression import value_of
from agentrl.envs.games.countdown.rules import combined, result_of
from agentrl.envs.games.countdown.solving import solve


def reaches(table, target):
    """Whether a target can be reached: every pair, every operation, nothing left out."""
    if target in table:
        return True
    for i, j in itertools.permutations(range(len(table)), 2):
        rest = [number for at, number in enumerate(table) if at not in (i, j)]
        for op in "+-*/":
            result = result_of(table[i], op, table[j])
            if result is not None and reaches([*rest, result], target):
                return True
    return False


def test_operations_by_hand():
    assert [result_of(8, op, 2) for op in "+-*/"] == [10, 6, 16, 4]
    assert [result_of(*given) for given in ((2, "-", 8), (2, "-", 2), (2, "/", 8), (9, "/", 2))] == [None] * 4
    assert combined((5, 18, 3), 18, "/", 3) == (5, 6)
    assert combined((4, 4), 4, "+", 4) == (8,)
    with pytest.raises(ToolError, match="4 is not on the table: 7"):
        combined((4, 7), 4, "+", 4)


@given(
    st.lists(st.integers(1, 12), min_size=1, max_size=3).map(lambda numbers: tuple(sorted(numbers))),
    st.integers(1, 40),
)
def test_the_solver_finds_steps_exactly_where_there_are_any(table, target):
    found = solve(table, target)
    assert (found is not None) == reaches(list(table), target)
    for step in found or ():
        table = combined(table, *step)
    assert found is None or target in table


@pytest.mark.parametrize("table", [(1, 3, 4, 6), (2, 2, 2, 9), (1, 1, 1, 1), (1, 5, 7, 10)])
def test_the_solver_knows_what_four_numbers_reach(table):
    for target in (*range(1, 30), 60, 72, 97):
        assert (solve(table, target) is not None) == reaches(list(table), target)


@pytest.mark.parametrize(
    ("text", "value"),
    [
        ("2+3*4", 14),
        ("(2 + 3) * 4", 20),
        ("((20))", 20),
        ("20 - 4 - 3", 13),
        ("20 / 4 / 5", 1),
        ("4 × 5 − 3", 17),
        ("20÷5", 4),
        ("4", 4),
    ],
)
def test_expressions_by_hand(text, value):
    assert value_of(text, (2, 3, 4, 5, 20)) == value


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("", "ends too early"),
        ("2 +", "ends too early"),
        ("(2", "not closed"),
        ("2 3", "does not go on with '3'"),
        ("2)", "does not go on with '\\)'"),
        ("-2", "missing before '-'"),
        ("2 ** 3", "missing before '\\*'"),
        ("2.5", "has no place"),
        ("__import__('os')", "has no place"),
        ("²", "has no place"),
        ("2 + 2", "2 is not on the table"),
        ("7", "7 is not on the table"),
        ("2 - 3", "2 - 3 is less than 1"),
        ("5 / 3", "5 / 3 is not a whole number"),
        ("3 / (2 - 2)", "2 is not on the table"),
        ("(" * 30 + "2" + ")" * 30, "20 brackets"),
        ("1" * 201, "longer than 200"),
    ],
)
def test_what_is_no_expression(text, said):
    with pytest.raises(ToolError, match=said):
        value_of(text, (2, 3, 5))


@st.composite
def expressions(draw, depth=3):
    """A tree of operations as text with every bracket, and its exact value; None where a rule is broken on the way."""
    if depth == 0 or draw(st.booleans()):
        number = draw(st.integers(1, 20))
        return str(number), Fraction(number), [number]
    left, a, used = draw(expressions(depth - 1))
    right, b, more = draw(expressions(depth - 1))
    op = draw(st.sampled_from("+-*/"))
    value = None
    if a is not None and b is not None:
        value = {"+": a + b, "-": a - b, "*": a * b, "/": a / b}[op]
        value = value if value >= 1 and value.denominator == 1 else None
    return f"({left} {op} {right})", value, used + more


@given(expressions())
def test_the_parser_agrees_with_exact_arithmetic(expression):
    text, value, used = expression
    if value is None:
        with pytest.raises(ToolError):
            value_of(text, tuple(used))
    else:
        assert value_of(text, tuple(used)) == value


@given(st.text(alphabet="0123456789+-*/() x", max_size=40))
def test_any_text_is_a_number_or_refused(text):
    try:
        value = value_of(text, (1, 2, 3, 10))
    except ToolError:
        return
    assert value >= 1


def test_every_task_can_be_solved_and_none_by_one_operation():
    env = agentrl.make("Countdown-v0")
    for seed in range(100):
        env.reset(seed=seed, options={"split": env.splits[seed % 3]})
        assert env.target not in env.table
        assert 10 <= env.target <= 100
        assert not any(
            result_of(a, op, b) == env.target
            for a, b in itertools.permutations(env.table, 2)
            for op in "+-*/"
        )
        assert solve(tuple(sorted(env.table)), env.target)


@pytest.mark.parametrize("numbers", [4, 5])
def test_the_expert_takes_back_what_lost_the_game(numbers):
    env = agentrl.make("Countdown-v0", numbers=numbers, max_turns=40)
    backs = 0
    for seed in range(40):
        rng = Random(seed)
        env.reset(seed=seed)
        while len(env.table) > 1:
            a, b = sorted(rng.sample(env.table, 2), reverse=True)
            info = env.step(call("combine", a=a, op=rng.choice("+*"), b=b))[-1]
            if "success" in info:
                break
        while "success" not in info:
            action = env.expert()
            backs += action.tool_calls[0].name == "undo"
            info = env.step(action)[-1]
            assert not info["tool_errors"]
        assert info["success"]
    assert backs > 20


def game(table, target):
    env = agentrl.make("Countdown-v0")
    env.reset(seed=0)
    env.tables, env.target = (table,), target
    return env


def test_a_game_by_hand():
    env = game((5, 18, 3, 27), 28)
    assert text_of(env.step(call("undo"))[0]) == "error: there is no step to take back"
    assert text_of(env.step(call("combine", a=18, op="/", b=3))[0]) == "18 / 3 = 6\ntable: 5, 27, 6"
    assert text_of(env.step(call("undo"))[0]) == "table: 5, 18, 3, 27"
    env.step(call("combine", a=18, op="+", b=3))
    env.step(call("combine", a=27, op="-", b=21))
    assert text_of(env.step(call("restart"))[0]) == "table: 5, 18, 3, 27"
    env.step(call("combine", a=18, op="/", b=3))
    env.step(call("combine", a=6, op="-", b=5))
    observation, reward, terminated, _, info = env.step(call("combine", a=27, op="+", b=1))
    assert (text_of(observation), reward) == ("27 + 1 = 28: that is the target.", 1.0)
    assert (terminated, info["success"]) == (True, True)


def test_an_answer_ends_the_game_if_it_can_be_read():
    env = game((5, 18, 3, 27), 28)
    assert env.step(call("answer", expression="27 + 1"))[2] is False
    env.step(call("combine", a=18, op="/", b=3))
    assert text_of(env.step(call("answer", expression="18 / 3"))[0]).startswith(
        "error: 18 is not on the table"
    )
    observation, reward, terminated, _, info = env.step(call("answer", expression="27 + 6 - 5"))
    assert (text_of(observation), reward, info["success"]) == (
        "The value is 28: that is the target.",
        1.0,
        True,
    )
    env = game((5, 18, 3, 27), 28)
    observation, reward, terminated, _, info = env.step(call("answer", expression="27 + 3"))
    assert (text_of(observation), reward) == ("The value is 30: that is not the target.", 0.0)
    assert (terminated, info["success"]) == (True, False)
