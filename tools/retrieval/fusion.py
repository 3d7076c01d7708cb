"""Several engines as one, by reciprocal-rank fusion (Cormack, Clarke and Buettcher, SIGIR 2009).

    score(passage) = sum over engines of 1 / (60 + rank of the passage there), ranks from 1

Only ranks count, so scores of different kinds need no calibration. Passages are told apart by what they are, not by
where they stand: any engines over the same corpus can be fused, also one behind HTTP.
"""

from __future__ import annotations

from collections.abc import Sequence

from agentrl.core.failures import UserError
from agentrl.tools.retrieval.engine import Engine, Hit

CONSTANT = 60
"""k of the paper, which found 60 good and uncritical."""
DEPTH = 100
"""So many hits of each engine are fused; more where more are asked for."""


class HybridEngine:
    """The fusion of engines over the same passages.

    Args:
        engines: in the order that breaks ties; closed with this one.

    Raises:
        UserError: no engine.
    """

    def __init__(self, engines: Sequence[Engine]) -> None:
        if not engines:
            raise UserError("a fusion needs at least one engine")
        self.engines = tuple(engines)

    def search(self, query: str, k: int) -> list[Hit]:
        """The `k` best passages by fused rank, best first."""
        return self.batch([query], k)[0]

    def batch(self, queries: Sequence[str], k: int) -> list[list[Hit]]:
        if k < 1:
            return [[] for _ in queries]
        lists = [engine.batch(queries, max(k, DEPTH)) for engine in self.engines]
        return [fuse([hits[row] for hits in lists], k) for row in range(len(queries))]

    def close(self) -> None:
        for engine in self.engines:
            engine.close()


def fuse(rankings: Sequence[Sequence[Hit]], k: int) -> list[Hit]:
    """The `k` best hits of several rankings; between equal scores, the one that was met first."""
    scores: dict[tuple[str, str, str], float] = {}
    for ranking in rankings:
        keys = dict.fromkeys((hit.doc, hit.title, hit.text) for hit in ranking)
        for rank, key in enumerate(keys, start=1):
            scores[key] = scores.get(key, 0.0) + 1 / (CONSTANT + rank)
    best = sorted(scores.items(), key=lambda item: -item[1])[:k]
    return [Hit(*key, score) for key, score in best]
