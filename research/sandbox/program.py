"""Run a program of this machine under the limits of an isolated process: `python -m research.sandbox.program SECONDS PATH …`."""

from __future__ import annotations

import os
import sys

from research.sandbox.process import confine


def main() -> None:
    """Limit this process for good, and become the program."""
    seconds, path, *arguments = sys.argv[1:]
    confine(float(seconds))
    if os.geteuid() == 0:
        os.setgroups([])
        os.setresgid(65534, 65534, 65534)
        os.setresuid(65534, 65534, 65534)
    os.execve(path, [path, *arguments], {"OMP_THREAD_LIMIT": "1", "LC_ALL": "C.UTF-8", "PATH": os.defpath})


if __name__ == "__main__":
    main()
