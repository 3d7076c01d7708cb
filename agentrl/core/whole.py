"""Files and folders that appear whole or not at all.

Invariant: what has its name is complete: it is written beside its place and moved there. Whatever happens while it is
written, and however many processes write it, nothing half-written is ever read.
"""

from __future__ import annotations

import os
import shutil
import tempfile
from collections.abc import Callable
from pathlib import Path


def write_file(path: Path, data: bytes) -> None:
    """A file, in place of any that was there. Raises: OSError: it cannot be written; the old one stays."""
    path.parent.mkdir(parents=True, exist_ok=True)
    descriptor, unfinished = tempfile.mkstemp(prefix=f".{path.name}-", dir=path.parent)
    try:
        with os.fdopen(descriptor, "wb") as file:
            file.write(data)
        os.replace(unfinished, path)
    except BaseException:
        os.unlink(unfinished)
        raise


def write_folder(folder: Path, write: Callable[[Path], object]) -> None:
    """A new folder, filled by `write`. One that is there already stays: whoever was first wrote the same content.

    Raises:
        OSError: it cannot be written.
    """
    folder.parent.mkdir(parents=True, exist_ok=True)
    unfinished = Path(tempfile.mkdtemp(prefix=f".{folder.name}-", dir=folder.parent))
    try:
        write(unfinished)
        try:
            os.rename(unfinished, folder)
        except OSError:
            if not folder.is_dir():
                raise
    finally:
        shutil.rmtree(unfinished, ignore_errors=True)
