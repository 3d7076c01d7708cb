"""Commands that are talked to over a channel of their own."""

from __future__ import annotations

import asyncio
import hashlib
import os

from agentrl.sandboxes.base import Process, Sandbox
from agentrl.sandboxes.conformance import host
from agentrl.sandboxes.conformance.deadlines import none_left, within
from agentrl.sandboxes.conformance.suite import Maker, case, must, nothing_runs, refused, same, works

ECHO = """
import os
print("started", flush=True)
while True:
    data = os.read(3, 65536)
    if not data:
        break
    os.write(2, b".")
    while data:
        data = data[os.write(3, data):]
print("ended")
raise SystemExit(4)
"""
SINK = """
import hashlib, os
digest, left = hashlib.sha256(), 3_000_000
while left:
    data = os.read(3, 65536)
    digest.update(data)
    left -= len(data)
os.write(3, digest.hexdigest().encode())
"""
SOURCE = "import os\ndata = b'z' * 3_000_000\nwhile data:\n    data = data[os.write(3, data):]"


async def exactly(process: Process, size: int) -> bytes:
    data = b""
    while len(data) < size:
        piece = await process.receive(10)
        must(piece, f"the channel ended after {len(data)} of {size} bytes")
        data += piece
    return data


@case()
async def echo(box: Sandbox, made: Maker) -> str:
    process = await box.open(["python3", "-c", ECHO], timeout=20)
    for word in (b"hello", b"\x00\xff\n", os.urandom(50_000)):
        await process.send(word)
        same(await exactly(process, len(word)) == word, True, f"{len(word)} bytes, there and back")
    try:
        await process.receive(0.1)
        must(False, "something came that was not sent")
    except TimeoutError:
        await works(box)
    result = await process.kill()
    must(result.stdout == "started\n" and set(result.stderr) == {"."}, f"its output is {result!r:.200}")
    same(result.exit_code, 137, "exit code of a killed process")
    same(await process.wait(), result, "the result, asked again")
    return "there and back, apart from its output"


@case()
async def much_over_a_channel(box: Sandbox, made: Maker) -> str:
    data = os.urandom(3_000_000)
    process = await box.open(["python3", "-c", SINK], timeout=20)
    await process.send(data)
    same(await exactly(process, 64), hashlib.sha256(data).hexdigest().encode(), "3 MB, sent")
    same((await process.wait()).exit_code, 0, "its exit code")
    process = await box.open(["python3", "-c", SOURCE], timeout=20)
    same(len(await exactly(process, 3_000_000)), 3_000_000, "3 MB, received")
    same(await process.receive(5), b"", "after the last")
    return "3 MB each way"


@case()
async def channel_at_its_deadline(box: Sandbox, made: Maker) -> str:
    word = host.mark()
    async with within(3, "a process with a timeout of 1 s"):
        process = await box.open(["sh", "-c", f"echo on; setsid sleep {word} & sleep {word}"], timeout=1)
        same(await process.receive(5), b"", "a channel at the deadline")
        result = await process.wait()
    must(
        result.timed_out and result.exit_code == 137 and result.stdout == "on\n", f"it gives {result!r:.200}"
    )
    await none_left(box, word)
    await refused(process.send(b"x"), "gone")
    return "killed, with what it started"


@case()
async def closed_channel(box: Sandbox, made: Maker) -> str:
    process = await box.open(["sh", "-c", "exec 3>&-; sleep 0.2; exit 6"], timeout=10)
    same(await process.receive(5), b"", "a channel that was closed")
    result = await process.wait()
    same((result.exit_code, result.timed_out), (6, False), "its process")
    await refused(process.send(b"x"), "gone")
    await refused(opened(box), "exec")
    return "b'' and gone"


async def opened(box: Sandbox) -> object:
    process = await box.open(["no-such-program"], timeout=5)
    return await process.wait()


@case()
async def two_channels(box: Sandbox, made: Maker) -> str:
    one, two = await asyncio.gather(*(box.open(["python3", "-c", ECHO], timeout=20) for _ in range(2)))
    await asyncio.gather(one.send(b"first!"), two.send(b"second"))
    same((await exactly(two, 6), await exactly(one, 6)), (b"second", b"first!"), "two channels")
    await one.kill()
    await two.send(b"still")
    same(await exactly(two, 5), b"still", "the other one, after one was killed")
    await two.kill()
    await nothing_runs(box)
    return "apart"


@case()
async def nobody_reads(box: Sandbox, made: Maker) -> str:
    process = await box.open(["sleep", "20"], timeout=20)
    async with within(10, "a message that nobody reads"):
        await refused(process.send(b"x" * 2_000_000), "gone")
    await works(box)
    await process.kill()
    return "is given up"
