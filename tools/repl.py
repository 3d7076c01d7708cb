"""A Python session: variables, imports and functions last from call to call.

The interpreter lives in the sandbox and is talked to over a channel of its own, so that what user code prints cannot be
taken for an answer. Output is bounded inside, while it is printed.
"""

from __future__ import annotations

import asyncio
import json

from agentrl.core.failures import ToolError
from agentrl.core.tool import Tool
from agentrl.sandboxes.base import Process, Sandbox, SandboxRefusal
from agentrl.tools.running import OUTPUT_BYTES, SECONDS, Box

LIFETIME = 3600.0  # seconds that a session may live at most
LARGEST_ANSWER = 1 << 20

DRIVER = r'''
import ast, io, json, os, struct, sys, traceback

channel = os.fdopen(3, "r+b", buffering=0)
os.set_inheritable(3, False)

class Bounded(io.TextIOBase):
    """Keeps the head and the tail of what is printed."""
    def __init__(self, half):
        self.half, self.head, self.tail, self.total = half, "", "", 0
    def writable(self):
        return True
    def write(self, text):
        self.total += len(text)
        room = self.half - len(self.head)
        self.head += text[:room]
        self.tail = (self.tail + text[room:])[-self.half:] if room < len(text) else self.tail
        return len(text)
    def text(self):
        lost = self.total - len(self.head) - len(self.tail)
        return self.head + ("\n[... %d characters omitted ...]\n" % lost if lost else "") + self.tail

def exactly(n):
    data = b""
    while len(data) < n:
        piece = channel.read(n - len(data))
        if not piece:
            os._exit(0)
        data += piece
    return data

names = {"__name__": "__main__", "__builtins__": __builtins__}
while True:
    request = json.loads(exactly(struct.unpack("!I", exactly(4))[0]))
    out = Bounded(request["half"])
    sys.stdout = sys.stderr = out
    failed = False
    try:
        tree = ast.parse(request["code"], "<cell>")
        last = tree.body.pop() if tree.body and isinstance(tree.body[-1], ast.Expr) else None
        exec(compile(tree, "<cell>", "exec"), names)
        if last is not None:
            value = eval(compile(ast.Expression(last.value), "<cell>", "eval"), names)
            if value is not None:
                print(repr(value))
    except BaseException as error:
        failed = True
        trace = error.__traceback__
        while trace is not None and trace.tb_frame.f_code.co_filename != "<cell>":
            trace = trace.tb_next
        out.write("".join(traceback.format_exception(type(error), error, trace)))
    sys.stdout, sys.stderr = sys.__stdout__, sys.__stderr__
    answer = json.dumps({"text": out.text(), "failed": failed}).encode()
    channel.write(struct.pack("!I", len(answer)) + answer)
'''


class PythonSession:
    """An interpreter in a sandbox.

    Args:
        box: gives the episode's sandbox.
        seconds: deadline of one call. A call that misses it costs the session: a new one begins.
    """

    def __init__(self, box: Box, *, seconds: float = SECONDS, output_bytes: int = OUTPUT_BYTES) -> None:
        self.box, self.seconds, self.output_bytes = box, seconds, output_bytes
        self.process: Process | None = None
        self.sandbox: Sandbox | None = None

    async def run(self, code: str) -> str:
        """Run a cell; what it printed, and the value of its last expression.

        Raises:
            ToolError: the interpreter ended (`exit()`, a crash) or was too slow; the next call begins a new one.
        """
        sandbox = await self.box()
        if self.process is None or self.sandbox is not sandbox:
            self.sandbox = sandbox
            self.process = await sandbox.open(["python3", "-u", "-c", DRIVER], timeout=LIFETIME)
        request = json.dumps({"code": code, "half": self.output_bytes // 2}).encode()
        try:
            await self.process.send(len(request).to_bytes(4, "big") + request)
            answer = await self._answer(self.process)
        except TimeoutError:
            await self._lose()
            raise ToolError(
                f"not finished after {self.seconds:g} s: the session was ended, its variables are gone"
            ) from None
        except SandboxRefusal:
            answer = None
        if answer is None:
            result = await self._lose()
            raise ToolError(f"the interpreter ended{result}: a new session begins, its variables are gone")
        text: str = answer["text"].rstrip("\n")
        if answer["failed"]:
            raise ToolError(text)
        return text or "[no output]"

    async def _answer(self, process: Process) -> dict[str, str] | None:
        data = b""
        async with asyncio.timeout(self.seconds):
            while len(data) < 4 or len(data) < 4 + int.from_bytes(data[:4], "big"):
                piece = await process.receive(self.seconds)
                data += piece
                if not piece or len(data) > LARGEST_ANSWER:
                    return None
        try:
            answer = json.loads(data[4:])
            return {"text": str(answer["text"]), "failed": answer["failed"]}
        except (ValueError, KeyError, TypeError):
            return None  # user code wrote into the channel: what came cannot be believed

    async def _lose(self) -> str:
        process, self.process = self.process, None
        if process is None:
            return ""
        result = await process.kill()
        return " (out of memory)" if result.oom_killed else f" (exit code {result.exit_code})"


def python_session(box: Box, *, seconds: float = SECONDS, output_bytes: int = OUTPUT_BYTES) -> Tool:
    """A Python interpreter with memory, one for each sandbox. Arguments as those of `tools.running.bash`."""
    session = PythonSession(box, seconds=seconds, output_bytes=output_bytes)

    async def python(code: str) -> str:
        """Run Python code in an interpreter that remembers variables, imports and functions from call to call.

        Args:
            code: statements; the value of a last expression is shown.
        """
        return await session.run(code)

    return Tool.of(python)
