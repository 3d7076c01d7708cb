"""The vector form: each environment plays what it would play alone; resets as Gymnasium has them."""

import numpy as np
import pytest
from gymnasium.vector import AutoresetMode

import agentrl
from agentrl.core.failures import UserError
from agentrl.core.messages import call

MODES = list(AutoresetMode)


def experts(vector):
    return [env.expert() for env in vector.envs]


@pytest.fixture
def make():
    made = []

    def one(name="Nim-v0", count=6, **kwargs):
        made.append(agentrl.make_vec(name, count, **kwargs))
        return made[-1]

    yield one
    for vector in made:
        vector.close()


def alone(seed, steps):
    """What one environment alone shows and earns."""
    env = agentrl.make("Nim-v0")
    out = [(env.reset(seed=seed)[0], 0.0)]
    for _ in range(steps):
        observation, reward, *_ = env.step(env.expert())
        out.append((observation, reward))
    return out


def test_each_plays_what_it_would_play_alone(make):
    vector = make()
    shown, infos = vector.reset(seed=10)
    assert infos["task_seed"].tolist() == [10, 11, 12, 13, 14, 15]
    played = [[(observation, 0.0)] for observation in shown]
    for _ in range(2):
        shown, rewards, *_ = vector.step(experts(vector))
        for i in range(6):
            played[i].append((shown[i], rewards[i]))
    assert played == [alone(10 + i, 2) for i in range(6)]


@pytest.mark.parametrize("count", [1, 3])
def test_an_environments_episodes_do_not_depend_on_its_neighbours(make, count):
    seen = []
    for size in (count, 6):
        vector = make(count=size)
        vector.reset(seed=3)
        first = []
        for _ in range(30):
            shown, *_ = vector.step(experts(vector))
            first.append(shown[0])
        seen.append(first)
    assert seen[0] == seen[1]


def test_by_default_the_next_step_begins_the_next_episode(make):
    vector = make(count=1)
    vector.reset(seed=5)
    while True:
        _, rewards, terminations, _, infos = vector.step(experts(vector))
        if terminations[0]:
            break
    assert (rewards[0], infos["success"][0], infos["_success"][0]) == (1.0, True, True)
    ignored = call("take", heap=1, count=1)
    _, rewards, terminations, truncations, infos = vector.step([ignored])
    assert (rewards[0], terminations[0], truncations[0], infos["turn"][0]) == (0.0, False, False, 0)
    assert "success" not in infos
    assert infos["task_seed"][0] != 5
    assert vector.step(experts(vector))[4]["turn"][0] == 1


def test_or_the_same_step(make):
    vector = make(count=2, autoreset_mode="SameStep")
    vector.reset(seed=5)
    while True:
        shown, rewards, terminations, _, infos = vector.step(experts(vector))
        if terminations.any():
            break
    at = int(np.flatnonzero(terminations)[0])
    assert rewards[at] == 1.0
    assert infos["turn"][at] == 0
    assert "win" in infos["final_obs"][at][-1].content
    assert infos["final_info"]["success"][at]
    assert infos["_final_obs"].tolist() == terminations.tolist()
    assert shown[at] != infos["final_obs"][at]


def test_or_when_the_user_says_so(make):
    vector = make(count=3, autoreset_mode=AutoresetMode.DISABLED)
    before, _ = vector.reset(seed=5)
    shown, infos = vector.reset(seed=[None, 9, None], options={"reset_mask": np.array([False, True, False])})
    assert (shown[0], shown[2]) == (before[0], before[2])
    assert infos["_task_seed"].tolist() == [False, True, False]
    assert infos["task_seed"][1] == 9


@pytest.mark.parametrize("mode", MODES)
def test_a_run_is_decided_by_its_seed(make, mode):
    runs = []
    for _ in range(2):
        vector = make(count=4, autoreset_mode=mode)
        vector.reset(seed=7, options={"split": "test"})
        steps = 3 if mode is AutoresetMode.DISABLED else 25
        runs.append([vector.step(experts(vector))[:2] for _ in range(steps)])
        assert {env.split for env in vector.envs} == {"test"}
    for one, other in zip(*runs, strict=True):
        assert one[0] == other[0]
        assert one[1].tolist() == other[1].tolist()


def test_spaces_and_shapes(make):
    vector = make()
    shown, _ = vector.reset(seed=0)
    assert vector.observation_space.contains(shown)
    actions = vector.action_space.sample()
    assert len(actions) == vector.num_envs == 6
    shown, rewards, terminations, truncations, infos = vector.step(actions)
    assert (rewards.dtype, terminations.dtype, truncations.dtype) == (np.float64, np.bool_, np.bool_)
    assert rewards.shape == terminations.shape == truncations.shape == infos["turn"].shape == (6,)


@pytest.mark.parametrize(
    ("name", "kwargs", "said"),
    [
        ("Nim-v0", {"count": 0}, "at least 1"),
        ("Nim-v0", {"count": True}, "at least 1"),
        ("Nim-v0", {"autoreset_mode": "NextStop"}, "did you mean 'NextStep'"),
        ("Nim-v0", {"heap": 3}, "did you mean 'heaps'"),
        ("Nom-v0", {}, "Nim-v0"),
    ],
)
def test_what_is_wrong_is_one_sentence(make, name, kwargs, said):
    with pytest.raises(UserError, match=said):
        make(name, **kwargs)


def test_an_environment_with_a_limit_says_so():
    class Licensed(agentrl.ToolEnv):
        """One seat."""

        max_instances = 1

        def task(self):
            return "task"

    agentrl.register("vector/Licensed-v0", Licensed)
    with pytest.raises(UserError, match="allows 1 at once"):
        agentrl.make_vec("vector/Licensed-v0", 2)


def test_wrong_numbers_of_actions_seeds_and_masks(make):
    vector = make(count=3)
    with pytest.raises(UserError, match="one seed or as many"):
        vector.reset(seed=[1, 2])
    with pytest.raises(UserError, match="reset_mask"):
        vector.reset(options={"reset_mask": [True]})
    vector.reset(seed=0)
    with pytest.raises(UserError, match="as many actions"):
        vector.step(["a"])
