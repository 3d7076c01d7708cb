"""The fork server: it imports the engine once, and every game gets a process forked from it.

    python -m agentrl.envs.alfworld.server DESCRIPTOR

Invariant: no process outlives what it serves: each ends when the socket at its other end closes, which happens at the
latest when the process that asked for it dies.
"""

from __future__ import annotations

import contextlib
import ctypes
import os
import signal
import socket
import sys
from collections.abc import Callable
from typing import Any

from agentrl.envs.alfworld import generator, rules, wire
from agentrl.envs.alfworld.engine import Engine, command_of, solve, speed_up, translate

PR_SET_PDEATHSIG = 1


def serve(link: socket.socket) -> None:
    """Fork a process for every socket that arrives over `link`, until it closes."""
    signal.signal(signal.SIGCHLD, signal.SIG_IGN)  # the kernel reaps
    speed_up()
    rules.fits()
    wire.send(link, {"ready": os.getpid()})
    while True:
        try:
            _, descriptor = wire.receive_with_descriptor(link)
        except EOFError:
            return
        if fork_onto(descriptor, link):
            os.close(descriptor)


def fork_onto(descriptor: int, *others: socket.socket) -> bool:
    """Fork; the child serves one game over the socket and ends. True in the parent."""
    parent = os.getpid()
    if os.fork():
        return True
    code = 1
    try:
        die_with(parent)
        for other in others:
            other.close()
        with socket.socket(fileno=descriptor) as own, contextlib.suppress(EOFError, BrokenPipeError):
            wire.send(own, {"pid": os.getpid()})
            Session().serve(own)
        code = 0
    finally:
        os._exit(code)  # nothing of the parent's is to be wound up here
    return False


def die_with(parent: int) -> None:
    """End this process when its parent ends."""
    ctypes.CDLL(None).prctl(PR_SET_PDEATHSIG, signal.SIGKILL)
    if os.getppid() != parent:
        os._exit(1)


class Session:
    """What one process does for one game: translate and prove it, play it, plan in it, fork itself."""

    def __init__(self) -> None:
        self.engine: Engine | None = None

    def serve(self, link: socket.socket) -> None:
        """Answer requests until the other side goes. What breaks is answered as `{"error": sentence}`."""
        handlers: dict[str, Callable[..., Any]] = {
            "prepare": self.prepare,
            "translate": self.translate,
            "load": self.load,
            "answer": self.answer,
            "plan": self.plan,
        }
        while True:
            request = wire.receive(link)
            name = request.pop("do")
            if name == "fork":
                link = self.fork(link)
                continue
            try:
                out = {"ok": handlers[name](**request)}
            except Exception as error:
                out = {"error": f"{type(error).__name__}: {error}"}
            wire.send(link, out)

    def prepare(self, split: str, seed: int, tasks: list[str], attempt: int) -> dict[str, Any]:
        """Draw a game and prove that it can be solved; `document` is None where it cannot."""
        game = generator.draw(split, seed, tasks, attempt)
        steps = solve(rules.domain(), generator.problem(generator.core_of(game)))
        if not steps:
            return {"document": None}
        ids = (*(place for place, _ in game.places), *(thing.id for thing in game.things))
        names = rules.names_of(ids)
        walkthrough = [command_of(step, names) for step in steps]
        return {
            "id": game.id,
            "document": generator.document(game, walkthrough),
            "trajectory": generator.trajectory(game),
        }

    def translate(self, document: dict[str, Any]) -> dict[str, Any]:
        """A game's translation and what is seen at its start."""
        start = translate(document["pddl_domain"], document["pddl_problem"])
        self.engine = Engine(document, start)
        return {"start": start, "first": self.engine.first}

    def load(self, document: dict[str, Any], start: dict[str, Any]) -> None:
        self.engine = Engine(document, start)

    def answer(self, path: list[int], command: int) -> dict[str, Any]:
        assert self.engine is not None
        return self.engine.answer(path, command)

    def plan(self, path: list[int]) -> list[str]:
        """Commands that win from here, by the bundled planner; empty if there are none."""
        assert self.engine is not None
        return self.engine.plan(path)

    def fork(self, link: socket.socket) -> socket.socket:
        """Become two at this point of the game: the parent goes on with `link`, the child with a new socket whose other
        end the asker gets. Returns the socket of whichever process returns."""
        theirs, ours = socket.socketpair(socket.AF_UNIX, socket.SOCK_STREAM)
        child = os.fork()
        if child:
            ours.close()
            wire.send(link, {"ok": child}, descriptor=theirs.fileno())
            theirs.close()
            return link
        theirs.close()
        link.close()
        return ours


if __name__ == "__main__":
    with socket.socket(fileno=int(sys.argv[1])) as only, contextlib.suppress(BrokenPipeError):
        serve(only)
