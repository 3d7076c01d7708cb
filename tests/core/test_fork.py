from __future__ import annotations

import itertools
import pickle
import threading

import pytest

from agentrl.core.env import ToolEnv
from agentrl.core.failures import ForkMismatch, UserError
from agentrl.core.messages import call
from agentrl.core.tool import tool

INDEX = {"a": ["first"]}


class Helper:
    def __init__(self, env: ToolEnv) -> None:
        self.env = env


class Walk(ToolEnv):
    """Draws as it goes; keeps a helper that knows the environment, and an index that all share."""

    shared = frozenset({"index"})

    def __init__(self) -> None:
        super().__init__()
        self.index = INDEX
        self.helper = Helper(self)
        self.alias = {"index": self.index}

    def task(self) -> str:
        self.seen: list[int] = []
        self.same = self.seen
        return "walk"

    @tool
    def go(self) -> str:
        drawn = int(self.np_random.integers(1_000_000))
        self.seen.append(drawn)
        self.late = drawn
        self.finish(1.0) if len(self.seen) == 5 else self.add_reward(drawn / 1e6)
        return f"{drawn} after {self.seen[:-1]}"


class Again(Walk):
    fork = "replay"


class Forgetful(Walk):
    fork = "replay"
    counter = itertools.count()

    @tool
    def go(self) -> str:
        return f"visit {next(self.counter)}"


class Locked(Walk):
    def task(self) -> str:
        self.lock = threading.Lock()
        return "walk"


def play(env: ToolEnv, turns: int) -> list[object]:
    return [env.step(call("go")) for _ in range(turns)]


@pytest.mark.parametrize("kind", [Walk, Again])
def test_a_restored_environment_has_the_same_future_any_number_of_times(kind):
    env = kind()
    env.reset(seed=4)
    play(env, 2)
    here = env.snapshot()
    future = play(env, 3)
    other = kind()
    for target in (env, other, env):
        target.restore(here)
        assert target.turn == 2
        assert play(target, 3) == future


def test_branches_do_not_see_each_other():
    env = Walk()
    env.reset(seed=4)
    here = env.snapshot()
    left, right = Walk(), Walk()
    left.restore(here)
    play(left, 3)
    right.restore(here)
    assert (len(env.seen), len(left.seen), len(right.seen)) == (0, 3, 0)
    assert play(right, 1) == play(env, 1)


def test_a_copy_keeps_what_belongs_together():
    env = Walk()
    env.reset(seed=4)
    here = env.snapshot()
    play(env, 1)
    other = Walk()
    for target in (env, other):
        target.restore(here)
        assert target.same is target.seen
        assert target.helper.env is target
        assert target.index is INDEX
        assert target.alias["index"] is INDEX
        assert not hasattr(target, "late")
        assert target.tools[0].function.__self__ is target


def test_a_snapshot_can_be_pickled():
    env = Walk()
    env.reset(seed=4)
    play(env, 1)
    here = pickle.loads(pickle.dumps(env.snapshot()))
    future = play(env, 2)
    other = Walk()
    other.restore(here)
    assert other.helper.env is other
    assert play(other, 2) == future


def test_a_replay_that_differs_is_noticed():
    env = Forgetful()
    env.reset(seed=1)
    play(env, 2)
    here = env.snapshot()
    with pytest.raises(ForkMismatch, match="Forgetful: restore failed: replay differs at step 1") as caught:
        env.restore(here)
    assert caught.value.step == 1


def test_what_cannot_be_forked_says_so():
    env = Locked()
    env.reset(seed=1)
    with pytest.raises(UserError, match=r"Locked\.lock cannot be copied .*name it in Locked\.shared"):
        env.snapshot()
    with pytest.raises(UserError, match=r"a Walk snapshot \(copy\) does not fit Again \(replay\)"):
        Again().restore(Walk().snapshot())
    with pytest.raises(UserError, match="Again cannot be forked here"):
        Again().snapshot()
