"""Where open questions and the engine that searches for them come from: files, an address, or what ships.

Invariants: a question is in one split, decided by its text alone, wherever its file does not say; files are read once
per process and shared, since nothing changes them; an engine behind HTTP belongs to the environment that made it.
"""

from __future__ import annotations

import functools
import threading
from collections.abc import Mapping
from pathlib import Path
from typing import TypeAlias

from agentrl.core.failures import UserError
from agentrl.envs.generated import TENTHS, stable
from agentrl.envs.search import atlas
from agentrl.envs.search.datasets import OpenQuestion, corpus_of, read_questions
from agentrl.envs.search.grading import normalise
from agentrl.tools.retrieval.build import ENGINES, build_engine, engine_of_file
from agentrl.tools.retrieval.client import HttpEngine
from agentrl.tools.retrieval.engine import Engine

Bank: TypeAlias = "Mapping[str, tuple[OpenQuestion, ...]]"
Named: TypeAlias = "str | Path | Mapping[str, str | Path]"
LOCK = threading.Lock()
"""So that environments which are made at once build one index, not several."""


def questions_by_split(source: Named) -> Bank:
    """The questions of every split.

    Args:
        source: a file, split by a hash; a file for each split; empty for those that ship.

    Raises:
        UserError: a file that cannot be read, or splits that do not exist.
    """
    if isinstance(source, Mapping):
        if not source or not set(source) <= set(TENTHS):
            raise UserError(
                f"questions by split are a file for some of {', '.join(TENTHS)}, not for {', '.join(source) or 'none'}"
            )
        return {split: questions_of_file(*stamp(path)) for split, path in source.items()}
    return hashed(*stamp(source)) if str(source) else atlas.asked()


def question_of_seed(bank: Bank, split: str, seed: int) -> OpenQuestion:
    """Consecutive seeds walk through all questions of a split.

    Raises:
        UserError: the split has none.
    """
    found = bank.get(split, ())
    if not found:
        raise UserError(
            f"there is no question in split {split!r}: give more, or a file for it (questions={{{split!r}: FILE}})"
        )
    return found[seed % len(found)]


def passage_of_step(question: OpenQuestion, query: str) -> str:
    """What the query of a step ought to find; where no text is known, the question with its answer."""
    title = next((step.title for step in question.steps if step.query == query), None)
    known = (*question.context, *atlas.passages())
    fallback = f"{question.text} {question.answers[0]}"
    return next((passage.text for passage in known if passage.title == title and passage.text), fallback)


def stamp(path: str | Path) -> tuple[str, int, int]:
    """A file and what changes when it is written again.

    Raises:
        UserError: there is no such file.
    """
    try:
        found = Path(path).stat()
    except OSError as error:
        raise UserError(f"the question file {path} cannot be read: {error}") from None
    return str(path), found.st_mtime_ns, found.st_size


@functools.lru_cache(maxsize=16)
def questions_of_file(path: str, changed: int, size: int) -> tuple[OpenQuestion, ...]:
    return read_questions(path)


@functools.lru_cache(maxsize=16)
def hashed(path: str, changed: int, size: int) -> Bank:
    """Eight tenths for training, one each for validation and test, by what the question says."""
    split_of = {tenth: split for split, tenths in TENTHS.items() for tenth in tenths}
    bank: dict[str, list[OpenQuestion]] = {split: [] for split in TENTHS}
    for question in questions_of_file(path, changed, size):
        bank[split_of[stable(normalise(question.text)) % 10]].append(question)
    return {split: tuple(found) for split, found in bank.items()}


def engine_for(
    name: str, corpus: str | Path, questions: Named, index_dir: str | Path, seconds: float
) -> Engine:
    """The engine of an environment.

    Raises:
        UserError: no such engine, no corpus, or a corpus for a server that has its own.
    """
    if name.startswith(("http://", "https://")):
        if str(corpus):
            raise UserError(
                "a search server has a corpus of its own: leave out corpus= or name a local engine"
            )
        return HttpEngine(name, seconds=seconds)
    if name not in ENGINES:
        raise UserError(f"engine must be {', '.join(ENGINES)} or the address of a server, not {name!r:.60}")
    if str(corpus):
        return engine_of_file(name, corpus, index_dir or None)
    with LOCK:
        if not questions:
            return _of_atlas(name, str(index_dir))
        files = questions.values() if isinstance(questions, Mapping) else (questions,)
        return _of_questions(name, tuple(stamp(path) for path in files), str(index_dir))


@functools.lru_cache(maxsize=8)
def _of_atlas(name: str, index_dir: str) -> Engine:
    if name == "tantivy" and not index_dir:
        return atlas.engine()
    return build_engine(name, atlas.passages(), index_dir or None)


@functools.lru_cache(maxsize=8)
def _of_questions(name: str, files: tuple[tuple[str, int, int], ...], index_dir: str) -> Engine:
    found = tuple(question for file in files for question in questions_of_file(*file))
    return build_engine(name, corpus_of(found, ", ".join(path for path, _, _ in files)), index_dir or None)
