"""The one trusted process inside a sandbox: runs commands, bounds their output, kills what is late, moves files.

It is self-contained (standard library, Python 3.8 or newer) because it travels into images that know nothing of this
package. It speaks frames on its standard input and output: two big-endian 32-bit lengths, a header, a body. What it
hears is a Python literal (from its host, which it trusts); what it says is JSON (to a host that trusts nobody).

Invariants: commands never hold its descriptors and cannot open them (it is not dumpable); every command has a runner
of its own, a subreaper, so that whatever it forks, detaches or orphans stays under that runner and dies with it; memory
does not grow with what commands print; when its input ends, everything ends.

Usage: python3 -I -S supervisor.py "{'workspace': ..., 'memory': bytes or 0, 'processes': n, ...}" [label]
"""

# mypy: ignore-errors

# Only modules in C: it starts with every sandbox, and `json`, `signal`, `selectors` and `ctypes` would double its time.
import _ctypes
import _signal as signal
import _stat as stat
import errno
import os
import resource
import select
import sys
import time
from _json import encode_basestring_ascii

PROTOCOL = 1
CHUNK = 1 << 16
BATCH = 1 << 20
DEEPEST, LONGEST = 250, 3500  # folders in each other, bytes of a path: what is listed and packed
PR_SET_DUMPABLE, PR_SET_CHILD_SUBREAPER, PR_SET_NO_NEW_PRIVS = 4, 36, 38
IGNORED = (
    "SIGINT",
    "SIGTERM",
    "SIGHUP",
    "SIGPIPE",
    "SIGQUIT",
    "SIGUSR1",
    "SIGUSR2",
    "SIGALRM",
    "SIGTTOU",
    "SIGXFSZ",
)
PRCTL = _ctypes.dlsym(_ctypes.dlopen(None, 0), "prctl")


def prctl(option, value):
    _ctypes.call_cdeclfunction(PRCTL, (option, value, 0, 0, 0))


def clear_ipc():
    """Remove shared memory, queues and semaphores that outlive the processes that made them."""
    for kind in ("shm", "msg", "sem"):
        control = _ctypes.dlsym(_ctypes.dlopen(None, 0), kind + "ctl")
        with open("/proc/sysvipc/" + kind) as file:
            lines = file.read().splitlines()[1:]
        for line in lines:
            number = int(line.split()[1])
            # IPC_RMID is 0; where it comes, and whether something else comes before, differs.
            arguments = (number, 0, 0) if kind == "sem" else (number, 0, None)
            _ctypes.call_cdeclfunction(control, arguments)


class Capture:
    """The head and the tail of a stream; what is between is counted and forgotten."""

    def __init__(self, limit):
        self.half = max(1, limit // 2)
        self.head, self.tail, self.total = bytearray(), bytearray(), 0

    def add(self, data):
        self.total += len(data)
        room = self.half - len(self.head)
        if room > 0:
            self.head += data[:room]
            data = data[room:]
        if data:
            self.tail += data
            if len(self.tail) > 4 * self.half:
                del self.tail[: len(self.tail) - self.half]

    def parts(self):
        """(head, tail, omitted bytes)"""
        tail = bytes(self.tail[-self.half :])
        return bytes(self.head), tail, self.total - len(self.head) - len(tail)


class Job:
    """A command: its runner, its pipes, its deadline."""

    def __init__(self, number, runner, deadline, limit):
        self.number, self.runner, self.deadline = number, runner, deadline
        self.began = time.monotonic()
        self.out, self.err = Capture(limit), Capture(limit)
        self.fds = {}  # fd -> "out" | "err" | "status" | "channel"
        self.channel = None
        self.status = b""
        self.timed_out = self.oom = self.answered = False
        self.code = None


class Refused(Exception):
    """A request that cannot be met; `kind` says whose fault."""

    def __init__(self, kind, message):
        Exception.__init__(self, message)
        self.kind = kind


class Supervisor:
    def __init__(self, settings):
        self.settings = settings
        self.workspace = os.path.realpath(settings["workspace"])
        self.folders = {
            folder: stat.S_IMODE(os.stat(folder).st_mode)
            for folder in (self.workspace, *settings.get("wipe", ()))
        }
        self.input, self.output = os.dup(0), os.dup(1)
        null = os.open("/dev/null", os.O_RDWR)
        for fd in (0, 1, 2):
            os.dup2(null, fd)
        os.close(null)
        os.set_inheritable(self.input, False)
        os.set_inheritable(self.output, False)
        prctl(PR_SET_DUMPABLE, 0)
        prctl(PR_SET_NO_NEW_PRIVS, 1)
        prctl(PR_SET_CHILD_SUBREAPER, 1)
        for name in IGNORED:
            signal.signal(getattr(signal, name), signal.SIG_IGN)
        self.poll = select.epoll()
        self.poll.register(self.input, select.EPOLLIN)
        self.watching = {}  # fd -> Job
        self.buffer = bytearray()
        self.jobs = {}  # runner pid -> Job
        self.running = {}  # request number -> Job not answered yet
        self.watched = 0.0
        self.oom_seen = oom_kills()

    # -- frames ----------------------------------------------------------------------------------------

    def say(self, header, body=b""):
        text = encode(header).encode()
        write_all(self.output, len(text).to_bytes(4, "big") + len(body).to_bytes(4, "big") + text + body)

    def hear(self):
        """Read what has come and obey whole frames. False when the input has ended."""
        data = os.read(self.input, 1 << 20)
        if not data:
            return False
        self.buffer += data
        while len(self.buffer) >= 8:
            first = 8 + int.from_bytes(self.buffer[:4], "big")
            end = first + int.from_bytes(self.buffer[4:8], "big")
            if len(self.buffer) < end:
                break
            header = literal(bytes(self.buffer[8:first]).decode())
            body = bytes(self.buffer[first:end])
            del self.buffer[:end]
            self.obey(header, body)
        return True

    def obey(self, header, body):
        number = header["id"]
        try:
            getattr(self, "do_" + header["op"])(number, header, body)
        except Refused as error:
            self.say({"id": number, "error": error.kind, "message": str(error)})
        except (OSError, ValueError) as error:
            kind = "full" if getattr(error, "errno", None) in (errno.ENOSPC, errno.EDQUOT) else "failed"
            self.say({"id": number, "error": kind, "message": reason(error)})

    # -- the loop --------------------------------------------------------------------------------------

    def serve(self):
        shell = next((path for path in ("/bin/bash", "/usr/bin/bash") if os.access(path, os.X_OK)), "/bin/sh")
        self.say(
            {
                "hello": PROTOCOL,
                "pid": os.getpid(),
                "uid": os.getuid(),
                "python": sys.version.split()[0],
                "shell": shell,
            }
        )
        while True:
            patience = self.patience()
            for fd, _ in self.poll.poll(-1 if patience is None else patience):
                if fd == self.input:
                    if not self.hear():
                        return
                elif fd in self.watching:
                    self.pump(fd, self.watching[fd])
            self.look_after()

    def patience(self):
        """Seconds until something has to be looked at."""
        now = time.monotonic()
        waits = [max(0.0, job.deadline - now) for job in self.running.values()]
        if self.jobs and (self.settings.get("watch")):
            waits.append(max(0.0, self.watched + 0.1 - now))
        if self.running:
            waits.append(1.0)
        return min(waits) if waits else (5.0 if self.jobs else None)

    def look_after(self):
        now = time.monotonic()
        for job in list(self.running.values()):
            if job.deadline <= now and not job.answered:
                job.timed_out = True
                self.slay(job)
        if self.jobs and self.settings.get("watch") and now >= self.watched + 0.1:
            self.watched = now
            self.watch()
        self.reap()

    def pump(self, fd, job):
        kind = job.fds.get(fd)
        if kind is None:
            return
        self.take(fd, job)
        if kind == "status":
            self.ended(job)

    def take(self, fd, job):
        """Read once and put it where it belongs. False if nothing has come, or nothing will any more."""
        try:
            data = os.read(fd, CHUNK)
        except BlockingIOError:
            return False
        except OSError:
            data = b""
        kind = job.fds[fd]
        if not data:
            self.drop(job, fd)
            return False
        if kind == "status":
            job.status += data
        elif kind == "channel":
            self.say({"id": job.number, "channel": True}, data)
        elif not job.answered:
            (job.out if kind == "out" else job.err).add(data)
        return True

    def drop(self, job, fd):
        self.poll.unregister(fd)
        del self.watching[fd]
        if job.channel is not None and job.channel == fd:
            job.channel = None
        del job.fds[fd]
        os.close(fd)

    def ended(self, job):
        """The command itself has ended: take what is in the pipes and answer. Its background goes on."""
        if job.answered or not (job.status.endswith(b"\n") or "status" not in job.fds.values()):
            return
        word = job.status.decode().split()
        if word and word[0] == "error":
            number, kind = int(word[1]), " ".join(word[2:])
            self.forget(job)
            which = "exhausted" if kind == "fork" or number == errno.EAGAIN else "exec"
            self.say({"id": job.number, "error": which, "message": f"{kind}: {os.strerror(number)}"})
            return
        if word:
            job.code = int(word[1])
        else:  # its runner is gone: somebody killed it
            job.code = 128 + signal.SIGKILL
            self.slay(job)
            return
        self.answer(job)

    def drain(self, job):
        for fd, kind in list(job.fds.items()):
            if kind != "status":
                for _ in range(1024):  # what a background process goes on to write is not waited for
                    if not self.take(fd, job):
                        break

    def answer(self, job):
        if job.answered:
            return
        self.drain(job)
        kills = oom_kills()
        if kills > self.oom_seen:
            self.oom_seen = kills
            job.oom = True
        job.answered = True
        self.running.pop(job.number, None)
        (out, out_tail, lost), (err, err_tail, err_lost) = job.out.parts(), job.err.parts()
        self.say(
            {
                "id": job.number,
                "code": job.code,
                "timed_out": job.timed_out,
                "oom": job.oom,
                "seconds": round(time.monotonic() - job.began, 6),
                "sizes": [len(out), len(out_tail), len(err), len(err_tail)],
                "omitted": [lost, err_lost],
            },
            out + out_tail + err + err_tail,
        )
        job.out, job.err = Capture(2), Capture(2)

    def forget(self, job):
        job.answered = True
        self.running.pop(job.number, None)
        for fd in list(job.fds):
            self.drop(job, fd)

    def slay(self, job):
        """Kill everything under a runner, then answer."""
        kill_under(job.runner, self.spared())
        signal_all([job.runner], signal.SIGCONT)  # or one that a command has stopped would stay
        if job.code is None:
            job.code = 128 + signal.SIGKILL
        self.answer(job)
        for fd, kind in list(job.fds.items()):
            if kind != "status":
                self.drop(job, fd)

    def spared(self):
        return {os.getpid(), *self.jobs}

    def reap(self):
        """Collect runners that have ended, and orphans of runners that were killed."""
        while True:
            try:
                pid, _ = os.waitpid(-1, os.WNOHANG)
            except ChildProcessError:
                return
            if pid == 0:
                return
            job = self.jobs.pop(pid, None)
            if job is not None:
                if not job.answered:
                    for fd, kind in list(job.fds.items()):
                        if kind == "status":
                            self.pump(fd, job)
                    if not job.answered:
                        job.code = 128 + signal.SIGKILL
                        kill_strays(self.spared())
                        self.answer(job)
                for fd in list(job.fds):
                    self.drop(job, fd)
                kill_strays(self.spared())

    def watch(self):
        """Limits that no cgroup keeps: memory and processes of all commands together."""
        table = processes()
        spared = self.spared()
        mine = [pid for pid in under(os.getpid(), table) if pid not in spared]
        used = 0
        for pid in mine:
            used += resident(pid)
        if used <= (self.settings.get("memory") or float("inf")) and len(mine) <= self.settings.get(
            "processes", 1 << 30
        ):
            return
        weights = {runner: sum(resident(pid) for pid in under(runner, table)) for runner in self.jobs}
        job = self.jobs[max(weights, key=weights.get)] if weights else None
        if job is not None:
            job.oom = used > (self.settings.get("memory") or float("inf"))
            self.slay(job)

    # -- requests --------------------------------------------------------------------------------------

    def do_ping(self, number, header, body):
        self.say(
            {
                "id": number,
                "processes": len(set(under(os.getpid(), processes())) - self.spared()),
                "jobs": len(self.jobs),
            }
        )

    def do_exec(self, number, header, body):
        cwd = header.get("cwd") or self.workspace
        cwd = cwd if os.path.isabs(cwd) else os.path.join(self.workspace, cwd)
        if not os.path.isdir(cwd):
            raise Refused("cwd", "no such directory: {}".format(header.get("cwd")))
        pairs = {"out": os.pipe(), "err": os.pipe(), "status": os.pipe()}
        given = os.open("/dev/null", os.O_RDONLY)
        inner = outer = None
        if body:
            os.close(given)
            given = os.memfd_create("stdin")
            write_all(given, body)
            os.lseek(given, 0, os.SEEK_SET)
        if header.get("channel"):
            import _socket

            one, two = _socket.socketpair()  # of the C module: no Python code to load
            outer, inner = one.detach(), two.detach()
        ends = (given, pairs["out"][1], pairs["err"][1], inner)
        try:
            pid = os.fork()
        except OSError as error:
            for fd in [fd for pair in pairs.values() for fd in pair] + [given, inner, outer]:
                if fd is not None:
                    os.close(fd)
            raise Refused("exhausted", f"no process left in the sandbox: {reason(error)}") from None
        if pid == 0:
            try:
                self.run(header, cwd, ends, pairs["status"][1])
            finally:
                os._exit(125)
        job = Job(number, pid, time.monotonic() + header["timeout"], header["limit"])
        for kind, (mine, theirs) in pairs.items():
            os.close(theirs)
            job.fds[mine] = kind
        os.close(given)
        if outer is not None:
            os.close(inner)
            job.fds[outer] = "channel"
            job.channel = outer
        for fd in job.fds:
            os.set_blocking(fd, False)
            self.poll.register(fd, select.EPOLLIN)
            self.watching[fd] = job
        self.jobs[pid] = job
        self.running[number] = job

    def run(self, header, cwd, ends, status):
        """The runner: start the command, say how it ended, stay while anything of it lives."""
        keep = {fd for fd in ends if fd is not None} | {status}
        for name in os.listdir("/proc/self/fd"):
            fd = int(name)
            if fd > 2 and fd not in keep:
                try:
                    os.close(fd)
                except OSError:
                    continue  # the listing's own descriptor
        prctl(PR_SET_CHILD_SUBREAPER, 1)
        os.setsid()
        try:
            child = os.fork()
        except OSError as error:
            os.write(status, f"error {error.errno} fork\n".encode())
            os._exit(0)
        if child == 0:
            what = "the command"
            try:
                what = header["argv"][0]
                become(header["argv"], dict(os.environ, **header["env"]), cwd, ends, self.settings)
            except OSError as error:
                os.write(status, f"error {error.errno} {what}\n".encode())
            finally:
                os._exit(127)
        for fd in keep - {status}:
            os.close(fd)
        while True:
            try:
                pid, how = os.waitpid(-1, 0)
            except ChildProcessError:
                os._exit(0)
            if pid == child:
                code = os.WEXITSTATUS(how) if os.WIFEXITED(how) else 128 + os.WTERMSIG(how)
                os.write(status, f"exit {code}\n".encode())
                os.close(status)

    def do_send(self, number, header, body):
        job = next((job for job in self.jobs.values() if job.number == header["to"]), None)
        if job is None or job.channel is None:
            raise Refused("gone", "the process has closed its channel")
        os.set_blocking(job.channel, True)
        try:
            bound_writes(job.channel, 2)
            write_all(job.channel, body)
        except OSError:
            raise Refused("gone", "the process does not read its channel") from None
        finally:
            if job.channel is not None:
                os.set_blocking(job.channel, False)
        self.say({"id": number})

    def do_kill(self, number, header, body):
        for job in list(self.jobs.values()):
            if job.number == header["to"]:
                self.slay(job)
        self.say({"id": number})

    def do_calm(self, number, header, body):
        """Kill every command and its background."""
        for job in list(self.jobs.values()):
            self.slay(job)
        kill_strays(self.spared())
        self.say({"id": number})

    def do_reset(self, number, header, body):
        """As if fresh: no processes, empty workspace and temporary folders."""
        for job in list(self.jobs.values()):
            self.slay(job)
        kill_strays(self.spared())
        deadline = time.monotonic() + 5
        while under(os.getpid(), processes()) and time.monotonic() < deadline:
            self.reap()
            time.sleep(0.002)
        left = under(os.getpid(), processes())
        if left:
            raise Refused("failed", f"{len(left)} processes survive")
        for folder, mode in self.folders.items():
            clear(folder, mode)
        if self.settings.get("own_ipc"):
            clear_ipc()
        self.say({"id": number})

    def place(self, path):
        """Where a path of the workspace leads; refused if that is outside."""
        if "\0" in path:
            raise Refused("path", "a path holds no NUL")
        real = os.path.realpath(os.path.join(self.workspace, path))
        if real != self.workspace and not real.startswith(self.workspace + os.sep):
            raise Refused("outside", f"{path} leads out of the workspace")
        return real

    def regular(self, path, how):
        """The descriptor of an ordinary file of the workspace, opened without following a last link and without waiting
        (a pipe would hold us up). A link on the way may have been changed since it was looked at: what was opened
        counts."""
        real = self.place(path)
        try:
            if how & os.O_CREAT:
                os.makedirs(os.path.dirname(real), exist_ok=True)
            fd = os.open(real, how | os.O_NOFOLLOW | os.O_NONBLOCK, 0o644)
        except OSError as error:
            raise refused_file(path, error) from None
        try:
            if not stat.S_ISREG(os.fstat(fd).st_mode):
                raise Refused("file", f"{path} is not a file")
            if not os.readlink(f"/proc/self/fd/{fd}").startswith(self.workspace + os.sep):
                raise Refused("outside", f"{path} leads out of the workspace")
        except BaseException:
            os.close(fd)
            raise
        return fd

    def do_read(self, number, header, body):
        with os.fdopen(self.regular(header["path"], os.O_RDONLY), "rb") as file:
            found = os.fstat(file.fileno())
            if found.st_size > header["limit"]:
                raise Refused(
                    "large", f"{header['path']} holds {found.st_size} bytes, more than {header['limit']}"
                )
            while True:
                data = file.read(BATCH)
                if len(data) < BATCH:
                    break
                self.say({"id": number, "more": True}, data)
        self.say({"id": number, "mode": stat.S_IMODE(found.st_mode)}, data)

    def do_write(self, number, header, body):
        fd = self.regular(header["path"], os.O_WRONLY | os.O_CREAT)
        with os.fdopen(fd, "wb", buffering=0):
            if header.get("first", True):
                os.ftruncate(fd, 0)
            os.lseek(fd, 0, os.SEEK_END)
            write_all(fd, body)
            if header.get("mode") is not None:
                os.fchmod(fd, header["mode"] & 0o777)
        self.say({"id": number})

    def do_list(self, number, header, body):
        """Every entry under a folder: [path, kind, size, mode], sorted."""
        root = self.place(header.get("path") or ".")
        if not os.path.isdir(root):
            raise Refused("file", "{} is not a folder".format(header.get("path")))
        found = []
        for path, found_stat in walk(root):
            mode = stat.S_IMODE(found_stat.st_mode)
            found.append(
                [os.path.relpath(path, self.workspace), kind_of(found_stat), found_stat.st_size, mode]
            )
            if len(found) > header.get("limit", 100000):
                raise Refused("large", f"more than {header.get('limit', 100000)} entries")
        text = encode(found).encode()
        for start in range(0, max(1, len(text)), BATCH):
            last = start + BATCH >= len(text)
            self.say({"id": number} if last else {"id": number, "more": True}, text[start : start + BATCH])

    def do_pack(self, number, header, body):
        """Folders as batches of entries, which `unpack` takes as they are."""
        batch = Batch(self, number)
        total = 0
        for folder in header["folders"]:
            root = self.workspace if folder == "." else folder
            for path, found in walk(root):
                mode = stat.S_IMODE(found.st_mode)
                # Relative to the workspace, which may be elsewhere where this is unpacked.
                name = os.path.relpath(path, self.workspace) if folder == "." else path
                entry = {"path": name, "mode": mode, "mtime": found.st_mtime_ns}
                if stat.S_ISLNK(found.st_mode):
                    try:
                        batch.add(dict(entry, link=os.readlink(path)), b"")
                    except OSError:
                        continue  # removed since it was listed
                elif stat.S_ISDIR(found.st_mode):
                    batch.add(dict(entry, dir=True), b"")
                elif stat.S_ISREG(found.st_mode):
                    total += found.st_size
                    if total > header["limit"]:
                        raise Refused("large", f"the workspace holds more than {header['limit']} bytes")
                    try:
                        file = readable(path, mode)
                    except FileNotFoundError:
                        continue  # removed since it was listed
                    with file:
                        first = True
                        while True:
                            data = file.read(BATCH)
                            if not data and not first:
                                break
                            batch.add(dict(entry, first=first), data)
                            first = False
        batch.flush()
        self.say({"id": number, "bytes": total})

    def do_unpack(self, number, header, body):
        offset = 0
        for entry in header["entries"]:
            path, size = os.path.join(self.workspace, entry["path"]), entry["size"]
            data = body[offset : offset + size]
            offset += size
            if "link" in entry:
                os.makedirs(os.path.dirname(path), exist_ok=True)
                os.symlink(entry["link"], path)
                os.utime(path, ns=(entry["mtime"], entry["mtime"]), follow_symlinks=False)
            elif entry.get("dir"):
                os.makedirs(path, exist_ok=True)
            else:
                os.makedirs(os.path.dirname(path), exist_ok=True)
                flags = os.O_WRONLY | os.O_CREAT | (os.O_TRUNC if entry["first"] else os.O_APPEND)
                if not entry["first"]:
                    os.chmod(path, 0o600)
                fd = os.open(path, flags, 0o600)
                with os.fdopen(fd, "wb", buffering=0):
                    write_all(fd, data)
                    os.fchmod(fd, entry["mode"])
                    os.utime(fd, ns=(entry["mtime"], entry["mtime"]))
        self.say({"id": number})

    def do_settle(self, number, header, body):
        """Modes and times of folders, innermost first, once everything is in them."""
        for entry in reversed(header["entries"]):
            path = os.path.join(self.workspace, entry["path"])
            os.utime(path, ns=(entry["mtime"], entry["mtime"]))
            os.chmod(path, entry["mode"])
        self.say({"id": number})


class Batch:
    """Entries on their way out, about a megabyte at a time."""

    def __init__(self, supervisor, number):
        self.supervisor, self.number = supervisor, number
        self.entries, self.data, self.size = [], [], 0

    def add(self, entry, data):
        if self.entries and (self.size + len(data) > BATCH or len(self.entries) >= 2000):
            self.flush()
        self.entries.append(dict(entry, size=len(data)))
        self.data.append(data)
        self.size += len(data)

    def flush(self):
        if self.entries:
            self.supervisor.say(
                {"id": self.number, "more": True, "entries": self.entries}, b"".join(self.data)
            )
        self.entries, self.data, self.size = [], [], 0


def become(argv, env, cwd, ends, settings):
    """In the child: put on the command's own surroundings and turn into it."""
    os.setsid()
    os.chdir(cwd)
    given, out, err, channel = ends
    os.dup2(given, 0)
    os.dup2(out, 1)
    os.dup2(err, 2)
    if channel is not None:
        if channel == 3:
            os.set_inheritable(3, True)
        else:
            os.dup2(channel, 3)
    for name in IGNORED:
        signal.signal(getattr(signal, name), signal.SIG_DFL)
    prctl(PR_SET_DUMPABLE, 1)  # or the next file would not be ours to write
    with open("/proc/self/oom_score_adj", "w") as file:
        file.write("1000")  # the kernel takes commands before their supervisor
    for name, value in settings.get("rlimits", {}).items():
        kind = getattr(resource, "RLIMIT_" + name)
        _, hard = resource.getrlimit(kind)
        value = value if hard == resource.RLIM_INFINITY else min(value, hard)
        resource.setrlimit(kind, (value, value))
    os.execvpe(argv[0], argv, env)


def refused_file(path, error):
    """What went wrong with a file, as the fault of whoever named it; a full disk is told apart."""
    full = error.errno in (errno.ENOSPC, errno.EDQUOT)
    return Refused("full" if full else "file", f"{path}: {reason(error)}")


def kind_of(found):
    for name, test in (("link", stat.S_ISLNK), ("dir", stat.S_ISDIR), ("file", stat.S_ISREG)):
        if test(found.st_mode):
            return name
    return "other"


def reason(error):
    return os.strerror(error.errno) if getattr(error, "errno", None) else str(error)


def write_all(fd, data):
    view = memoryview(data)
    while view:
        view = view[os.write(fd, view) :]


def bound_writes(fd, seconds):
    """Bound how long a write to a socket may wait."""
    import _socket

    one = _socket.socket(fileno=os.dup(fd))
    one.setsockopt(_socket.SOL_SOCKET, _socket.SO_SNDTIMEO, seconds.to_bytes(8, sys.byteorder) + bytes(8))
    one.close()


def processes():
    """pid -> parent's pid, of every process that can be seen; zombies left out."""
    table = {}
    for name in os.listdir("/proc"):
        if not name.isdigit():
            continue
        try:
            with open(f"/proc/{name}/stat", "rb") as file:
                rest = file.read().rpartition(b")")[2].split()
        except OSError:
            continue
        if rest[0] not in (b"Z", b"X"):
            table[int(name)] = int(rest[1])
    return table


def under(root, table):
    """Every descendant of a process."""
    children = {}
    for pid, parent in table.items():
        children.setdefault(parent, []).append(pid)
    found, todo = [], [root]
    while todo:
        for pid in children.get(todo.pop(), ()):
            found.append(pid)
            todo.append(pid)
    return found


def signal_all(pids, number):
    for pid in pids:
        try:
            os.kill(pid, number)
        except (ProcessLookupError, PermissionError):
            continue  # gone meanwhile; nothing of ours can be of another user


def kill_under(root, spared):
    """Stop everything under a process until nothing new appears, then kill it: what is stopped cannot fork."""
    deadline = time.monotonic() + 5
    stopped = set()
    while time.monotonic() < deadline:
        fresh = [pid for pid in under(root, processes()) if pid not in stopped and pid not in spared]
        if not fresh:
            break
        signal_all(fresh, signal.SIGSTOP)
        stopped.update(fresh)
    while time.monotonic() < deadline:
        left = [pid for pid in under(root, processes()) if pid not in spared]
        if not left:
            return
        signal_all(left, signal.SIGKILL)
        time.sleep(0.001)
    os._exit(3)  # something cannot be killed: better no sandbox than one that does not hold


def kill_strays(spared):
    """Kill what hangs under the supervisor without a runner (its runner was killed)."""
    table = processes()
    me = os.getpid()
    for pid in [pid for pid, parent in table.items() if parent == me and pid not in spared]:
        kill_under(pid, spared)
        signal_all([pid], signal.SIGKILL)


def resident(pid):
    try:
        with open(f"/proc/{pid}/statm") as file:
            return int(file.read().split()[1]) * resource.getpagesize()
    except OSError:
        return 0


def oom_kills():
    """How many processes the kernel has killed here for want of memory; 0 where it does not say."""
    for path in ("/sys/fs/cgroup/memory.events", "/sys/fs/cgroup/memory/memory.oom_control"):
        try:
            with open(path) as file:
                for line in file:
                    if line.startswith("oom_kill "):
                        return int(line.split()[1])
        except OSError:
            continue
    return 0


def walk(root, depth=0):
    """(path, lstat) of everything under a folder, parents first, sorted; folders that are closed are opened, what goes
    away meanwhile is left out."""
    if depth > DEEPEST or len(root) > LONGEST:
        raise Refused("path", "folders are nested too deep")
    closed = None
    try:
        try:
            names = sorted(os.listdir(root))
        except PermissionError:
            closed = stat.S_IMODE(os.lstat(root).st_mode)
            os.chmod(root, closed | 0o700)
            names = sorted(os.listdir(root))
        except (FileNotFoundError, NotADirectoryError):
            return
        for name in names:
            path = os.path.join(root, name)
            try:
                found = os.lstat(path)
            except FileNotFoundError:
                continue
            except PermissionError:  # a folder that can be listed and not entered
                closed = stat.S_IMODE(os.lstat(root).st_mode)
                os.chmod(root, closed | 0o700)
                found = os.lstat(path)
            yield path, found
            if stat.S_ISDIR(found.st_mode):
                yield from walk(path, depth + 1)
    finally:
        if closed is not None:
            os.chmod(root, closed)


def readable(path, mode):
    """A file opened for reading, whatever its mode."""
    flags = os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK
    try:
        return os.fdopen(os.open(path, flags), "rb")
    except PermissionError:
        os.chmod(path, mode | 0o400)
        try:
            return os.fdopen(os.open(path, flags), "rb")
        finally:
            os.chmod(path, mode)


def clear(folder, mode):
    """Empty a folder, whatever the modes in it and however deep it is: folders are moved up, so no path grows long."""
    if stat.S_IMODE(os.stat(folder).st_mode) != mode:
        os.chmod(folder, mode)
    moved = 0
    while True:
        names = os.listdir(folder)
        if not names:
            return
        for name in names:
            path = os.path.join(folder, name)
            if not is_folder(path):
                os.unlink(path)
                continue
            os.chmod(path, 0o700)
            for inner in os.listdir(path):
                deeper = os.path.join(path, inner)
                if not is_folder(deeper):
                    os.unlink(deeper)
                    continue
                os.chmod(deeper, 0o700)
                while os.path.lexists(os.path.join(folder, str(moved))):
                    moved += 1
                os.rename(deeper, os.path.join(folder, str(moved)))
            os.rmdir(path)


def is_folder(path):
    return stat.S_ISDIR(os.lstat(path).st_mode)


def literal(text):
    """A Python literal, from the host."""
    return eval(text, {"__builtins__": {}})


def encode(value):
    """Plain data as JSON."""
    if isinstance(value, str):
        return encode_basestring_ascii(value)
    if value is None or isinstance(value, bool):
        return {None: "null", True: "true", False: "false"}[value]
    if isinstance(value, dict):
        return "{{{}}}".format(
            ",".join(f"{encode_basestring_ascii(key)}:{encode(item)}" for key, item in value.items())
        )
    if isinstance(value, (list, tuple)):
        return "[{}]".format(",".join(map(encode, value)))
    return repr(value)


def main():
    settings = literal(sys.argv[1])
    supervisor = Supervisor(settings)
    try:
        supervisor.serve()
    except BrokenPipeError:
        return
    finally:
        kill_under(os.getpid(), {os.getpid()})


if __name__ == "__main__":
    main()
