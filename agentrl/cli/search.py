"""`agentrl search`: a search engine over one's own corpus, served or asked once."""

from __future__ import annotations

import socket
import time
from pathlib import Path
from typing import Annotated

import typer

from agentrl.cli.output import Json, emit, err, out
from agentrl.core.failures import UserError

CorpusOption = Annotated[
    Path, typer.Option(help="JSONL, plain or .gz: id and contents, or id, title and text.")
]
EngineOption = Annotated[str, typer.Option(help="tantivy, bm25s, dense or hybrid.")]
IndexOption = Annotated[
    Path | None, typer.Option("--index-dir", help="Keep the index in this folder; in memory without it.")
]
TopK = Annotated[int, typer.Option("--top-k", min=1, max=1000, help="Hits where a request does not say.")]


def add_to(app: typer.Typer) -> None:
    group = typer.Typer(no_args_is_help=True, help="Search engines over your own corpus.")
    group.command("serve", help="Serve a corpus over HTTP (POST /retrieve, as Search-R1 asks).")(serve)
    group.command("query", help="Ask a corpus, or a server, one question.")(query)
    app.add_typer(group, name="search")


def serve(
    corpus: CorpusOption,
    engine: EngineOption = "tantivy",
    host: Annotated[str, typer.Option(help="Address to listen at.")] = "127.0.0.1",
    port: Annotated[int, typer.Option(min=0, max=65535, help="Port to listen at; 0 for a free one.")] = 8000,
    index_dir: IndexOption = None,
    top_k: TopK = 10,
) -> None:
    from agentrl.tools.retrieval import server
    from agentrl.tools.retrieval.build import engine_of_file

    server.web_server()  # a missing extra is said before anything is built
    began = time.perf_counter()
    listening = listener(host, port)
    try:
        built = engine_of_file(engine, corpus, index_dir)
        address = f"http://{f'[{host}]' if ':' in host else host}:{listening.getsockname()[1]}"
        seconds = time.perf_counter() - began
        err.print(
            f"{engine} over {corpus} at {address}/retrieve, ready after {seconds:.1f} s", soft_wrap=True
        )
        server.serve(built, listening, name=engine, top_k=top_k)
    finally:
        listening.close()


def listener(host: str, port: int) -> socket.socket:
    """A socket that listens, so that a port which is taken is known before the index is built.

    Raises:
        UserError: the address cannot be listened at.
    """
    try:
        return socket.create_server((host, port), family=socket.AF_INET6 if ":" in host else socket.AF_INET)
    except OSError as error:
        raise UserError(f"cannot listen at {host}:{port}: {error.strerror or error}") from None


def query(
    text: Annotated[str, typer.Argument(help="What to search for.")],
    corpus: Annotated[str, typer.Option(help="A JSONL file, or the address of a server.")],
    engine: EngineOption = "tantivy",
    index_dir: IndexOption = None,
    top_k: TopK = 3,
    json: Json = False,
) -> None:
    from agentrl.tools.retrieval.build import engine_of_file
    from agentrl.tools.retrieval.client import HttpEngine
    from agentrl.tools.retrieval.engine import Engine

    remote = corpus.startswith(("http://", "https://"))
    found: Engine = HttpEngine(corpus) if remote else engine_of_file(engine, corpus, index_dir)
    try:
        hits = found.search(text, top_k)
    finally:
        found.close()
    if json:
        emit([{"id": hit.doc, "title": hit.title, "text": hit.text, "score": hit.score} for hit in hits])
        return
    for hit in hits:
        out.print(
            f"{hit.score:8.4f}  [{hit.doc}] {hit.title}: {hit.text[:200]}", markup=False, highlight=False
        )
