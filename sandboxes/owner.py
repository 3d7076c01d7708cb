"""Who made a sandbox: written on every container, volume, network and process, and read by the reaper.

Invariant: an owner is dead only if that can be known: its process is gone from *this* process namespace of *this* boot,
or the machine has been booted since. An owner in another namespace is left alone.
"""

from __future__ import annotations

import functools
import json
import os
import secrets
import time
from dataclasses import asdict, dataclass
from pathlib import Path

RUN, OWNER, STARTED, SANDBOX = "agentrl.run", "agentrl.owner", "agentrl.started", "agentrl.sandbox"


@dataclass(frozen=True, slots=True)
class Owner:
    """A process, told apart from every other one that ever had its number.

    Attributes:
        pid: its number.
        start: clock ticks after boot at which it started.
        namespace: inode of its process namespace.
        boot: which boot of which machine.
    """

    pid: int
    start: int
    namespace: int
    boot: str

    @property
    def text(self) -> str:
        return f"{self.pid}:{self.start}:{self.namespace}:{self.boot}"

    @classmethod
    def parse(cls, text: str) -> Owner | None:
        pid, start, namespace, boot = ([*text.split(":", 3), "", "", "", ""])[:4]
        if not (pid.isdigit() and start.isdigit() and namespace.isdigit() and boot):
            return None
        return cls(int(pid), int(start), int(namespace), boot)

    def alive(self) -> bool | None:
        """True or False where it can be known, else None."""
        if self.boot != boot_id():
            return False if self.namespace == pid_namespace() else None
        if self.namespace != pid_namespace():
            return None
        return start_time(self.pid) == self.start


@dataclass(frozen=True, slots=True)
class Label:
    """What is written on a sandbox."""

    sandbox: str
    run: str
    owner: str
    started: float

    @classmethod
    def new(cls) -> Label:
        return cls(f"agentrl-{secrets.token_hex(6)}", run_id(), me().text, round(time.time(), 3))

    def labels(self) -> dict[str, str]:
        """As Docker labels."""
        return {SANDBOX: self.sandbox, RUN: self.run, OWNER: self.owner, STARTED: str(self.started)}

    def text(self) -> str:
        """As one argument of a process."""
        return "agentrl-sandbox=" + json.dumps(asdict(self), separators=(",", ":"))

    @classmethod
    def parse(cls, text: str) -> Label | None:
        head, _, rest = text.partition("=")
        if head != "agentrl-sandbox":
            return None
        try:
            return cls(**json.loads(rest))
        except (ValueError, TypeError):
            return None


def me() -> Owner:
    """This process."""
    pid = os.getpid()
    return Owner(pid, start_time(pid) or 0, pid_namespace(), boot_id())


def run_id() -> str:
    """The run that this process works for: `AGENTRL_RUN`, else a name of its own."""
    return os.environ.get("AGENTRL_RUN") or f"process-{os.getpid()}"


def start_time(pid: int) -> int | None:
    """Clock ticks after boot at which a process started; None if there is no such process."""
    try:
        rest = Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()
    except OSError:
        return None
    return None if rest[0] in ("Z", "X") else int(rest[19])


@functools.cache
def boot_id() -> str:
    return Path("/proc/sys/kernel/random/boot_id").read_text().strip()


def pid_namespace() -> int:
    return os.stat("/proc/self/ns/pid").st_ino
