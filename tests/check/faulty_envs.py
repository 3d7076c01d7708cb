"""One environment for every fault that the checker must see. Each differs from `Good` in that fault alone."""

import os
import random
import threading
import time

from agentrl import ToolEnv, tool


class Good(ToolEnv):
    """Walk to the right place."""

    max_turns = 6
    safety = "inline"

    def task(self):
        self.goal = int(self.np_random.integers(1, 5))
        self.at = 0
        return f"Walk to {self.goal}."

    @tool
    def walk(self, steps: int) -> str:
        """Walk. Args: steps: how far."""
        self.at += steps
        if self.at == self.goal:
            self.finish(1.0)
        return f"at {self.at}"

    def state_key(self):
        return str(self.at)

    def expert(self):
        from agentrl import call

        return call("walk", steps=self.goal - self.at)


class UnseededTask(Good):
    """Draws from the clock."""

    def task(self):
        super().task()
        self.goal = 1 + time.perf_counter_ns() % 1000
        return f"Walk to {self.goal}."


class HashOrder(Good):
    """Lists a set."""

    def task(self):
        return super().task() + " " + ", ".join({"north", "south", "east", "west", "up", "down"})


class OneTask(Good):
    """Ignores its seed."""

    def task(self):
        super().task()
        self.goal = 3
        return "Walk to 3."


class GlobalRandom(Good):
    """Draws from the global generator, which it seeds."""

    def task(self):
        super().task()
        random.seed(self.task_seed)
        self.goal = random.randint(1, 4)
        return f"Walk to {self.goal}."


class SharedInfo(Good):
    """Returns one and the same dict in every info."""

    def __init__(self, **kwargs):
        super().__init__(**kwargs)
        self.extra = {"calls": 0}

    def step(self, action):
        observation, reward, terminated, truncated, info = super().step(action)
        return observation, reward, terminated, truncated, {**info, "extra": self.extra}


class SharedState(Good):
    """Keeps its state on the class."""

    places: dict = {}  # noqa: RUF012

    def task(self):
        text = super().task()
        SharedState.places["at"] = 0
        return text

    @tool
    def walk(self, steps: int) -> str:
        """Walk. Args: steps: how far."""
        SharedState.places["at"] += steps
        self.at = SharedState.places["at"]
        if self.at == self.goal:
            self.finish(1.0)
        return f"at {self.at}"


class AliasedSnapshot(Good):
    """Declares a state that changes as shared."""

    shared = frozenset({"trail"})

    def task(self):
        text = super().task()
        self.trail = []
        return text

    @tool
    def walk(self, steps: int) -> str:
        """Walk. Args: steps: how far."""
        self.trail.append(steps)
        self.at = sum(self.trail)
        if self.at == self.goal:
            self.finish(1.0)
        return f"at {self.at}"


class CloseTwice(Good):
    """Cannot be closed twice."""

    def close(self):
        if self.closed:
            raise RuntimeError("closed twice")
        super().close()


class LeakedThread(Good):
    """Leaves a thread."""

    def close(self):
        if not self.closed:
            threading.Thread(target=time.sleep, args=(30,), daemon=True).start()
        super().close()


class LeakedFile(Good):
    """Leaves a file open."""

    def close(self):
        if not self.closed:
            os.dup(0)
        super().close()


class NotANumber(Good):
    """Gives a reward that is no number."""

    @tool
    def walk(self, steps: int) -> str:
        """Walk. Args: steps: how far."""
        self.add_reward(float("nan"))
        return super().walk(steps)


class PartsDoNotSum(Good):
    """Gives more than it names."""

    def step(self, action):
        observation, reward, terminated, truncated, info = super().step(action)
        return observation, reward + 1.0, terminated, truncated, info


class SilentEnd(Good):
    """Does not say whether it was solved."""

    def step(self, action):
        observation, reward, terminated, truncated, info = super().step(action)
        info.pop("success", None)
        return observation, reward, terminated, truncated, info


class NoEnd(Good):
    """Never ends."""

    max_turns = None

    @tool
    def walk(self, steps: int) -> str:
        """Walk. Args: steps: how far."""
        return "on"


class NotJson(Good):
    """Puts a set into its info."""

    def step(self, action):
        observation, reward, terminated, truncated, info = super().step(action)
        return observation, reward, terminated, truncated, {**info, "places": {self.at}}


class CrashesOnBadCalls(Good):
    """Breaks where a call is malformed."""

    def step(self, action):
        import json

        for call in getattr(action, "tool_calls", ()):
            json.loads(call.arguments)
        return super().step(action)


class SwallowsCalls(Good):
    """Answers the first call of a message alone."""

    def step(self, action):
        observation, *rest = super().step(action)
        return (observation[:1], *rest)


class OneKey(Good):
    """Is always in the same situation."""

    def state_key(self):
        return "here"


class BadExpert(Good):
    """Its expert walks away."""

    def expert(self):
        from agentrl import call

        return call("walk", steps=-1)


class AnySplit(Good):
    """Accepts every split."""

    def _check_split(self, split):
        return split


class Hangs(Good):
    """Does not answer."""

    @tool
    def walk(self, steps: int) -> str:
        """Walk. Args: steps: how far."""
        time.sleep(60)
        return "late"


class NoDoc(Good):
    __doc__ = ""


FAULTS = {
    UnseededTask: "same_seed_same_episode",
    HashOrder: "same_in_other_processes",
    OneTask: "different_seeds_different_tasks",
    GlobalRandom: "no_global_randomness",
    SharedInfo: "nothing_shared_between_steps",
    SharedState: "live_copies_do_not_disturb_each_other",
    AliasedSnapshot: "snapshots_restore_the_same_future",
    CloseTwice: "close_is_idempotent",
    LeakedThread: "nothing_is_leaked",
    LeakedFile: "nothing_is_leaked",
    NotANumber: "rewards_are_finite_and_sum",
    PartsDoNotSum: "rewards_are_finite_and_sum",
    SilentEnd: "the_end_is_reported",
    NoEnd: "the_end_is_reported",
    NotJson: "same_seed_same_episode",
    CrashesOnBadCalls: "malformed_calls_survive",
    SwallowsCalls: "every_call_is_answered",
    OneKey: "state_keys_are_stable",
    BadExpert: "the_expert_solves_it",
    AnySplit: "splits_are_known",
    NoDoc: "declares_itself",
}
