"""The shop as a web site on this machine: one server a process, a session for every customer.

Invariants: it listens on 127.0.0.1 alone, on a port that was free; a session is known to who has its token; what a session
does is `machine.transition`, so it goes through the states of the text form; the last session that ends stops
the server and its threads; each connection has a deadline.
"""

from __future__ import annotations

import contextlib
import secrets
import socket
import threading
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any
from urllib.parse import parse_qs

from agentrl.core.failures import InfrastructureFailure, ToolError
from agentrl.envs.shop.machine import Act, State, transition
from agentrl.envs.shop.pages import main_part, whole_page
from agentrl.envs.shop.records import Goal
from agentrl.envs.shop.shelf import Shop

CONNECTION_SECONDS = 10.0
MOST_BYTES = 64_000


class Session:
    """One customer's way through the shop.

    Attributes:
        state: where they are; changed by what the browser sends, and by nothing else.
        notice: why the last action did nothing; empty if it did.
    """

    def __init__(self, shop: Shop, goal: Goal) -> None:
        self.shop, self.goal = shop, goal
        self.state = State()
        self.notice = ""
        self._lock = threading.Lock()

    def act(self, act: Act) -> None:
        with self._lock:
            try:
                self.state, self.notice = transition(self.shop, self.state, act), ""
            except ToolError as error:
                self.notice = str(error)

    def main(self) -> str:
        return main_part(self.shop, self.state, self.goal.instruction, self.notice)


class Handler(BaseHTTPRequestHandler):
    """`GET /TOKEN/` is the page of a session, `POST /TOKEN/act` does an action (`kind`, `target`)."""

    timeout = CONNECTION_SECONDS
    server: Site

    def do_GET(self) -> None:
        if (session := self._session("")) is not None:
            self._answer(200, whole_page(session.main()))

    def do_POST(self) -> None:
        if (session := self._session("act")) is None:
            return
        size = int(self.headers.get("Content-Length") or 0)
        if not 0 <= size <= MOST_BYTES:
            return self._answer(413, "too long")
        sent = parse_qs(self.rfile.read(size).decode("utf-8", "replace"), keep_blank_values=True)
        session.act(Act(sent.get("kind", [""])[-1], sent.get("target", [""])[-1]))
        if self.headers.get("X-Part"):
            return self._answer(200, session.main())
        self.send_response(303)
        self.send_header("Location", "./")
        self.send_header("Content-Length", "0")
        self.end_headers()

    def _session(self, rest: str) -> Session | None:
        token, _, tail = self.path.partition("?")[0].strip("/").partition("/")
        session = self.server.sessions.get(token)
        if session is None or tail != rest:
            self._answer(404, "no such page")
            return None
        return session

    def _answer(self, code: int, text: str) -> None:
        body = text.encode("utf-8", "replace")
        self.send_response(code)
        self.send_header("Content-Type", "text/html; charset=utf-8")
        self.send_header("Content-Length", str(len(body)))
        self.send_header("Cache-Control", "no-store")
        self.end_headers()
        self.wfile.write(body)

    def log_message(self, format: str, *args: Any) -> None:
        """Says nothing."""


class Site(ThreadingHTTPServer):
    """The server of this process. Get it from `enter`, give it back to `leave`."""

    request_queue_size = 64

    def __init__(self) -> None:
        super().__init__(("127.0.0.1", 0), Handler)
        self.sessions: dict[str, Session] = {}
        self._open: set[socket.socket] = set()
        self._thread = threading.Thread(
            target=self.serve_forever, kwargs={"poll_interval": 0.05}, name="shop-site", daemon=True
        )
        self._thread.start()

    @property
    def origin(self) -> str:
        return f"http://127.0.0.1:{self.server_address[1]}"

    def process_request(self, request: Any, client_address: Any) -> None:
        self._open.add(request)
        super().process_request(request, client_address)

    def shutdown_request(self, request: Any) -> None:
        self._open.discard(request)
        super().shutdown_request(request)

    def handle_error(self, request: Any, client_address: Any) -> None:
        """A browser that went away in the middle of an answer is no news."""

    def stop(self) -> None:
        """End the server, its connections and its threads."""
        self.shutdown()
        for connection in list(self._open):
            with contextlib.suppress(OSError):
                connection.shutdown(socket.SHUT_RDWR)
        self.server_close()
        self._thread.join(CONNECTION_SECONDS)


class Doors:
    """Who is in: the site stands as long as anybody is."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._site: Site | None = None

    def enter(self) -> tuple[Site, str]:
        """The site and a new token, which `leave` gives back; no session yet.

        Raises:
            InfrastructureFailure: no port could be opened.
        """
        token = secrets.token_urlsafe(12)
        with self._lock:
            if self._site is None:
                try:
                    self._site = Site()
                except OSError as error:
                    raise InfrastructureFailure("reset", "shop site", str(error)) from error
            self._site.sessions[token] = VACANT
            return self._site, token

    def leave(self, token: str) -> None:
        """End a session; with the last one the server. Unknown tokens are ignored."""
        with self._lock:
            site = self._site
            if site is None or site.sessions.pop(token, None) is None or site.sessions:
                return
            self._site = None
        site.stop()


class Vacant(Session):
    """The session of one who has come in and has nothing to buy yet."""

    def __init__(self) -> None:
        self.notice = ""

    def act(self, act: Act) -> None:
        """Does nothing."""

    def main(self) -> str:
        return ""


VACANT = Vacant()
DOORS = Doors()
"""Of this process."""
