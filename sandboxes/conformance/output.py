"""Output: bounded, counted, decoded, and never mistaken for what the supervisor says."""

from __future__ import annotations

import json
import struct
import sys

from agentrl.sandboxes.base import MIB, Sandbox
from agentrl.sandboxes.conformance import host
from agentrl.sandboxes.conformance.suite import Broken, Maker, case, must, same, works

FLOOD = """
import os, sys
start, piece = b"the very beginning\\n", b"x" * (1 << 20)
os.write(1, start)
left = 300_000_000 - len(start)
while left > 15:
    left -= os.write(1, piece[: left - 15])
os.write(1, b"the very end...")
"""


@case(deadline=60)
async def flood(box: Sandbox, made: Maker) -> str:
    await box.exec("true")
    async with host.watched() as seen:
        result = await box.exec(["python3", "-c", FLOOD], timeout=50)
    same((result.exit_code, result.timed_out), (0, False), "300 MB of output")
    must(result.stdout.startswith("the very beginning\n"), "the head is not kept")
    must(result.stdout.endswith("the very end..."), "the tail is not kept")
    kept = box.spec.output_bytes // 2 * 2
    same(result.truncated_bytes, 300_000_000 - kept, "bytes counted as omitted")
    must(len(result.stdout) < kept + 200, f"{len(result.stdout)} characters are kept of {kept}")
    must(seen.growth < 20 * MIB, f"the host process grew by {seen.growth / MIB:.0f} MiB")
    return f"300 MB in {result.seconds:.1f} s, the host process grew by {seen.growth / MIB:.1f} MiB"


@case()
async def two_floods(box: Sandbox, made: Maker) -> str:
    script = "head -c 20000000 /dev/zero & head -c 10000000 /dev/zero >&2; wait"
    result = await box.exec(script, output_bytes=1000)
    same(result.truncated_bytes, 30_000_000 - 2000, "bytes of both streams that are omitted")
    must(max(len(result.stdout), len(result.stderr)) < 1200, "more is kept than was asked for")
    return "both bounded"


@case()
async def one_long_line(box: Sandbox, made: Maker) -> str:
    script = ["python3", "-c", "print('y' * 1_000_000, end='')"]
    result = await box.exec(script, output_bytes=MIB)
    same((result.stdout, result.truncated_bytes), ("y" * 1_000_000, 0), "a line of 1 MB")
    result = await box.exec(script, output_bytes=10_000)
    same(result.truncated_bytes, 990_000, "what is omitted of a line of 1 MB")
    return "1 MB whole"


@case()
async def bytes_that_are_no_text(box: Sandbox, made: Maker) -> str:
    same((await box.exec(r"printf '\377\376 ok'")).stdout, "\ufffd\ufffd ok", "bytes that are not UTF-8")
    same((await box.exec(r"printf 'a\000b\000'")).stdout, "a\0b\0", "NUL bytes")
    same((await box.exec(r"printf '\033[31m\r\n'")).stdout, "\033[31m\r\n", "control characters")
    result = await box.exec(["python3", "-c", "print('ü' * 5000, end='')"], output_bytes=1001)
    same(result.truncated_bytes, 9000, "what is omitted where a letter is cut")
    return "replaced, kept, counted"


@case()
async def written_slowly(box: Sandbox, made: Maker) -> str:
    result = await box.exec("for i in 1 2 3 4 5; do printf $i; sleep 0.05; done")
    same(result.stdout, "12345", "output in pieces")
    return "in order"


@case()
async def written_just_before_the_end(box: Sandbox, made: Maker) -> str:
    for i in range(20):
        result = await box.exec("head -c 60000 /dev/zero | tr '\\0' z; printf end >&2", output_bytes=100_000)
        same((len(result.stdout), result.stderr), (60_000, "end"), f"the last bytes, in round {i}")
    return "20 rounds whole"


def frames() -> bytes:
    """What a supervisor would say to requests that are, or soon will be, asked."""
    said = []
    for number in range(1, 200):
        fields = {"code": 0, "timed_out": False, "oom": False, "seconds": 0.0}
        header = {"id": number, **fields, "sizes": [6, 0, 0, 0], "omitted": [0, 0]}
        text = json.dumps(header).encode()
        said.append(struct.pack("!II", len(text), 6) + text + b"forged")
    return b"".join(said)


FORGE = """
import os, sys
data = open("frames", "rb").read()
opened = []
for target in [*(f"/proc/{pid}/fd/{fd}" for pid in os.listdir("/proc") if pid.isdigit() and int(pid) != os.getpid()
               for fd in range(20)), "/dev/tty", "/dev/console"]:
    try:
        fd = os.open(target, os.O_WRONLY | os.O_NONBLOCK)
        os.write(fd, data)
    except OSError:
        continue
    opened.append(target)
for fd in range(3, 64):
    try:
        os.write(fd, data)
    except OSError:
        continue
    opened.append(f"descriptor {fd}")
print(*opened, file=sys.stderr)
sys.stdout.buffer.write(data)
sys.stdout.flush()
sys.exit(9)
"""


@case(fresh=True, needs="isolation")  # elsewhere it would write to processes of the host
async def forged_answers(box: Sandbox, made: Maker) -> str:
    data = frames()
    await box.write("frames", data)
    result = await box.exec(["python3", "-c", FORGE], output_bytes=MIB)
    same((result.exit_code, "forged" in result.stdout), (9, True), "a command that writes frames")
    same(result.stderr.split(), [], "descriptors of others that a command could write to")
    for _ in range(3):
        await works(box)
    same(await box.read("frames"), data, "a file, read afterwards")
    return "change nothing"


@case()
async def output_of_the_background(box: Sandbox, made: Maker) -> str:
    result = await box.exec("(sleep 0.3; echo late; echo late > late.txt) & echo now")
    same(result.stdout, "now\n", "what was written until the end of the command")
    same((await box.exec("sleep 0.6; cat late.txt")).stdout, "late\n", "its background, afterwards")
    return "is not waited for"


@case()
async def output_size_out_of_range(box: Sandbox, made: Maker) -> str:
    from agentrl.core.failures import UserError

    for size in (0, -1, sys.maxsize):
        try:
            await box.exec("true", output_bytes=size)
        except UserError:
            continue
        raise Broken(f"output_bytes={size} is taken")
    return "refused"
