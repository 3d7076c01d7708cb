import numpy as np
import pytest

import agentrl
from agentrl.check import check_env
from agentrl.core.failures import UserError
from agentrl.core.messages import call, text_of
from agentrl.envs.gridworld.adapter import GymTextEnv, best_actions
from agentrl.envs.gridworld.blackjack import dealer_ends, hit_value, stick_value
from agentrl.envs.gridworld.lake import lake_plan
from agentrl.envs.gridworld.taxi import decode, starts

NAMES = ["FrozenLake-v0", "CliffWalking-v0", "Taxi-v0", "Blackjack-v0", "GymText-v0"]


@pytest.mark.parametrize("name", NAMES)
def test_the_rules_hold(name):
    report = check_env(f"agentrl/{name}")
    assert report.ok, [check for check in report.checks if not check.ok]


@pytest.mark.parametrize(
    ("name", "floor"), [("FrozenLake-v0", 1.0), ("CliffWalking-v0", 1.0), ("Taxi-v0", 1.0)]
)
def test_the_expert_solves_every_task_of_every_split(name, floor):
    env = agentrl.make(name)
    for split in env.splits:
        solved = []
        for seed in range(60):
            env.reset(seed=seed, options={"split": split})
            ended = False
            while not ended:
                *_, terminated, truncated, info = env.step(env.expert())
                ended = terminated or truncated
            solved.append(info["success"])
        assert np.mean(solved) >= floor


@pytest.mark.parametrize("name", ["FrozenLake-v0", "CliffWalking-v0", "Taxi-v0"])
def test_splits_share_no_starting_state(name):
    env = agentrl.make(name)
    starts = {}
    for split in env.splits:
        starts[split] = {text_of(env.reset(seed=seed, options={"split": split})[0]) for seed in range(300)}
    assert not starts["train"] & starts["test"]
    assert not starts["train"] & starts["validation"]
    assert not starts["test"] & starts["validation"]


def test_lakes_of_different_splits_come_from_different_seeds():
    env = agentrl.make("FrozenLake-v0")
    firsts = [text_of(env.reset(seed=5, options={"split": split})[0]) for split in env.splits]
    assert len(set(firsts)) == 3


def test_a_lake_by_hand():
    env = agentrl.make("FrozenLake-v0")
    env.reset(seed=0)
    env.lake = ["SFFF", "HHHF", "FFFF", "GFFF"]
    assert env.describe().splitlines()[0] == "@ . . ."
    assert env.describe().splitlines()[3] == "G . . ."
    plan = lake_plan(("SFFF", "HHHF", "FFFF", "GFFF"), False)
    assert [plan[cell] for cell in (0, 1, 2, 3, 7, 11)] == [2, 2, 2, 1, 1, plan[11]]


def test_value_iteration_on_a_chain():
    # 0 -> 1 -> goal; action 0 stays, action 1 goes on; only the goal pays.
    chain = {
        0: {0: [(1.0, 0, 0.0, False)], 1: [(1.0, 1, 0.0, False)]},
        1: {0: [(1.0, 0, 0.0, False)], 1: [(1.0, 2, 1.0, True)]},
    }
    chain[2] = {0: [(1.0, 2, 0.0, True)], 1: [(1.0, 2, 0.0, True)]}
    assert best_actions(chain, 3, 2)[:2].tolist() == [1, 1]


def test_taxi_states():
    assert decode(328) == (3, 1, 2, 0)
    assert len(starts()) == 300


def test_the_best_blackjack_player_knows_the_classics():
    assert hit_value(21, 10, False) < stick_value(21, 10)
    assert hit_value(16, 10, False) > stick_value(16, 10)  # hit 16 against a ten
    assert hit_value(13, 6, False) < stick_value(13, 6)  # let the dealer break
    assert hit_value(18, 9, True) > stick_value(18, 9)  # soft 18 against a nine
    assert sum(dealer_ends(10, False).values()) == pytest.approx(1.0)


def test_walking_off_the_cliff_costs_and_leads_back():
    env = agentrl.make("CliffWalking-v0")
    env.reset(seed=0)
    env.seen = env.inner.unwrapped.s = 25
    observation, reward, terminated, *_ = env.step(call("move", direction="down"))
    assert (reward, terminated, text_of(observation).splitlines()[3][0]) == (-100.0, False, "@")


def test_a_wrong_direction_is_answered_not_played():
    env = agentrl.make("Taxi-v0")
    env.reset(seed=0)
    before = env.describe()
    observation, reward, *_, info = env.step(call("move", direction="sideways"))
    assert (reward, env.describe(), info["tool_errors"][0]["kind"]) == (0.0, before, "invalid_arguments")
    assert "south" in text_of(observation)


def test_any_discrete_environment():
    env = GymTextEnv(
        gym_id="CliffWalking-v1", actions=["up", "right", "down", "left"], describe=lambda s: f"cell {s}"
    )
    assert text_of(env.reset(seed=0)[0]).endswith("cell 36")
    observation, reward, *_ = env.step(call("act", action="up"))
    assert (text_of(observation), reward) == ("cell 24", -1.0)
    with pytest.raises(UserError, match="Discrete"):
        GymTextEnv(gym_id="Pendulum-v1")
    with pytest.raises(UserError, match="name each once"):
        GymTextEnv(gym_id="CliffWalking-v1", actions=["up", "down"])
    with pytest.raises(UserError, match="NoSuchEnv"):
        GymTextEnv(gym_id="NoSuchEnv-v0")
