"""The kernel as a command finds it: no privilege, none to be gained, nothing to be changed."""

from __future__ import annotations

import platform

from agentrl.sandboxes.base import Sandbox
from agentrl.sandboxes.conformance.suite import Maker, Skip, case, must, same

# Calls that change or look into more than the caller, by their x86-64 and generic numbers; -1 where there is none.
CALLS = {
    "mount": (165, 40, '(b"none", b"/tmp", b"tmpfs", 0, None)'),
    "umount2": (166, 39, '(b"/proc", 2)'),
    "pivot_root": (155, 41, '(b"/tmp", b"/tmp")'),
    "chroot": (161, 51, '(b"/tmp",)'),
    "setns": (308, 268, '(os.open("/proc/self/ns/net", 0), 0)'),
    "unshare(user)": (272, 97, "(0x10000000,)"),
    "unshare(mount)": (272, 97, "(0x00020000,)"),
    "unshare(net)": (272, 97, "(0x40000000,)"),
    "ptrace(1)": (101, 117, "(16, 1, 0, 0)"),
    "bpf": (321, 280, "(5, ctypes.create_string_buffer(120), 120)"),
    "keyctl": (250, 219, "(0, -3, 1, 0, 0)"),
    "add_key": (248, 217, '(b"user", b"agentrl", b"x", 1, -3)'),
    "perf_event_open": (
        298,
        241,
        "(ctypes.create_string_buffer(bytes([1, 0, 0, 0, 112]), 128), 0, -1, -1, 0)",
    ),
    "userfaultfd": (323, 282, "(0,)"),
    "init_module": (175, 105, '(b"x", 1, b"")'),
    "kexec_load": (246, 104, "(0, 0, None, 0)"),
    "reboot": (169, 142, "(0xfee1dead, 672274793, 0, None)"),
    "swapon": (167, 224, '(b"/tmp/x", 0)'),
    "settimeofday": (164, 170, "(ctypes.create_string_buffer(16), None)"),
    "sethostname": (170, 161, '(b"owned", 5)'),
    "syslog": (103, 116, "(3, ctypes.create_string_buffer(64), 64)"),
    "open_by_handle_at": (304, 265, "(-100, ctypes.create_string_buffer(64), 0)"),
    "setuid(0)": (105, 146, "(0,)"),
    "setgid(0)": (106, 144, "(0,)"),
    "setgroups": (116, 159, "(1, ctypes.byref(ctypes.c_uint(0)))"),
    "mknod": (133, -1, '(b"/tmp/disk", 0o60666, 0x0800)'),
}
TRY = """
import ctypes, os, sys
libc = ctypes.CDLL(None, use_errno=True)
for name, (number, arguments) in eval(sys.argv[1]).items():
    pid = os.fork()
    if pid == 0:
        given = eval(arguments)
        os._exit(0 if libc.syscall(number, *given) < 0 else 1)
    if os.waitpid(pid, 0)[1] == 256:
        print(name)
print("done")
"""
PLACES = (
    "/proc/sys/kernel/core_pattern /proc/sys/kernel/hostname /proc/sys/vm/overcommit_memory /proc/sys/net/ipv4/ip_forward "
    "/proc/sysrq-trigger /proc/1/oom_score_adj /proc/self/uid_map /proc/irq/default_smp_affinity "
    "/sys/kernel/uevent_helper /sys/fs/cgroup/cgroup.procs /sys/fs/cgroup/memory/memory.limit_in_bytes "
    "/sys/fs/cgroup/memory.max /sys/fs/cgroup/pids/pids.max /sys/power/state /sys/module/kernel/parameters/panic"
)


async def status(box: Sandbox) -> dict[str, str]:
    lines = (await box.exec("cat /proc/self/status")).stdout.splitlines()
    return {name: value.strip() for name, _, value in (line.partition(":") for line in lines)}


@case(needs="isolation")
async def nobody_in_particular(box: Sandbox, made: Maker) -> str:
    if box.spec.user == 0 or box.spec.capabilities or not box.spec.seccomp:
        raise Skip(f"weakened: {', '.join(box.spec.weakened())}")
    found = await status(box)
    must(
        "0" not in found["Uid"].split() + found["Gid"].split(), f"runs as {found['Uid']!r}, {found['Gid']!r}"
    )
    must("0" not in found.get("Groups", "").split(), "is in the administrator's group")
    for name in ("CapInh", "CapPrm", "CapEff", "CapAmb", "CapBnd"):
        same(int(found[name], 16), 0, name)
    same((found["NoNewPrivs"], found["Seccomp"]), ("1", "2"), "NoNewPrivs and Seccomp")
    return f"uid {found['Uid'].split()[0]}, no capabilities, no new privileges, filtered"


@case(needs="isolation")
async def setuid_programs(box: Sandbox, made: Maker) -> str:
    script = "for p in $(find / -xdev -perm -4000 -type f 2>/dev/null); do echo $p; done; for d in /workspace /tmp /dev/shm; do "
    script += "cp /usr/bin/id $d/id 2>/dev/null && chmod 6755 $d/id && $d/id -u; done; id -u; "
    script += "su -c 'id -u' </dev/null 2>/dev/null; passwd -d root </dev/null 2>/dev/null; sudo -n id -u 2>/dev/null; true"
    lines = (await box.exec(script, timeout=25)).stdout.split()
    ids = [line for line in lines if line.isdigit()]
    must(ids and "0" not in ids, f"a program became root: {lines}")
    return f"{len(lines) - len(ids)} setuid programs, none gains anything"


@case(needs="isolation")
async def calls_refused(box: Sandbox, made: Maker) -> str:
    if platform.machine() not in ("x86_64", "aarch64"):
        raise Skip(f"the numbers of calls on {platform.machine()} are not known here")
    if not box.spec.seccomp or box.spec.runtime:
        raise Skip("no filter, or a kernel of its own, was asked for")
    column = 0 if platform.machine() == "x86_64" else 1
    calls = {name: (item[column], item[2]) for name, item in CALLS.items() if int(item[column]) >= 0}
    result = await box.exec(["python3", "-c", TRY, repr(calls)], timeout=20)
    same((result.stdout, result.exit_code), ("done\n", 0), "system calls that succeed")
    return f"{len(calls)} refused"


@case(needs="isolation")
async def namespaces_refused(box: Sandbox, made: Maker) -> str:
    script = "unshare -Ur true 2>/dev/null && echo user; unshare -m true 2>/dev/null && echo mount; mount -t tmpfs x /tmp "
    script += "2>/dev/null && echo tmpfs; chroot / true 2>/dev/null && echo chroot; true"
    same((await box.exec(script)).stdout, "", "namespaces that were made")
    return "refused"


@case(needs="isolation")
async def root_cannot_be_written(box: Sandbox, made: Maker) -> str:
    if not box.spec.read_only:
        raise Skip("a root file system that can be written was asked for")
    script = "for d in / /usr /usr/bin /etc /var /opt /lib /bin /sbin /dev /run; do touch $d/planted 2>/dev/null && echo $d; done; "
    script += "for f in /etc/passwd /usr/bin/env /bin/sh /usr/bin/python3; do : 2>/dev/null >> $f && echo $f; done; true"
    same((await box.exec(script)).stdout, "", "places of the root file system that can be written")
    return "read-only"


@case(needs="isolation")
async def settings_of_the_kernel(box: Sandbox, made: Maker) -> str:
    script = f"for f in {PLACES}; do (cat $f > /tmp/v; cat /tmp/v > $f) 2>/dev/null && echo $f; done; "
    script += "find /proc/sys /sys -type f -writable 2>/dev/null | head -5; true"
    same(
        (await box.exec(script, timeout=20)).stdout.split(), [], "settings of the kernel that can be written"
    )
    return "none can be written"


@case(needs="isolation")
async def devices(box: Sandbox, made: Maker) -> str:
    script = "find /dev -type b -o -type c | sort; for d in mem kmem port kmsg sda vda kvm fuse; do cat /dev/$d 2>/dev/null | head -c 1; done"
    found = (await box.exec(script)).stdout.split()
    allowed = {"null", "zero", "full", "random", "urandom", "tty", "ptmx", "console"}
    odd = [
        name for name in found if name.rpartition("/")[2] not in allowed and not name.startswith("/dev/pts/")
    ]
    same(odd, [], "devices beside the harmless ones")
    return f"{len(found)} harmless ones"
