"""Open a file through the descriptor of its folder, so that a swapped link cannot lead out of the folder."""

from __future__ import annotations

import errno
import os
from pathlib import Path
from typing import Final

_MOST_LINKS: Final = 40
_DIRECTORY: Final = getattr(os, "O_DIRECTORY", 0)
_FLAGS: Final = os.O_RDONLY | getattr(os, "O_NONBLOCK", 0) | getattr(os, "O_NOFOLLOW", 0) | getattr(os, "O_BINARY", 0)


def open_beneath(folder: Path, file: Path) -> int:
    """Return a descriptor of a file, following links within the folder one at a time.

    `folder` is absolute and resolved, and `file` begins with it.  Raises `OSError`, also for a path that leads out.
    """
    if os.open not in os.supports_dir_fd:  # Windows
        return os.open(file.resolve(), _FLAGS)
    opened = [os.open(folder, _FLAGS | _DIRECTORY)]
    try:
        left = list(file.relative_to(folder).parts)
        links = 0
        while left:
            part = left.pop(0)
            if part == "..":
                os.close(opened.pop())
                if not opened:
                    raise OSError(errno.EXDEV, "it leads out of the folder")
            elif (target := _link(part, opened[-1])) is not None:
                links += 1
                if links > _MOST_LINKS:
                    raise OSError(errno.ELOOP, "its links lead nowhere")
                if Path(target).is_absolute():
                    if not Path(target).is_relative_to(folder):
                        raise OSError(errno.EXDEV, "it leads out of the folder")
                    target = str(Path(target).relative_to(folder))
                    while len(opened) > 1:
                        os.close(opened.pop())
                left = [*(each for each in target.split("/") if each not in ("", ".")), *left]
            elif left:
                opened.append(os.open(part, _FLAGS | _DIRECTORY, dir_fd=opened[-1]))
            else:
                return os.open(part, _FLAGS, dir_fd=opened[-1])
        raise OSError(errno.EISDIR, "it is a folder")
    finally:
        for each in opened:
            os.close(each)


def _link(name: str, folder: int) -> str | None:
    """Return where a link leads; None for anything else."""
    try:
        return os.readlink(name, dir_fd=folder)
    except OSError as error:
        if error.errno == errno.EINVAL:  # is no link
            return None
        raise
