"""Episodes as datasets: the Hub's conversational format, in JSONL or Parquet. Written whole or not at all."""

from __future__ import annotations

import json
import os
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import Any

from agentrl.core.failures import MissingExtra, UserError
from agentrl.core.messages import to_dicts
from agentrl.core.tree import Episode, RolloutTree

FORMATS = (".jsonl", ".parquet")


def episode_row(episode: Episode, *, phase: str, step: int) -> dict[str, Any]:
    """One row: `messages` as chat templates and SFT trainers read them, and what is known of the episode."""
    task = episode.tree.task
    return {
        "messages": to_dicts(episode.messages()),
        "env": task.env,
        "seed": task.seed,
        "split": task.split,
        "phase": phase,
        "step": step,
        "reward": episode.total_reward,
        "success": episode.success,
        "turns": len(episode.turns),
        "terminated": episode.leaf.terminated,
        "truncated": episode.leaf.truncated,
        "tool_errors": sum(len(turn.tool_errors) for turn in episode.turns),
        "completion_tokens": episode.completion_tokens,
        "weight_version": episode.leaf.weight_version,
    }


def episode_rows(
    trees: Iterable[tuple[str, int, RolloutTree]], *, success_only: bool = False
) -> Iterator[dict[str, Any]]:
    """Rows of all finished episodes of `(phase, step, tree)`; an infrastructure failure left none in the tree."""
    for phase, step, tree in trees:
        for episode in tree.episodes():
            if episode.success or not success_only:
                yield episode_row(episode, phase=phase, step=step)


def write_rows(rows: Iterable[dict[str, Any]], path: Path) -> int:
    """Write rows to `path` by its suffix; returns how many.

    Raises:
        UserError: an unknown suffix, a folder that cannot be written, a full disk: no file is left then.
        MissingExtra: Parquet without pyarrow.
    """
    if path.suffix not in FORMATS:
        raise UserError(f"{path} must end in one of {', '.join(FORMATS)}")
    if path.suffix == ".parquet":
        parquet_writer()
    partial = path.with_name(path.name + ".partial")
    try:
        count = write_jsonl(rows, partial) if path.suffix == ".jsonl" else write_parquet(list(rows), partial)
        os.replace(partial, path)
    except OSError as error:
        raise UserError(f"{path} cannot be written: {error.strerror}") from error
    finally:
        partial.unlink(missing_ok=True)
    return count


def write_jsonl(rows: Iterable[dict[str, Any]], path: Path) -> int:
    count = 0
    with path.open("w", encoding="utf-8") as file:
        for row in rows:
            file.write(json.dumps(row, ensure_ascii=False) + "\n")
            count += 1
        file.flush()
        os.fsync(file.fileno())
    return count


def write_parquet(rows: list[dict[str, Any]], path: Path) -> int:
    pyarrow, parquet = parquet_writer()
    call = pyarrow.struct(
        [
            ("id", pyarrow.string()),
            ("type", pyarrow.string()),
            ("function", pyarrow.struct([("name", pyarrow.string()), ("arguments", pyarrow.string())])),
        ]
    )
    message = pyarrow.struct(
        [
            ("role", pyarrow.string()),
            ("content", pyarrow.string()),
            ("tool_calls", pyarrow.list_(call)),
            ("tool_call_id", pyarrow.string()),
            ("name", pyarrow.string()),
            ("reasoning_content", pyarrow.string()),
        ]
    )
    kinds = {str: pyarrow.string(), int: pyarrow.int64(), float: pyarrow.float64(), bool: pyarrow.bool_()}
    columns = list(COLUMNS.items())
    schema = pyarrow.schema(
        [("messages", pyarrow.list_(message)), *((name, kinds[kind]) for name, kind in columns)]
    )
    parquet.write_table(pyarrow.Table.from_pylist(rows, schema=schema), path)
    return len(rows)


COLUMNS: dict[str, type] = {
    "env": str,
    "seed": int,
    "split": str,
    "phase": str,
    "step": int,
    "reward": float,
    "success": bool,
    "turns": int,
    "terminated": bool,
    "truncated": bool,
    "tool_errors": int,
    "completion_tokens": int,
    "weight_version": int,
}
"""Columns beside `messages`, in order; fixed, so that an empty file has the same schema."""


def parquet_writer() -> tuple[Any, Any]:
    try:
        import pyarrow
        import pyarrow.parquet
    except ModuleNotFoundError as error:
        raise MissingExtra("parquet", "Parquet output") from error
    return pyarrow, pyarrow.parquet
