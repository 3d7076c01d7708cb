"""Number arrays as blobs: one tag byte, then the packed array, compressed where that pays.

Floats keep their exact value: four bytes where every value is a float32 (log-probabilities from an
engine are), eight otherwise.
"""

from __future__ import annotations

import zlib
from collections.abc import Sequence
from typing import Any

import numpy as np

KINDS: dict[bytes, Any] = {b"i": np.dtype("<i4"), b"f": np.dtype("<f4"), b"d": np.dtype("<f8")}
COMPRESS_FROM = 96  # bytes; below, the header of zlib costs more than it saves


def pack_ints(values: Sequence[int]) -> bytes:
    return _pack(b"i", np.asarray(values, dtype="<i4"))


def pack_floats(values: Sequence[float]) -> bytes:
    wide = np.asarray(values, dtype="<f8")
    with np.errstate(over="ignore"):  # a value too large for float32 shows in the comparison
        narrow = wide.astype("<f4")
    return _pack(b"f", narrow) if np.array_equal(narrow.astype("<f8"), wide) else _pack(b"d", wide)


def unpack(blob: bytes) -> list[Any]:
    """The values of a blob; the inverse of `pack_ints` and `pack_floats`."""
    kind, body = blob[:1], blob[1:]
    if kind.isupper():
        body = zlib.decompress(body)
    return np.frombuffer(body, dtype=KINDS[kind.lower()]).tolist()


def _pack(kind: bytes, array: np.ndarray) -> bytes:
    body = array.tobytes()
    return kind.upper() + zlib.compress(body, 1) if len(body) >= COMPRESS_FROM else kind + body
