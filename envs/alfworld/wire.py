"""Messages between an environment and its engine process: JSON with a length before it, over a pair of sockets.

Invariant: a message arrives whole, or the other side is gone, or the deadline has passed; never half of one.
"""

from __future__ import annotations

import json
import socket
import struct
import time
from typing import Any

HEAD = struct.Struct("!I")


def send(link: socket.socket, message: Any, *, descriptor: int | None = None) -> None:
    """Send one message, with an open file where one is to be handed over."""
    body = json.dumps(message).encode()
    if descriptor is None:
        link.sendall(HEAD.pack(len(body)) + body)
    else:
        socket.send_fds(link, [HEAD.pack(len(body))], [descriptor])
        link.sendall(body)


def receive(link: socket.socket, *, seconds: float | None = None) -> Any:
    """The next message.

    Raises:
        TimeoutError: it did not come in time.
        EOFError: the other side is gone.
    """
    until = None if seconds is None else time.monotonic() + seconds
    (size,) = HEAD.unpack(exactly(link, HEAD.size, until))
    return json.loads(exactly(link, size, until))


def receive_with_descriptor(link: socket.socket) -> tuple[Any, int]:
    """The next message and the open file that came with it; EOFError as in `receive`."""
    head, descriptors, _, _ = socket.recv_fds(link, HEAD.size, 1)
    if not head:
        raise EOFError("the other side is gone")
    head += exactly(link, HEAD.size - len(head), None)
    (size,) = HEAD.unpack(head)
    return json.loads(exactly(link, size, None)), descriptors[0]


def exactly(link: socket.socket, size: int, until: float | None) -> bytes:
    """So many bytes, by a time of `time.monotonic()`."""
    parts = bytearray()
    while len(parts) < size:
        if until is not None:
            left = until - time.monotonic()
            if left <= 0:
                raise TimeoutError("no answer in time")
            link.settimeout(left)
        else:
            link.settimeout(None)
        try:
            part = link.recv(min(size - len(parts), 1 << 20))
        except ConnectionError:
            part = b""
        if not part:
            raise EOFError("the other side is gone")
        parts += part
    return bytes(parts)
