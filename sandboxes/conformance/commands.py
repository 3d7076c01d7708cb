"""Commands: exit codes, arguments, environment, standard input, refusals, many at once."""

from __future__ import annotations

import asyncio
import hashlib
import os
import secrets

from agentrl.sandboxes.base import Sandbox
from agentrl.sandboxes.conformance.host import variable
from agentrl.sandboxes.conformance.suite import Maker, case, must, refused, same


@case()
async def exit_codes(box: Sandbox, made: Maker) -> str:
    result = await box.exec("echo a; exit 5")
    same((result.stdout, result.exit_code, result.ok), ("a\n", 5, False), "echo a; exit 5")
    for code in (0, 1, 127, 255):
        same((await box.exec(f"exit {code}")).exit_code, code, f"exit {code}")
    same((await box.exec("")).exit_code, 0, "an empty line")
    return "0 to 255 as given"


@case()
async def death_by_signal(box: Sandbox, made: Maker) -> str:
    for name, number in (("KILL", 9), ("TERM", 15), ("SEGV", 11), ("PIPE", 13)):
        result = await box.exec(f"kill -{name} $$")
        same((result.exit_code, result.timed_out), (128 + number, False), f"kill -{name} $$")
    return "128 + n"


@case()
async def two_streams(box: Sandbox, made: Maker) -> str:
    result = await box.exec("echo out; echo err >&2")
    same((result.stdout, result.stderr), ("out\n", "err\n"), "the two streams")
    return "apart"


@case()
async def missing_program(box: Sandbox, made: Maker) -> str:
    said = await refused(box.exec(["no-such-program-here", "x"]), "exec")
    must("no-such-program-here" in said, f"the refusal does not name the program: {said}")
    await box.write("plain.txt", "not a program", mode=0o644)
    await refused(box.exec(["./plain.txt"]), "exec")
    await refused(box.exec([]), "exec")
    same((await box.exec("no-such-program-here")).exit_code, 127, "the shell's own code")
    return said


@case()
async def working_folder(box: Sandbox, made: Maker) -> str:
    same((await box.exec("pwd")).stdout, f"{box.workspace}\n", "the folder of a command")
    await box.write("a/b/c.txt", "here")
    same((await box.exec("cat c.txt", cwd="a/b")).stdout, "here", "cwd a/b")
    await refused(box.exec("true", cwd="not/there"), "cwd")
    await refused(box.exec("true", cwd="a/b/c.txt"), "cwd")
    return "relative to the workspace"


@case()
async def arguments_as_they_are(box: Sandbox, made: Maker) -> str:
    words = ["$HOME", "*", ";", "a  b", "`id`", "", "-n", "'", '"', "\\", "a\nb", "ü€𝄞", "$(id)", "~"]
    result = await box.exec(["printf", "%s\\0", *words])
    same(result.stdout.split("\0")[:-1], words, "arguments")
    return f"{len(words)} words"


@case()
async def environment(box: Sandbox, made: Maker) -> str:
    value = "a b'\"$x\nü"
    result = await box.exec(["printenv", "GIVEN"], env={"GIVEN": value})
    same(result.stdout, value + "\n", "a variable")
    same((await box.exec('echo "[$GIVEN]"')).stdout, "[]\n", "a variable of the command before")
    same((await box.exec("export LEFT=1; cd /")).exit_code, 0, "export")
    same((await box.exec('echo "[$LEFT]"; pwd')).stdout, f"[]\n{box.workspace}\n", "the shell before")
    return "given, and gone afterwards"


@case()
async def environment_of_the_host(box: Sandbox, made: Maker) -> str:
    secret = secrets.token_hex(16)
    with variable("AGENTRL_CONFORMANCE_SECRET", secret):
        other = await made()
        for one in (box, other):
            result = await one.exec("env; cat /proc/*/environ 2>/dev/null | tr '\\0' '\\n'; true")
            must("PATH=" in result.stdout, "env shows nothing")
            must(
                "AGENTRL_CONFORMANCE_SECRET" not in result.stdout or other.backend == "local",
                "a variable of the host is seen",
            )
        shown = (await other.exec("env")).stdout
        must(secret not in shown, "a variable of the host is in the environment of a command")
    return "not seen"


@case()
async def large_environment(box: Sandbox, made: Maker) -> str:
    many = {f"NAME_{i}": "v" * 1000 for i in range(300)}
    result = await box.exec(
        'env | grep -c ^NAME_; printf %s "$BIG" | wc -c', env={**many, "BIG": "x" * 100_000}
    )
    same(result.stdout.split(), ["300", "100000"], "400 KB of environment")
    said = await refused(box.exec("true", env={"BIG": "x" * 3_000_000}), "exec")
    return f"400 KB; 3 MB: {said}"


@case()
async def long_command_line(box: Sandbox, made: Maker) -> str:
    said = await refused(box.exec("true " + "x" * 3_000_000), "exec")
    await refused(box.exec(["true", *["x" * 1000] * 3000]), "exec")
    await refused(box.exec("true " + "ü" * 110_000), "exec")
    same(
        (await box.exec(["printf", "%s", "x" * 100_000], output_bytes=1 << 20)).stdout,
        "x" * 100_000,
        "100 KB",
    )
    return said


@case()
async def nul_is_refused(box: Sandbox, made: Maker) -> str:
    said = await refused(box.exec("echo a\0b"), "exec", "path")
    await refused(box.exec(["echo", "a\0b"]), "exec", "path")
    await refused(box.exec("true", env={"A": "b\0"}), "exec", "path")
    await refused(box.exec("true", cwd="a\0b"), "exec", "path", "cwd")
    await refused(box.read("a\0b"), "path", "file")
    await refused(box.write("a\0b", b""), "path", "file")
    await refused(box.list("a\0b"), "path", "file")
    return said


@case()
async def stray_surrogates(box: Sandbox, made: Maker) -> str:
    result = await box.exec(["printf", "%s", "a\ud800b"])
    same((result.exit_code, result.stdout[:1]), (0, "a"), "a lone surrogate")
    same((await box.exec("cat", stdin="x\udcffy")).exit_code, 0, "a lone surrogate as input")
    await box.write("a\ud800b", "x\udcff")
    return "taken as bytes"


@case()
async def no_input(box: Sandbox, made: Maker) -> str:
    result = await box.exec("cat; echo end", timeout=5)
    same((result.stdout, result.timed_out), ("end\n", False), "cat without input")
    return "sees the end at once"


@case()
async def input_given(box: Sandbox, made: Maker) -> str:
    same((await box.exec("cat", stdin="text ü\n")).stdout, "text ü\n", "text")
    same((await box.exec("od -An -tx1", stdin=b"\x00\xff\n")).stdout.split(), ["00", "ff", "0a"], "bytes")
    same((await box.exec("head -c 1; echo; cat | wc -c", stdin="abc")).stdout.split()[0], "a", "a part")
    same((await box.exec("cat; echo end", stdin=b"")).stdout, "end\n", "empty input")
    return "text and bytes"


@case()
async def much_input(box: Sandbox, made: Maker) -> str:
    data = os.urandom(5_000_000)
    digest = hashlib.sha256(data).hexdigest()
    same((await box.exec("sha256sum", stdin=data)).stdout.split()[0], digest, "5 MB of input")
    same((await box.exec("true", stdin=data)).exit_code, 0, "5 MB that nobody reads")
    return "5 MB"


async def mixed(box: Sandbox, n: int) -> None:
    async def one(i: int) -> None:
        word = f"{i}-{secrets.token_hex(8)}"
        script = 'read -r word; echo "$word $1"; sleep 0.1; echo "$word" >&2; exit "$1"'
        result = await box.exec(["sh", "-c", script, "sh", str(i)], stdin=word + "\n", timeout=25)
        expected = (f"{word} {i}\n", f"{word}\n", i)
        same((result.stdout, result.stderr, result.exit_code), expected, f"command {i} of {n}")

    await asyncio.gather(*(one(i) for i in range(n)))


@case()
async def two_at_once(box: Sandbox, made: Maker) -> str:
    await mixed(box, 2)
    return "apart"


@case()
async def thirty_two_at_once(box: Sandbox, made: Maker) -> str:
    await mixed(box, 32)
    return "apart"
