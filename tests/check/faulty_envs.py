"""One environment for every fault that the checker must see. Each differs from `Good` in that fault alone."""

import dataclasses
import itertools
import json
import os
import random
import subprocess
import tempfile
import threading
import time

import numpy as np

from agentrl import ToolEnv, call, tool
from agentrl.core.fork import Snapshot, copy_in, copy_out
from agentrl.core.messages import Message
from agentrl.core.sampling import sample_arguments


class Good(ToolEnv):
    """Walk to the right place."""

    max_turns = 8
    safety = "inline"

    def task(self):
        self.goal = int(self.np_random.integers(2, 50))
        self.at = 0
        return f"Walk to {self.goal}."

    @tool
    def walk(self, steps: int) -> str:
        """Walk. Args: steps: how far."""
        return self.go(steps)

    def go(self, steps):
        self.at += steps
        if self.at == self.goal:
            self.finish(1.0)
        return f"at {self.at}"

    def state_key(self):
        return str(self.at)

    def expert(self):
        return call("walk", steps=1 if self.at == 0 else self.goal - self.at)


class AsyncGood(ToolEnv):
    """Walk to the right place, but wait for it."""

    max_turns = 8
    safety = "async"

    async def task(self):
        self.goal = int(self.np_random.integers(2, 50))
        self.at = 0
        return f"Walk to {self.goal}."

    @tool
    async def walk(self, steps: int) -> str:
        """Walk. Args: steps: how far."""
        self.at += steps
        if self.at == self.goal:
            self.finish(1.0)
        return f"at {self.at}"

    def expert(self):
        return call("walk", steps=1 if self.at == 0 else self.goal - self.at)


class AsyncAliasedSnapshot(AsyncGood):
    """Plays on in the snapshot itself."""

    fork = "native"

    async def task(self):
        self.trail = []
        return await super().task()

    @tool
    async def walk(self, steps: int) -> str:
        """Walk. Args: steps: how far."""
        self.trail.append(steps)
        self.at = sum(self.trail)
        if self.at == self.goal:
            self.finish(1.0)
        return f"at {self.at}"

    def snapshot(self):
        return Snapshot("native", type(self).__qualname__, (copy_out(self, {"trail"}), list(self.trail)))

    def restore(self, snapshot):
        state, self.trail = snapshot.payload
        copy_in(self, state, {"trail"})


class SlowGood(Good):
    """Takes its time to begin."""

    def task(self):
        time.sleep(0.1)
        return super().task()


# -- declaration ---------------------------------------------------------------------------------------


class NoDoc(Good):
    __doc__ = ""


class LosesItsGenerator(Good):
    """Has another generator after each reset."""

    made = itertools.count()

    def task(self):
        text = super().task()
        self._np_random = np.random.default_rng(next(self.made))
        return text


class DanglingReference(Good):
    """Has a schema that leads nowhere."""

    def __init__(self, **kwargs):
        super().__init__(**kwargs)
        schema = {**self.tools[0].parameters, "$defs": {"Step": {"$ref": "#/$defs/Nowhere"}}}
        self.tools = (dataclasses.replace(self.tools[0], parameters=schema),)


class BreaksAtANumber(Good):
    """Breaks at one of the numbers that its schema allows."""

    def go(self, steps):
        first = sample_arguments(self.tools[0].parameters, np.random.default_rng(1))
        if steps == first["steps"] and self.turn == 0:
            raise KeyError(steps)
        return super().go(steps)


class AnySplit(Good):
    """Accepts every split."""

    def _check_split(self, split):
        return split


# -- determinism ---------------------------------------------------------------------------------------


class UnseededTest(Good):
    """Draws the tasks of its test split from the clock."""

    def task(self):
        text = super().task()
        return f"{text} ({time.perf_counter_ns()})" if self.split == "test" else text


class ChangesOptions(Good):
    """Takes out of the options what it uses."""

    def reset(self, *, seed=None, options=None):
        split = options.pop("split", None) if options else None
        return super().reset(seed=seed, options={"split": split or self.default_split})


class Remembers(Good):
    """Shows in the last turn how many episodes there were before."""

    played = 0

    def task(self):
        self.played += 1
        return super().task()

    def go(self, steps):
        said = super().go(steps)
        return f"{said}, {self.played}" if self.turn == self.max_turns - 1 else said


class WearyExpert(Good):
    """Its expert gives other advice once it has seen a high seed."""

    weary = False

    def task(self):
        self.weary = self.weary or self.task_seed >= 100
        return super().task()

    def expert(self):
        return call("walk", steps=self.goal) if self.weary and self.at == 0 else super().expert()


class HashOrder(Good):
    """Lists a set."""

    def task(self):
        return super().task() + " " + ", ".join({"north", "south", "east", "west", "up", "down"})


class WrongSeed(Good):
    """Names another seed than the one it drew."""

    def reset(self, *, seed=None, options=None):
        observation, info = super().reset(seed=seed, options=options)
        return observation, {**info, "task_seed": 0} if seed is None else info


class OneTask(Good):
    """Ignores its seed."""

    def task(self):
        super().task()
        self.goal = 3
        return "Walk to 3."


class GlobalRandom(Good):
    """Draws from the global generator."""

    def task(self):
        random.random()
        return super().task()


class GlobalNumPy(Good):
    """Draws from NumPy's global generator."""

    def task(self):
        np.random.random()
        return super().task()


class AnotherAsyncFace(Good):
    """Gives more when it is awaited."""

    async def astep(self, action):
        observation, reward, *rest = await super().astep(action)
        return observation, reward + 1, *rest


# -- isolation -----------------------------------------------------------------------------------------


class RefilledBuffer(Good):
    """Puts one and the same list, filled anew, into every info."""

    def __init__(self, **kwargs):
        super().__init__(**kwargs)
        self.buffer = []

    def step(self, action):
        *rest, info = super().step(action)
        self.buffer[:] = [self.at]
        return *rest, {**info, "places": self.buffer}


class ReadsItsInfo(Good):
    """Goes on from what it returned."""

    def reset(self, *, seed=None, options=None):
        observation, info = super().reset(seed=seed, options=options)
        self.notes = {"begin": self.at}
        return observation, {**info, "notes": self.notes}

    def step(self, action):
        *rest, info = super().step(action)
        self.notes = {**self.notes, f"turn {self.turn}": self.at}
        return *rest, {**info, "notes": self.notes}


class OneGoal(Good):
    """Keeps its goal on the class, one for each thread."""

    kept = threading.local()

    def task(self):
        text = super().task()
        OneGoal.kept.goal = self.goal
        return text

    def go(self, steps):
        self.goal = OneGoal.kept.goal
        return super().go(steps)


class OneScratchpad(Good):
    """Computes on the class."""

    scratch = 0

    def go(self, steps):
        OneScratchpad.scratch = self.at + steps
        time.sleep(0.01)
        self.at = OneScratchpad.scratch
        return super().go(0)


class ClosesOnce(Good):
    """Cannot be closed twice in the middle of an episode."""

    def close(self):
        if self.closed and not self._over:
            raise RuntimeError("closed twice")
        super().close()


class LeakedThread(Good):
    """Leaves a thread."""

    def close(self):
        if not self.closed:
            threading.Thread(target=time.sleep, args=(8,), daemon=True).start()
        super().close()


class LeakedFile(Good):
    """Leaves a file open."""

    def close(self):
        if not self.closed:
            os.open(os.devnull, os.O_RDONLY)
        super().close()


class LeakedProcess(Good):
    """Leaves a process."""

    def close(self):
        if not self.closed:
            subprocess.Popen(["sleep", "8"], stdin=subprocess.DEVNULL)
        super().close()


class LeakedDaemon(Good):
    """Leaves a process that nobody is the parent of."""

    def close(self):
        if not self.closed:
            subprocess.run(["sh", "-c", "sleep 8 >/dev/null 2>&1 &"], check=True, stdin=subprocess.DEVNULL)
        super().close()


class LeakedTemporaryFile(Good):
    """Leaves a temporary file."""

    def close(self):
        if not self.closed:
            os.close(tempfile.mkstemp()[0])
        super().close()


# -- forking -------------------------------------------------------------------------------------------


class AliasedSnapshot(Good):
    """Plays on in the snapshot itself."""

    fork = "native"

    def task(self):
        self.trail = []
        return super().task()

    def go(self, steps):
        self.trail.append(steps)
        self.at = sum(self.trail)
        return super().go(0)

    def snapshot(self):
        return Snapshot("native", type(self).__qualname__, (copy_out(self, {"trail"}), list(self.trail)))

    def restore(self, snapshot):
        state, self.trail = snapshot.payload
        copy_in(self, state, {"trail"})


class ForkedOnce(Good):
    """Forgets where it is when it is forked again."""

    restored = False

    def restore(self, snapshot):
        super().restore(snapshot)
        self.restored = True

    def snapshot(self):
        if self.restored:
            self.at = 0
        return super().snapshot()


# -- conduct -------------------------------------------------------------------------------------------


class NotJson(Good):
    """Puts a set into its info."""

    def step(self, action):
        *rest, info = super().step(action)
        return *rest, {**info, "places": {self.at}}


class Unreadable(Good):
    """Shows what cannot be encoded."""

    def task(self):
        return super().task() + "\ud800"


class Infinite(Good):
    """Gives a reward that is not finite."""

    def step(self, action):
        observation, _, *rest = super().step(action)
        return observation, float("inf"), *rest


class PartsDoNotSum(Good):
    """Gives more than it names."""

    def step(self, action):
        observation, reward, *rest = super().step(action)
        return observation, reward + 1.0, *rest


class EarlySuccess(Good):
    """Says before the end whether it was solved."""

    def step(self, action):
        *rest, info = super().step(action)
        return *rest, {"success": False, **info}


class GoesOn(Good):
    """Takes steps after the end."""

    def step(self, action):
        if self._over and self.turn:
            self._over = False
        return super().step(action)


class OneKey(Good):
    """Is always in the same situation."""

    def state_key(self):
        return "here"


class BadExpert(Good):
    """Its expert walks away."""

    def expert(self):
        return call("walk", steps=-1)


# -- calls ---------------------------------------------------------------------------------------------


class CrashesOnBadCalls(Good):
    """Breaks where a call is malformed."""

    def step(self, action):
        for asked in getattr(action, "tool_calls", ()):
            json.loads(asked.arguments)
        return super().step(action)


class CrashesOnText(Good):
    """Breaks where nothing is called."""

    def on_text(self, text):
        raise RuntimeError("a call was expected")


class SwallowsCalls(Good):
    """Answers the first call of a message alone."""

    def step(self, action):
        observation, *rest = super().step(action)
        return (observation[:1], *rest)


class Backwards(Good):
    """Executes the last call first."""

    def step(self, action):
        if len(getattr(action, "tool_calls", ())) < 2:
            return super().step(action)
        turned = Message(action.role, action.content, tuple(reversed(action.tool_calls)))
        observation, *rest = super().step(turned)
        return (tuple(reversed(observation)), *rest)


# -- faults that no rule is for ------------------------------------------------------------------------


class Hangs(Good):
    """Does not answer."""

    def go(self, steps):
        time.sleep(60)
        return "late"


class Exits(Good):
    """Ends the process."""

    def task(self):
        raise SystemExit(3)


class AsyncExits(AsyncGood):
    """Ends the process."""

    async def task(self):
        raise SystemExit(3)


FAULTS = {
    NoDoc: "declares_itself",
    LosesItsGenerator: "gymnasiums_own_checker_passes",
    DanglingReference: "schemas_accept_their_calls",
    BreaksAtANumber: "sampled_calls_are_played",
    AnySplit: "splits_are_known",
    UnseededTest: "same_seed_same_beginning",
    ChangesOptions: "same_seed_same_beginning",
    Remembers: "same_seed_same_random_episode",
    WearyExpert: "same_seed_same_expert_episode",
    HashOrder: "same_in_other_processes",
    WrongSeed: "unseeded_episodes_can_be_replayed",
    OneTask: "different_seeds_different_tasks",
    GlobalRandom: "no_global_randomness",
    GlobalNumPy: "no_global_randomness",
    AnotherAsyncFace: "the_async_face_shows_the_same",
    RefilledBuffer: "what_is_returned_stays",
    ReadsItsInfo: "what_is_returned_may_be_changed",
    OneGoal: "live_copies_do_not_disturb_each_other",
    OneScratchpad: "threads_do_not_mix",
    AliasedSnapshot: "snapshots_have_one_future",
    AsyncAliasedSnapshot: "snapshots_have_one_future",
    ForkedOnce: "a_fork_can_be_forked",
    NotJson: "infos_are_json",
    Unreadable: "observations_can_be_read",
    Infinite: "rewards_are_finite_and_sum",
    PartsDoNotSum: "rewards_are_finite_and_sum",
    EarlySuccess: "the_end_is_reported",
    GoesOn: "the_end_is_reported",
    OneKey: "state_keys_are_stable",
    BadExpert: "the_expert_solves_it",
    CrashesOnBadCalls: "wrong_calls_are_answered",
    CrashesOnText: "any_text_is_answered",
    SwallowsCalls: "every_call_is_answered",
    Backwards: "every_call_is_executed_in_order",
    ClosesOnce: "close_is_idempotent",
    LeakedThread: "nothing_is_left_behind",
    LeakedFile: "nothing_is_left_behind",
    LeakedProcess: "nothing_is_left_behind",
    LeakedDaemon: "nothing_is_left_behind",
    LeakedTemporaryFile: "nothing_is_left_behind",
}
"""Which rule, and no other, each of them breaks."""
