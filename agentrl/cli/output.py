"""What commands print: one JSON document on stdout with `--json`, tables for people otherwise; all else to stderr."""

from __future__ import annotations

import json
import math
from collections.abc import Iterable, Mapping, Sequence
from typing import Annotated, Any

import typer
from rich.console import Console
from rich.table import Table

Json = Annotated[
    bool, typer.Option("--json", help="Print one JSON document on stdout; everything else goes to stderr.")
]

out = Console()
err = Console(stderr=True)


def emit(document: Any) -> None:
    """Print a JSON document; numbers that JSON has no word for become null."""
    print(json.dumps(finite(document), ensure_ascii=False, indent=1), flush=True)


def finite(value: Any) -> Any:
    if isinstance(value, float):
        return value if math.isfinite(value) else None
    if isinstance(value, Mapping):
        return {str(key): finite(item) for key, item in value.items()}
    if isinstance(value, list | tuple):
        return [finite(item) for item in value]
    return value


def table(title: str, columns: Sequence[str], rows: Iterable[Sequence[Any]]) -> None:
    """Print a table for people."""
    grid = Table(title=title or None, title_justify="left", header_style="bold", box=None, pad_edge=False)
    for column in columns:
        grid.add_column(column, overflow="fold")
    for row in rows:
        grid.add_row(*(cell(item) for item in row))
    out.print(grid)


def cell(item: Any) -> str:
    from rich.markup import escape

    if isinstance(item, bool):
        return "yes" if item else "no"
    if isinstance(item, float):
        return f"{item:.4g}"
    return escape(str(item))


def percent(value: float) -> str:
    return f"{100 * value:.1f}%"
