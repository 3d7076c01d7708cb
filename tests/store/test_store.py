import os
import sqlite3
import subprocess
import sys
import textwrap
import threading
from concurrent.futures import ThreadPoolExecutor
from contextlib import closing
from dataclasses import replace

import pytest
from hypothesis import given
from hypothesis import strategies as st

from agentrl.core.failures import Failure, UserError
from agentrl.core.messages import Message, ToolCall, user
from agentrl.core.tree import RolloutTree, Task, Turn
from agentrl.store.blobs import pack_floats, pack_ints, unpack
from agentrl.store.database import FILE, open_database
from agentrl.store.store import RunStore


def example_tree(seed: int = 1) -> RolloutTree:
    tree = RolloutTree(Task("agentrl/Search-v0", seed, "train", {"top_k": 1}, {"a": [1, 2]}), requested=2)
    first = tree.add(
        Turn(
            id=0,
            parent=None,
            observation=(user("What is the capital of Mali?"),),
            action=Message("assistant", "hm", (ToolCall("search", '{"query": "Mali"}', "c1"),)),
            context_ids=(1, 2, 3),
            completion_ids=tuple(range(100)),
            logprobs=tuple(-0.125 * i for i in range(100)),
            weight_version=7,
            state_key="k",
            tool_errors=("unknown_tool",),
            info={"turn": 1, "umlaut": "ü"},
            seconds=(0.25, 0.5),
            cached_tokens=2,
        )
    )
    tree.add(
        Turn(
            id=0,
            parent=first.id,
            observation=(Message("tool", "no results", (), "c1", "search"),),
            action=Message("assistant", "I give up", reasoning="hard"),
            context_ids=(4,),
            completion_ids=(5,),
            logprobs=(-0.1,),  # not a float32: must come back exactly all the same
            reward=0.5,
            reward_parts={"outcome": 0.5},
            terminated=True,
            final=(user("bye"),),
            success=False,
        )
    )
    tree.failures.append(Failure("step", "Search", "RuntimeError", "boom"))
    return tree


def create(folder, **changes) -> RunStore:
    return RunStore.create(
        folder, **{"name": "n", "kind": "train", "recipe": {"a": 1}, "versions": {"python": "3"}, **changes}
    )


def test_a_step_comes_back_exactly_as_it_was_written(tmp_path):
    trees = [example_tree(1), example_tree(2)]
    with create(tmp_path / "run") as store:
        store.commit_step(1, trees, [[0.5, -0.5], [1.0, 0.0]], {"loss": 0.25}, seconds=1.5, weight_version=1)
    with RunStore.open(tmp_path / "run") as store:
        assert list(store.trees(step=1)) == trees
        assert list(store.trees(step=2)) == []
        assert store.last_step() == 1
        assert store.metrics() == [{"step": 1, "seconds": 1.5, "loss": 0.25}]
        assert store.info()["recipe"] == {"a": 1}


def test_an_evaluation_is_replaced_not_doubled(tmp_path):
    with create(tmp_path / "run") as store:
        store.commit_evaluation("before", 0, [example_tree(1)], {"success": 0.1})
        store.commit_evaluation("before", 0, [example_tree(2)], {"success": 0.2})
        assert [tree.task.seed for tree in store.trees(phase="before")] == [2]
        assert store.evaluation("before") == {"success": 0.2}
        assert store.evaluation("after") is None
        assert store.phases() == ["before"]


def test_a_step_that_fails_half_way_leaves_nothing(tmp_path):
    with create(tmp_path / "run") as store:
        broken = example_tree()
        broken.turns[1] = replace(broken.turns[1], info={"not json": {1, 2}})
        with pytest.raises(TypeError):
            store.commit_step(1, [example_tree(), broken], None, {}, seconds=0, weight_version=0)
        assert store.last_step() == 0
        assert list(store.trees()) == []
        store.commit_step(1, [example_tree()], None, {}, seconds=0, weight_version=0)
        assert store.last_step() == 1


def test_bad_folders_are_one_sentence(tmp_path):
    with pytest.raises(UserError, match="no run at"):
        RunStore.open(tmp_path)
    create(tmp_path / "run").close()
    with pytest.raises(UserError, match="already holds a run"):
        create(tmp_path / "run")
    (tmp_path / "junk").mkdir()
    (tmp_path / "junk" / FILE).write_bytes(b"this is no database at all" * 100)
    with pytest.raises(UserError, match="not a run's database"):
        RunStore.open(tmp_path / "junk")
    (tmp_path / "file").write_text("")
    with pytest.raises(UserError, match="cannot be made"):
        create(tmp_path / "file" / "run")


def test_another_format_is_refused_and_left_alone(tmp_path):
    create(tmp_path / "run").close()
    path = tmp_path / "run" / FILE
    connection = sqlite3.connect(path)
    connection.execute("PRAGMA user_version = 99")
    connection.commit()
    connection.close()
    with pytest.raises(UserError, match="format 99"):
        RunStore.open(tmp_path / "run")


def test_a_full_disk_is_one_sentence_and_keeps_the_steps_before(tmp_path):
    with create(tmp_path / "run") as store:
        store.commit_step(1, [example_tree()], None, {}, seconds=0, weight_version=0)
        pages = store._db.execute("PRAGMA page_count").fetchone()[0]
        store._db.execute(f"PRAGMA max_page_count = {pages + 2}")
        with pytest.raises(UserError, match="full"):
            store.commit_step(2, [example_tree(i) for i in range(200)], None, {}, seconds=0, weight_version=0)
        assert store.last_step() == 1
        assert len(list(store.trees())) == 1


@pytest.mark.slow
def test_kill_at_any_moment_keeps_every_committed_step_whole(tmp_path):
    script = textwrap.dedent(
        f"""
        import sys; sys.path.insert(0, {str(os.path.dirname(__file__))!r})
        from pathlib import Path
        from test_store import create, example_tree
        store = create(Path({str(tmp_path)!r}) / "run")
        for step in range(1, 100000):
            store.commit_step(step, [example_tree(i) for i in range(8)], None, {{}}, seconds=0, weight_version=0)
            print(step, flush=True)
        """
    )
    for round_ in range(5):
        folder = tmp_path / "run"
        process = subprocess.Popen([sys.executable, "-c", script], stdout=subprocess.PIPE, text=True)
        assert process.stdout is not None
        for _ in range(3 + 7 * round_):
            seen = int(process.stdout.readline())
        process.kill()
        process.wait()
        with RunStore.open(folder) as store:
            last = store.last_step()
            assert last >= seen
            assert store._db.execute("PRAGMA integrity_check").fetchone()[0] == "ok"
            for step in range(1, last + 1):
                assert list(store.trees(step=step)) == [example_tree(i) for i in range(8)]
        for path in folder.iterdir():
            path.unlink()


@given(st.lists(st.integers(-(2**31), 2**31 - 1), max_size=200))
def test_ints_survive_packing(values):
    assert unpack(pack_ints(values)) == values


@given(
    st.lists(st.floats(allow_nan=False), max_size=200)
    | st.lists(st.floats(width=32, allow_nan=False), max_size=200)
)
def test_floats_survive_packing_exactly(values):
    assert unpack(pack_floats(values)) == values


def test_a_run_may_be_opened_while_it_is_made(tmp_path):
    for attempt in range(60):
        folder = tmp_path / str(attempt)
        folder.mkdir()
        barrier = threading.Barrier(4)

        def go(folder=folder, barrier=barrier):
            barrier.wait()
            open_database(folder / FILE, create=True).close()

        with ThreadPoolExecutor(4) as pool:
            for future in [pool.submit(go) for _ in range(4)]:
                future.result()
        with closing(open_database(folder / FILE, create=False)) as connection:
            assert connection.execute("SELECT COUNT(*) FROM steps").fetchone() == (0,)
