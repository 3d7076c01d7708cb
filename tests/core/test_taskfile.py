import pytest

from agentrl.core.failures import UserError
from agentrl.core.taskfile import read_tasks
from agentrl.core.tree import Task


def test_tasks_are_read_in_order(tmp_path):
    path = tmp_path / "tasks.jsonl"
    path.write_text('# chosen by hand\n{"seed": 3}\n\n{"seed": 1, "split": "train", "options": {"a": 1}}\n')
    assert read_tasks(path, "e", kwargs={"k": 2}) == [
        Task("e", 3, "test", {"k": 2}),
        Task("e", 1, "train", {"k": 2}, {"a": 1}),
    ]


@pytest.mark.parametrize(
    ("line", "said"),
    [
        ("{broken", "line 2: not JSON"),
        ("[1]", "line 2: a task is a JSON object"),
        ('{"sed": 1}', "line 2: unknown field 'sed'; did you mean 'seed'"),
        ('{"seed": "1"}', "line 2: seed must be of type int"),
        ('{"seed": true}', "line 2: seed must be of type int"),
        ('{"split": "test"}', "line 2: a task needs a seed"),
    ],
)
def test_a_broken_line_is_named_by_its_number(tmp_path, line, said):
    path = tmp_path / "tasks.jsonl"
    path.write_text(f'{{"seed": 0}}\n{line}\n{{"seed": 2}}\n')
    with pytest.raises(UserError, match=said):
        read_tasks(path, "e")


def test_no_file_and_no_task(tmp_path):
    with pytest.raises(UserError, match="cannot be read"):
        read_tasks(tmp_path / "missing", "e")
    (tmp_path / "empty").write_text("# nothing\n")
    with pytest.raises(UserError, match="holds no task"):
        read_tasks(tmp_path / "empty", "e")
