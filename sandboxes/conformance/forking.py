"""Snapshots and forks: the same files on both sides, and from then on two worlds."""

from __future__ import annotations

import asyncio

from agentrl.sandboxes.base import MIB, Sandbox
from agentrl.sandboxes.conformance.suite import (
    Broken,
    Maker,
    Skip,
    case,
    must,
    nothing_runs,
    refused,
    same,
    works,
)

FURNISH = r"""
mkdir -p deep/er empty; echo one > deep/er/one; printf '\000\377' > bytes; : > nothing; printf x > 'new
line'; printf x > -dash; ln -s deep/er way; ln -s /nowhere lost; chmod 640 deep/er/one; chmod 750 deep; chmod 1770 empty
head -c 3000000 /dev/urandom > big; touch -d '2001-02-03 04:05:06.789' deep/er/one; touch -d '2002-01-01' deep empty
touch -h -d '2003-01-01' way; echo t > /tmp/agentrl-kept
"""
STATE = r"find . -printf '%p|%y|%m|%T@|%l\n' | grep -v '^\.|' | sort; find . -type f | sort | xargs -d '\n' sha256sum -- 2>/dev/null"
WRITER = """
import os, itertools
for i in itertools.count():
    name = f"w{i % 50}"
    os.makedirs(name, exist_ok=True)
    with open(f"{name}/file", "w") as file:
        file.write("x" * (i % 5000))
    os.symlink("file", f"{name}/link")
    os.unlink(f"{name}/file")
    os.unlink(f"{name}/link")
    os.rmdir(name)
"""


async def state(box: Sandbox) -> str:
    result = await box.exec(STATE, output_bytes=MIB)
    must(
        not result.truncated_bytes and result.stdout, f"the state of the files is not known: {result!r:.200}"
    )
    return result.stdout


@case()
async def fork_is_equal(box: Sandbox, made: Maker) -> str:
    same((await box.exec(FURNISH)).exit_code, 0, "the files to be forked")
    before = await state(box)
    child = made.keep(await box.fork())[0]
    same(await state(child), before, "files of the fork")
    same(await state(box), before, "files of the parent after the fork")
    if box.backend != "local":
        same((await child.exec("cat /tmp/agentrl-kept")).stdout, "t\n", "a temporary file in the fork")
    await nothing_runs(child)
    return f"{before.count(chr(10))} lines of state, equal to the nanosecond"


@case()
async def branches_do_not_meet(box: Sandbox, made: Maker) -> str:
    await box.write("file", "parent")
    one, two = made.keep(await box.fork(2))
    await one.write("file", "one")
    await two.exec("rm file; echo two > only-two")
    await box.write("late", "parent")
    same(await box.read("file"), b"parent", "the parent's file")
    same(await one.read("file"), b"one", "the first branch's file")
    await refused(two.read("file"), "file")
    for other, names in ((box, ["file", "late"]), (one, ["file"]), (two, ["only-two"])):
        same([item.path for item in await other.list()], names, "the names in a branch")
    must(len({box.id, one.id, two.id}) == 3, "branches share an id")
    return "three worlds"


@case()
async def fork_of_a_fork(box: Sandbox, made: Maker) -> str:
    await box.write("line", "1")
    child = made.keep(await box.fork())[0]
    await child.write("line", "12")
    await box.write("line", "other")
    grandchild = made.keep(await child.fork())[0]
    await child.close()
    same(await grandchild.read("line"), b"12", "the file of a grandchild")
    await works(grandchild)
    return "goes on without its parent"


@case()
async def four_at_once(box: Sandbox, made: Maker) -> str:
    await box.write("file", "x" * 100_000)
    pairs = await asyncio.gather(box.fork(2), box.fork(2))
    children = made.keep([child for pair in pairs for child in pair])
    same(
        [await child.read("file") == b"x" * 100_000 for child in children],
        [True] * 4,
        "the files of four forks",
    )
    return "equal"


@case(fresh=True)
async def fork_while_it_writes(box: Sandbox, made: Maker) -> str:
    await box.write("stays", "here")
    await box.exec(["sh", "-c", 'python3 -c "$1" & sleep 0.2', "sh", WRITER])
    for _ in range(3):
        child = made.keep(await box.fork())[0]
        same(await child.read("stays"), b"here", "a file that nobody changes")
        await works(child)
    must(await box.ping() > 0, "what ran in the parent was killed by a fork")
    return "3 forks"


@case()
async def restore(box: Sandbox, made: Maker) -> str:
    await box.exec(FURNISH)
    before, snapshot = await state(box), await box.snapshot()
    await box.exec("rm -rf deep; echo new > new; echo changed > bytes; rm way; mkdir way; sleep 50 & true")
    must(await state(box) != before, "nothing was changed")
    await box.restore(snapshot)
    same(await state(box), before, "files after a restore")
    await nothing_runs(box)
    await box.restore(snapshot)
    same(await state(box), before, "files after a second restore")
    return "changed, removed and new files"


@case()
async def reset_is_fresh(box: Sandbox, made: Maker) -> str:
    await box.exec(
        "echo x > file; echo x > .hidden; mkdir -p a/b; ln -s / root; mkfifo pipe; sleep 50 & setsid sleep 50 & true"
    )
    await box.exec(
        "echo x > /tmp/agentrl-file; echo x > /dev/shm/agentrl-file; rm -f root/nothing; chmod 000 a . 2>/dev/null; true"
    )
    await box.reset()
    same(await box.list(), [], "entries")
    await nothing_runs(box)
    if box.backend != "local":
        left = await box.exec("ls -A /tmp /dev/shm . | grep -v -e ':$' -e '^$'; stat -c %a .")
        same(left.stdout.split(), ["755"], "what a reset leaves")
    await works(box)
    return "no processes, no files"


@case()
async def closed_files_are_kept(box: Sandbox, made: Maker) -> str:
    if (await box.exec("id -u")).stdout.strip() == "0":
        raise Skip("modes mean nothing to root")
    await box.exec(
        "mkdir -p shut/in; echo x > shut/in/file; chmod 000 shut/in/file shut/in shut; mkdir r; echo y > r/f; chmod 400 r"
    )
    child = made.keep(await box.fork())[0]
    for one in (box, child):
        modes = await one.exec(
            "stat -c %a shut r; chmod 700 shut; stat -c %a shut/in; chmod 700 shut/in; stat -c %a shut/in/file"
        )
        same(modes.stdout.split(), ["0", "400", "0", "0"], "modes of closed folders and files")
        same((await one.exec("chmod 600 shut/in/file; cat shut/in/file")).stdout, "x\n", "a closed file")
        await one.exec("chmod 000 shut/in/file shut/in shut")
        await one.reset()
        same(await one.list(), [], "entries after a reset")
    return "in a snapshot, and removed by a reset"


@case()
async def nested_too_deep(box: Sandbox, made: Maker) -> str:
    deep = "import os\nfor i in range(1500):\n    os.mkdir('d' * 100)\n    os.chdir('d' * 100)"
    await box.exec(["python3", "-c", deep])
    said = await refused(box.snapshot(), "path", "large")
    await refused(box.list(), "path", "large")
    await works(box)
    return said


@case(needs="limits")
async def full_to_the_brim(box: Sandbox, made: Maker) -> str:
    await box.exec("head -c 1000000000 /dev/zero > zeros; true", timeout=20)
    size = {item.path: item.size for item in await box.list()}["zeros"]
    child = made.keep(await box.fork())[0]
    same({item.path: item.size for item in await child.list()}, {"zeros": size}, "a fork of a full workspace")
    return f"{size} bytes"


@case()
async def snapshot_of_another_backend(box: Sandbox, made: Maker) -> str:
    from dataclasses import replace

    from agentrl.core.failures import UserError

    await box.write("file", "x")
    other = replace(await box.snapshot(), backend="another")
    try:
        await box.restore(other)
    except UserError as error:
        same(await box.read("file"), b"x", "a file after a refused restore")
        return str(error)
    raise Broken("a snapshot of another backend is taken")
