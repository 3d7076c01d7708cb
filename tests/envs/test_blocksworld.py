import itertools
from collections import deque
from random import Random

import pytest

import agentrl
from agentrl.core.failures import ToolError
from agentrl.core.messages import call, text_of
from agentrl.envs.games.blocksworld import rules
from agentrl.envs.games.blocksworld.planning import finished, next_move
from agentrl.envs.games.blocksworld.rules import HELD, TABLE, described, random_piles, towers

A, B, C, D = range(4)


def successors(piles):
    """Every state one action away."""
    blocks = range(len(piles))
    for block, other in itertools.product(blocks, [TABLE, *blocks]):
        for move in moves(other):
            try:
                yield move(piles, block)
            except ToolError:
                continue


def moves(other):
    if other == TABLE:
        return rules.pick_up, rules.put_down
    return (
        lambda piles, block: rules.unstack(piles, block, other),
        lambda piles, block: rules.stack(piles, block, other),
    )


def distances_to(goal):
    """Shortest number of actions from every state to a goal: actions can be undone, so the way back is as long."""
    found, edge = {goal: 0}, deque([goal])
    while edge:
        here = edge.popleft()
        for ahead in successors(here):
            if ahead not in found:
                found[ahead] = found[here] + 1
                edge.append(ahead)
    return found


def apply(piles, name, block, other):
    if name in ("pick_up", "put_down"):
        return getattr(rules, name)(piles, block)
    return getattr(rules, name)(piles, block, other)


def plan_length(piles, goal):
    length = 0
    while piles != goal:
        piles = apply(piles, *next_move(piles, goal))
        length += 1
        assert length <= 4 * len(goal) + 1
    return length


def test_moves_by_hand():
    piles = (TABLE, A, TABLE)  # B on A; C alone
    assert rules.unstack(piles, B, A) == (TABLE, HELD, TABLE)
    assert rules.stack((TABLE, HELD, TABLE), B, C) == (TABLE, C, TABLE)
    assert rules.put_down((TABLE, HELD, TABLE), B) == (TABLE, TABLE, TABLE)
    assert rules.pick_up(piles, C) == (TABLE, A, HELD)


@pytest.mark.parametrize(
    ("name", "piles", "arguments", "said"),
    [
        ("pick_up", (TABLE, A, TABLE), (A,), "B stands on A"),
        ("pick_up", (TABLE, A, TABLE), (B,), "unstack it"),
        ("pick_up", (TABLE, HELD, TABLE), (A,), "holds B"),
        ("put_down", (TABLE, HELD, TABLE), (A,), "does not hold A"),
        ("unstack", (TABLE, A, TABLE), (B, C), "B is not on C"),
        ("unstack", (TABLE, A, B), (B, A), "C stands on B"),
        ("stack", (TABLE, A, HELD), (C, A), "B stands on A"),
        ("stack", (TABLE, A, HELD), (C, C), "itself"),
        ("stack", (TABLE, A, TABLE), (C, B), "does not hold C"),
    ],
)
def test_what_the_rules_forbid(name, piles, arguments, said):
    with pytest.raises(ToolError, match=said):
        getattr(rules, name)(piles, *arguments)


def test_a_state_in_words():
    assert described((TABLE, D, A, TABLE)) == "table: A C | D B\nhand: empty"
    assert described((TABLE, HELD, A, TABLE)) == "table: A C | D\nhand: B"
    assert towers((HELD,)) == ""


def test_finished_by_hand():
    goal = (TABLE, A, B)  # A B C
    assert [finished((TABLE, A, TABLE), goal, block) for block in (A, B, C)] == [True, True, False]
    assert not finished((C, A, TABLE), goal, B)  # on A, but A itself has to move


def test_every_state_is_counted():
    # Sets of stacks of 3 and 4 labelled blocks: 13 and 73 (OEIS A000262); and as many with one in the hand as there
    # are sets of stacks of the others, for each block: 3 * 3 and 4 * 13.
    for blocks, states in ((3, 13 + 9), (4, 73 + 52)):
        assert len(distances_to((TABLE,) * blocks)) == states


@pytest.mark.parametrize("blocks", [3, 4])
def test_from_every_state_to_every_goal_at_most_twice_the_shortest_plan(blocks):
    states = sorted(distances_to((TABLE,) * blocks))
    for goal in (state for state in states if HELD not in state):
        for piles, best in distances_to(goal).items():
            assert best <= plan_length(piles, goal) <= 2 * best


def test_a_task_is_not_nearly_done_and_any_start_can_be_drawn():
    env = agentrl.make("Blocksworld-v0")
    for seed in range(50):
        env.reset(seed=seed)
        assert 2 * sum(not finished(env.piles, env.goal, block) for block in range(5)) >= 5
    rng = Random(0)
    assert len({random_piles(rng, 3) for _ in range(2000)}) == 13


def test_the_expert_goes_on_from_wherever_a_policy_has_got_to():
    env = agentrl.make("Blocksworld-v0", max_turns=100)
    for seed in range(60):
        rng = Random(seed)
        env.reset(seed=seed, options={"split": env.splits[seed % 3]})
        for _ in range(rng.randrange(30)):
            env.piles = rng.choice(sorted(successors(env.piles)))
        info = {}
        while "success" not in info and env.piles != env.goal:
            info = env.step(env.expert())[-1]
            assert not info["tool_errors"]
        assert info.get("success", env.piles == env.goal)


def test_a_game_by_hand():
    env = agentrl.make("Blocksworld-v0", blocks=3)
    env.reset(seed=0)
    env.piles, env.goal = (TABLE, A, TABLE), (TABLE, TABLE, B)
    assert text_of(env.step(call("pick_up", block="A"))[0]) == "error: B stands on A"
    assert "blocks are A to C" in text_of(env.step(call("pick_up", block="D"))[0])
    assert text_of(env.step(call("unstack", block="B", off="A"))[0]) == "table: A | C\nhand: B"
    env.step(call("put_down", block="B"))
    env.step(call("pick_up", block="C"))
    observation, reward, terminated, _, info = env.step(call("stack", block="C", on="B"))
    assert text_of(observation) == "table: A | B C\nhand: empty\nThat is the goal."
    assert (reward, terminated, info["success"]) == (1.0, True, True)
