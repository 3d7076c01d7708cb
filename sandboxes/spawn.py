"""Starts the processes of sandboxes from one thread that lives as long as this process.

A child that asks to die with its parent dies with the *thread* that started it: started from a worker that ends early, a
sandbox would be gone while it is in use. Started here, it dies when this process does, however it dies.
"""

from __future__ import annotations

import asyncio
import os
import queue
import select
import signal
import socket
import subprocess
import threading
import time
from collections.abc import Callable, Sequence
from concurrent.futures import Future
from contextlib import suppress
from typing import Any, TypeVar

from agentrl.core.portal import finish

T = TypeVar("T")


class Spawner:
    """A daemon thread that runs what it is given, in order."""

    def __init__(self) -> None:
        self.jobs: queue.SimpleQueue[tuple[Callable[[], Any], Future[Any]]] = queue.SimpleQueue()
        threading.Thread(target=self._work, name="agentrl-spawner", daemon=True).start()

    def _work(self) -> None:
        while True:
            job, future = self.jobs.get()
            try:
                future.set_result(job())
            except BaseException as error:
                future.set_exception(error)

    def submit(self, job: Callable[[], T]) -> Future[T]:
        future: Future[T] = Future()
        self.jobs.put((job, future))
        return future


_spawner: Spawner | None = None
_lock = threading.Lock()


def spawner() -> Spawner:
    """The one of this process."""
    global _spawner
    with _lock:
        if _spawner is None:
            _spawner = Spawner()
        return _spawner


def _forked() -> None:
    global _spawner, _lock
    _spawner, _lock = None, threading.Lock()


os.register_at_fork(after_in_child=_forked)


async def spawn(
    argv: Sequence[str], *, pass_fds: Sequence[int] = (), cwd: str | None = None, env: dict[str, str]
) -> tuple[subprocess.Popen[bytes], socket.socket]:
    """Start a process whose standard input and output are one socket, of which the other end comes back; what it says
    on standard error is kept in `process.stderr`.

    Raises:
        OSError: it could not be started.
    """
    ours, theirs = socket.socketpair()
    ours.setblocking(False)

    def start() -> subprocess.Popen[bytes]:
        return subprocess.Popen(
            list(argv),
            stdin=theirs.fileno(),
            stdout=theirs.fileno(),
            stderr=subprocess.PIPE,
            pass_fds=tuple(pass_fds),
            cwd=cwd,
            env=env,
            start_new_session=True,
        )

    starting = asyncio.wrap_future(spawner().submit(start))
    try:
        process = await asyncio.shield(starting)
    except asyncio.CancelledError:
        await finish(undo(starting))
        ours.close()
        raise
    except BaseException:
        ours.close()
        raise
    finally:
        theirs.close()
    return process, ours


async def undo(starting: asyncio.Future[subprocess.Popen[bytes]]) -> None:
    """End what was started for nobody."""
    await asyncio.wait([starting])
    if not starting.cancelled() and starting.exception() is None:
        await gone(starting.result())


def end(process: subprocess.Popen[bytes], seconds: float = 10.0) -> bytes:
    """Kill a process with its session's group and wait for it; what it said on standard error, up to 4 KiB.

    Raises:
        subprocess.TimeoutExpired: it would not go.
    """
    with suppress(ProcessLookupError, PermissionError):
        os.killpg(process.pid, signal.SIGKILL)
    process.kill()
    process.wait(seconds)
    # Its descendants hold standard error too: its end means that they have gone with it.
    said, deadline = b"", time.monotonic() + seconds
    if process.stderr is not None and not process.stderr.closed:
        with process.stderr as pipe:
            while select.select([pipe], [], [], max(0.0, deadline - time.monotonic()))[0]:
                piece = os.read(pipe.fileno(), 4096)
                if not piece:
                    return said
                said = (said + piece)[:4096]
            raise subprocess.TimeoutExpired(process.args, seconds)
    return said


async def gone(process: subprocess.Popen[bytes]) -> bytes:
    """`end`, without holding up the event loop."""
    return await asyncio.to_thread(end, process)
