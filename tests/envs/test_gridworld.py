import itertools

import gymnasium
import numpy as np
import pytest
from playing import play

import agentrl
from agentrl.check import check_env
from agentrl.core.failures import UserError
from agentrl.core.messages import call, text_of
from agentrl.envs.gridworld.adapter import GymTextEnv
from agentrl.envs.gridworld.blackjack import CARDS, dealer_ends, hit_value, stick_value
from agentrl.envs.gridworld.lake import crossable, lake_plan
from agentrl.envs.gridworld.planning import best_actions
from agentrl.envs.gridworld.splits import SHARES, share_out, split_of
from agentrl.envs.gridworld.taxi import ABOARD, begins_of, decode

NAMES = ["FrozenLake-v0", "CliffWalking-v0", "Taxi-v0", "Blackjack-v0", "GymText-v0"]


def first_text(env, seed, split="train"):
    return text_of(env.reset(seed=seed, options={"split": split})[0])


@pytest.mark.parametrize("name", NAMES)
@pytest.mark.slow
def test_the_rules_hold(name):
    report = check_env(f"agentrl/{name}")
    assert report.ok, [check for check in report.checks if not check.ok]


@pytest.mark.parametrize("name", ["FrozenLake-v0", "CliffWalking-v0", "Taxi-v0"])
def test_the_expert_solves_every_task_of_every_split(name):
    env = agentrl.make(name)
    assert all(play(env, seed, split)[1]["success"] for split in env.splits for seed in range(60))


@pytest.mark.parametrize("name", ["FrozenLake-v0", "CliffWalking-v0", "Taxi-v0"])
def test_no_task_is_in_two_splits(name):
    env = agentrl.make(name)
    tasks = {split: {first_text(env, seed, split) for seed in range(200)} for split in env.splits}
    for one, other in itertools.combinations(env.splits, 2):
        assert not tasks[one] & tasks[other]


def test_a_split_is_a_function_of_the_task_and_takes_its_share():
    counts = {split: sum(split_of(str(n)) == split for n in range(5000)) for split in SHARES}
    assert [round(counts[split] / 5000, 1) for split in SHARES] == [0.6, 0.1, 0.3]
    parts = [share_out(range(50), split) for split in SHARES]
    assert [len(part) for part in parts] == [30, 5, 15]
    assert sorted(itertools.chain(*parts)) == list(range(50))


@pytest.mark.parametrize("size", [3, 5, 12])
def test_every_size_has_lakes_in_every_split_that_can_be_crossed(size):
    env = agentrl.make("FrozenLake-v0", size=size)
    for split in env.splits:
        first_text(env, 0, split)
        assert (len(env.lake), split_of("".join(env.lake))) == (size, split)
        assert crossable(env.lake)


def test_crossing_by_hand():
    assert crossable(("SHF", "FHF", "FFG"))
    assert not crossable(("SFH", "FHF", "HFG"))  # the way would lead over a corner


def test_a_lake_by_hand():
    lake = ("SFFF", "HHHF", "FFFF", "GFFF")
    env = agentrl.make("FrozenLake-v0")
    env.reset(seed=0)
    env.lake, env.seen = lake, 1
    assert env.describe() == ". @ . .\nO O O .\n. . . .\nG . . ."
    plan = lake_plan(lake, False)
    assert [plan[cell] for cell in (0, 1, 2, 3, 7, 11)] == [2, 2, 2, 1, 1, 0]


def test_a_hole_and_the_goal_are_said():
    env = agentrl.make("FrozenLake-v0", size=3)
    env.reset(seed=0)
    while "H" not in env.lake[0]:
        env.reset()
    over = env.lake[0].index("H")
    env.seen = env.inner.s = over - 1
    observation, reward, terminated, _, info = env.step(call("move", direction="right"))
    assert (reward, terminated, info["success"]) == (0.0, True, False)
    assert text_of(observation).endswith("You fell into a hole.")


def test_a_slippery_lake_says_so_and_is_mostly_crossed():
    env = agentrl.make("FrozenLake-v0", slippery=True)
    assert "slippery" in first_text(env, 0)
    assert env.max_turns == 200
    solved = np.mean([play(env, seed, "test")[1]["success"] for seed in range(40)])
    assert solved > 0.75  # 0.94 over 100 tasks
    with pytest.raises(UserError, match="3 to 12"):
        agentrl.make("FrozenLake-v0", size=2)


def test_value_iteration_on_a_chain():
    # 0 -> 1 -> goal; action 0 stays, action 1 goes on; only the goal pays.
    chain = {
        0: {0: [(1.0, 0, 0.0, False)], 1: [(1.0, 1, 0.0, False)]},
        1: {0: [(1.0, 0, 0.0, False)], 1: [(1.0, 2, 1.0, True)]},
        2: {0: [(1.0, 2, 0.0, True)], 1: [(1.0, 2, 0.0, True)]},
    }
    assert best_actions(chain)[:2] == (1, 1)


def test_value_iteration_weighs_chances():
    # A sure 1 against 3 with one chance in two, and against 3 with one in four.
    for chance, best in ((0.5, 1), (0.25, 0)):
        game = {
            0: {0: [(1.0, 1, 1.0, True)], 1: [(chance, 1, 3.0, True), (1 - chance, 1, 0.0, True)]},
            1: {0: [(1.0, 1, 0.0, True)], 1: [(1.0, 1, 0.0, True)]},
        }
        assert best_actions(game)[0] == best


def test_taxi_states():
    assert decode(328) == (3, 1, 2, 0)
    begins = [begins_of(split) for split in SHARES]
    assert [len(states) for states in begins] == [180, 30, 90]
    for states in begins:
        assert {decode(state)[3] for state in states} == {0, 1, 2, 3}  # every destination in every split
        assert all(decode(state)[2] not in (ABOARD, decode(state)[3]) for state in states)


def test_the_map_of_the_taxi_shows_the_walls_that_stop_it():
    env = agentrl.make("Taxi-v0")
    env.reset(seed=0)
    for row, column in itertools.product(range(5), range(4)):
        env.seen = env.inner.s = env.inner.encode(row, column, 2, 0)
        wall = env.describe().splitlines()[row][2 * column + 1] == "|"
        env.act(2)
        assert (decode(env.seen)[1] == column) == wall


def test_taxi_by_hand():
    env = agentrl.make("Taxi-v0")
    env.reset(seed=0)
    env.seen = env.inner.s = env.inner.encode(0, 1, 0, 2)  # next to the passenger at R, who wants to go to Y
    assert env.describe().splitlines() == [
        "R @|. . G",
        ". .|. . .",
        ". . . . .",
        ".|. .|. .",
        "Y|. .|B .",
        "taxi: row 0, column 1; passenger: at R; destination: Y",
    ]
    observation, reward, *_ = env.step(call("pick_up"))
    assert (reward, text_of(observation).splitlines()[-1]) == (
        -10.0,
        "That is not possible here and costs 10.",
    )
    env.step(call("move", direction="west"))
    observation, *_ = env.step(call("pick_up"))
    assert text_of(observation).endswith("row 0, column 0 (at R); passenger: in the taxi; destination: Y")
    for _ in range(4):
        env.step(call("move", direction="south"))
    _, reward, terminated, _, info = env.step(call("drop_off"))
    assert (reward, terminated, info["success"]) == (20.0, True, True)


def test_the_best_blackjack_player_knows_the_classics():
    assert hit_value(21, 10, False) < stick_value(21, 10)
    assert hit_value(16, 10, False) > stick_value(16, 10)  # hit 16 against a ten
    assert hit_value(13, 6, False) < stick_value(13, 6)  # let the dealer break
    assert hit_value(18, 9, True) > stick_value(18, 9)  # soft 18 against a nine
    assert sum(dealer_ends(10, False).values()) == pytest.approx(1.0)


def test_blackjack_is_worth_what_it_is_worth():
    # Over all deals: an endless deck, the dealer sticks on every 17, no bonus for a natural.
    value = 0.0
    for (a, p), (b, q), (dealer, r) in itertools.product(CARDS.items(), repeat=3):
        ace = 1 in (a, b)
        total = a + b + 10 * ace
        value += p * q * r * max(hit_value(total, dealer, ace), stick_value(total, dealer))
    assert value == pytest.approx(-0.046556, abs=1e-6)
    env = agentrl.make("Blackjack-v0")
    returns = [play(env, seed, "test")[0] for seed in range(1500)]
    assert abs(np.mean(returns) - value) < 4 * np.std(returns) / np.sqrt(1500)


def test_blackjack_says_how_it_ended():
    env = agentrl.make("Blackjack-v0")
    ends = {}
    for seed in range(60):
        env.reset(seed=seed)
        observation, reward, _, _, info = env.step(call("stick"))
        ends[reward] = (text_of(observation).rpartition(". ")[2], info["success"])
    assert ends == {1.0: ("You win.", True), 0.0: ("A draw.", False), -1.0: ("You lose.", False)}


def test_walking_off_the_cliff_costs_and_leads_back():
    env = agentrl.make("CliffWalking-v0")
    env.reset(seed=0)
    env.seen = env.inner.s = 25
    observation, reward, terminated, *_ = env.step(call("move", direction="down"))
    lines = text_of(observation).splitlines()
    assert (reward, terminated, lines[3]) == (-100.0, False, "@ C C C C C C C C C C G")
    assert lines[4] == "You fell off the cliff and are back at S."


def test_a_wrong_direction_is_answered_not_played():
    env = agentrl.make("Taxi-v0")
    env.reset(seed=0)
    before = env.describe()
    observation, reward, *_, info = env.step(call("move", direction="sideways"))
    assert (reward, env.describe(), info["tool_errors"][0]["kind"]) == (0.0, before, "invalid_arguments")
    assert "south" in text_of(observation)


def test_the_state_key_is_the_state():
    env = agentrl.make("CliffWalking-v0")
    env.reset(seed=0)
    env.seen = env.inner.s = 14
    keys = [env.state_key()]
    for direction in ("right", "left"):
        env.step(call("move", direction=direction))
        keys.append(env.state_key())
    assert keys == ["14", "15", "14"]


def test_forks_share_the_transition_table_and_nothing_else():
    env, other = agentrl.make("Taxi-v0"), agentrl.make("Taxi-v0")
    env.reset(seed=0)
    other.restore(env.snapshot())
    assert other.inner.P is env.inner.P
    assert other.inner.np_random is not env.inner.np_random
    other.step(other.expert())
    assert (env.turn, env.inner.s == env.seen, env.seen != other.seen) == (0, True, True)


def cliff(**kwargs):
    names = ["up", "right", "down", "left"]
    return GymTextEnv("CliffWalking-v1", action_names=names, describe=lambda cell: f"cell {cell}", **kwargs)


def test_any_discrete_environment():
    env = cliff(solved=lambda cell, reward: cell == 47)
    assert text_of(env.reset(seed=0)[0]) == "Play CliffWalking-v1 with the tool act.\ncell 36"
    observation, reward, *_ = env.step(call("act", action="up"))
    assert (text_of(observation), reward) == ("cell 24", -1.0)
    for action in ["right"] * 11 + ["down"]:
        _, _, terminated, _, info = env.step(call("act", action=action))
    assert (terminated, info["success"]) == (True, True)


def test_the_time_limit_of_the_inner_environment_is_kept_and_no_outcome():
    assert GymTextEnv("Taxi-v4").max_turns == 200
    env = cliff(gym_kwargs={"max_episode_steps": 2}, max_turns=50)
    env.reset(seed=0)
    ends = [env.step(call("act", action="up"))[2:] for _ in range(2)]
    assert [end[:2] for end in ends] == [(False, False), (False, True)]
    assert ends[1][2]["success"] is False


class Counter(gymnasium.Env):
    """Somebody's own environment: count from 5 to 7; its actions are 1 and 2."""

    def __init__(self):
        self.action_space = gymnasium.spaces.Discrete(2, start=1)
        self.observation_space = gymnasium.spaces.Box(0, 9, (1,), np.int64)
        self.closed = 0

    def reset(self, *, seed=None, options=None):
        super().reset(seed=seed)
        self.at = np.array([5 + self.np_random.integers(2)])
        return self.at, {}

    def step(self, action):
        self.at += action
        return self.at, float(self.at[0] == 7), bool(self.at[0] >= 7), False, {}

    def close(self):
        self.closed += 1


@pytest.fixture
def counter():
    gymnasium.register("Counter-v0", Counter)
    yield "Counter-v0"
    del gymnasium.registry["Counter-v0"]


def test_an_environment_of_ones_own(counter):
    env = GymTextEnv(counter, action_names=["one", "two"])
    env.reset(seed=0)
    inner = env.inner.unwrapped
    inner.at = np.array([5])
    observation, _, terminated, *_ = env.step(call("act", action="one"))
    assert (text_of(observation), terminated, env.state_key()) == ("observation: [6]", False, "[6]")
    _, reward, terminated, _, info = env.step(call("act", action="one"))
    assert (reward, terminated, info["success"]) == (1.0, True, True)
    env.close()
    env.close()
    assert inner.closed == 1


def test_what_the_adapter_refuses():
    with pytest.raises(UserError, match="Discrete"):
        GymTextEnv("Pendulum-v1")
    with pytest.raises(UserError, match="name each once"):
        GymTextEnv("CliffWalking-v1", action_names=["up", "down"])
    with pytest.raises(UserError, match="NoSuchEnv"):
        GymTextEnv("NoSuchEnv-v0")
    with pytest.raises(UserError, match="no_such_argument"):
        GymTextEnv("Taxi-v4", gym_kwargs={"no_such_argument": 1})
