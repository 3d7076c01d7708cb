"""Questions in files: HotpotQA's JSON, and the JSONL of NQ and of the collections that copy its form.

    HotpotQA (distractor, fullwiki): [{"question", "answer", "type", "level", "supporting_facts": [[title, n], ...],
                                       "context": [[title, [sentence, ...]], ...]}, ...]
    Search-R1 and FlashRAG: {"id", "question", "golden_answers": [...]}
    NQ-open:                {"question", "answer": ["...", ...]}

Invariant: a record is read or refused with its file, its number and its line.
"""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from agentrl.core.failures import UserError
from agentrl.tools.retrieval.corpus import numbered_lines, records_of
from agentrl.tools.retrieval.engine import Passage


@dataclass(frozen=True, slots=True)
class Step:
    """What is to be found on the way: a passage of this title, and a query that asks for it."""

    title: str
    query: str


@dataclass(frozen=True)
class OpenQuestion:
    """A question with what is accepted.

    Attributes:
        id: stable name.
        text: what is asked.
        answers: accepted forms, the preferred one first.
        steps: titles that support the answer, in the order in which to look for them; empty where unknown.
        kind, level: what the data set says of it, or nothing.
        context: passages that come with the question.
    """

    id: str
    text: str
    answers: tuple[str, ...]
    steps: tuple[Step, ...] = ()
    kind: str = ""
    level: str = ""
    context: tuple[Passage, ...] = ()

    def __deepcopy__(self, memo: Any) -> OpenQuestion:
        return self  # it never changes


def read_questions(path: str | Path) -> tuple[OpenQuestion, ...]:
    """The questions of a file, in its order.

    Raises:
        UserError: the file cannot be read, holds no question, or a record that is none.
    """
    path = Path(path)
    first = next(numbered_lines(path), (0, ""))[1].lstrip()
    records = listed_records(path) if first.startswith("[") else records_of(path)
    questions = tuple(
        question_of(record, where, number) for number, (where, record) in enumerate(records, start=1)
    )
    if not questions:
        raise UserError(f"the question file {path} holds no question")
    return questions


def listed_records(path: Path) -> Iterator[tuple[str, dict[str, Any]]]:
    """The objects of a file that is one JSON list, each with where it stands.

    Raises:
        UserError: not a list of JSON objects.
    """
    text = "".join(whole_lines(path))
    decoder, number, line, counted = json.JSONDecoder(), 0, 1, 0
    at = blank(text, text.index("[") + 1)
    while True:
        line, counted = line + text.count("\n", counted, at), at
        where = f"{path}, record {number + 1} (line {line})"
        if number == 0 and text[at : at + 1] == "]":
            break
        try:
            record, end = decoder.raw_decode(text, at)
        except (ValueError, RecursionError) as error:
            raise UserError(f"{where}: not JSON: {error}") from None
        if not isinstance(record, dict):
            raise UserError(f"{where}: a record is a JSON object, not {text[at : at + 60]!r}")
        yield where, record
        number, at = number + 1, blank(text, end)
        if text[at : at + 1] == "]":
            break
        if text[at : at + 1] != ",":
            raise UserError(f"{where}: after a record comes a comma or the end of the list")
        at = blank(text, at + 1)
    if text[at + 1 :].strip():
        raise UserError(f"{path}: something follows after the end of the list")


def whole_lines(path: Path) -> Iterator[str]:
    """Every line, so that they can be counted; blank ones, which `numbered_lines` leaves out, as they were."""
    last = 0
    for number, line in numbered_lines(path):
        yield "\n" * (number - last - 1) + line
        last = number


def blank(text: str, at: int) -> int:
    """Where the next character stands that is no white space."""
    while at < len(text) and text[at].isspace():
        at += 1
    return at


def question_of(record: Mapping[str, Any], where: str, number: int) -> OpenQuestion:
    """A record of any of the forms.

    Raises:
        UserError: what is wrong with it, and where.
    """
    text = record.get("question")
    if not isinstance(text, str) or not text.strip():
        raise UserError(f"{where}: 'question' must be text, got {text!r:.60}")
    answers = record.get("golden_answers", record.get("answer"))
    answers = [answers] if isinstance(answers, str) else answers
    if (
        not isinstance(answers, list)
        or not answers
        or not all(isinstance(a, str) and a.strip() for a in answers)
    ):
        raise UserError(
            f"{where}: 'answer' or 'golden_answers' must be a text or a list of texts, got {answers!r:.60}"
        )
    meta = record.get("metadata")
    facts = record.get("supporting_facts") or (
        meta.get("supporting_facts") if isinstance(meta, dict) else None
    )
    context = passages_of(record.get("context") or [], where)
    steps = tuple(Step(title, title) for title in titles_of(facts or [], where))
    name = record.get("_id", record.get("id", number))
    kind, level = str(record.get("type", "")), str(record.get("level", ""))
    return OpenQuestion(str(name), text.strip(), tuple(answers), steps, kind, level, context)


def titles_of(facts: Any, where: str) -> tuple[str, ...]:
    """The titles of supporting facts, each once: `[[title, n], ...]`, or `{"title": [...]}` as the Hub's copy has them."""
    pairs = columns(facts, "title") if isinstance(facts, dict) else facts
    if not isinstance(pairs, list) or not all(
        isinstance(pair, list | tuple) and pair and isinstance(pair[0], str) for pair in pairs
    ):
        raise UserError(f"{where}: 'supporting_facts' must be a list of [title, sentence], got {facts!r:.60}")
    return tuple(dict.fromkeys(pair[0] for pair in pairs))


def passages_of(context: Any, where: str) -> tuple[Passage, ...]:
    """The passages that come with a question: `[[title, [sentence, ...]], ...]`, or the Hub's two lists."""
    pairs = columns(context, "title", "sentences") if isinstance(context, dict) else context
    if not isinstance(pairs, list) or not all(
        isinstance(pair, list | tuple)
        and len(pair) == 2
        and isinstance(pair[0], str)
        and isinstance(pair[1], list)
        and all(isinstance(sentence, str) for sentence in pair[1])
        for pair in pairs
    ):
        raise UserError(f"{where}: 'context' must be a list of [title, [sentence, ...]], got {context!r:.60}")
    return tuple(Passage(title, title, "".join(sentences).strip()) for title, sentences in pairs)


def columns(table: Mapping[str, Any], *names: str) -> list[tuple[Any, ...]] | None:
    """Columns as rows; None where one is missing or they differ in length."""
    found = [table.get(name) for name in names]
    lists = [column for column in found if isinstance(column, list)]
    if len(lists) < len(found) or len(set(map(len, lists))) > 1:
        return None
    return list(zip(*lists, strict=True))


def corpus_of(questions: tuple[OpenQuestion, ...], where: str) -> tuple[Passage, ...]:
    """All passages that come with the questions, each once: a small corpus of its own.

    Raises:
        UserError: none comes with them.
    """
    found = tuple(dict.fromkeys(passage for question in questions for passage in question.context))
    if not found:
        raise UserError(
            f"the questions of {where} bring no passages with them: name a corpus=FILE to search in"
        )
    return found
