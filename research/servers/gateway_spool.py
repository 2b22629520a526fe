"""Events of recorded runs on their way into the store.

A commit takes milliseconds, and a call must not wait for it.  Each event is first written to a file of its run, which
survives the end of this process, and a thread saves it in the store a moment later.
"""

from __future__ import annotations

import logging
import os
import threading
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import suppress
from pathlib import Path
from types import ModuleType

import msgspec

from research.engine.engine import ENDED
from research.errors import ConfigError, StoreUnavailable
from research.events.events import Event, Resumed, RunStarted, decode, encode
from research.store import RunRow, Store

fcntl: ModuleType | None
try:
    import fcntl
except ImportError:  # Windows has no locks: only one gateway may use a home
    fcntl = None

RETRY_S = 0.25
GATHER_S = 0.05
"""Seconds in which events gather before they are saved together, outside the time of a short call."""
_log = logging.getLogger(__name__)


class Spool:
    """The file of one run, and the thread that saves its events."""

    def __init__(self, path: Path, store: Store) -> None:
        """Raises `ConfigError` when another gateway records this run."""
        path.parent.mkdir(parents=True, exist_ok=True)
        self._path, self._store = path, store
        self._file = os.open(path, os.O_RDWR | os.O_CREAT | os.O_APPEND | os.O_CLOEXEC, 0o600)
        if not _lock(self._file):
            os.close(self._file)
            raise ConfigError(f"run {path.stem} is recorded by another gateway; stop that one, or choose another name")
        self._events: list[Event] = []
        self._changed = threading.Condition()
        self._saving = False
        self._closed = False
        self._flushing = 0
        """Threads that wait until everything is saved."""
        self.blocked = ""
        """Why events cannot be saved at the moment; empty when they can."""
        self._thread = threading.Thread(target=self._work, name=f"spool-{path.stem}", daemon=True)
        self._thread.start()

    def append(self, events: Sequence[Event]) -> None:
        """Write the events to the file, to be saved; from then on they survive the end of the process."""
        os.write(self._file, b"".join(encode(event) + b"\n" for event in events))
        with self._changed:
            self._events += events
            self._changed.notify_all()

    def flush(self) -> None:
        """Wait until every event is in the store."""
        with self._changed:
            self._flushing += 1
            self._changed.notify_all()
            self._changed.wait_for(lambda: not self._events and not self._saving)
            self._flushing -= 1

    def close(self) -> None:
        """Save what is left, and remove the file."""
        self.flush()
        with self._changed:
            self._closed = True
            self._changed.notify_all()
        self._thread.join()
        self._path.unlink(missing_ok=True)
        os.close(self._file)

    def _work(self) -> None:
        while True:
            with self._changed:
                self._changed.wait_for(lambda: self._events or self._closed)
                self._changed.wait_for(lambda: self._flushing or self._closed, GATHER_S)
                if not self._events:
                    return
                events, self._events, self._saving = self._events, [], True
            try:
                self._save(events)
            finally:
                with self._changed:
                    self._saving = False
                    self._changed.notify_all()

    def _save(self, events: Sequence[Event]) -> None:
        while True:
            try:
                _save(self._store, events)
            except StoreUnavailable as error:
                self.blocked = str(error)
                time.sleep(RETRY_S)
            except ConfigError as error:  # a user has ended the run meanwhile
                _log.warning("events of run %s remain in %s: %s", events[0].run, self._path, error)
                return
            else:
                self.blocked = ""
                return


def _lock(file: int) -> bool:
    if fcntl is None:
        return True
    try:
        fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError:
        return False
    return True


def _save(store: Store, events: Sequence[Event]) -> None:
    first = events[0]
    if isinstance(first, RunStarted):
        store.create(RunRow(first.run, first.question, first.recipe), events)
    else:
        store.append(events)


def recover(folder: Path, store: Store) -> Iterator[str]:
    """Save what a killed process left behind; yield the id of each of its runs that has not ended."""
    for path in sorted(folder.glob("*.events")):
        file = os.open(path, os.O_RDWR | os.O_CLOEXEC)
        try:
            if not _lock(file):
                continue  # another gateway is at work
            run_id = path.stem
            if _recover(path.read_bytes(), run_id, store):
                yield run_id
            path.unlink()
        except ConfigError as error:
            _log.warning("%s was not changed: %s", path, error)
        finally:
            os.close(file)


def _recover(data: bytes, run_id: str, store: Store) -> bool:
    """Save the events that the store lacks; return whether the run can go on."""
    written = list(_events(data))
    try:
        saved: Sequence[Event] = store.events(store.run(run_id).id)
    except ConfigError:
        saved = ()
    known = {encode(event) for event in saved}
    missing = [event for event in written if encode(event) not in known]
    if missing and saved:
        if store.run(run_id).status in ENDED:
            raise ConfigError(f"run {run_id} has ended without its last {len(missing)} events")
        start = saved[-1].seq + 1
        if missing[0].seq != start:  # the run was reclaimed meanwhile: the agent's events come after that
            missing.insert(0, Resumed(run=run_id, time=time.time(), by_itself=True))
        missing = [msgspec.structs.replace(event, seq=start + n) for n, event in enumerate(missing)]
    if missing:
        _save(store, missing)
    return bool(saved or missing) and store.run(run_id).status not in ENDED


def _events(data: bytes) -> Iterator[Event]:
    for line in data.split(b"\n"):
        with suppress(ConfigError):  # the last line may have been cut
            if line:
                yield decode(line)


Append = Callable[[Sequence[Event]], None]
"""Writes events; when it returns they survive the end of the process."""
