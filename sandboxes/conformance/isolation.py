"""Isolation: a command sees its own processes, its own files and no network."""

from __future__ import annotations

import asyncio
import os
import secrets
import socket

from agentrl.sandboxes.base import Sandbox
from agentrl.sandboxes.conformance import host
from agentrl.sandboxes.conformance.suite import Maker, Skip, case, must, same

CONNECT = """
import socket, sys
socket.setdefaulttimeout(2)
for family, address in eval(sys.argv[1]):
    try:
        socket.socket(family, socket.SOCK_STREAM).connect(address)
        print("reached", address)
    except OSError:
        pass
try:
    print("resolved", socket.getaddrinfo("example.com", 80))
except OSError:
    pass
try:
    socket.socket(socket.AF_INET, socket.SOCK_DGRAM).sendto(b"x", ("1.1.1.1", 53))
    print("sent a datagram")
except OSError:
    pass
print("done")
"""
# Everything of every other process of the sandbox that shows or changes it.
PRY = """
import ctypes, os
libc = ctypes.CDLL(None, use_errno=True)
for name in os.listdir("/proc"):
    if not name.isdigit() or int(name) == os.getpid():
        continue
    pid = int(name)
    for part in ("environ", "mem", "maps", "auxv", "stack", "syscall", "pagemap"):
        for flags in (os.O_RDONLY, os.O_RDWR):
            try:
                fd = os.open(f"/proc/{pid}/{part}", flags)
                os.pread(fd, 1, 0)
                print(pid, part)
            except OSError:
                pass
    for part in ("fd", "fdinfo", "map_files", "task"):
        try:
            if part != "task":
                print(pid, part, os.listdir(f"/proc/{pid}/{part}"))
        except OSError:
            pass
    for part in ("root", "cwd", "exe"):
        try:
            print(pid, part, os.readlink(f"/proc/{pid}/{part}"))
        except OSError:
            pass
    watch = libc.syscall(434, pid, 0)
    for fd in range(20):
        if watch >= 0 and libc.syscall(438, watch, fd, 0) >= 0:
            print(pid, "pidfd_getfd", fd)
    if libc.ptrace(16, pid, 0, 0) == 0:
        print(pid, "ptrace")
    buffer = ctypes.create_string_buffer(8)
    vector = (ctypes.c_void_p * 2)(ctypes.addressof(buffer), 8)
    if libc.process_vm_readv(pid, vector, 1, vector, 1, 0) > 0:
        print(pid, "process_vm_readv")
print("done")
"""


@case(needs="isolation")
async def no_network(box: Sandbox, made: Maker) -> str:
    if box.spec.network:
        raise Skip("the network was asked for")
    server = await asyncio.start_server(lambda reader, writer: writer.close(), "0.0.0.0", 0)
    port = server.sockets[0].getsockname()[1]
    addresses = ["127.0.0.1", "1.1.1.1", "172.17.0.1", *own_addresses()]
    targets = [
        (int(socket.AF_INET), (address, port if address != "1.1.1.1" else 53)) for address in addresses
    ]
    targets += [(int(socket.AF_INET6), ("::1", port))]
    async with server:
        with socket.create_connection(("127.0.0.1", port), 5):
            result = await box.exec(["python3", "-c", CONNECT, repr(targets)], timeout=25)
    same(result.stdout, "done\n", "what could be reached")
    links = (await box.exec("tail -n +3 /proc/net/dev | cut -d: -f1")).stdout.split()
    same(links, ["lo"], "network interfaces")
    return f"{len(targets)} addresses, names and datagrams refused; only lo"


def own_addresses() -> list[str]:
    try:
        return sorted(
            {str(item[4][0]) for item in socket.getaddrinfo(socket.gethostname(), None, socket.AF_INET)}
        )
    except OSError:
        return []


@case(needs="isolation")
async def no_socket_of_the_host(box: Sandbox, made: Maker) -> str:
    if box.spec.network:
        raise Skip("the network was asked for")
    name = "\0agentrl-" + secrets.token_hex(8)
    with socket.socket(socket.AF_UNIX) as server:
        server.bind(name)
        server.listen()
        targets = [(int(socket.AF_UNIX), path) for path in (name, "/var/run/docker.sock", "/run/docker.sock")]
        targets += [(int(socket.AF_UNIX), path) for path in abstract_names()]
        result = await box.exec(["python3", "-c", CONNECT, repr(targets)], timeout=20)
    same(result.stdout, "done\n", "sockets of the host that could be reached")
    return f"{len(targets)} refused"


def abstract_names() -> list[str]:
    with open("/proc/net/unix") as table:
        words = [line.split()[-1] for line in table]
    return ["\0" + word[1:] for word in words if word.startswith("@")][:50]


@case(needs="isolation")
async def others_cannot_be_opened(box: Sandbox, made: Maker) -> str:
    result = await box.exec(["python3", "-c", PRY], timeout=20)
    same(result.stdout, "done\n", "what a command could open of the supervisor")
    return "nothing of the supervisor"


@case(needs="isolation")
async def no_processes_of_the_host(box: Sandbox, made: Maker) -> str:
    word = host.mark()
    sleeper = await asyncio.create_subprocess_exec("sleep", word)
    try:
        must(host.processes(word), "the host's own process cannot be seen on the host")
        result = await box.exec("cat /proc/[0-9]*/cmdline | tr '\\0' ' '; echo; ls -d /proc/[0-9]* | wc -l")
        must(word not in result.stdout, "a process of the host is seen")
        must(int(result.stdout.split()[-1]) < 12, f"{result.stdout.split()[-1]} processes are seen")
        await box.exec(f"kill -9 {sleeper.pid}")
        must(sleeper.returncode is None and host.processes(word), "a process of the host was killed")
    finally:
        sleeper.kill()
        await sleeper.wait()
    return "invisible"


@case(needs="isolation")
async def no_files_of_the_host(box: Sandbox, made: Maker) -> str:
    with host.secret_files() as (secret, paths):
        asked = " ".join(
            f"'{path}' '/proc/1/root{path}' '/proc/self/root{path}' '/..{path}'" for path in paths
        )
        result = await box.exec(
            f"cat {asked} 2>/dev/null; grep -rs {secret} /tmp /home /root /dev/shm /run /mnt /media; true"
        )
        must(secret not in result.stdout, f"a file of the host was read: {result.stdout:.200}")
        mounts = (await box.exec("cat /proc/self/mountinfo")).stdout
    must("docker.sock" not in mounts, "the socket of the engine is mounted")
    return f"{len(paths)} secrets, not found"


@case(needs="isolation")
async def nobodys_password(box: Sandbox, made: Maker) -> str:
    result = await box.exec(
        "cat /etc/shadow /etc/gshadow /etc/sudoers /root/.bashrc 2>/dev/null | wc -c; ls /root 2>/dev/null"
    )
    same(result.stdout.split(), ["0"], "what can be read of the administrator's files")
    return "unreadable"


@case(needs="isolation")
async def own_name(box: Sandbox, made: Maker) -> str:
    name = (await box.exec("cat /proc/sys/kernel/hostname; uname -n")).stdout.split()
    must(name and os.uname().nodename not in name, f"it bears the host's name: {name}")
    return name[0]


@case(needs="isolation")
async def apart_from_each_other(box: Sandbox, made: Maker) -> str:
    other, word = await made(), host.mark()
    await box.exec(
        f"echo secret > file; echo secret > /tmp/file; echo secret > /dev/shm/file; sleep {word} & true"
    )
    result = await other.exec(
        f"cat file /tmp/file /dev/shm/file 2>/dev/null; cat /proc/[0-9]*/cmdline | grep -c {word[:8]}"
    )
    must("secret" not in result.stdout, "a file of another sandbox is seen")
    listen = "import socket, time; s = socket.socket(socket.AF_UNIX); s.bind('\\0shared'); s.listen(); time.sleep(20)"
    await box.exec(["sh", "-c", 'python3 -c "$1" & sleep 0.3', "sh", listen])
    targets = repr([(int(socket.AF_UNIX), "\0shared")])
    same(
        (await other.exec(["python3", "-c", CONNECT, targets])).stdout,
        "done\n",
        "a socket of another sandbox",
    )
    return "neither files nor sockets nor processes"
