"""The server and the client, in one process and in two, and servers that misbehave."""

from __future__ import annotations

import contextlib
import importlib.util
import json
import signal
import socket
import subprocess
import sys
import threading
import time
from collections.abc import Callable, Iterator
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path

import httpx
import pytest

from agentrl.cli.app import run
from agentrl.core.failures import DeadlineExceeded, InfrastructureFailure, UserError
from agentrl.tools.retrieval.client import HttpEngine, hit_of
from agentrl.tools.retrieval.engine import Engine, Hit, Passage
from agentrl.tools.retrieval.fusion import HybridEngine
from agentrl.tools.retrieval.tantivy import TantivyEngine

HAS_SERVER = all(importlib.util.find_spec(name) for name in ("starlette", "uvicorn"))
needs_server = pytest.mark.skipif(not HAS_SERVER, reason="needs the extra search")
PASSAGES = (
    Passage("m", "Mali", "The capital is Bamako."),
    Passage("c", "Colombia", "The capital is Bogotá."),
    Passage("p", "Peru", "Lima\nis large."),
)
LOCAL = TantivyEngine(PASSAGES)


@contextlib.contextmanager
def served(corpus: Path, *options: str) -> Iterator[tuple[str, subprocess.Popen[str]]]:
    """`agentrl search serve` in a process of its own: its address."""
    command = [sys.executable, "-m", "agentrl.cli", "search", "serve", "--corpus", str(corpus), "--port", "0"]
    process = subprocess.Popen([*command, *options], stderr=subprocess.PIPE, text=True)
    try:
        assert process.stderr is not None
        line = next((line for line in process.stderr if "/retrieve" in line), "")
        assert line, "the server did not start"
        yield next(word for word in line.split() if word.startswith("http")).rstrip(","), process
    finally:
        process.kill()
        process.communicate(timeout=20)


@pytest.fixture(scope="module")
def corpus(tmp_path_factory: pytest.TempPathFactory) -> Path:
    path = tmp_path_factory.mktemp("corpus") / "corpus.jsonl"
    lines = [{"id": p.doc, "contents": f'"{p.title}"\n{p.text}'} for p in PASSAGES]
    path.write_text("\n".join(map(json.dumps, lines)))
    return path


@pytest.fixture(scope="module")
def address(corpus: Path) -> Iterator[str]:
    with served(corpus) as (url, _):
        yield url


# -- a real server, a real client ----------------------------------------------------------------------


@needs_server
def test_the_api_is_that_of_search_r1(address: str) -> None:
    request = {"queries": ["capital Mali", "zebra", "lima"], "topk": 2, "return_scores": True}
    answer = httpx.post(address, json=request, timeout=10).json()
    assert [len(hits) for hits in answer["result"]] == [2, 0, 1]
    first = answer["result"][0][0]
    assert set(first) == {"document", "score"}
    assert first["document"]["id"] == "m"
    assert first["document"]["contents"] == '"Mali"\nThe capital is Bamako.'
    assert first["score"] == pytest.approx(LOCAL.search("capital Mali", 1)[0].score)
    # Without scores the documents stand alone; without topk the server's own number counts.
    plain = httpx.post(address, json={"queries": ["capital"]}, timeout=10).json()
    assert [document["id"] for document in plain["result"][0]] == ["m", "c"]
    assert httpx.post(address, json={"queries": []}, timeout=10).json() == {"result": []}
    health = httpx.get(address.replace("/retrieve", "/health"), timeout=10).json()
    assert health == {"status": "ok", "engine": "tantivy"}


@needs_server
def test_the_client_finds_what_the_engine_finds(address: str) -> None:
    client = HttpEngine(address)
    queries = ["capital", "Lima", "", '"bogota" AND (', "\ud800", "x " * 50_000, "the capital of Mali"]
    for k in (-1, 0, 1, 3, 1000):
        assert client.batch(queries, k) == LOCAL.batch(queries, k)
    assert client.batch([], 3) == []
    both = HybridEngine([client, LOCAL])
    assert [hit.doc for hit in both.search("capital", 3)] == ["m", "c"]
    both.close()


@needs_server
@pytest.mark.parametrize(
    ("body", "status", "said"),
    [
        (b"{", 400, "not JSON"),
        (b"\xff", 400, "not JSON"),
        (b"[1]", 422, "a JSON object"),
        (b"{}", 422, "list of texts"),
        (b'{"queries": "x"}', 422, "list of texts"),
        (b'{"queries": ["x", 3]}', 422, "list of texts"),
        (b'{"queries": ["x"], "topk": -1}', 422, "'topk'"),
        (b'{"queries": ["x"], "topk": 1001}', 422, "'topk'"),
        (b'{"queries": ["x"], "topk": "3"}', 422, "'topk'"),
        (b'{"queries": ["x"], "topk": true}', 422, "'topk'"),
        (b'{"queries": ["x"], "return_scores": 1}', 422, "'return_scores'"),
        (b'{"queries": ["x"], "top_k": 1}', 422, "unknown field 'top_k'"),
        (json.dumps({"queries": ["x"] * 10_001}).encode(), 422, "at most 10000"),
        (b" " * 16_000_001, 413, "bytes"),
    ],
)
def test_a_bad_request_is_answered_with_a_sentence(address: str, body: bytes, status: int, said: str) -> None:
    answer = httpx.post(address, content=body, timeout=20)
    assert answer.status_code == status
    assert said in answer.json()["detail"]
    assert httpx.post(address, json={"queries": ["lima"]}, timeout=10).status_code == 200


@needs_server
def test_other_paths_and_methods_are_refused(address: str) -> None:
    assert httpx.get(address, timeout=10).status_code == 405
    assert httpx.post(address.replace("/retrieve", "/other"), timeout=10).status_code == 404


@needs_server
def test_the_server_listens_at_home_alone_and_stops_when_told(corpus: Path) -> None:
    with served(corpus) as (url, process):
        assert httpx.URL(url).host == "127.0.0.1"
        assert HttpEngine(url).search("lima", 1)[0].doc == "p"
        process.send_signal(signal.SIGINT)
        assert process.wait(timeout=20) in (0, 130)
    with pytest.raises(InfrastructureFailure, match=f"{url}.*cannot be reached"):
        HttpEngine(url, tries=1).search("lima", 1)


@needs_server
def test_what_cannot_be_served_is_said(
    corpus: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    def said(*arguments: str) -> str:
        assert run(["search", "serve", *arguments]) == 2
        return capsys.readouterr().err

    assert "cannot be read" in said("--corpus", str(tmp_path / "no.jsonl"), "--port", "0")
    assert "did you mean 'dense'" in said("--corpus", str(corpus), "--engine", "dens", "--port", "0")
    (tmp_path / "bad.jsonl").write_text('{"text": "x"}\n{')
    assert "bad.jsonl, line 2: not JSON" in said("--corpus", str(tmp_path / "bad.jsonl"), "--port", "0")
    with socket.create_server(("127.0.0.1", 0)) as taken:
        port = taken.getsockname()[1]
        assert f"cannot listen at 127.0.0.1:{port}" in said("--corpus", str(corpus), "--port", str(port))


@needs_server
def test_query_asks_a_file_or_a_server(
    corpus: Path, address: str, capsys: pytest.CaptureFixture[str]
) -> None:
    answers = []
    for where in (str(corpus), address):
        assert run(["search", "query", "capital Mali", "--corpus", where, "--top-k", "1", "--json"]) == 0
        answers.append(json.loads(capsys.readouterr().out))
    assert answers[0] == answers[1]
    assert answers[0][0]["title"] == "Mali"
    assert run(["search", "query", "lima", "--corpus", str(corpus)]) == 0
    assert "[p] Peru: Lima" in capsys.readouterr().out


# -- servers that misbehave ----------------------------------------------------------------------------


@contextlib.contextmanager
def misbehaving(answer: Callable[[BaseHTTPRequestHandler, int], None]) -> Iterator[tuple[str, list[int]]]:
    """A server that answers as told; its address, and the numbers of the requests it got."""
    seen: list[int] = []

    class Handler(BaseHTTPRequestHandler):
        def do_POST(self) -> None:
            self.rfile.read(int(self.headers["Content-Length"]))
            seen.append(len(seen))
            with contextlib.suppress(ConnectionError):
                answer(self, seen[-1])

        def log_message(self, *args: object) -> None:
            pass

    server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    thread = threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.01})
    thread.start()
    try:
        yield f"http://127.0.0.1:{server.server_address[1]}", seen
    finally:
        server.shutdown()
        server.server_close()
        thread.join(10)


def say(status: int, body: str) -> Callable[[BaseHTTPRequestHandler, int], None]:
    def answer(handler: BaseHTTPRequestHandler, number: int) -> None:
        handler.send_response(status)
        handler.send_header("Content-Length", str(len(body.encode())))
        handler.end_headers()
        handler.wfile.write(body.encode())

    return answer


GOOD = '{"result": [[{"document": {"id": "1", "contents": "\\"T\\"\\ntext"}, "score": 2.5}]]}'


@pytest.mark.parametrize(
    ("body", "said"),
    [
        ("<html>", "not JSON"),
        ("{}", "not understood"),
        ('{"result": 3}', "not understood"),
        ('{"result": [[3]]}', "not understood"),
        ('{"result": [[{"document": {"id": 1}}]]}', "not understood"),
        ('{"result": []}', "0 results for 1 queries"),
    ],
)
def test_an_answer_that_is_none_is_our_failure(body: str, said: str) -> None:
    with misbehaving(say(200, body)) as (url, seen), contextlib.closing(HttpEngine(url)) as client:
        with pytest.raises(InfrastructureFailure, match=said) as caught:
            client.search("x", 3)
        assert f"{url}/retrieve" in str(caught.value)
        assert seen == [0]


def test_an_overloaded_server_is_asked_again() -> None:
    def answer(handler: BaseHTTPRequestHandler, number: int) -> None:
        say(503 if number < 2 else 200, "busy" if number < 2 else GOOD)(handler, number)

    with misbehaving(answer) as (url, seen), contextlib.closing(HttpEngine(url)) as client:
        assert client.search("x", 3) == [Hit("1", "T", "text", 2.5)]
        assert seen == [0, 1, 2]


def test_a_refusal_is_not_repeated_and_its_sentence_passed_on() -> None:
    refusal = say(422, '{"detail": "no such topk"}')
    with misbehaving(refusal) as (url, seen), contextlib.closing(HttpEngine(url)) as client:
        with pytest.raises(InfrastructureFailure, match=r"answered 422.*no such topk"):
            client.search("x", 3)
        assert seen == [0]


def test_a_silent_and_a_trickling_server_meet_the_deadline() -> None:
    over = threading.Event()

    def silent(handler: BaseHTTPRequestHandler, number: int) -> None:
        over.wait(20)

    def trickling(handler: BaseHTTPRequestHandler, number: int) -> None:
        handler.send_response(200)
        handler.end_headers()
        while not over.wait(0.05):
            handler.wfile.write(b" ")

    for answer in (silent, trickling):
        over.clear()
        with misbehaving(answer) as (url, _), contextlib.closing(HttpEngine(url, seconds=0.4)) as client:
            began = time.monotonic()
            with pytest.raises(DeadlineExceeded, match=r"no answer within 0\.4 s"):
                client.search("x", 3)
            assert time.monotonic() - began < 3
            over.set()


def test_a_server_that_is_not_there_is_named() -> None:
    with socket.create_server(("127.0.0.1", 0)) as gone:
        port = gone.getsockname()[1]
    began = time.monotonic()
    with contextlib.closing(HttpEngine(f"http://127.0.0.1:{port}")) as client:
        with pytest.raises(
            InfrastructureFailure, match=f"http://127.0.0.1:{port}/retrieve.*cannot be reached"
        ):
            client.search("x", 3)
        assert 0.5 < time.monotonic() - began < 10  # three tries, with pauses of 0.2 and 0.4 s


def test_a_server_that_never_was_one_meets_the_deadline_of_all_tries() -> None:
    with socket.create_server(("127.0.0.1", 0)) as gone:
        port = gone.getsockname()[1]
    client = HttpEngine(f"http://127.0.0.1:{port}", seconds=0.3, tries=50)
    began = time.monotonic()
    with contextlib.closing(client), pytest.raises(DeadlineExceeded):
        client.search("x", 3)
    assert time.monotonic() - began < 3


@pytest.mark.parametrize("address", ["localhost:8000", "ftp://x", "http://", "", "not an address"])
def test_an_address_that_is_none_is_refused(address: str) -> None:
    with pytest.raises(UserError, match="address of a search server"):
        HttpEngine(address)
    with pytest.raises(UserError, match="at least 1 try"):
        HttpEngine("http://127.0.0.1:1", tries=0)


def test_the_address_may_name_the_path() -> None:
    for address in ("http://h:1", "http://h:1/", "http://h:1/retrieve", "http://h:1/retrieve/"):
        with contextlib.closing(HttpEngine(address)) as client:
            assert client.url == "http://h:1/retrieve"


def test_documents_of_other_servers_are_read() -> None:
    assert hit_of({"contents": '"T"\nx'}) == Hit("T", "T", "x", 0.0)
    assert hit_of({"document": {"title": "T", "text": "x", "contents": "other"}, "score": 1}) == Hit(
        "T", "T", "x", 1.0
    )


def test_engines_are_engines() -> None:
    engines: list[Engine] = [LOCAL, HttpEngine("http://127.0.0.1:1"), HybridEngine([LOCAL])]
    for engine in engines:
        assert engine.batch([], 3) == []
        engine.close()
        engine.close()
