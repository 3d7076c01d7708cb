"""The host's end of a supervisor: requests by number, answers by number, death seen at once.

Invariant: whatever comes from inside is bounded before it is kept, and when the other end is gone every waiting request
raises `SandboxDied`; none waits for ever.
"""

from __future__ import annotations

import asyncio
import itertools
import json
import struct
from collections.abc import AsyncIterator
from contextlib import suppress
from typing import Any, Protocol

from agentrl.sandboxes.base import SandboxDied, SandboxFailure, SandboxRefusal

HEADER = struct.Struct("!II")
LARGEST_HEADER, LARGEST_BODY = 8 << 20, 4 << 20
LARGEST_REQUEST = 64 << 20
CHUNK = 1 << 20

Frame = tuple[dict[str, Any], bytes]


class Reader(Protocol):
    """Where frames come from."""

    async def readexactly(self, n: int) -> bytes: ...


class Link:
    """A connection to one supervisor, in one event loop.

    Attributes:
        dead: why it cannot be used any more; "" while it can.
        hello: what the supervisor said of itself.
    """

    def __init__(self, reader: Reader, writer: asyncio.StreamWriter, subject: str) -> None:
        self.reader, self.writer, self.subject = reader, writer, subject
        self.dead = ""
        self.hello: dict[str, Any] = {}
        self.numbers = itertools.count(1)
        self.waiting: dict[int, asyncio.Queue[Frame | None]] = {}
        self.greeted: asyncio.Future[None] = asyncio.get_running_loop().create_future()
        self.listening = asyncio.ensure_future(self._listen())

    async def greet(self, seconds: float) -> None:
        """Wait until the supervisor has said that it is there.

        Raises:
            SandboxFailure: it is not.
        """
        try:
            async with asyncio.timeout(seconds):
                await asyncio.shield(self.greeted)
        except TimeoutError:
            raise SandboxFailure(self.subject, f"no supervisor within {seconds:g} s") from None
        if self.dead:
            raise SandboxFailure(self.subject, f"its supervisor did not start ({self.dead})")

    async def call(self, op: str, body: bytes = b"", *, timeout: float, **fields: Any) -> Frame:
        """One request, one answer.

        Raises:
            SandboxRefusal: the supervisor refused, in its words.
            SandboxDied: the other end is gone.
            TimeoutError: no answer in time.
        """
        async for frame in self.stream(op, body, timeout=timeout, **fields):
            return frame
        raise SandboxDied(self.subject, self.dead or "no answer")

    async def stream(
        self, op: str, body: bytes = b"", *, timeout: float, **fields: Any
    ) -> AsyncIterator[Frame]:
        """One request, several answers: all but the last are marked `more`. Raises what `call` raises."""
        number, queue = await self.post(op, body, **fields)
        try:
            async with asyncio.timeout(timeout):
                while True:
                    frame = await self.next(queue)
                    if "channel" in frame[0]:
                        continue
                    yield frame
                    if not frame[0].get("more"):
                        return
        finally:
            self.waiting.pop(number, None)

    async def post(
        self, op: str, body: bytes = b"", **fields: Any
    ) -> tuple[int, asyncio.Queue[Frame | None]]:
        """Send a request; the queue that its answers come to. Whoever posts takes it out of `waiting`."""
        if self.dead:
            raise SandboxDied(self.subject, self.dead)
        if len(body) > LARGEST_REQUEST:
            raise SandboxRefusal("large", f"{len(body)} bytes at once are more than {LARGEST_REQUEST}")
        number = next(self.numbers)
        queue: asyncio.Queue[Frame | None] = asyncio.Queue()
        self.waiting[number] = queue
        try:
            self.send({"id": number, "op": op, **fields}, body)
            await self.writer.drain()
        except (OSError, RuntimeError) as error:
            self.waiting.pop(number, None)
            self.die(f"its connection broke: {error}")
            raise SandboxDied(self.subject, self.dead) from None
        except BaseException:
            self.waiting.pop(number, None)
            raise
        return number, queue

    def send(self, header: dict[str, Any], body: bytes = b"") -> None:
        """Put one frame on its way without waiting."""
        text = repr(header).encode()
        self.writer.write(HEADER.pack(len(text), len(body)) + text + body)

    def abandon(self, number: int) -> None:
        """Kill a command whose answer nobody waits for."""
        self.waiting.pop(number, None)
        if not self.dead:
            self.send({"id": next(self.numbers), "op": "kill", "to": number})

    async def next(self, queue: asyncio.Queue[Frame | None]) -> Frame:
        frame = await queue.get()
        if frame is None:
            queue.put_nowait(None)
            raise SandboxDied(self.subject, self.dead)
        if "error" in frame[0]:
            kind, message = str(frame[0]["error"]), str(frame[0].get("message", ""))
            if kind == "failed":
                raise SandboxFailure(self.subject, message)
            raise SandboxRefusal(kind, message)
        return frame

    async def _listen(self) -> None:
        why = "it ended"
        try:
            while True:
                first, second = HEADER.unpack(await self.reader.readexactly(HEADER.size))
                if first > LARGEST_HEADER or second > LARGEST_BODY:
                    why = "it sent what no supervisor sends"
                    return
                header = json.loads(await self.reader.readexactly(first))
                body = await self.reader.readexactly(second)
                if "hello" in header:
                    self.hello = header
                    self.greeted.set_result(None)
                    continue
                queue = self.waiting.get(header.get("id", 0))
                if queue is not None:
                    queue.put_nowait((header, body))
        except asyncio.IncompleteReadError:
            why = "it ended"
        except (OSError, ValueError, asyncio.InvalidStateError) as error:
            why = f"its connection broke: {error}"
        finally:
            self.die(why)

    def die(self, why: str) -> None:
        """Whoever waits is told; nothing can be asked any more."""
        self.dead = self.dead or why
        if not self.greeted.done():
            self.greeted.set_result(None)
        for queue in self.waiting.values():
            queue.put_nowait(None)

    async def close(self, why: str = "it was closed") -> None:
        self.die(why)
        self.listening.cancel()
        with suppress(asyncio.CancelledError):
            await self.listening
        self.writer.close()
        with suppress(OSError):
            await self.writer.wait_closed()
