"""Environments are shared between tasks, never too many, and whatever hangs ends and leaves nothing behind."""

import gc
import multiprocessing
import os
import threading
import time

import pytest
from faulty import MADE, MOST_OPEN, Go, assert_closed_once, settled, tasks

from agentrl.rollout import RolloutSettings, rollout


@pytest.mark.parametrize("kind", ["inline", "thread", "async"])
def test_tasks_of_one_kind_share_environments(kind):
    out = rollout(tasks(kind, 12), Go(delay=0.001), RolloutSettings(group_size=2, concurrency=3))
    assert out.stats.usable == 24
    assert len(MADE) == 3
    assert_closed_once()


def test_tasks_of_other_kinds_in_between_cost_no_environment():
    mixed = [task for pair in zip(tasks("inline", 6), tasks("async", 6), strict=True) for task in pair]
    rollout(mixed, Go(), RolloutSettings(concurrency=2))
    assert len(MADE) == 2
    assert_closed_once()


def test_other_arguments_are_another_environment_and_make_room_for_it():
    mixed = [*tasks("inline", 4), *tasks("inline", 4, delay=1e-6), *tasks("inline", 4)]
    out = rollout(mixed, Go(), RolloutSettings(concurrency=1))
    assert (out.stats.usable, len(MADE), max(MOST_OPEN)) == (12, 3, 1)
    assert_closed_once()


def test_a_class_has_no_more_instances_than_it_allows():
    # Two ids of one class, two kinds of arguments, next to a class without a limit.
    licensed = [
        task
        for kind in ("licensed", "licensed-too")
        for delay in (0.001, 0.002)
        for task in tasks(kind, 5, delay=delay)
    ]
    out = rollout(licensed, Go(delay=0.001), RolloutSettings(concurrency=8))
    assert out.stats.usable == 20
    assert max(MOST_OPEN) == 2
    assert_closed_once()


def test_a_class_at_its_limit_holds_nobody_else_up():
    order = []

    class Noting(Go):
        async def act(self, view):
            order.append(view.env.__class__.__name__)
            return await super().act(view)

    mixed = [*tasks("licensed", 8, delay=0.02), *tasks("inline", 2)]
    rollout(mixed, Noting(), RolloutSettings(concurrency=8))
    assert order.index("Inline") < 8


@pytest.fixture(autouse=True)
def nothing_unheard(caplog):
    """No exception goes to nobody ("Future exception was never retrieved")."""
    yield
    gc.collect()
    assert [record.getMessage() for record in (*caplog.get_records("call"), *caplog.records)] == []


def open_files() -> int:
    return len(os.listdir("/proc/self/fd"))


LIMITS = {f"{name}_seconds": 0.2 for name in ("reset", "step", "close", "generate")}


@pytest.mark.parametrize("where", ["make", "reset", "step", "close"])
@pytest.mark.slow
def test_a_hanging_thread_is_left_behind_and_closes_when_it_comes_back(where):
    rollout(tasks("thread", 1), Go())
    MADE.clear()
    threads, files = threading.active_count(), open_files()
    began = time.monotonic()
    settings = RolloutSettings(retries=0, make_seconds=0.2, **LIMITS)
    out = rollout(tasks("thread", 2, where=f"hang-{where}", seeds=[1], hang=1.5), Go(), settings)
    assert time.monotonic() - began < 1.3
    failed = 2 if where in ("make", "close") else 1
    assert out.stats.failures == {f"faulty/thread-v0|{where}|DeadlineExceeded": failed}
    assert (out.stats.usable, out.stats.abandoned) == ({"make": 0, "close": 2}.get(where, 1), failed)
    assert settled(lambda: threading.active_count() <= threads)
    assert settled(lambda: open_files() <= files)
    assert_closed_once()


@pytest.mark.parametrize("where", ["make", "reset", "step", "close"])
@pytest.mark.slow
def test_a_hanging_process_is_ended(where):
    rollout(tasks("process", 1), Go())
    threads, files = threading.active_count(), open_files()
    # A fresh process takes a while to begin: only a hang in `make` has a short deadline there.
    settings = RolloutSettings(retries=0, make_seconds=3.0 if where == "make" else 60.0, **LIMITS)
    began = time.monotonic()
    out = rollout(tasks("process", 1, where=f"hang-{where}", seeds=[0], hang=60.0), Go(), settings)
    assert time.monotonic() - began < 30
    assert out.stats.failures == {f"faulty/process-v0|{where}|DeadlineExceeded": 1}
    assert out.stats.abandoned == 0
    assert multiprocessing.active_children() == []
    assert settled(lambda: threading.active_count() <= threads)
    assert settled(lambda: open_files() <= files)


@pytest.mark.parametrize("where", ["reset", "step", "close"])
@pytest.mark.slow
def test_hanging_coroutines_are_cancelled_and_their_environment_is_closed(where):
    threads, files = threading.active_count(), open_files()
    policy = Go("wait") if where == "step" else Go()
    kind = "hang-close" if where == "close" else "wait-reset"
    work = tasks("waiting", 2, where=kind, seeds=[] if where == "step" else [0, 1], hang=1.5)
    began = time.monotonic()
    out = rollout(work, policy, RolloutSettings(retries=0, **LIMITS))
    assert time.monotonic() - began < 1.3
    # What ends well in one environment is the second's, too: only one has to be closed.
    failed = 1 if where == "close" else 2
    assert out.stats.failures == {f"faulty/waiting-v0|{where}|DeadlineExceeded": failed}
    assert settled(lambda: threading.active_count() <= threads)
    assert settled(lambda: open_files() <= files)
    assert_closed_once()


@pytest.mark.parametrize("kind", ["inline", "thread", "waiting"])
def test_a_hanging_policy_leaves_nothing_behind(kind):
    threads, files = threading.active_count(), open_files()
    out = rollout(tasks(kind, 2), Go(delay=30), RolloutSettings(retries=0, **LIMITS))
    assert out.stats.failures == {f"faulty/{kind}-v0|generate|DeadlineExceeded": 2}
    assert settled(lambda: threading.active_count() <= threads)
    assert settled(lambda: open_files() <= files)
    assert_closed_once()
