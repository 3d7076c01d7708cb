import json

import pytest
from test_store import example_tree

from agentrl.core.failures import UserError
from agentrl.core.messages import from_dicts
from agentrl.store.export import episode_rows, write_rows


def rows():
    return list(episode_rows([("train", 3, example_tree(1)), ("train", 3, example_tree(2))]))


def test_jsonl_holds_the_conversation(tmp_path):
    assert write_rows(rows(), tmp_path / "out.jsonl") == 2
    first = json.loads((tmp_path / "out.jsonl").read_text().splitlines()[0])
    assert first["reward"] == 0.5
    assert first["success"] is False
    assert first["step"] == 3
    assert from_dicts(first["messages"]) == example_tree(1).episodes()[0].messages()


def test_parquet_holds_the_same_rows(tmp_path):
    parquet = pytest.importorskip("pyarrow.parquet")
    write_rows(rows(), tmp_path / "out.parquet")
    table = parquet.read_table(tmp_path / "out.parquet").to_pylist()
    assert [row["seed"] for row in table] == [1, 2]
    assert table[0]["messages"][1]["tool_calls"][0]["function"]["name"] == "search"


def test_filters_and_bad_output(tmp_path):
    assert list(episode_rows([("train", 1, example_tree())], success_only=True)) == []
    with pytest.raises(UserError, match=r"\.jsonl"):
        write_rows(rows(), tmp_path / "out.csv")
    with pytest.raises(UserError, match="cannot be written"):
        write_rows(rows(), tmp_path / "nowhere" / "out.jsonl")


def test_a_failed_export_leaves_the_old_file(tmp_path):
    target = tmp_path / "out.jsonl"
    target.write_text("old")

    def broken():
        yield rows()[0]
        raise OSError(28, "No space left on device")

    with pytest.raises(UserError, match="No space left"):
        write_rows(broken(), target)
    assert target.read_text() == "old"
    assert [path.name for path in tmp_path.iterdir()] == ["out.jsonl"]
