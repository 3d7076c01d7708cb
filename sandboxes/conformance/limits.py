"""Limits: memory, disks and descriptors run out for a command, and for nobody else."""

from __future__ import annotations

from agentrl.sandboxes.base import MIB, ExecResult, Sandbox, SandboxDied
from agentrl.sandboxes.conformance.suite import Maker, case, must, refused, same, usable_or_dead, works

HOG = """
import os, sys
held = []
for _ in range(int(sys.argv[1])):
    held.append(bytearray(os.urandom(4096) * 256))
    os.write(1, b"m")
"""
FILL = """
import errno, os, sys
path, written = os.path.join(sys.argv[1], "filler"), 0
try:
    with open(path, "wb", buffering=0) as file:
        while written < int(sys.argv[2]):
            written += file.write(b"f" * (1 << 20))
except OSError as error:
    print(errno.errorcode[error.errno], written)
"""
OPEN = """
import errno, os
n = 0
try:
    while True:
        os.open("/dev/null", os.O_RDONLY)
        n += 1
except OSError as error:
    print(errno.errorcode[error.errno], n)
"""
MANY_FILES = """
import os
os.mkdir("many")
for i in range(5000):
    open(f"many/{i}", "w").close()
"""
DEEP = """
import os
for i in range(1500):
    os.mkdir("d" * 100)
    os.chdir("d" * 100)
open("bottom", "w").close()
"""


async def hungry(box: Sandbox, command: list[str]) -> tuple[ExecResult | None, str]:
    try:
        result: ExecResult | None = await box.exec(command, timeout=15, output_bytes=MIB)
    except SandboxDied:
        result = None
    return result, await usable_or_dead(box)


@case(fresh=True, needs="limits")
async def memory_bomb(box: Sandbox, made: Maker) -> str:
    most = box.spec.memory // MIB
    result, outcome = await hungry(box, ["python3", "-c", HOG, str(4 * most)])
    if result is None:
        return outcome
    took = result.stdout.count("m")
    told = result.oom_killed or "MemoryError" in result.stderr
    must(
        result.exit_code != 0 and told,
        f"want of memory is not reported: {result.exit_code}, {result.stderr:.200}",
    )
    must(took <= 1.5 * most, f"it took {took} MiB of {most}")
    return f"took {took} of {most} MiB; {outcome}"


@case(fresh=True, needs="limits")
async def memory_bomb_of_many(box: Sandbox, made: Maker) -> str:
    most = box.spec.memory // MIB
    script = 'for i in 1 2 3 4 5 6 7 8; do python3 -c "$1" "$2" & done; wait; sleep 0.3; exit 7'
    result, outcome = await hungry(box, ["bash", "-c", script, "bash", HOG, str(most // 2)])
    if result is None:
        return outcome
    told = result.oom_killed or "MemoryError" in result.stderr
    must(told, f"want of memory is not reported: exit code {result.exit_code}, {result.stderr:.200}")
    return f"exit code {result.exit_code}; {outcome}"


async def filled(box: Sandbox, folder: str, size: int) -> str:
    asked = size + 64 * MIB
    result = await box.exec(["python3", "-c", FILL, folder, str(asked)], timeout=20)
    must(result.stdout.startswith(("ENOSPC", "EDQUOT")), f"{folder} took {asked} bytes: {result!r:.200}")
    must(int(result.stdout.split()[1]) <= size, f"{folder} took {result.stdout.split()[1]} bytes of {size}")
    return f"{folder}: {result.stdout.split()[1]} bytes"


@case(needs="limits")
async def full_workspace(box: Sandbox, made: Maker) -> str:
    said = await filled(box, box.workspace, box.spec.workspace_bytes)
    await refused(box.write("one-more", b"x" * MIB), "full")
    await works(box)
    await box.reset()
    await box.write("again", b"x" * MIB)
    same(len(await box.read("again")), MIB, "a file after a reset")
    return said


@case(needs="limits")
async def full_temporary_folders(box: Sandbox, made: Maker) -> str:
    said = [await filled(box, folder, box.spec.tmp_bytes) for folder in ("/tmp", "/dev/shm")]
    await works(box)
    await box.reset()
    left = (await box.exec("ls -A /tmp /dev/shm | grep -v '^/' | wc -w")).stdout
    same(left.strip(), "0", "files in temporary folders after a reset")
    return "; ".join(said)


@case(needs="limits")
async def nowhere_else_to_write(box: Sandbox, made: Maker) -> str:
    script = (
        "for d in /dev /run /run/lock /var/tmp /var /home /root /opt /mnt /srv /etc /usr /run/agentrl; do "
    )
    script += "touch $d/x 2>/dev/null && echo $d; done; true"
    if not box.spec.read_only:
        return "the root file system can be written, as was asked"
    found = (await box.exec(script)).stdout.split()
    same(found, [], "folders without a limit that can be written")
    return "nowhere"


@case(needs="limits")
async def descriptors(box: Sandbox, made: Maker) -> str:
    result = await box.exec(["python3", "-c", OPEN])
    word, count = result.stdout.split()
    same(word, "EMFILE", "opening files without end")
    must(int(count) <= box.spec.open_files, f"{count} files are open of {box.spec.open_files}")
    await works(box)
    return f"{count} of {box.spec.open_files}"


@case(deadline=60)
async def many_small_files(box: Sandbox, made: Maker) -> str:
    same((await box.exec(["python3", "-c", MANY_FILES])).exit_code, 0, "5,000 files")
    same(len(await box.list()), 5001, "entries listed")
    await box.reset()
    same(await box.list(), [], "entries after a reset")
    return "5,000"


@case(fresh=True)
async def deep_folders(box: Sandbox, made: Maker) -> str:
    same((await box.exec(["python3", "-c", DEEP])).exit_code, 0, "1,500 folders, one in the other")
    await box.reset()
    same(await box.list(), [], "entries after a reset")
    await works(box)
    return "1,500, removed by a reset"


@case(needs="limits")
async def sparse_giant(box: Sandbox, made: Maker) -> str:
    await box.exec("truncate -s 100G giant")
    await refused(box.read("giant"), "large")
    await refused(box.snapshot(), "large")
    await box.reset()
    await works(box)
    return "neither read nor copied"
