"""A system call filter for bubblewrap, as the kernel's BPF reads it: what no program of an episode needs is refused.

The list follows what container engines refuse by default: loading code into the kernel, mounting, other namespaces,
keys, clocks, tracing across processes, and interfaces with a history of holes. Refused calls fail with EPERM, `clone3` with
ENOSYS (its flags are in memory where a filter cannot look, so the C library falls back to `clone`).
"""

from __future__ import annotations

import errno
import platform
import struct

from agentrl.sandboxes.base import SandboxUnavailable

LD_W_ABS, JEQ, JGE, JSET, RET = 0x20, 0x15, 0x35, 0x45, 0x06
ALLOW, ERRNO, KILL = 0x7FFF0000, 0x00050000, 0x80000000
NUMBER, ARCHITECTURE, FIRST_ARGUMENT = 0, 4, 16
NAMESPACES = 0x7E020000 | 0x00000080  # CLONE_NEW{NS,CGROUP,UTS,IPC,USER,PID,NET,TIME}
X32 = 0x40000000

# Numbers of x86-64 and of the generic table (arm64, riscv64); None where a machine has no such call.
REFUSED: dict[str, tuple[int | None, int | None]] = {
    "acct": (163, 89),
    "add_key": (248, 217),
    "adjtimex": (159, 171),
    "bpf": (321, 280),
    "chroot": (161, 51),
    "clock_adjtime": (305, 266),
    "clock_settime": (227, 112),
    "create_module": (174, None),
    "delete_module": (176, 106),
    "fanotify_init": (300, 262),
    "finit_module": (313, 273),
    "fsconfig": (431, 431),
    "fsmount": (432, 432),
    "fsopen": (430, 430),
    "fspick": (433, 433),
    "init_module": (175, 105),
    "io_uring_enter": (426, 426),
    "io_uring_register": (427, 427),
    "io_uring_setup": (425, 425),
    "ioperm": (173, None),
    "iopl": (172, None),
    "kcmp": (312, 272),
    "kexec_file_load": (320, 294),
    "kexec_load": (246, 104),
    "keyctl": (250, 219),
    "lookup_dcookie": (212, 18),
    "mount": (165, 40),
    "mount_setattr": (442, 442),
    "move_mount": (429, 429),
    "move_pages": (279, 239),
    "name_to_handle_at": (303, 264),
    "open_by_handle_at": (304, 265),
    "open_tree": (428, 428),
    "perf_event_open": (298, 241),
    "personality": (135, 92),
    "pivot_root": (155, 41),
    "process_vm_readv": (310, 270),
    "process_vm_writev": (311, 271),
    "ptrace": (101, 117),
    "quotactl": (179, 60),
    "reboot": (169, 142),
    "request_key": (249, 218),
    "setns": (308, 268),
    "settimeofday": (164, 170),
    "swapoff": (168, 225),
    "swapon": (167, 224),
    "syslog": (103, 116),
    "umount2": (166, 39),
    "unshare": (272, 97),
    "userfaultfd": (323, 282),
    "vhangup": (153, 58),
}
MACHINES = {"x86_64": (0xC000003E, 0, 56, 435), "aarch64": (0xC00000B7, 1, 220, 435)}


def program() -> bytes:
    """The filter for this machine: an array of `struct sock_filter`.

    Raises:
        SandboxUnavailable: a machine whose numbers are not known here.
    """
    machine = platform.machine()
    if machine not in MACHINES:
        raise SandboxUnavailable(
            f"no system call filter for {machine}: use the docker backend, or pass seccomp=false"
        )
    audit, column, clone, clone3 = MACHINES[machine]
    numbers = sorted(pair[column] for pair in REFUSED.values() if pair[column] is not None)  # type: ignore[type-var]
    deny, nosys = ERRNO | errno.EPERM, ERRNO | errno.ENOSYS
    code: list[tuple[int, int, int, int]] = [
        (LD_W_ABS, 0, 0, ARCHITECTURE),
        (JEQ, 1, 0, audit),
        (RET, 0, 0, KILL),
        (LD_W_ABS, 0, 0, NUMBER),
    ]
    if machine == "x86_64":  # the other table of the same machine would go around every number below
        code += [(JGE, 0, 1, X32), (RET, 0, 0, deny)]
    code += [(JEQ, 0, 1, clone3), (RET, 0, 0, nosys)]
    for number in numbers:
        code += [(JEQ, 0, 1, int(number or 0)), (RET, 0, 0, deny)]
    code += [
        (JEQ, 0, 3, clone),
        (LD_W_ABS, 0, 0, FIRST_ARGUMENT),
        (JSET, 0, 1, NAMESPACES),
        (RET, 0, 0, deny),
        (RET, 0, 0, ALLOW),
    ]
    return b"".join(struct.pack("=HBBI", *line) for line in code)
