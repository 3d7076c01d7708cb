"""Question files: the formats, and what is said of a broken record."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from agentrl.core.failures import UserError
from agentrl.envs.search.datasets import Step, corpus_of, read_questions
from agentrl.tools.retrieval.engine import Passage

HOTPOT = {
    "_id": "5a8b57f2",
    "question": "Who wrote it? ",
    "answer": "Ann",
    "type": "bridge",
    "level": "medium",
    "supporting_facts": [["It", 0], ["Ann", 1], ["It", 2]],
    "context": [["It", ["It is a book.", " Ann wrote it."]], ["Ann", ["Ann writes."]]],
}


def written(path: Path, text: str) -> Path:
    path.write_text(text, encoding="utf-8")
    return path


def test_hotpot(tmp_path: Path) -> None:
    (one,) = read_questions(written(tmp_path / "h.json", json.dumps([HOTPOT], indent=1)))
    assert (one.id, one.text, one.answers, one.kind, one.level) == (
        "5a8b57f2",
        "Who wrote it?",
        ("Ann",),
        "bridge",
        "medium",
    )
    assert one.steps == (Step("It", "It"), Step("Ann", "Ann"))
    assert one.context == (
        Passage("It", "It", "It is a book. Ann wrote it."),
        Passage("Ann", "Ann", "Ann writes."),
    )
    # A line each, and the columns in which data sets are kept on hubs, mean the same.
    columns = {
        "supporting_facts": {"title": ["It", "Ann", "It"], "sent_id": [0, 1, 2]},
        "context": {
            "title": ["It", "Ann"],
            "sentences": [["It is a book.", " Ann wrote it."], ["Ann writes."]],
        },
    }
    lines = f"{json.dumps(HOTPOT)}\n\n{json.dumps({**HOTPOT, **columns})}\n"
    assert read_questions(written(tmp_path / "h.jsonl", lines)) == (one, one)
    assert corpus_of((one, one), "h") == one.context


def test_nq_and_its_kin(tmp_path: Path) -> None:
    lines = [
        {"id": "test_0", "question": "who?", "golden_answers": ["Ann", "Ann B"]},
        {"question": "what?", "answer": ["x", "y"]},
        {
            "id": "train_9",
            "question": "where?",
            "golden_answers": ["z"],
            "metadata": {"type": "bridge", "supporting_facts": {"title": ["Z"], "sent_id": [0]}},
        },
    ]
    text = "\n".join(map(json.dumps, lines))
    nq, nq_open, flash = read_questions(written(tmp_path / "q.jsonl", text))
    assert (nq.id, nq.answers, nq.steps) == ("test_0", ("Ann", "Ann B"), ())
    assert (nq_open.id, nq_open.answers) == ("2", ("x", "y"))
    assert flash.steps == (Step("Z", "Z"),)
    with pytest.raises(UserError, match="bring no passages"):
        corpus_of((nq,), "q.jsonl")


@pytest.mark.parametrize(
    ("text", "said"),
    [
        (
            '[\n{"question": "a?", "answer": "b"},\n\n{"question": 3}]',
            "record 2 (line 4): 'question' must be text",
        ),
        ('[\n{"question": "a?", "answer": "b"},\n{"question": ]', "record 2 (line 3): not JSON"),
        ('[{"question": "a?", "answer": "b"}\n{}]', "record 1 (line 1): after a record comes a comma"),
        ('[{"question": "a?", "answer": "b"},\n]', "record 2 (line 2): not JSON"),
        ('[{"question": "a?", "answer": "b"}', "record 1 (line 1): after a record comes a comma"),
        ('[{"question": "a?", "answer": "b"}] x', "something follows"),
        ("[3]", "record 1 (line 1): a record is a JSON object"),
        ("[]", "holds no question"),
        ("\n", "holds no question"),
        ('\n{"question": "a?", "answer": "b"}\n{"question": " "}', "line 3: 'question' must be text"),
        ('{"question": "a?"}', "line 1: 'answer' or 'golden_answers'"),
        ('{"question": "a?", "answer": []}', "line 1: 'answer' or 'golden_answers'"),
        ('{"question": "a?", "answer": [" "]}', "line 1: 'answer' or 'golden_answers'"),
        ('{"question": "a?", "answer": [1]}', "line 1: 'answer' or 'golden_answers'"),
        ('{"question": "a?", "answer": "b", "supporting_facts": [3]}', "line 1: 'supporting_facts'"),
        ('{"question": "a?", "answer": "b", "supporting_facts": {"title": 3}}', "line 1: 'supporting_facts'"),
        ('{"question": "a?", "answer": "b", "context": [["t"]]}', "line 1: 'context'"),
        ('{"question": "a?", "answer": "b", "context": [["t", "s"]]}', "line 1: 'context'"),
        ('{"question": "a?", "answer": "b", "context": {"title": 3}}', "line 1: 'context'"),
        ('{"question": "a?", "answer": "b", "context": "text"}', "line 1: 'context'"),
    ],
)
def test_a_broken_record_is_named(tmp_path: Path, text: str, said: str) -> None:
    path = written(tmp_path / "q.json", text)
    with pytest.raises(UserError) as caught:
        read_questions(path)
    assert said in str(caught.value)
    assert str(path) in str(caught.value)
