"""Engines by name, and indices that stay on disk.

Invariants: an index on disk belongs to one corpus, one engine and one version of its format (all in its folder's name),
so it is never read for another; it appears whole or not at all, whatever happens while it is written and however
many processes write it.
"""

from __future__ import annotations

import functools
import threading
from collections.abc import Callable, Iterable
from pathlib import Path
from typing import Any

from agentrl.core.failures import UnknownName, UserError
from agentrl.core.whole import write_folder
from agentrl.tools.retrieval.bm25s import Bm25sEngine
from agentrl.tools.retrieval.corpus import fingerprint, read_corpus
from agentrl.tools.retrieval.dense import DenseEngine
from agentrl.tools.retrieval.engine import Engine, Passage
from agentrl.tools.retrieval.fusion import HybridEngine
from agentrl.tools.retrieval.tantivy import TantivyEngine

FORMAT = 1
"""To be raised when an engine writes something else than before."""
SINGLE: dict[str, Any] = {"tantivy": TantivyEngine, "bm25s": Bm25sEngine, "dense": DenseEngine}
HYBRID = ("tantivy", "dense")
ENGINES = (*SINGLE, "hybrid")
LOCK = threading.Lock()


def build_engine(name: str, passages: Iterable[Passage], index_dir: str | Path | None = None) -> Engine:
    """The engine `name` over `passages`.

    Args:
        name: one of `ENGINES`; `hybrid` fuses tantivy and dense.
        index_dir: a folder in which indices are kept; None for memory alone.

    Raises:
        UnknownName: no such engine.
        UserError: no passage, or the folder cannot be written.
        MissingExtra: the engine's packages are not installed.
    """
    passages = tuple(passages)
    if name == "hybrid":
        return HybridEngine([build_engine(part, passages, index_dir) for part in HYBRID])
    if name not in SINGLE:
        raise UnknownName("search engine", name, ENGINES)
    kind = SINGLE[name]
    if index_dir is None or not passages:
        return kind(passages)
    folder = Path(index_dir) / f"{name}-{FORMAT}-{fingerprint(passages)}"
    if not folder.is_dir():
        write_whole(folder, functools.partial(kind.save, passages))
    return kind(passages, folder)


def write_whole(folder: Path, write: Callable[[Path], None]) -> None:
    """Make `folder` and let `write` fill it; it gets its name when it is complete.

    Raises:
        UserError: it cannot be written.
    """
    try:
        write_folder(folder, write)
    except OSError as error:
        raise UserError(f"the index folder {folder.parent} cannot be written: {error}") from None


def engine_of_file(name: str, path: str | Path, index_dir: str | Path | None = None) -> Engine:
    """The engine `name` over the corpus of a file; one per process for the same file, since it never changes.

    Raises:
        UserError: see `build_engine` and `corpus.read_corpus`.
    """
    try:
        found = Path(path).stat()
    except OSError as error:
        raise UserError(f"the corpus {path} cannot be read: {error}") from None
    with LOCK:
        return _of_file(name, str(path), str(index_dir or ""), found.st_mtime_ns, found.st_size)


@functools.lru_cache(maxsize=8)
def _of_file(name: str, path: str, index_dir: str, changed: int, size: int) -> Engine:
    return build_engine(name, passages_of_file(path, changed, size), index_dir or None)


@functools.lru_cache(maxsize=4)
def passages_of_file(path: str, changed: int, size: int) -> tuple[Passage, ...]:
    """`read_corpus`, kept for the engines that are built over one file."""
    return read_corpus(path)
