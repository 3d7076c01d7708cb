"""Corpora in files: one JSON object a line, plain or gzipped.

    {"id": "0", "contents": "\\"Title\\"\\ntext ..."}     the Wikipedia dump of Search-R1 (arXiv:2503.09516)
    {"id": "0", "title": "Title", "text": "text ..."}    DPR, BEIR and most others; `id` and `title` may be missing

Invariant: a record is read or refused with its file and line; nothing is skipped but empty lines.
"""

from __future__ import annotations

import gzip
import hashlib
import json
import zlib
from collections.abc import Iterable, Iterator, Mapping
from pathlib import Path
from typing import Any

from agentrl.core.failures import UserError
from agentrl.tools.retrieval.engine import Passage


def read_corpus(path: str | Path) -> tuple[Passage, ...]:
    """The passages of a file, in its order.

    Raises:
        UserError: the file cannot be read, holds no passage, or a line that is none (by its number).
    """
    passages = tuple(passage_of(record, where) for where, record in records_of(path))
    if not passages:
        raise UserError(f"the corpus {path} is empty: it needs at least one passage")
    return passages


def records_of(path: str | Path) -> Iterator[tuple[str, dict[str, Any]]]:
    """The JSON objects of a JSONL file, each with where it stands.

    Raises:
        UserError: the file cannot be read, or a line is not a JSON object.
    """
    for number, line in numbered_lines(Path(path)):
        where = f"{path}, line {number}"
        try:
            record = json.loads(line)
        except (ValueError, RecursionError) as error:
            raise UserError(f"{where}: not JSON: {error}") from None
        if not isinstance(record, dict):
            raise UserError(f"{where}: a record is a JSON object, not {line.strip()[:60]}")
        yield where, record


def numbered_lines(path: Path) -> Iterator[tuple[int, str]]:
    """The lines of a text file that are not blank, numbered from 1; gzip is known by its first bytes.

    Raises:
        UserError: the file cannot be read.
    """
    try:
        with path.open("rb") as raw:
            packed = raw.read(2) == b"\x1f\x8b"
        with (
            gzip.open(path, "rt", encoding="utf-8-sig")
            if packed
            else path.open(encoding="utf-8-sig") as lines
        ):
            for number, line in enumerate(lines, start=1):
                if line.strip():
                    yield number, line
    except (OSError, EOFError, UnicodeDecodeError, zlib.error) as error:
        raise UserError(f"{path} cannot be read: {error}") from None


def passage_of(record: Mapping[str, Any], where: str) -> Passage:
    """A record as a passage.

    Raises:
        UserError: neither `contents` nor `text`, or a field that is no text.
    """
    for name in ("contents", "title", "text"):
        if not isinstance(record.get(name, ""), str):
            raise UserError(f"{where}: {name} must be text, got {record[name]!r:.60}")
    doc = record.get("id", record.get("_id", ""))
    if isinstance(doc, bool) or not isinstance(doc, str | int):
        raise UserError(f"{where}: id must be text or a whole number, got {doc!r:.60}")
    if "text" in record:
        title, text = record.get("title", ""), record["text"]
    elif "contents" in record:
        title, text = title_and_text(record["contents"])
    else:
        raise UserError(f"{where}: a passage has 'contents', or 'text' and 'title'; this one has neither")
    if not title.strip() and not text.strip():
        raise UserError(f"{where}: the passage is blank")
    return Passage(str(doc) if doc != "" else where.rpartition(" ")[2], title, text)


def title_and_text(contents: str) -> tuple[str, str]:
    """The two parts of Search-R1's `contents`: a first line, mostly in quotes, is the title."""
    title, line, text = contents.partition("\n")
    if not line:
        return "", contents
    return title.strip().strip('"'), text


def contents_of(title: str, text: str) -> str:
    """Title and text as Search-R1's `contents`."""
    return f'"{title}"\n{text}'


def fingerprint(passages: Iterable[Passage]) -> str:
    """Equal for equal passages in equal order, and for no others: 32 hexadecimal digits."""
    total = hashlib.blake2b(digest_size=16)
    for passage in passages:
        for part in (passage.doc, passage.title, passage.text):
            data = part.encode("utf-8", "surrogatepass")
            total.update(len(data).to_bytes(8, "big"))
            total.update(data)
    return total.hexdigest()
