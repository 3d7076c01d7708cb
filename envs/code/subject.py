"""Runs inside a grading sandbox: calls the submission with what comes over descriptor 3 and sends back what it answers.

It knows no expected value. Each test runs in a fork of its own, which holds neither the channel nor a way to it (this
process is not dumpable); what a fork sends through its own pipe is read as data, bounded, and sent on by number. Standard
library only.
"""

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
PLAIN = (bool, int, str)
prctl = _ctypes.dlsym(_ctypes.dlopen(None, 0), "prctl")
_ctypes.call_cdeclfunction(
    prctl, (4, 0, 0, 0, 0)
)  # PR_SET_DUMPABLE: nobody of this user opens our descriptors
_ctypes.call_cdeclfunction(
    prctl, (36, 1, 0, 0, 0)
)  # PR_SET_CHILD_SUBREAPER: what a test leaves behind comes to us


def encode(value, depth=0):
    kind = type(value)
    if depth > 60:
        return {"type": "opaque", "value": "deep nesting"}
    if value is None or kind in PLAIN:
        return value
    if kind is float:
        return value if value - value == 0 else {"type": "float", "value": float.__repr__(value)}
    if kind is list:
        return [encode(item, depth + 1) for item in value]
    if kind is bytes or kind is bytearray:
        return {"type": "bytes", "value": bytes(value).hex()}
    if kind is complex:
        return {"type": "complex", "value": [encode(value.real), encode(value.imag)]}
    if kind is tuple:
        return {"type": "tuple", "value": [encode(item, depth + 1) for item in value]}
    if kind is dict or (kind.__module__ == "collections" and issubclass(kind, dict)):
        pairs = dict.items(value)
        return {
            "type": "dict",
            "value": [[encode(key, depth + 1), encode(item, depth + 1)] for key, item in pairs],
        }
    if kind is set or kind is frozenset:
        return {"type": "set", "value": [encode(item, depth + 1) for item in value]}
    if kind.__module__ == "collections" and kind.__name__ == "deque":
        return [encode(item, depth + 1) for item in value]
    return {"type": "opaque", "value": kind.__name__}


def decode(value):
    if isinstance(value, list):
        return [decode(item) for item in value]
    if not isinstance(value, dict):
        return value
    kind, inner = value["type"], value["value"]
    if kind == "float":
        return float(inner)
    if kind == "bytes":
        return bytes.fromhex(inner)
    if kind == "complex":
        return complex(decode(inner[0]), decode(inner[1]))
    items = [decode(item) for item in inner]
    return {"tuple": tuple, "dict": dict, "set": set}[kind](items)


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


def run_test(test, write):
    """In the fork: import the submission, take the steps, send each answer as it comes."""
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
    for step in test["steps"]:
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
            run_test(test, write)
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
        answer = supervise(request["test"])
        answer["nonce"] = request["nonce"]
        channel.write(json.dumps(answer).encode() + b"\n")


main()
