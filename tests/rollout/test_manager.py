import asyncio
import threading
import time
from collections import Counter
from typing import ClassVar

import faulty
import pytest
from faulty import MADE, Go, assert_closed_once, tasks

from agentrl.core.failures import InfrastructureFailure, UnknownName, UserError
from agentrl.core.messages import text_of
from agentrl.core.tree import Task
from agentrl.inference.engine import ContextOverflow
from agentrl.inference.policy import Sampled, View
from agentrl.rollout import RolloutSettings, collect, rollout


@pytest.mark.parametrize("kind", ["inline", "thread", "async"])
def test_trees_hold_what_was_asked(kind):
    out = rollout(tasks(kind, 3), Go(), RolloutSettings(group_size=2))
    assert [tree.task.seed for tree in out.trees] == [0, 1, 2]
    for tree in out.trees:
        assert [len(episode.turns) for episode in tree.episodes()] == [3, 3]
        assert [turn.parent for turn in tree] == [None, 0, 1, None, 3, 4]
        first, *_, last = tree.episodes()[0].turns
        assert text_of(first.observation) == f"task {tree.task.seed}"
        assert (last.truncated, last.terminated, text_of(last.final)) == (True, False, "on")
        assert tree.episodes()[0].total_reward == 3.0
        assert first.reward_parts == {"reward": 1.0}
        assert first.state_key is not None
        assert first.state_key != last.state_key
    assert (out.stats.requested, out.stats.usable, out.stats.dropped, out.stats.turns) == (6, 6, 0, 18)
    assert_closed_once()


@pytest.mark.parametrize("kind", ["inline", "thread", "async"])
@pytest.mark.parametrize("where", ["reset", "step"])
def test_one_failing_episode_of_sixteen_leaves_fifteen_and_a_count(kind, where):
    out = rollout(tasks(kind, 16, where=where, seeds=[5]), Go(), RolloutSettings(retries=1))
    assert out.stats.usable == 15
    assert out.stats.dropped == 1
    assert out.stats.refilled == 1
    boundary = "tool:go" if where == "step" else "reset"
    assert out.stats.failures == Counter({f"faulty/{kind}-v0|{boundary}|InfrastructureFailure": 2})
    assert [tree.task.seed for tree in out.trees] == [seed for seed in range(16) if seed != 5]
    assert len(out.removed) == 1
    assert len(out.removed[0]) == 0
    assert "breaks" in out.removed[0].failures[0].message
    assert_closed_once()


def test_a_second_attempt_on_a_fresh_environment_saves_the_episode():
    out = rollout(tasks("inline", 4, where="step", seeds=[2], once=True), Go(), RolloutSettings(retries=2))
    assert (out.stats.usable, out.stats.dropped, sum(out.stats.failures.values())) == (4, 0, 1)
    assert len(out.trees[2]) == 3
    assert_closed_once()


def test_an_episode_that_broke_is_replaced_by_one_with_seeds_of_its_own():
    class Seeds(Go):
        seen: ClassVar[list[int]] = []

        async def act(self, view: View) -> Sampled:
            if not view.path:
                self.seen.append(view.seed)
            return await super().act(view)

    settings = RolloutSettings(group_size=3, min_group=3, retries=1)
    out = rollout(tasks("inline", 1, where="step", seeds=[0], once=True), Seeds(), settings)
    assert [len(tree.episodes()) for tree in out.trees] == [3]
    assert (out.stats.refilled, out.stats.dropped, out.stats.removed_groups) == (1, 0, 0)
    assert len(set(Seeds.seen)) == len(Seeds.seen) == 4
    assert_closed_once()


def test_more_usable_episodes_than_there_are_is_bad_input():
    with pytest.raises(UserError, match=r"min_group \(3\) must not exceed group_size \(2\)"):
        RolloutSettings(group_size=2, min_group=3)


def test_the_same_task_twice_is_two_groups_with_seeds_of_their_own():
    class Seeds(Go):
        seen: ClassVar[list[int]] = []

        async def act(self, view: View) -> Sampled:
            self.seen.append(view.seed)
            return await super().act(view)

    rollout([*tasks("inline", 1), *tasks("inline", 1)], Seeds(), RolloutSettings(group_size=2))
    assert len(set(Seeds.seen)) == len(Seeds.seen) == 12


def test_a_group_keeps_its_good_episodes_and_is_removed_under_its_minimum():
    settings = RolloutSettings(group_size=4, retries=0, min_group=2)
    out = rollout(tasks("inline", 2, where="step", seeds=[1], once=True), Go(), settings)
    assert [len(tree.episodes()) for tree in out.trees] == [4, 3]
    faulty.Faulty.broken.clear()
    out = rollout(tasks("inline", 2, where="step", seeds=[1]), Go(), settings)
    assert [tree.task.seed for tree in out.trees] == [0]
    assert out.stats.removed_groups == 1


@pytest.mark.parametrize("kind", ["thread", "process"])
def test_a_hang_ends_at_its_deadline(kind):
    began = time.monotonic()
    settings = RolloutSettings(retries=0, step_seconds=0.3, close_seconds=0.3)
    out = rollout(tasks(kind, 3, where="hang-step", seeds=[1]), Go(), settings)
    assert time.monotonic() - began < 20
    assert out.stats.usable == 2
    assert out.stats.failures[f"faulty/{kind}-v0|step|DeadlineExceeded"] == 1


def test_a_coroutine_that_hangs_ends_at_its_deadline_and_is_closed():
    out = rollout(tasks("async", 2), Go("wait"), RolloutSettings(retries=0, step_seconds=0.1))
    assert out.stats.usable == 0
    assert out.stats.failures == Counter({"faulty/async-v0|step|DeadlineExceeded": 2})
    assert_closed_once()


def test_a_policy_that_hangs_ends_at_its_deadline():
    out = rollout(tasks("inline", 2), Go(delay=30), RolloutSettings(retries=0, generate_seconds=0.1))
    assert out.stats.usable == 0
    assert out.stats.failures == Counter({"faulty/inline-v0|generate|DeadlineExceeded": 2})
    assert_closed_once()


def test_a_process_that_dies_is_an_infrastructure_failure():
    out = rollout(tasks("process", 3, where="die", seeds=[1]), Go(), RolloutSettings(retries=0))
    assert out.stats.usable == 2
    assert out.stats.failures == Counter({"faulty/process-v0|step|InfrastructureFailure": 1})


@pytest.mark.parametrize("kind", ["inline", "thread", "process", "async"])
def test_an_environment_that_cannot_be_made_is_counted(kind):
    out = rollout(tasks(kind, 2, where="make"), Go(), RolloutSettings(retries=1))
    assert out.stats.usable == 0
    assert sum(out.stats.failures.values()) == 4
    assert all("|make|" in key for key in out.stats.failures)


def test_a_failing_close_is_counted_and_loses_nothing():
    out = rollout(tasks("inline", 3, where="close"), Go(), RolloutSettings(concurrency=1))
    assert out.stats.usable == 3
    assert out.stats.failures == Counter({"faulty/inline-v0|close|InfrastructureFailure": 1})
    assert_closed_once()


def test_a_reward_that_is_no_number_drops_the_episode():
    out = rollout(tasks("inline", 2, where="nan", seeds=[1]), Go(), RolloutSettings(retries=0))
    assert (out.stats.usable, out.stats.dropped) == (1, 1)
    assert "finite" in out.removed[0].failures[0].message
    assert_closed_once()


def test_bad_input_stops_everything_and_closes_everything():
    class Overflowing(Go):
        async def act(self, view: View) -> Sampled:
            await asyncio.sleep(0)
            raise ContextOverflow(10, 5)

    with pytest.raises(ContextOverflow, match="outgrows"):
        rollout(tasks("thread", 4), Overflowing())
    assert_closed_once()
    with pytest.raises(UnknownName):
        rollout([Task("faulty/nothing-v0", 0)], Go())
    with pytest.raises(UserError, match="group_size"):
        RolloutSettings(group_size=0)


def test_a_full_context_ends_the_episode_truncated():
    class Full(Go):
        async def act(self, view: View) -> Sampled:
            return Sampled(None, finish_reason="length") if view.path else await super().act(view)

    out = rollout(tasks("inline", 1), Full())
    leaf = out.trees[0].turns[-1]
    assert (len(out.trees[0]), leaf.truncated, leaf.success, leaf.info["truncated_by"]) == (
        1,
        True,
        False,
        "context",
    )
    assert text_of(leaf.final) == "on"


def test_the_turn_limit_of_the_settings_truncates():
    out = rollout(tasks("inline", 1), Go(), RolloutSettings(max_turns=2))
    assert [turn.truncated for turn in out.trees[0]] == [False, True]
    assert_closed_once()


@pytest.mark.parametrize("kind", ["inline", "thread", "async"])
def test_stopping_keeps_what_is_finished_and_closes_the_rest(kind):
    async def main():
        stop = asyncio.Event()
        done = []

        def progress(state):
            done.append(state.done)
            if state.done == 3:
                stop.set()

        settings = RolloutSettings(concurrency=2)
        return await collect(
            tasks(kind, 50, delay=0.001), Go(delay=0.001), settings, progress=progress, stop=stop
        )

    out = asyncio.run(main())
    assert out.partial
    assert 3 <= out.stats.usable < 50
    assert_closed_once()


def test_cancelling_closes_everything():
    async def main():
        running = asyncio.ensure_future(collect(tasks("async", 8), Go("wait"), RolloutSettings()))
        await asyncio.sleep(0.05)
        running.cancel()
        with pytest.raises(asyncio.CancelledError):
            await running
        return [task for task in asyncio.all_tasks() if task is not asyncio.current_task()]

    assert asyncio.run(main()) == []
    assert len(MADE) == 8
    assert_closed_once()


def test_seeds_belong_to_the_turn_whatever_the_order():
    class Seeds(Go):
        def __init__(self):
            super().__init__()
            self.seen: dict[tuple[str, int], list[int]] = {}

        async def act(self, view: View) -> Sampled:
            first = text_of(view.path[0].observation if view.path else view.observation)
            self.seen.setdefault((first, len(view.path)), []).append(view.seed)
            return await super().act(view)

    one, two = Seeds(), Seeds()
    rollout(tasks("inline", 3), one, RolloutSettings(group_size=2, concurrency=6))
    rollout(list(reversed(tasks("inline", 3))), two, RolloutSettings(group_size=2, concurrency=1))
    assert {key: sorted(value) for key, value in one.seen.items()} == {
        key: sorted(v) for key, v in two.seen.items()
    }
    everything = [seed for seeds in one.seen.values() for seed in seeds]
    assert len(set(everything)) == len(everything) == 18


def test_the_gate_makes_batches_a_function_of_the_tasks():
    class Batches(Go):
        """Notes which calls arrive together."""

        async def act(self, view: View) -> Sampled:
            first = text_of(view.path[0].observation if view.path else view.observation)
            self.waiting = [*getattr(self, "waiting", []), (first, len(view.path))]
            await asyncio.sleep(0)
            if self.waiting:
                self.batches.append(tuple(self.waiting))
                self.waiting = []
            return await super().act(view)

    runs = []
    for delay in (0.001, 0.002):
        policy = Batches()
        settings = RolloutSettings(concurrency=4, deterministic=True)
        rollout(tasks("thread", 7, delay=delay), policy, settings)
        runs.append(policy.batches)
    assert runs[0] == runs[1]
    assert len(runs[0][0]) == 4


def test_threads_do_not_pile_up():
    before = threading.active_count()
    for _ in range(3):
        rollout(tasks("thread", 6), Go())
    deadline = time.monotonic() + 5
    while threading.active_count() > before and time.monotonic() < deadline:
        time.sleep(0.01)
    assert threading.active_count() <= before


def test_an_engine_that_breaks_is_an_infrastructure_failure():
    class Broken(Go):
        async def act(self, view: View) -> Sampled:
            raise OSError("connection lost")

    out = rollout(tasks("inline", 2), Broken(), RolloutSettings(retries=0))
    assert out.stats.failures == Counter({"faulty/inline-v0|generate|InfrastructureFailure": 2})
    assert isinstance(out.removed[0].failures[0].message, str)
    assert InfrastructureFailure("step", "x", "y").where == "step"
