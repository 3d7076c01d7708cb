"""The embedded backend: a namespace sandbox without a daemon, started in tens of milliseconds.

A sandbox is one `bwrap` process with a supervisor in it: namespaces of its own for users, processes, network, mounts,
IPC, host name; the host's `/usr` read-only; everything that can be written in sized tmpfs; a system call filter; no
capabilities; no new privileges. Where this process is root, the sandbox runs as a host user that nothing else uses.

Invariant: nothing of a sandbox is on the host's disk, so nothing can stay there; it ends with its runner.
"""

from __future__ import annotations

import asyncio
import errno
import functools
import itertools
import os
import shutil
import stat
import subprocess
import sys
import tempfile
import time
from collections.abc import Sequence
from contextlib import ExitStack
from pathlib import Path
from typing import Any

from agentrl.sandboxes import cgroups, ledger, seccomp
from agentrl.sandboxes.base import Backend, SandboxFailure, SandboxSpec, SandboxUnavailable
from agentrl.sandboxes.owner import Label
from agentrl.sandboxes.spawn import gone, spawn
from agentrl.sandboxes.supervised import Handle, SupervisedSandbox
from agentrl.sandboxes.surroundings import (
    INSIDE,
    SUPERVISOR,
    WORKSPACE,
    greeted,
    refuse_docker_only,
    supervisor_settings,
)

WIPED = ("/tmp", "/dev/shm")
PLACE = "/run/agentrl/supervisor.pyc"
FIRST_USER, USERS = 1_879_000_000, 65_536  # host users that no distribution gives to anybody
ETC = {
    "/etc/passwd": "root:x:0:0:root:/root:/bin/sh\nsandbox:x:{user}:{user}::/workspace:/bin/bash\n",
    "/etc/group": "root:x:0:\nsandbox:x:{user}:\n",
    "/etc/hosts": "127.0.0.1 localhost sandbox\n::1 localhost\n",
    "/etc/nsswitch.conf": "passwd: files\ngroup: files\nhosts: files dns\n",
}
HOST_ETC = ("/etc/alternatives", "/etc/ld.so.cache", "/etc/ld.so.conf", "/etc/ld.so.conf.d", "/etc/localtime")
PATH = "/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin"
_users = itertools.count(int.from_bytes(os.urandom(2), "big"))


class Bubblewrap(Backend):
    """See the module."""

    name = "bubblewrap"

    async def start(self, spec: SandboxSpec) -> SupervisedSandbox:
        refuse_docker_only(spec, self.name)
        program, python = find_bwrap(), find_python()
        await ledger.sweep(self.name)
        label = Label.new()
        group = cgroups.Group.make(
            f"{label.sandbox}@{label.owner}", memory=spec.memory, processes=spec.processes, cpus=spec.cpus
        )
        try:
            return await self._start(spec, label, group, program, python)
        except BaseException:
            if group is not None:
                await asyncio.to_thread(group.remove)
            raise

    async def _start(
        self, spec: SandboxSpec, label: Label, group: cgroups.Group | None, program: str, python: str
    ) -> SupervisedSandbox:
        with ExitStack() as opened:
            files: list[int] = []

            def file(content: bytes) -> str:
                """A descriptor that bwrap reads once."""
                fd = os.memfd_create("agentrl")
                opened.callback(os.close, fd)
                os.write(fd, content)
                os.lseek(fd, 0, os.SEEK_SET)
                files.append(fd)
                return str(fd)

            argv = [*prefix(group), program, *arguments(spec, python, file)]
            watched = group is None
            settings = supervisor_settings(spec, WORKSPACE, wipe=WIPED, own_ipc=True, watched=watched)
            if watched:
                settings["rlimits"]["AS"] = 4 * spec.memory  # between two looks of the supervisor
            argv += ["--", python, "-I", "-S", PLACE, repr(settings), label.text()]
            try:
                process, ours = await spawn(argv, pass_fds=files, env={"PATH": PATH})
            except OSError as error:
                raise failed_start(error) from error
        said = ""

        async def destroy() -> None:
            nonlocal said
            # Its input has ended, so it ends by itself, and bwrap once the kernel has emptied the namespace; killed
            # from outside, bwrap would be gone before what is in it.
            deadline = time.monotonic() + 2
            while process.poll() is None and time.monotonic() < deadline:
                await asyncio.sleep(0.001)
            said = (await gone(process)).decode("utf-8", "replace").strip()
            if group is not None and not await asyncio.to_thread(group.remove):
                raise SandboxFailure(
                    label.sandbox, "its control group would not go: something in it survives"
                )

        try:
            link = await greeted(ours, label.sandbox, spec.start_seconds, destroy)
        except SandboxFailure as failure:
            raise explained(label.sandbox, said, failure) from None
        handle = Handle(destroy, group.oom_kills if group is not None else None)
        return SupervisedSandbox(label.sandbox, self.name, spec, link, handle, self.start)

    async def check(self, spec: SandboxSpec) -> str:
        sandbox = await self.start(spec)
        try:
            limits = "control groups" if cgroups.hierarchy() else "limits counted by the supervisor"
            return f"bubblewrap works ({find_bwrap()}, python {sandbox.link.hello['python']}, {limits})"
        finally:
            await sandbox.close()


def arguments(spec: SandboxSpec, python: str, file: Any) -> list[str]:
    """bwrap's arguments: everything is denied, and this is what is given."""
    user = str(spec.user)
    given = ["--unshare-all", "--unshare-user", "--uid", user, "--gid", user, "--hostname", "sandbox"]
    given += [
        "--as-pid-1",
        "--die-with-parent",
        "--new-session",
        "--cap-drop",
        "ALL",
        "--clearenv",
        "--disable-userns",
    ]
    if spec.network:
        given += ["--share-net", "--ro-bind-try", "/etc/resolv.conf", "/etc/resolv.conf"]
        given += ["--ro-bind-try", "/etc/ssl", "/etc/ssl"]
    given += host_folders(python)
    for path, text in ETC.items():
        given += ["--ro-bind-data", file(text.format(user=user).encode()), path]
    for path in HOST_ETC:
        given += ["--ro-bind-try", path, path]
    given += ["--proc", "/proc", "--ro-bind-try", "/proc/sys", "/proc/sys", "--dev", "/dev"]
    tmp = str(spec.tmp_bytes)
    given += ["--perms", "1777", "--size", tmp, "--tmpfs", "/tmp"]
    given += ["--perms", "1777", "--size", tmp, "--tmpfs", "/dev/shm"]
    given += ["--perms", "0755", "--size", str(spec.workspace_bytes), "--tmpfs", "/workspace"]
    given += ["--ro-bind-data", file(compiled(python)), PLACE]
    given += ["--remount-ro", "/dev"]
    if spec.read_only:
        given += ["--remount-ro", "/"]
    for name, value in {"PATH": PATH, **INSIDE}.items():
        given += ["--setenv", name, value]
    if spec.seccomp:
        given += ["--seccomp", file(seccomp.program())]
    return [*given, "--chdir", "/workspace"]


def host_folders(python: str) -> list[str]:
    """The host's programs, read-only: `/usr`, the links to it, and the interpreter where it is elsewhere."""
    given = ["--ro-bind", "/usr", "/usr"]
    for name in ("bin", "sbin", "lib", "lib32", "lib64", "libx32"):
        path = Path("/", name)
        if path.is_symlink():
            given += ["--symlink", os.readlink(path), str(path)]
        elif path.is_dir():
            given += ["--ro-bind", str(path), str(path)]
    if not python.startswith("/usr/"):
        given += ["--ro-bind", sys.base_prefix, sys.base_prefix]
    return given


def prefix(group: cgroups.Group | None) -> list[str]:
    """What runs before bwrap: join the group, and, for root, become a host user that nothing else uses."""
    given: list[str] = []
    if group is not None:
        given += ["/bin/sh", "-c", f'{group.join_script()}; exec "$@"', "sh"]
    if os.geteuid() == 0:
        user = str(FIRST_USER + next(_users) % USERS)
        given += ["setpriv", f"--reuid={user}", f"--regid={user}", "--clear-groups", "--"]
    return given


def find_bwrap() -> str:
    if not sys.platform.startswith("linux"):
        raise SandboxUnavailable("bubblewrap needs Linux: use --sandbox docker")
    found = shutil.which("bwrap")
    if found is None:
        raise SandboxUnavailable(
            "no bwrap command here: apt-get install -y bubblewrap, or use --sandbox docker"
        )
    return found


def find_python() -> str:
    """An interpreter that the sandbox's user can reach."""
    for candidate in ("/usr/bin/python3", "/usr/local/bin/python3"):
        if Path(candidate).exists():
            return candidate
    own = Path(sys.base_prefix, "bin", f"python{sys.version_info[0]}.{sys.version_info[1]}")
    if own.exists() and (os.geteuid() != 0 or all(reachable(folder) for folder in own.parents)):
        return str(own)
    raise SandboxUnavailable(
        "bubblewrap shows the sandbox the host's /usr, and there is no /usr/bin/python3: apt-get install -y python3, "
        "or use --sandbox docker"
    )


@functools.cache
def compiled(python: str) -> bytes:
    """The supervisor as this interpreter's byte code: compiling it anew would be half of a start."""
    with tempfile.TemporaryDirectory() as folder:
        target = Path(folder, "supervisor.pyc")
        code = "import py_compile, sys; py_compile.compile(sys.argv[1], cfile=sys.argv[2], doraise=True)"
        subprocess.run(
            [python, "-I", "-c", code, str(SUPERVISOR), str(target)],
            check=True,
            capture_output=True,
            timeout=60,
        )
        return target.read_bytes()


def reachable(folder: Path) -> bool:
    return bool(folder.stat().st_mode & stat.S_IXOTH)


def failed_start(error: OSError) -> Exception:
    if error.errno in (errno.ENOENT, errno.EACCES):
        return SandboxUnavailable(f"bubblewrap cannot be started: {error}")
    return SandboxFailure("bubblewrap", f"cannot be started: {error}")


HINTS: Sequence[tuple[str, str]] = (
    (
        "creating new namespace",
        "user namespaces are off here: sysctl -w kernel.unprivileged_userns_clone=1 user.max_user_namespaces=10000, or "
        "use --sandbox docker",
    ),
    (
        "setting up uid map",
        "this user may not map ids (AppArmor?): sysctl -w kernel.apparmor_restrict_unprivileged_userns=0, or use "
        "--sandbox docker",
    ),
    (
        "No permissions to create",
        "user namespaces are off here: sysctl -w user.max_user_namespaces=10000, or use --sandbox docker",
    ),
    ("Unknown option", "this bwrap is too old: bubblewrap 0.8 or newer is needed, or use --sandbox docker"),
    (
        "unrecognized option",
        "this bwrap is too old: bubblewrap 0.8 or newer is needed, or use --sandbox docker",
    ),
)


def explained(subject: str, said: str, failure: SandboxFailure) -> Exception:
    """A failed start as what it means for the user."""
    for sign, hint in HINTS:
        if sign.casefold() in said.casefold():
            return SandboxUnavailable(f"bubblewrap cannot start a sandbox ({said.splitlines()[0]}): {hint}")
    return SandboxFailure(subject, said or str(failure)) if said else failure
