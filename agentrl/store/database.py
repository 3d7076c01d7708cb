"""One SQLite file per run (WAL): a step is one transaction, so a kill loses at most the step in flight.

Tables: `run` (one row), `steps`, `trees`, `turns`, `evaluations`. Token arrays are blobs
(`agentrl.store.blobs`), messages and metrics JSON text, so that SQL can ask about them.
"""

from __future__ import annotations

import json
import sqlite3
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from agentrl.core.failures import UserError

FORMAT = 2
FILE = "run.sqlite"

SCHEMA = """
CREATE TABLE run (
    id TEXT PRIMARY KEY, name TEXT NOT NULL, kind TEXT NOT NULL, created TEXT NOT NULL, status TEXT NOT NULL,
    recipe TEXT NOT NULL, versions TEXT NOT NULL, error TEXT NOT NULL
);
CREATE TABLE steps (step INTEGER PRIMARY KEY, metrics TEXT NOT NULL, seconds REAL NOT NULL, weight_version INTEGER NOT NULL);
CREATE TABLE trees (
    id INTEGER PRIMARY KEY, phase TEXT NOT NULL, step INTEGER NOT NULL, position INTEGER NOT NULL,
    env TEXT NOT NULL, seed INTEGER NOT NULL, split TEXT NOT NULL, task TEXT NOT NULL,
    requested INTEGER NOT NULL, failures TEXT NOT NULL,
    UNIQUE (phase, step, position)
);
CREATE TABLE turns (
    tree INTEGER NOT NULL REFERENCES trees (id) ON DELETE CASCADE, node INTEGER NOT NULL, parent INTEGER,
    observation TEXT NOT NULL, action TEXT NOT NULL, final TEXT NOT NULL,
    context_ids BLOB NOT NULL, completion_ids BLOB NOT NULL, logprobs BLOB NOT NULL, advantage REAL,
    weight_version INTEGER NOT NULL, handoff TEXT NOT NULL, finish_reason TEXT NOT NULL,
    reward REAL NOT NULL, reward_parts TEXT NOT NULL, terminated INTEGER NOT NULL, truncated INTEGER NOT NULL,
    state_key TEXT, success INTEGER, tool_errors TEXT NOT NULL, info TEXT NOT NULL,
    generate_seconds REAL NOT NULL, step_seconds REAL NOT NULL, cached_tokens INTEGER NOT NULL,
    PRIMARY KEY (tree, node)
) WITHOUT ROWID;
CREATE TABLE evaluations (
    id INTEGER PRIMARY KEY, step INTEGER NOT NULL, phase TEXT NOT NULL UNIQUE, document TEXT NOT NULL, created TEXT NOT NULL
);
"""


@contextmanager
def explained(path: Path) -> Iterator[None]:
    """Say in one sentence what is wrong with a run's file: a full disk, a read-only folder, a broken file."""
    try:
        yield
    except sqlite3.DatabaseError as error:
        reason = str(error)
        if "full" in reason or "disk I/O" in reason:
            raise UserError(f"the disk of {path} is full; everything up to the last step is saved") from error
        if "readonly" in reason or "unable to open" in reason:
            raise UserError(f"{path} cannot be written: {reason}") from error
        if "not a database" in reason or "malformed" in reason:
            raise UserError(f"{path} is not a run's database, or it is damaged: {reason}") from error
        if "locked" in reason:
            raise UserError(f"{path} is being written by another process") from error
        raise


def open_database(path: Path, *, create: bool) -> sqlite3.Connection:
    """Open (or create) a run's database.

    Raises:
        UserError: no such run, another format, a damaged file, a folder that cannot be written.
    """
    if not create and not path.is_file():
        raise UserError(f"no run at {path.parent} (there is no {FILE} in it)")
    with explained(path):
        if create:
            try:
                path.parent.mkdir(parents=True, exist_ok=True)
            except OSError as error:
                raise UserError(f"the run folder {path.parent} cannot be made: {error.strerror}") from error
        connection = sqlite3.connect(path, timeout=10.0, isolation_level=None, check_same_thread=False)
        try:
            prepare(connection, path)
        except BaseException:
            connection.close()
            raise
        return connection


def prepare(connection: sqlite3.Connection, path: Path) -> None:
    connection.execute("PRAGMA foreign_keys = ON")
    if not connection.execute("SELECT 1 FROM sqlite_master").fetchone():
        write_ahead(connection)
        with transaction(connection):
            # Whoever opens a run that is just being made may be here at the same moment.
            if not connection.execute("SELECT 1 FROM sqlite_master").fetchone():
                for statement in (*SCHEMA.strip().split(";")[:-1], f"PRAGMA user_version = {FORMAT}"):
                    connection.execute(statement)
    version = connection.execute("PRAGMA user_version").fetchone()[0]
    if version != FORMAT:
        raise UserError(f"{path} was written in format {version}; this version reads format {FORMAT}")
    # In WAL mode NORMAL survives the death of the process at any moment; only a power cut can lose a step.
    connection.execute("PRAGMA synchronous = NORMAL")


def write_ahead(connection: sqlite3.Connection, seconds: float = 10.0) -> None:
    """Switch to write-ahead logging. Unlike elsewhere, SQLite itself does not wait here for others that do the same."""
    end = time.monotonic() + seconds
    while True:
        try:
            connection.execute("PRAGMA journal_mode = WAL")
            return
        except sqlite3.OperationalError as error:
            if "locked" not in str(error) or time.monotonic() > end:
                raise
            time.sleep(0.005)


@contextmanager
def transaction(connection: sqlite3.Connection) -> Iterator[None]:
    """All or nothing."""
    connection.execute("BEGIN IMMEDIATE")
    try:
        yield
    except BaseException:
        if connection.in_transaction:
            connection.execute("ROLLBACK")
        raise
    connection.execute("COMMIT")


def dumps(value: object) -> str:
    return json.dumps(value, ensure_ascii=False, separators=(",", ":"), allow_nan=True)
