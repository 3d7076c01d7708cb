"""Corpora in files: the formats, and what is said of a broken line."""

from __future__ import annotations

import gzip
import json
from pathlib import Path

import pytest

from agentrl.core.failures import UserError
from agentrl.tools.retrieval.build import engine_of_file
from agentrl.tools.retrieval.corpus import contents_of, fingerprint, read_corpus, title_and_text
from agentrl.tools.retrieval.engine import Passage

LINES = [
    '{"id": "0", "contents": "\\"Mali\\"\\nThe capital is Bamako.\\nIt is dry."}',
    "",
    '{"id": 7, "title": "Peru", "text": "Lima\\u2028", "more": 1}',
    '{"contents": "no title here"}',
    '{"_id": "b", "text": "BEIR"}',
]
READ = (
    Passage("0", "Mali", "The capital is Bamako.\nIt is dry."),
    Passage("7", "Peru", "Lima\u2028"),
    Passage("4", "", "no title here"),
    Passage("b", "", "BEIR"),
)


def written(path: Path, *lines: str) -> Path:
    path.write_text("\n".join(lines), encoding="utf-8")
    return path


def test_plain_and_packed_files_are_read(tmp_path: Path) -> None:
    assert read_corpus(written(tmp_path / "a.jsonl", *LINES)) == READ
    (tmp_path / "a.jsonl.gz").write_bytes(gzip.compress("\n".join(LINES).encode()))
    assert read_corpus(tmp_path / "a.jsonl.gz") == READ
    (tmp_path / "marked.jsonl").write_bytes(b"\xef\xbb\xbf" + LINES[0].encode())
    assert read_corpus(tmp_path / "marked.jsonl") == READ[:1]


@pytest.mark.parametrize(
    ("line", "said"),
    [
        ("{", "not JSON"),
        ("[1]", "a JSON object"),
        ("[" * 100_000, "not JSON"),
        ('{"id": 1}', "'contents', or 'text'"),
        ('{"contents": 3}', "contents must be text"),
        ('{"title": ["x"], "text": "y"}', "title must be text"),
        ('{"id": 1.5, "text": "y"}', "id must be text or a whole number"),
        ('{"id": true, "text": "y"}', "id must be text or a whole number"),
        ('{"id": null, "text": "y"}', "id must be text or a whole number"),
        ('{"id": 1, "text": " "}', "blank"),
    ],
)
def test_a_broken_line_is_named(tmp_path: Path, line: str, said: str) -> None:
    path = written(tmp_path / "a.jsonl", LINES[0], "", line)
    with pytest.raises(UserError, match=said) as caught:
        read_corpus(path)
    assert f"{path}, line 3: " in str(caught.value)


def test_files_that_cannot_be_read(tmp_path: Path) -> None:
    with pytest.raises(UserError, match="cannot be read"):
        read_corpus(tmp_path / "nothing.jsonl")
    with pytest.raises(UserError, match="is empty"):
        read_corpus(written(tmp_path / "blank.jsonl", "", " "))
    (tmp_path / "cut.gz").write_bytes(gzip.compress(LINES[0].encode() * 100)[:-20])
    with pytest.raises(UserError, match="cannot be read"):
        read_corpus(tmp_path / "cut.gz")
    (tmp_path / "latin").write_bytes(b'{"text": "caf\xe9"}')
    with pytest.raises(UserError, match="cannot be read"):
        read_corpus(tmp_path / "latin")
    with pytest.raises(UserError, match="cannot be read"):
        engine_of_file("tantivy", tmp_path / "nothing.jsonl")


def test_contents_and_back() -> None:
    for title, text in (("Mali", "dry"), ("", "x"), ("A b", "two\nlines")):
        assert title_and_text(contents_of(title, text)) == (title, text)
    assert title_and_text("one line") == ("", "one line")


def test_a_file_is_indexed_once_until_it_changes(tmp_path: Path) -> None:
    path = written(tmp_path / "a.jsonl", LINES[0])
    first = engine_of_file("tantivy", path)
    assert engine_of_file("tantivy", path) is first
    written(path, LINES[0], json.dumps({"text": "zebra"}))
    assert [hit.text for hit in engine_of_file("tantivy", path).search("zebra", 3)] == ["zebra"]


def test_a_fingerprint_tells_any_two_corpora_apart() -> None:
    corpora = [
        (Passage("a", "b", "c"),),
        (Passage("a", "b", "d"),),
        (Passage("ab", "", "c"),),
        (Passage("a", "bc", ""),),
        (Passage("a", "b", "c"), Passage("a", "b", "c")),
        (Passage("a", "b", "\ud800"),),
        (),
    ]
    assert len({fingerprint(corpus) for corpus in corpora}) == len(corpora)
    assert fingerprint(list(corpora[0])) == fingerprint(corpora[0])
