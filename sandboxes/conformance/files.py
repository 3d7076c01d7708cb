"""Files: whatever is written is what is read, and no path, link or pipe leads out or holds up."""

from __future__ import annotations

import os

from agentrl.sandboxes.base import MIB, Sandbox
from agentrl.sandboxes.conformance.suite import Maker, Skip, case, must, refused, same

NAMES = (
    "plain",
    "-n",
    "--help",
    "with space",
    "new\nline",
    "ünï",
    "𝄞",
    "*",
    "a'b\"c",
    "$HOME",
    "\\",
    "a" * 255,
)


@case()
async def round_trips(box: Sandbox, made: Maker) -> str:
    for data in (b"", b"\x00\xff\xfe\n", bytes(range(256)) * 10, os.urandom(MIB), b"x" * (MIB + 1)):
        await box.write("data", data)
        same(await box.read("data") == data, True, f"a file of {len(data)} bytes, read back")
    await box.write("data", "ü€")
    same(await box.read("data"), "ü€".encode(), "text")
    same((await box.exec("cat data")).stdout, "ü€", "what a command sees")
    await box.exec(r"printf '\000\377' > made")
    same(await box.read("made"), b"\x00\xff", "what a command wrote")
    return "bytes and text"


@case()
async def ten_megabytes(box: Sandbox, made: Maker) -> str:
    data = os.urandom(10_000_000)
    await box.write("big", data)
    same(await box.read("big") == data, True, "10 MB, read back")
    same((await box.exec("wc -c < big")).stdout.strip(), "10000000", "its size inside")
    return "10 MB"


@case()
async def odd_names(box: Sandbox, made: Maker) -> str:
    for name in NAMES:
        await box.write(name, name)
    for name in NAMES:
        same(await box.read(name), name.encode(), f"the file {name!r}")
    same([item.path for item in await box.list()], sorted(NAMES), "names listed")
    await refused(box.write("a" * 256, b""), "file", "path")
    await refused(box.write("", b""), "file", "path")
    return f"{len(NAMES)} names"


@case()
async def modes(box: Sandbox, made: Maker) -> str:
    await box.write("run.sh", "#!/bin/sh\necho ran\n", mode=0o755)
    same((await box.exec(["./run.sh"])).stdout, "ran\n", "a file with mode 755")
    await box.write("private", "x", mode=0o600)
    found = {item.path: item.mode for item in await box.list()}
    same(found, {"run.sh": 0o755, "private": 0o600}, "modes listed")
    await box.write("setuid", "x", mode=0o6755)
    same({item.path: item.mode for item in await box.list()}["setuid"], 0o755, "a setuid bit, taken off")
    return "kept"


@case()
async def folders(box: Sandbox, made: Maker) -> str:
    await box.write("a/b/c/d.txt", "deep")
    await box.exec("ln -s a/b link; mkfifo pipe; mkdir empty")
    found = [(item.path, item.kind) for item in await box.list()]
    expected = [("a", "dir"), ("a/b", "dir"), ("a/b/c", "dir"), ("a/b/c/d.txt", "file")]
    expected += [("empty", "dir"), ("link", "link"), ("pipe", "other")]
    same(found, expected, "a listing")
    same([item.path for item in await box.list("a/b")], ["a/b/c", "a/b/c/d.txt"], "a listing of a folder")
    await refused(box.write("a/b/c/d.txt/e", b""), "file")
    await refused(box.write("a", b""), "file")
    await refused(box.list("not/there"), "file")
    await refused(box.list("a/b/c/d.txt"), "file")
    return "made as needed"


@case()
async def not_files(box: Sandbox, made: Maker) -> str:
    await box.exec("mkdir folder; mkfifo pipe; ln -s nowhere dangling; ln -s loop loop")
    for name in ("folder", "pipe", "missing", "dangling", "loop", ".", "missing/too"):
        await refused(box.read(name), "file")
    for name in ("folder", "pipe", "loop"):
        await refused(box.write(name, b"x"), "file")
    same((await box.exec("true", timeout=2)).exit_code, 0, "a command afterwards")
    return "refused without waiting"


@case()
async def above_the_limit(box: Sandbox, made: Maker) -> str:
    await box.write("file", b"x" * 1001)
    said = await refused(box.read("file", limit=1000), "large")
    same(len(await box.read("file", limit=1001)), 1001, "a file at the limit")
    return said


@case()
async def paths_that_lead_out(box: Sandbox, made: Maker) -> str:
    outside = (
        "/etc/passwd",
        "../x",
        "..",
        "a/../../x",
        "/",
        "/tmp/x",
        f"{box.workspace}/../x",
        f"{box.workspace}x/y",
    )
    for path in outside:
        await refused(box.read(path), "outside")
        await refused(box.write(path, b"x"), "outside")
        await refused(box.list(path), "outside")
    await box.write(f"{box.workspace}/absolute", "in")
    same(await box.read("a/../absolute"), b"in", "an absolute path that stays in the workspace")
    return f"{len(outside)} refused"


@case()
async def links_that_lead_out(box: Sandbox, made: Maker) -> str:
    await box.exec(
        "ln -s /etc/passwd file; ln -s / root; ln -s /tmp tmp; ln -s root/etc chain; ln -s chain/passwd far"
    )
    await box.exec("ln -s .. up; ln -s /proc/self/root magic; ln -s /dev/zero zero")
    for path in ("file", "root/etc/passwd", "chain/passwd", "far", "up/x", "magic/etc/passwd", "zero"):
        await refused(box.read(path), "outside")
        await refused(box.write(path, b"x"), "outside", "file")
    for path in ("tmp/planted", "root/tmp/planted", "up/tmp/planted"):
        await refused(box.write(path, b"x"), "outside")
    for path in ("root", "chain", "up", "tmp", "magic"):
        await refused(box.list(path), "outside")
    same((await box.exec("ls /tmp/planted 2>/dev/null")).stdout, "", "a file that was written through a link")
    found = await box.list()
    same({item.kind for item in found}, {"link"}, "links, listed as links")
    return "neither read, written nor listed"


@case()
async def writing_through_a_link(box: Sandbox, made: Maker) -> str:
    await box.exec("echo old > target; ln -s target inner; ln -s /tmp/outer outer")
    await refused(box.write("outer", b"x"), "outside", "file")
    same((await box.exec("cat /tmp/outer 2>/dev/null")).stdout, "", "what a planted link leads to")
    return "refused"


SWAP = """
import os
os.makedirs("real", exist_ok=True)
open("real/file", "w").write("inside")
os.symlink("/etc", "evil")
os.symlink("real", "door")
while True:
    for target in ("evil-link", "real-link"):
        os.symlink("/tmp/door" if target == "evil-link" else "real", "next")
        os.rename("next", "door")
"""


@case(needs="isolation")
async def links_swapped_meanwhile(box: Sandbox, made: Maker) -> str:
    await box.exec(
        [
            "sh",
            "-c",
            'mkdir /tmp/door; echo outside > /tmp/door/file; python3 -c "$1" & sleep 0.3',
            "sh",
            SWAP,
        ]
    )
    seen = set()
    from agentrl.sandboxes.base import SandboxRefusal

    for _ in range(300):
        try:
            seen.add(await box.read("door/file"))
        except SandboxRefusal:
            seen.add(b"refused")
    await box.reset()
    must(seen <= {b"inside", b"refused", b"outside\n"}, f"read {seen!r:.200}")
    must(b"outside\n" not in seen, "a link that was swapped during a read led out of the workspace")
    return f"{len(seen)} outcomes, none outside"


@case()
async def closed_files(box: Sandbox, made: Maker) -> str:
    result = await box.exec("id -u")
    if result.stdout.strip() == "0":
        raise Skip("modes mean nothing to root")
    await box.exec(
        "mkdir -p shut/in; echo x > shut/in/file; chmod 000 shut/in/file shut/in shut; echo y > f; chmod 0 f"
    )
    await refused(box.read("f"), "file")
    found = {item.path: item.kind for item in await box.list()}
    must({"f", "shut"} <= set(found), f"a listing with closed folders shows {sorted(found)}")
    await box.reset()
    same(await box.list(), [], "entries after a reset")
    return "listed and removed"
