"""Seal a Linux process: afterwards it can only compute, and read and write the files it has already opened.

A seccomp filter in the kernel (Linux 3.17; seccomp(2), Documentation/userspace-api/seccomp_filter.rst) refuses every
system call that `_MACHINES` does not list.  No listed call takes a path, an address or a process id, so Landlock or a
namespace would have nothing left to forbid.  The filter needs neither root nor any set-up of the machine.
"""

# Why not a library: libseccomp's bindings need its shared object, and the pure Python ones of 2026 are months old.  We
# need only the forty lines below, which a reader can check against the kernel's manual.

from __future__ import annotations

import ctypes
import errno
import os
import platform
import signal
import struct
import sys
import time

from msgspec import Struct

NOBODY = 65534

_PR_SET_PDEATHSIG, _PR_SET_DUMPABLE, _PR_SET_NO_NEW_PRIVS = 1, 4, 38
_SECCOMP_SET_MODE_FILTER, _TSYNC = 1, 1
_KILL, _REFUSE, _ALLOW = 0x80000000, 0x00050000 | errno.EPERM, 0x7FFF0000
_PROT_EXEC = 4


class _Machine(Struct, frozen=True):
    audit_arch: int
    """The kernel's constant for this architecture (linux/audit.h)."""
    seccomp: int
    """Number of the `seccomp` system call."""
    allowed: dict[str, int]
    """System call numbers by name.  Other architectures, 32-bit code and x32 number their calls differently."""


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
    """Seal this process for good.  Open and import everything it will need before the call.

    Afterwards a refused system call fails with `PermissionError`.  Raises `OSError` when the process cannot be sealed.
    """
    machine = _MACHINES.get(platform.machine())
    if sys.platform != "linux" or sys.byteorder != "little" or machine is None:
        raise OSError(errno.ENOSYS, f"no seccomp filter for {sys.platform} on {platform.machine()}")
    libc = ctypes.CDLL(None, use_errno=True)
    libc.syscall.restype = ctypes.c_long
    if os.geteuid() == 0:  # the filter restricts root too, but not, for example, who may trace this process
        os.setgroups([])
        os.setresgid(NOBODY, NOBODY, NOBODY)
        os.setresuid(NOBODY, NOBODY, NOBODY)
    _prctl(libc, _PR_SET_DUMPABLE, 0)
    _prctl(libc, _PR_SET_PDEATHSIG, signal.SIGKILL)  # must follow the change of user, which resets it
    _prctl(libc, _PR_SET_NO_NEW_PRIVS, 1)
    program = ctypes.create_string_buffer(_program(machine))
    count = (len(program) - 1) // 8
    fprog = ctypes.create_string_buffer(struct.pack("@HP", count, ctypes.addressof(program)))
    # TSYNC also seals threads that a library may have started; if that fails, the call returns a thread id.
    if libc.syscall(machine.seccomp, _SECCOMP_SET_MODE_FILTER, _TSYNC, ctypes.byref(fprog)):
        raise OSError(ctypes.get_errno(), "the kernel does not accept a seccomp filter")


def killed_after(seconds: float) -> None:
    """Make the kernel kill this process then: a loop in C never reaches Python's handlers."""
    libc = ctypes.CDLL(None, use_errno=True)
    event = ctypes.create_string_buffer(struct.pack("@qii48x", 0, signal.SIGKILL, 0))  # SIGEV_SIGNAL
    timer = ctypes.c_void_p()
    if libc.timer_create(time.CLOCK_MONOTONIC, event, ctypes.byref(timer)):
        raise OSError(ctypes.get_errno(), "the kernel does not make a timer")
    whole, rest = divmod(round(seconds * 1e9), 10**9)
    once = ctypes.create_string_buffer(struct.pack("@qqqq", 0, 0, whole, rest))
    if libc.timer_settime(timer, 0, once, None):
        raise OSError(ctypes.get_errno(), "the kernel does not start a timer")


def _prctl(libc: ctypes.CDLL, option: int, value: int) -> None:
    if libc.prctl(option, *(ctypes.c_ulong(number) for number in (value, 0, 0, 0))):
        raise OSError(ctypes.get_errno(), f"prctl({option}) failed")


def _program(machine: _Machine) -> bytes:
    """Return the filter as classic BPF over `struct seccomp_data`.

    Its fields are: int nr; u32 arch; u64 instruction_pointer; u64 args[6].
    """
    load, equal, any_bit, give = 0x20, 0x15, 0x45, 0x06  # LD|W|ABS, JMP|JEQ|K, JMP|JSET|K, RET|K
    lines = [(load, 0, 0, 4), (equal, 1, 0, machine.audit_arch), (give, 0, 0, _KILL), (load, 0, 0, 0)]
    for name, number in machine.allowed.items():
        if name in ("mmap", "mprotect"):  # refuse PROT_EXEC in the third argument: no new machine code
            lines += [(equal, 0, 4, number), (load, 0, 0, 32), (any_bit, 0, 1, _PROT_EXEC), (give, 0, 0, _REFUSE)]
        else:
            lines += [(equal, 0, 1, number)]
        lines += [(give, 0, 0, _ALLOW)]
    lines += [(give, 0, 0, _REFUSE)]
    return b"".join(struct.pack("=HBBI", *line) for line in lines)
