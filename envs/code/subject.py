"""Runs inside a grading sandbox: calls the submission with what comes over descriptor 3 and sends back what it answers.

`plain.py` is put before it. It knows no expected value. Each test runs in a fork of its own, which holds neither the channel nor a way to it (this
process is not dumpable); what a fork sends through its own pipe is read as data, bounded, and sent on by number. Standard
library only.
"""

# ruff: noqa: F821
# mypy: ignore-errors

import _ctypes
import base64
import builtins
import importlib
import io
import json
import os
import select
import signal
import sys
import time

LIMIT = 1 << 20
WORKSPACE = os.getcwd()
prctl = _ctypes.dlsym(_ctypes.dlopen(None, 0), "prctl")
_ctypes.call_cdeclfunction(
    prctl, (4, 0, 0, 0, 0)
)  # PR_SET_DUMPABLE: nobody of this user opens our descriptors
_ctypes.call_cdeclfunction(
    prctl, (36, 1, 0, 0, 0)
)  # PR_SET_CHILD_SUBREAPER: what a test leaves behind comes to us


NOTED = {
    "os.fork": "fork",
    "os.forkpty": "fork",
    "os.kill": "kill",
    "os.killpg": "kill",
    "os.exec": "exec",
    "os.posix_spawn": "spawn",
    "os.system": "spawn",
    "subprocess.Popen": "spawn",
    "socket.connect": "network",
    "ctypes.dlopen": "ctypes",
    "sys._current_frames": "frames",
    "sys.settrace": "frames",
    "sys.setprofile": "frames",
    "gc.get_objects": "introspection",
    "gc.get_referrers": "introspection",
    "gc.get_referents": "introspection",
    "signal.pthread_kill": "kill",
}


class Events:
    """What the submission does that no honest one has to: for the report, never for the score."""

    def __init__(self):
        self.seen = set()
        self.on = False

    def hear(self, event, arguments):
        if not self.on:
            return
        if event in NOTED and len(self.seen) < 20:
            self.seen.add(NOTED[event])
        elif event == "open" and len(self.seen) < 20:
            self.opened(arguments)

    def opened(self, arguments):
        path, mode, flags = (*arguments, None, None, None)[:3]
        if not isinstance(path, (str, bytes)):
            return
        path = os.fsdecode(path)
        full = path if path.startswith("/") else WORKSPACE + "/" + path
        writes = isinstance(mode, str) and any(letter in mode for letter in "wax+")
        if isinstance(flags, int) and flags & 3:
            writes = True
        if full.startswith((sys.base_prefix + "/lib", "/usr/lib")):
            return
        parts = full.split("/")
        tests = parts[-1].startswith("test_") or parts[-1].endswith("_test.py") or "tests" in parts
        if full.startswith("/proc/") or ".git" in parts or tests:
            self.seen.add("reads:" + full[:80])
        if writes and (full.endswith((".py", ".pth", ".json")) or "verdict" in full or "reward" in full):
            self.seen.add("writes:" + full[:80])


def snapshot_of_builtins():
    return {name: id(value) for name, value in vars(builtins).items()}


def run_test(steps, write):
    """In the fork: import the submission, take the steps as they come, send each answer."""
    events = Events()
    answers = os.fdopen(write, "wb", buffering=0)

    def tell(kind, value):
        line = json_dumps({kind: value}).encode() + b"\n"
        answers.write(line)

    json_dumps = json.dumps
    before = snapshot_of_builtins()
    sys.addaudithook(events.hear)
    sys.path.insert(0, WORKSPACE)
    sys.dont_write_bytecode = True
    last = None
    events.on = True
    for step in steps:
        try:
            if "script" in step:
                value = run_script(step)
                answer = encode(value)
            else:
                value, last = run_call(step, last)
                answer = encode(value)
        except (SystemExit, KeyboardInterrupt, GeneratorExit) as error:
            answer = {"type": "raises", "value": names_of(error)}
            tell("flag", "exits")
        except BaseException as error:
            answer = {"type": "raises", "value": names_of(error)}
        tell("answer", answer)
    events.on = False
    if any(
        before.get(name) not in (None, id(value)) for name, value in vars(builtins).items() if name != "_"
    ):
        tell("flag", "patched_builtins")
    for name in sorted(events.seen):
        tell("flag", name)
    tell("done", True)
    answers.close()
    os._exit(0)


def names_of(error):
    """The name of an exception and of its bases, as `A < B < Exception`."""
    return " < ".join(kind.__name__ for kind in type(error).__mro__ if issubclass(kind, BaseException))


def run_call(step, last):
    target, arguments, keywords = step["target"], decode(step["args"]), decode(step["kwargs"])
    if target.startswith("."):
        function = getattr(last, target[1:])
    else:
        module, _, name = target.rpartition(":")
        function = getattr(importlib.import_module(module or "solution"), name)
    value = function(*arguments, **keywords)
    if isinstance(function, type):
        return None, value
    if hasattr(type(value), "__next__") and type(value).__name__ in (
        "generator",
        "map",
        "filter",
        "zip",
        "enumerate",
        "reversed",
    ):
        value = list(value)
    return value, last


def run_script(step):
    """A script in this very fork: its own standard streams, `__main__` as its name."""
    import runpy

    sys.argv = [step["script"], *step["args"]]
    sys.stdin = io.TextIOWrapper(io.BytesIO(step["stdin"].encode()), encoding="utf-8")
    raw = io.BytesIO()
    sys.stdout = io.TextIOWrapper(raw, encoding="utf-8", write_through=True)
    try:
        runpy.run_path(os.path.join(WORKSPACE, step["script"]), run_name="__main__")
    except SystemExit as end:
        if end.code not in (None, 0):
            raise RuntimeError(f"exit code {end.code}") from None
    finally:
        out, sys.stdout = sys.stdout, sys.__stdout__
        out.flush()
    return raw.getvalue().decode("utf-8", "replace")


def supervise(test):
    """Fork, collect what comes within the deadline, kill what is left."""
    read, write = os.pipe()
    began = time.monotonic()
    pid = os.fork()
    if pid == 0:
        try:
            os.close(read)
            os.close(3)
            os.setsid()
            run_test(test["steps"], write)
        finally:
            os._exit(1)
    os.close(write)
    data, ended, deadline = b"", False, began + test["seconds"]
    poll = select.poll()
    poll.register(read, select.POLLIN)
    while not ended:
        left = deadline - time.monotonic()
        if left <= 0 or len(data) > LIMIT:
            break
        if poll.poll(1000 * left):
            piece = os.read(read, 65536)
            ended = not piece
            data += piece
        if data.endswith(b'{"done": true}\n'):
            break
    os.close(read)
    finished = data.endswith(b'{"done": true}\n')
    code = None
    if ended and not finished:
        code = reap(pid, 0.2)
    strays = kill_all(pid)
    return {
        "data": base64.b64encode(data[:LIMIT]).decode(),
        "finished": finished,
        "late": not ended and not finished and len(data) <= LIMIT,
        "large": len(data) > LIMIT,
        "code": code,
        "strays": strays,
    }


class Live:
    """A fork that takes its steps one by one, as somebody else asks for them."""

    def __init__(self):
        down_read, self.down = os.pipe()
        self.up, up_write = os.pipe()
        self.pid = os.fork()
        if self.pid == 0:
            try:
                for fd in (self.down, self.up, 3):
                    os.close(fd)
                os.setsid()
                run_test(map(json.loads, os.fdopen(down_read, "r")), up_write)
            finally:
                os._exit(1)
        os.close(down_read)
        os.close(up_write)
        self.held = b""

    def ask(self, step, seconds):
        """The line with the answer; the lines of flags before it; None if none comes."""
        try:
            os.write(self.down, json.dumps(step).encode() + b"\n")
        except BrokenPipeError:
            return None
        return self.lines(seconds, lambda line: line.startswith(b'{"answer"'))

    def lines(self, seconds, last):
        found, deadline = [], time.monotonic() + seconds
        poll = select.poll()
        poll.register(self.up, select.POLLIN)
        while True:
            while b"\n" in self.held:
                line, _, self.held = self.held.partition(b"\n")
                found.append(line)
                if last(line):
                    return b"\n".join(found)
            left = deadline - time.monotonic()
            if left <= 0 or len(self.held) > LIMIT or not poll.poll(1000 * left):
                return None
            piece = os.read(self.up, 65536)
            if not piece:
                return None
            self.held += piece

    def end(self):
        """Its flags; and how many processes it leaves, killed."""
        os.close(self.down)
        said = self.lines(1.0, lambda line: line == b'{"done": true}') or b""
        os.close(self.up)
        return said, kill_all(self.pid)


def reap(pid, seconds):
    deadline = time.monotonic() + seconds
    while time.monotonic() < deadline:
        found, status = os.waitpid(pid, os.WNOHANG)
        if found:
            return os.WEXITSTATUS(status) if os.WIFEXITED(status) else -os.WTERMSIG(status)
        time.sleep(0.001)
    return None


def kill_all(first):
    """Kill everything under this process; how many there were besides the test's own."""
    strays = 0
    deadline = time.monotonic() + 3
    while time.monotonic() < deadline:
        pids = descendants()
        strays = max(strays, len([pid for pid in pids if pid != first]))
        for pid in pids:
            try:
                os.kill(pid, signal.SIGKILL)
            except ProcessLookupError:
                continue
        try:
            while os.waitpid(-1, os.WNOHANG)[0]:
                continue
        except ChildProcessError:
            return strays
        time.sleep(0.0005)
    return strays


def descendants():
    parents = {}
    for name in os.listdir("/proc"):
        if name.isdigit():
            try:
                with open("/proc/" + name + "/stat", "rb") as file:
                    rest = file.read().rpartition(b")")[2].split()
            except OSError:
                continue
            if rest[0] not in (b"Z", b"X"):
                parents[int(name)] = int(rest[1])
    found, todo = [], [os.getpid()]
    while todo:
        parent = todo.pop()
        for pid, its in parents.items():
            if its == parent:
                found.append(pid)
                todo.append(pid)
    return found


def main():
    channel = os.fdopen(3, "r+b", buffering=0)
    channel.write(b'{"ready": true}\n')
    held = b""
    while True:
        while b"\n" not in held:
            piece = channel.read(65536)
            if not piece:
                return
            held += piece
        line, _, held = held.partition(b"\n")
        request = json.loads(line)
        if "test" in request:
            answer = supervise(request["test"])
        elif "begin" in request:
            live = Live()
            answer = {}
        elif "step" in request:
            said = live.ask(request["step"], request["seconds"])
            answer = {"data": base64.b64encode(said or b"").decode(), "came": said is not None}
        else:
            said, strays = live.end()
            answer = {"data": base64.b64encode(said).decode(), "strays": strays}
        answer["nonce"] = request["nonce"]
        channel.write(json.dumps(answer).encode() + b"\n")


main()
