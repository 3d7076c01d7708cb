"""A search engine behind HTTP: any server that speaks Search-R1's `/retrieve`, ours or another.

Invariant: a search comes back about within its deadline (every wait is limited by what was left of it when the try began):
with hits, or as an `InfrastructureFailure` that names the address. Nothing that a server says is the policy's fault.
"""

from __future__ import annotations

import json
import time
from collections.abc import Mapping, Sequence
from typing import Any

import httpx

from agentrl.core.failures import DeadlineExceeded, InfrastructureFailure, UserError
from agentrl.tools.retrieval.corpus import title_and_text
from agentrl.tools.retrieval.engine import Hit

AGAIN = frozenset({429, 500, 502, 503, 504})
"""Answers after which another try may help."""
PAUSE = 0.2
"""Seconds before the second try; doubled before every further one."""
CONNECT_SECONDS = 5.0
MAX_BYTES = 256_000_000


class HttpEngine:
    """A remote engine.

    Args:
        address: `http://host:port`, with or without `/retrieve`.
        seconds: deadline of a search, all tries and pauses together.
        tries: how often a server that cannot be reached or is overloaded is asked.

    Raises:
        UserError: an address that is none.
    """

    def __init__(self, address: str, *, seconds: float = 30.0, tries: int = 3) -> None:
        try:
            url = httpx.URL(address)
        except httpx.InvalidURL as error:
            raise UserError(f"{address!r} is not an address of a search server: {error}") from None
        if url.scheme not in ("http", "https") or not url.host:
            raise UserError(
                f"the address of a search server is like http://127.0.0.1:8000, not {address!r:.80}"
            )
        if seconds <= 0 or tries < 1:
            raise UserError(f"a search needs seconds above 0 and at least 1 try, got {seconds} and {tries}")
        path = url.path.rstrip("/")
        self.url = str(url.copy_with(path=path if path.endswith("/retrieve") else f"{path}/retrieve"))
        self.seconds, self.tries = seconds, tries
        self._client = httpx.Client(trust_env=False)

    def search(self, query: str, k: int) -> list[Hit]:
        """The `k` best passages, best first.

        Raises:
            InfrastructureFailure: no answer, or one that is not understood.
        """
        return self.batch([query], k)[0]

    def batch(self, queries: Sequence[str], k: int) -> list[list[Hit]]:
        """The hits of each query, in one request; see `search`."""
        if k < 1 or not queries:
            return [[] for _ in queries]
        # Lone surrogates, which a policy's JSON can carry, have no place in UTF-8.
        sent = [query.encode("utf-8", "replace").decode("utf-8") for query in queries]
        answer = self._ask({"queries": sent, "topk": k, "return_scores": True})
        try:
            hits = [[hit_of(item) for item in found][:k] for found in answer["result"]]
        except (AttributeError, KeyError, TypeError, ValueError) as error:
            raise self._failure(
                f"an answer that is not understood ({type(error).__name__}: {error})"
            ) from None
        if len(hits) != len(queries):
            raise self._failure(f"{len(hits)} results for {len(queries)} queries")
        return hits

    def close(self) -> None:
        self._client.close()

    def _ask(self, request: Mapping[str, Any]) -> Any:
        end = time.monotonic() + self.seconds
        problem = ""
        for number in range(self.tries):
            if number:
                time.sleep(max(0.0, min(PAUSE * 2 ** (number - 1), end - time.monotonic())))
            try:
                status, body = self._post(request, end)
            except (httpx.ConnectError, httpx.ConnectTimeout) as error:
                problem = f"the search server cannot be reached ({error or type(error).__name__})"
                continue
            except httpx.TimeoutException:
                raise DeadlineExceeded("tool", self.url, self.seconds) from None
            except (httpx.HTTPError, RuntimeError) as error:
                problem = f"the search server broke off ({type(error).__name__}: {error})"
                continue
            if status == 200:
                try:
                    return json.loads(body)
                except (ValueError, RecursionError):
                    raise self._failure("the answer is not JSON") from None
            problem = f"the search server answered {status}: {body[:200].decode('utf-8', 'replace')}"
            if status not in AGAIN:
                break
        raise self._failure(problem)

    def _post(self, request: Mapping[str, Any], end: float) -> tuple[int, bytes]:
        """Status and body of one try, read as it comes, so that a server which trickles is noticed."""
        left = end - time.monotonic()
        if left <= 0:
            raise DeadlineExceeded("tool", self.url, self.seconds)
        timeout = httpx.Timeout(left, connect=min(left, CONNECT_SECONDS))
        body = bytearray()
        with self._client.stream("POST", self.url, json=request, timeout=timeout) as response:
            for part in response.iter_bytes():
                body += part
                if time.monotonic() > end:
                    raise DeadlineExceeded("tool", self.url, self.seconds)
                if len(body) > MAX_BYTES:
                    raise self._failure(f"the answer has more than {MAX_BYTES} bytes")
        return response.status_code, bytes(body)

    def _failure(self, message: str) -> InfrastructureFailure:
        return InfrastructureFailure("tool", self.url, message)


def hit_of(item: Mapping[str, Any]) -> Hit:
    """An item of an answer: with `title` and `text`, or `contents` alone; some servers give no id and no score.

    Raises:
        AttributeError, KeyError, TypeError, ValueError: it is none of these.
    """
    document = item.get("document", item)
    if isinstance(document.get("text"), str):
        title, text = str(document.get("title") or ""), document["text"]
    else:
        title, text = title_and_text(document["contents"])
    return Hit(str(document.get("id", title)), title, text, float(item.get("score", 0.0)))
