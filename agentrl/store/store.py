"""`RunStore`: a run's folder. What was committed stays; nothing else does."""

from __future__ import annotations

import asyncio
import datetime
import json
import shutil
import sqlite3
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from pathlib import Path
from types import TracebackType
from typing import Any

from agentrl.core.failures import UserError
from agentrl.core.tree import RolloutTree
from agentrl.store.database import FILE, dumps, explained, open_database, transaction
from agentrl.store.rows import insert_tree, read_tree


class RunStore:
    """The database of one run. Use as a context manager.

    Attributes:
        folder: the run's folder; checkpoints live beside the database.
    """

    def __init__(self, folder: Path, connection: sqlite3.Connection) -> None:
        self.folder, self._db = folder, connection
        self._db.row_factory = sqlite3.Row

    @classmethod
    def create(
        cls, folder: Path, *, name: str, kind: str, recipe: Mapping[str, Any], versions: Mapping[str, str]
    ) -> RunStore:
        """A new run.

        Raises:
            UserError: the folder already holds a run, or cannot be written.
        """
        path = folder / FILE
        if path.exists():
            raise UserError(f"{folder} already holds a run; resume it or choose another folder")
        store = cls(folder, open_database(path, create=True))
        with store._write():
            store._db.execute(
                "INSERT INTO run VALUES (?, ?, ?, ?, 'running', ?, ?, '')",
                (folder.name, name, kind, now(), dumps(recipe), dumps(versions)),
            )
        return store

    @classmethod
    def open(cls, folder: Path) -> RunStore:
        """An existing run.

        Raises:
            UserError: there is none, or it is damaged or of another format.
        """
        return cls(folder, open_database(folder / FILE, create=False))

    # -- the run -----------------------------------------------------------------------------------

    def info(self) -> dict[str, Any]:
        """id, name, kind, created, status, error, recipe, versions."""
        row = self._one("SELECT * FROM run")
        if row is None:
            raise UserError(f"{self.folder} holds no run: it was interrupted while it was being created")
        return {**dict(row), "recipe": json.loads(row["recipe"]), "versions": json.loads(row["versions"])}

    def set_status(self, status: str, error: str = "") -> None:
        """`running`, `interrupted`, `failed` (by `error`) or `done`."""
        with self._write():
            self._db.execute("UPDATE run SET status = ?, error = ?", (status, error))

    @contextmanager
    def watched(self) -> Iterator[None]:
        """What ends the block ends the run: an error makes it `failed`, and is kept as a sentence; whoever cuts it
        short leaves it `interrupted`."""
        try:
            yield
        except BaseException as error:
            cut_short = isinstance(error, KeyboardInterrupt | asyncio.CancelledError)
            with suppress(UserError):  # a full disk: then the error itself is all there is to say
                if cut_short:
                    self.set_status("interrupted")
                else:
                    self.set_status("failed", str(error) or type(error).__name__)
            raise

    # -- steps -------------------------------------------------------------------------------------

    def commit_step(
        self,
        step: int,
        trees: Sequence[RolloutTree],
        advantages: Sequence[Sequence[float]] | None,
        metrics: Mapping[str, Any],
        *,
        seconds: float,
        weight_version: int,
    ) -> None:
        """Write a whole training step in one transaction. `advantages[i][j]` belongs to turn j of tree i."""
        with self._write():
            self._db.execute(
                "INSERT INTO steps VALUES (?, ?, ?, ?)", (step, dumps(metrics), seconds, weight_version)
            )
            for position, tree in enumerate(trees):
                given = None if advantages is None else advantages[position]
                insert_tree(self._db, tree, phase="train", step=step, position=position, advantages=given)

    def last_step(self) -> int:
        """Number of the last committed step; 0 before the first (steps count from 1)."""
        row = self._one("SELECT MAX(step) AS step FROM steps")
        return 0 if row is None or row["step"] is None else row["step"]

    def metrics(self) -> list[dict[str, Any]]:
        """Metrics of every step, in order, with `step` and `seconds`."""
        rows = self._all("SELECT * FROM steps ORDER BY step")
        return [
            {"step": row["step"], "seconds": row["seconds"], **json.loads(row["metrics"])} for row in rows
        ]

    def trees(self, *, phase: str = "train", step: int | None = None) -> Iterator[RolloutTree]:
        """Stored trees of a phase (`train`, or the name of an evaluation), in order."""
        query = "SELECT * FROM trees WHERE phase = ? AND (? IS NULL OR step = ?) ORDER BY step, position"
        for row in self._all(query, (phase, step, step)):
            yield read_tree(self._db, dict(row))

    def numbered_trees(self, phases: Sequence[str]) -> Iterator[tuple[str, int, RolloutTree]]:
        """(phase, step, tree) of the given phases, in order."""
        for phase in phases:
            for row in self._all("SELECT * FROM trees WHERE phase = ? ORDER BY step, position", (phase,)):
                yield phase, row["step"], read_tree(self._db, dict(row))

    def phases(self) -> list[str]:
        return [row["phase"] for row in self._all("SELECT DISTINCT phase FROM trees ORDER BY phase")]

    # -- evaluations -------------------------------------------------------------------------------

    def commit_evaluation(
        self, phase: str, step: int, trees: Sequence[RolloutTree], document: Mapping[str, Any]
    ) -> None:
        """Write an evaluation and its episodes; an evaluation of the same name is replaced."""
        with self._write():
            self._db.execute("DELETE FROM trees WHERE phase = ?", (phase,))
            self._db.execute("DELETE FROM evaluations WHERE phase = ?", (phase,))
            for position, tree in enumerate(trees):
                insert_tree(self._db, tree, phase=phase, step=step, position=position)
            self._db.execute(
                "INSERT INTO evaluations (step, phase, document, created) VALUES (?, ?, ?, ?)",
                (step, phase, dumps(document), now()),
            )

    def evaluation(self, phase: str) -> dict[str, Any] | None:
        row = self._one("SELECT document FROM evaluations WHERE phase = ?", (phase,))
        return None if row is None else json.loads(row["document"])

    # -- plumbing ----------------------------------------------------------------------------------

    def close(self) -> None:
        self._db.close()

    def __enter__(self) -> RunStore:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()

    @contextmanager
    def _write(self) -> Iterator[None]:
        with explained(self.folder / FILE), transaction(self._db):
            yield

    def _one(self, query: str, values: Sequence[Any] = ()) -> sqlite3.Row | None:
        with explained(self.folder / FILE):
            return self._db.execute(query, values).fetchone()

    def _all(self, query: str, values: Sequence[Any] = ()) -> list[sqlite3.Row]:
        with explained(self.folder / FILE):
            return self._db.execute(query, values).fetchall()


@contextmanager
def new_run(folder: Path, **about: Any) -> Iterator[RunStore]:
    """A new run that leaves nothing behind if it fails on bad input before anything was recorded.

    Raises:
        UserError: see `RunStore.create`; what the block raises goes on.
    """
    store = RunStore.create(folder, **about)
    try:
        with store.watched():
            yield store
    except UserError:
        empty = store.last_step() == 0 and not store.phases()
        store.close()
        if empty:
            shutil.rmtree(folder, ignore_errors=True)
        raise
    finally:
        store.close()


def now() -> str:
    """The time in UTC, to the second, ISO 8601."""
    return datetime.datetime.now(datetime.UTC).isoformat(timespec="seconds")
