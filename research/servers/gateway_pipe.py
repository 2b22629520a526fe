"""The gateway of one run that another process drives: events go there over a pipe, and it confirms when they are saved."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import IO

from research.errors import StoreUnavailable
from research.events.events import Event, encode
from research.servers.gateway_requests import Asking
from research.servers.gateway_runs import Call, RecordedRun, restored


class Pipe:
    """Writes events as lines, with an empty line after each batch; reads a line once they are saved."""

    def __init__(self, source: IO[bytes], sink: IO[bytes]) -> None:
        self._source, self._sink = source, sink

    def begin(self, address: str) -> None:
        """Report the gateway's address."""
        self._sink.write(address.encode() + b"\n")
        self._sink.flush()

    def __call__(self, events: Sequence[Event]) -> None:
        """Return when the events are saved.  Raises `StoreUnavailable` when the other process is gone."""
        try:
            self._sink.write(b"".join(encode(event) + b"\n" for event in events) + b"\n")
            self._sink.flush()
            saved = self._source.readline()
        except OSError:
            saved = b""
        if not saved:
            raise StoreUnavailable("the run has ended, so the call cannot be recorded")


class OneRun:
    """The only run of a gateway, in place of a `Desk`."""

    def __init__(self, events: Sequence[Event], pipe: Pipe) -> None:
        self._events, self._pipe = events, pipe
        self.runs: dict[str, RecordedRun] = {}
        self._run: RecordedRun | None = None

    def open(self) -> None:
        """Take the run's events so far: requests answered there are not repeated."""
        self._run = restored(self._events, self._pipe, named=True)

    def repeated(self, asking: Asking, name: str, *, retried: bool) -> Call | None:
        """Return the call that the request repeats; see `RecordedRun.repeated`."""
        return self._run.repeated(asking, retried=retried) if self._run else None

    def run_for(self, asking: Asking, name: str, model: str) -> RecordedRun:
        """Return the run, whatever the request says."""
        assert self._run is not None
        return self._run

    def open_run(self, name: str) -> RecordedRun | None:
        """Return None: the other process ends the run."""
        return None

    def look(self) -> Iterator[RecordedRun]:
        """Yield nothing: the other process supervises the run."""
        yield from ()

    def end(self, run: RecordedRun) -> None:
        """Do nothing, for the same reason."""

    def pause(self, run: RecordedRun) -> None:
        """Do nothing, for the same reason."""
