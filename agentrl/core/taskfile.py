"""Tasks in a file: one JSON object a line, `{"seed": 3, "split": "test", "options": {...}}`; only `seed` is needed.

Empty lines and lines that begin with `#` are skipped. A line that is not a task is refused with its number.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from agentrl.core.failures import UserError, nearest
from agentrl.core.tree import Task

FIELDS: dict[str, type] = {"seed": int, "split": str, "options": dict}


def read_tasks(
    path: Path, env: str, *, kwargs: Mapping[str, Any] | None = None, split: str = "test"
) -> list[Task]:
    """The tasks of a file, for one environment.

    Args:
        split: of the lines that do not say.

    Raises:
        UserError: no such file, no task in it, or a broken line, by its number.
    """
    lines = lines_of(path)
    tasks = []
    for number, line in enumerate(lines, start=1):
        if line.strip() and not line.lstrip().startswith("#"):
            data = parse_line(line, f"{path}, line {number}")
            tasks.append(
                Task(env, data["seed"], data.get("split", split), dict(kwargs or {}), data.get("options", {}))
            )
    if not tasks:
        raise UserError(f"the task file {path} holds no task")
    return tasks


def lines_of(path: Path) -> list[str]:
    """Raises: UserError: a file that cannot be read."""
    try:
        return path.read_text(encoding="utf-8").splitlines()
    except (OSError, UnicodeDecodeError) as error:
        raise UserError(f"the task file {path} cannot be read: {error}") from None


def parse_line(line: str, where: str) -> dict[str, Any]:
    """One task as plain data.

    Raises:
        UserError: what is wrong with it, and where.
    """
    try:
        data = json.loads(line)
    except ValueError as error:
        raise UserError(f"{where}: not JSON: {error}") from None
    if not isinstance(data, dict):
        raise UserError(f"{where}: a task is a JSON object, not {line.strip()[:60]}")
    for name, value in data.items():
        if name not in FIELDS:
            close = nearest(name, FIELDS)
            hint = f"; did you mean {close[0]!r}?" if close else ""
            raise UserError(f"{where}: unknown field {name!r}{hint}")
        if not isinstance(value, FIELDS[name]) or isinstance(value, bool):
            raise UserError(f"{where}: {name} must be of type {FIELDS[name].__name__}, got {value!r:.60}")
    if "seed" not in data:
        raise UserError(f"{where}: a task needs a seed")
    return data
