"""An engine behind HTTP, as Search-R1's retrieval server speaks it (arXiv:2503.09516).

    POST /retrieve {"queries": ["..."], "topk": 3, "return_scores": true}
      -> {"result": [[{"document": {"id", "title", "text", "contents"}, "score": 1.5}, ...], ...]}
    without scores: {"result": [[{"id", "title", "text", "contents"}, ...], ...]}
    GET /health -> {"status": "ok", "engine": "tantivy"}

Invariant: a bad request is answered 400 (no JSON), 413 (too large) or 422 (wrong fields) with `{"detail": "one
sentence"}`, and never reaches the engine.
"""

from __future__ import annotations

import json
import socket
from collections.abc import Sequence
from typing import Any

from agentrl.core.failures import MissingExtra, UserError
from agentrl.tools.retrieval.corpus import contents_of
from agentrl.tools.retrieval.engine import Engine, Hit

MAX_QUERIES, MAX_TOPK, MAX_BYTES = 10_000, 1000, 16_000_000
KNOWN = ("queries", "topk", "return_scores")


def retrieval_app(engine: Engine, *, name: str = "", top_k: int = 10) -> Any:
    """A Starlette application that answers for `engine`.

    Args:
        name: what `/health` says that it is.
        top_k: hits of a request that does not say how many.

    Raises:
        MissingExtra: starlette is not installed.
    """
    try:
        from starlette.applications import Starlette
        from starlette.concurrency import run_in_threadpool
        from starlette.requests import Request
        from starlette.responses import JSONResponse
        from starlette.routing import Route
    except ModuleNotFoundError as error:
        raise MissingExtra("search", "the search server") from error

    async def body_of(request: Request) -> bytes | None:
        """None where it is larger than `MAX_BYTES`; what comes after that is not read."""
        body = bytearray()
        async for part in request.stream():
            body += part
            if len(body) > MAX_BYTES:
                return None
        return bytes(body)

    async def retrieve(request: Request) -> JSONResponse:
        body = await body_of(request)
        if body is None:
            return refusal(413, f"a request has at most {MAX_BYTES} bytes")
        try:
            data = json.loads(body)
        except (ValueError, RecursionError) as error:
            return refusal(400, f"the body is not JSON: {error}")
        try:
            queries, k, scores = asked(data, top_k)
        except UserError as error:
            return refusal(422, str(error))
        hits = await run_in_threadpool(engine.batch, queries, k)
        return JSONResponse({"result": [[told(hit, scores) for hit in found] for found in hits]})

    async def health(request: Request) -> JSONResponse:
        return JSONResponse({"status": "ok", "engine": name})

    def refusal(status: int, sentence: str) -> JSONResponse:
        return JSONResponse({"detail": sentence}, status)

    return Starlette(
        routes=[
            Route("/retrieve", retrieve, methods=["POST"]),
            Route("/health", health, methods=["GET"]),
        ]
    )


def asked(data: Any, top_k: int) -> tuple[Sequence[str], int, bool]:
    """What a request asks: queries, hits for each, whether with scores.

    Raises:
        UserError: what is wrong with it.
    """
    if not isinstance(data, dict):
        raise UserError("a request is a JSON object with 'queries'")
    for name in data:
        if name not in KNOWN:
            raise UserError(f"unknown field {name!r:.60}; known are {', '.join(KNOWN)}")
    queries = data.get("queries")
    if not isinstance(queries, list) or not all(isinstance(query, str) for query in queries):
        raise UserError("'queries' must be a list of texts")
    if len(queries) > MAX_QUERIES:
        raise UserError(f"a request asks at most {MAX_QUERIES} queries, this one {len(queries)}")
    k = data.get("topk") or top_k
    if isinstance(k, bool) or not isinstance(k, int) or not 1 <= k <= MAX_TOPK:
        raise UserError(f"'topk' must be a whole number from 1 to {MAX_TOPK}, got {k!r:.60}")
    scores = data.get("return_scores", False)
    if not isinstance(scores, bool):
        raise UserError(f"'return_scores' must be true or false, got {scores!r:.60}")
    return queries, k, scores


def told(hit: Hit, score: bool) -> dict[str, Any]:
    """A hit as the answer says it."""
    document = {
        "id": hit.doc,
        "title": hit.title,
        "text": hit.text,
        "contents": contents_of(hit.title, hit.text),
    }
    return {"document": document, "score": hit.score} if score else document


def serve(engine: Engine, listening: socket.socket, *, name: str = "", top_k: int = 10) -> None:
    """Serve at a listening socket until interrupted; closes the engine.

    Raises:
        MissingExtra: uvicorn or starlette is not installed.
    """
    uvicorn, app = web_server(), retrieval_app(engine, name=name, top_k=top_k)
    config = uvicorn.Config(app, log_level="warning", lifespan="off", timeout_graceful_shutdown=5)
    try:
        uvicorn.Server(config).run(sockets=[listening])
    finally:
        engine.close()


def web_server() -> Any:
    """uvicorn.

    Raises:
        MissingExtra: it is not installed.
    """
    try:
        import uvicorn
    except ModuleNotFoundError as error:
        raise MissingExtra("search", "the search server") from error
    return uvicorn
