"""Sampling seeds: a stable function of names and numbers, the same in every process."""

from __future__ import annotations

import hashlib


def derive(*parts: object) -> int:
    """A seed below 2**63 from any parts, by their text."""
    data = "\0".join(map(str, parts)).encode()
    return int.from_bytes(hashlib.blake2b(data, digest_size=8).digest(), "little") >> 1
