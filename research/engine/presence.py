"""Tell which runs of this home folder a living process drives, even one that sends no heartbeats."""

from __future__ import annotations

import logging
import os
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from types import ModuleType
from urllib.parse import quote

fcntl: ModuleType | None
try:
    import fcntl
except ImportError:  # Windows: only heartbeats tell
    fcntl = None

_log = logging.getLogger(__name__)


class Presence:
    """Locked files, one for each driven run.  The system unlocks a file when its process ends, however it ends."""

    def __init__(self, folder: Path) -> None:
        self._folder = folder

    @contextmanager
    def driving(self, run_id: str) -> Iterator[None]:
        """Mark the run as driven by this process; if the disk has no room for a lock, only heartbeats tell."""
        file = self._locked(run_id)
        try:
            yield
        finally:
            if file is not None:
                self._path(run_id).unlink(missing_ok=True)
                os.close(file)

    def driven(self, run_id: str) -> bool:
        """Return whether a process that uses this home folder, and has not ended, drives the run."""
        if fcntl is None:
            return False
        try:
            with self._alone(fcntl):
                file = os.open(self._path(run_id), os.O_RDWR | os.O_CLOEXEC)
                try:
                    fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
                finally:
                    os.close(file)
        except BlockingIOError:
            return True
        except OSError:  # no such file, or a file system without locks
            return False
        return False

    @contextmanager
    def _alone(self, fcntl: ModuleType) -> Iterator[None]:
        """Wait until no other process looks: of two looking at once, one would take the other for a driver."""
        folder = os.open(self._folder, os.O_RDONLY | os.O_CLOEXEC)
        try:
            fcntl.flock(folder, fcntl.LOCK_EX)
            yield
        finally:
            os.close(folder)

    def _locked(self, run_id: str) -> int | None:
        if fcntl is None:
            return None
        file = None
        try:
            self._folder.mkdir(parents=True, exist_ok=True)
            file = os.open(self._path(run_id), os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o600)
            # Shared, so that it waits only for a process that is looking at the file.
            fcntl.flock(file, fcntl.LOCK_SH)
        except OSError as error:
            _log.warning("run %s has no lock: %s", run_id, error)
            if file is not None:
                os.close(file)
            return None
        return file

    def _path(self, run_id: str) -> Path:
        return self._folder / quote(run_id, safe="")
