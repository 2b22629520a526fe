"""Seals a Linux process: from here on it can compute, and talk through the files that it holds; nothing else.

The kernel's seccomp filter (Linux 3.17; seccomp(2), Documentation/userspace-api/seccomp_filter.rst) refuses every
system call but those of `_ALLOWED`.  None of them takes a path, an address or a process id, so there is nothing that
Landlock or a namespace would still have to forbid, and it needs neither root nor a set-up of the machine.
"""

# Why not a library: libseccomp's bindings need its shared object, and the pure ones of 2026 are months old.  What is
# needed of them are the forty lines below, which a reader can check against the kernel's manual.

from __future__ import annotations

import ctypes
import errno
import os
import platform
import signal
import struct
import sys

from msgspec import Struct

NOBODY = 65534

_PR_SET_PDEATHSIG, _PR_SET_DUMPABLE, _PR_SET_NO_NEW_PRIVS = 1, 4, 38
_SECCOMP_SET_MODE_FILTER, _TSYNC = 1, 1
_KILL, _REFUSE, _ALLOW = 0x80000000, 0x00050000 | errno.EPERM, 0x7FFF0000
_PROT_EXEC = 4


class _Machine(Struct, frozen=True):
    audit_arch: int
    """The kernel's name of its system call numbers (linux/audit.h)."""
    seccomp: int
    allowed: dict[str, int]
    """System calls by name.  Numbers of another architecture, of 32-bit code or of x32 mean other calls."""


_MACHINES = {
    "x86_64": _Machine(
        0xC000003E,
        317,
        {
            "read": 0, "write": 1, "close": 3, "lseek": 8, "mmap": 9, "mprotect": 10, "munmap": 11, "brk": 12,
            "rt_sigaction": 13, "rt_sigprocmask": 14, "rt_sigreturn": 15, "sched_yield": 24, "mremap": 25,
            "madvise": 28, "nanosleep": 35, "setitimer": 38, "getpid": 39, "exit": 60, "gettimeofday": 96,
            "sigaltstack": 131, "gettid": 186, "time": 201, "futex": 202, "restart_syscall": 219,
            "clock_gettime": 228, "clock_getres": 229, "clock_nanosleep": 230, "exit_group": 231, "getrandom": 318,
        },
    ),
    "aarch64": _Machine(
        0xC00000B7,
        277,
        {
            "close": 57, "lseek": 62, "read": 63, "write": 64, "exit": 93, "exit_group": 94, "futex": 98,
            "nanosleep": 101, "setitimer": 103, "clock_gettime": 113, "clock_getres": 114, "clock_nanosleep": 115,
            "sched_yield": 124, "restart_syscall": 128, "sigaltstack": 132, "rt_sigaction": 134,
            "rt_sigprocmask": 135, "rt_sigreturn": 139, "gettimeofday": 169, "getpid": 172, "gettid": 178,
            "brk": 214, "munmap": 215, "mremap": 216, "mmap": 222, "mprotect": 226, "madvise": 233,
            "getrandom": 278,
        },
    ),
}  # fmt: skip


def seal() -> None:
    """Seal this process for good.  Whatever it will need has to be open or imported by now.

    A refused call fails with `PermissionError`.  Raises `OSError` when the process cannot be sealed.
    """
    machine = _MACHINES.get(platform.machine())
    if sys.platform != "linux" or sys.byteorder != "little" or machine is None:
        raise OSError(errno.ENOSYS, f"no seccomp filter for {sys.platform} on {platform.machine()}")
    libc = ctypes.CDLL(None, use_errno=True)
    libc.syscall.restype = ctypes.c_long
    if os.geteuid() == 0:  # the filter binds root as well; this is for what it does not decide, as who may be traced
        os.setgroups([])
        os.setresgid(NOBODY, NOBODY, NOBODY)
        os.setresuid(NOBODY, NOBODY, NOBODY)
    _prctl(libc, _PR_SET_DUMPABLE, 0)
    _prctl(libc, _PR_SET_PDEATHSIG, signal.SIGKILL)  # after the change of user, which resets it
    _prctl(libc, _PR_SET_NO_NEW_PRIVS, 1)
    program = ctypes.create_string_buffer(_program(machine))
    count = (len(program) - 1) // 8
    fprog = ctypes.create_string_buffer(struct.pack("@HP", count, ctypes.addressof(program)))
    # TSYNC: threads that a library may have started are sealed too; their number is returned if that fails.
    if libc.syscall(machine.seccomp, _SECCOMP_SET_MODE_FILTER, _TSYNC, ctypes.byref(fprog)):
        raise OSError(ctypes.get_errno(), "the kernel takes no seccomp filter")


def _prctl(libc: ctypes.CDLL, option: int, value: int) -> None:
    if libc.prctl(option, *(ctypes.c_ulong(number) for number in (value, 0, 0, 0))):
        raise OSError(ctypes.get_errno(), f"prctl({option}) failed")


def _program(machine: _Machine) -> bytes:
    """The filter in classic BPF, over `struct seccomp_data`: int nr; u32 arch; u64 instruction_pointer; u64 args[6]."""
    load, equal, any_bit, give = 0x20, 0x15, 0x45, 0x06  # LD|W|ABS, JMP|JEQ|K, JMP|JSET|K, RET|K
    lines = [(load, 0, 0, 4), (equal, 1, 0, machine.audit_arch), (give, 0, 0, _KILL), (load, 0, 0, 0)]
    for name, number in machine.allowed.items():
        if name in ("mmap", "mprotect"):  # no new machine code: their third argument must be without PROT_EXEC
            lines += [(equal, 0, 4, number), (load, 0, 0, 32), (any_bit, 0, 1, _PROT_EXEC), (give, 0, 0, _REFUSE)]
        else:
            lines += [(equal, 0, 1, number)]
        lines += [(give, 0, 0, _ALLOW)]
    lines += [(give, 0, 0, _REFUSE)]
    return b"".join(struct.pack("=HBBI", *line) for line in lines)
