"""When the memory is locked, full, damaged or killed, runs still answer and acknowledged entries are kept."""

from __future__ import annotations

import sqlite3
import subprocess
import sys
from collections.abc import Iterator, Sequence
from contextlib import closing
from pathlib import Path
from typing import TYPE_CHECKING

import psycopg
import pytest

import research
from research.defaults import TOOLS
from research.errors import StoreUnavailable
from research.events import events as e
from research.events.events import Event
from research.events.view import RunView, fold
from research.memory import Entry
from research.memory.entries import Memory
from research.memory.postgres_store import PostgresMemoryStore
from research.store import database
from research.workbench.workbench import Workbench
from tests.memory_stores import PLACES, open_store, places
from tests.player import QUESTION
from tests.word_encoder import WordEncoder

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

ROOT = Path(__file__).parents[2]
WRITER = """
import sys
from research.memory import Entry
from research.memory.entries import Memory
from tests.memory_stores import open_store
from tests.word_encoder import WordEncoder
kept = Memory(open_store(sys.argv[1]), WordEncoder(), 100_000)
for n in range(1_000_000):
    kept.add([Entry(f"{sys.argv[2]} wrote line {n}, part {part}", id=f"{sys.argv[2]}-{n}-{part}") for part in range(3)])
    print(n, flush=True)
"""


@pytest.fixture(params=PLACES)
def place(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[str]:
    yield from places(request, tmp_path)


@pytest.fixture
def with_memory(bench: Workbench) -> Iterator[Workbench]:
    """A home with the Factbook and a memory file with one entry."""
    bench.embedder = WordEncoder()
    bench.memory.add([Entry("Japan: ask the auditor how many people live there.", id="note")])
    yield bench
    bench.memory.close()


@pytest.fixture
def in_either_store(bench: Workbench, place: str) -> Iterator[Workbench]:
    """The same with the memory in a file or in Postgres."""
    bench.embedder = WordEncoder()
    bench.memory = Memory(open_store(place), bench.embedder)
    bench.memory.add([Entry("Japan: ask the auditor how many people live there.", id="note")])
    yield bench
    bench.memory.close()


def again(bench: Workbench) -> Workbench:
    """Return a new workbench on the same home, as another process would open it."""
    bench.memory.close()
    other = Workbench(bench.settings)
    other.embedder = bench.embedder
    return other


def asked(bench: Workbench, remember: str = "findings") -> tuple[list[Event], RunView]:
    events = list(research.stream(QUESTION, workbench=bench, tools=(*TOOLS, "recall"), recall=5, remember=remember))
    view = fold(events)
    assert (view.status, view.outcome, view.error) == ("completed", "answered", "")
    assert "123,201,945" in view.answer
    return events, view


def memory_failed(view: RunView, reason: str) -> None:
    """Check that neither the run nor the tool recalled anything, that nothing was saved, and that each gives the reason."""
    tool = next(call.observation for each in view.rounds for call in each.calls if call.call.name == "recall")
    assert view.recalled is not None
    assert tool is not None
    assert (view.recalled.ok, tool.ok, view.remembered) == (False, False, None)
    (warned,) = (note for each in view.rounds for note in each.notes if "memory" in note)
    for words in (view.recalled.text, tool.text, warned):
        assert reason in words
    assert "<recalled>" not in "".join(
        message.content for each in view.rounds for _, sent in each.sent for message in sent
    )


def test_a_memory_file_that_is_not_a_database_is_left_unchanged(with_memory: Workbench) -> None:
    with_memory.memory.close()
    path = with_memory.settings.home / "memory.sqlite"
    path.unlink()
    path.write_bytes(b"my shopping list\n" * 500)
    other = again(with_memory)
    memory_failed(asked(other)[1], "cannot be opened as a database")
    assert path.read_bytes() == b"my shopping list\n" * 500


def test_vectors_of_different_encoders_are_not_mixed(in_either_store: Workbench, place: str) -> None:
    in_either_store.memory.close()
    in_either_store.memory = Memory(open_store(place), WordEncoder(32))
    memory_failed(asked(in_either_store)[1], "'words:64', and the encoder is now 'words:32'")
    assert [entry.id for entry in in_either_store.memory.entries()] == ["note"]


class Failing(WordEncoder):
    """An encoder that always raises."""

    def __init__(self, error: type[Exception]) -> None:
        super().__init__()
        self._error = error

    def encode(self, texts: Sequence[str]) -> NDArray[np.float32]:
        raise self._error("out of memory on the device")


def test_a_run_whose_encoder_fails_remembers_nothing_but_still_answers(in_either_store: Workbench, place: str) -> None:
    other = in_either_store
    other.memory.close()
    other.memory = Memory(open_store(place), Failing(RuntimeError))
    memory_failed(asked(other)[1], "out of memory on the device")
    other.memory.close()
    other.memory = Memory(open_store(place), Failing(KeyError))
    view = research.run(QUESTION, workbench=other, remember="everything")
    assert (view.status, view.error, view.remembered) == ("completed", "", None)
    assert any("Nothing was kept in the memory: KeyError" in note for each in view.rounds for note in each.notes)
    view = research.run(QUESTION, workbench=other, recall=5)
    assert (view.status, view.error[:8]) == ("failed", "KeyError"), "the run did not end after an unexpected error"


def test_a_run_answers_while_another_process_locks_the_memory_file(
    with_memory: Workbench, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(database, "LOCK_WAIT_S", 0.05)
    other = again(with_memory)
    assert other.memory.count() == 1
    with closing(sqlite3.connect(other.settings.home / "memory.sqlite", isolation_level=None)) as holder:
        holder.execute("BEGIN IMMEDIATE")
        _, view = asked(other)
        assert view.recalled is not None
        assert "auditor" in view.recalled.text, "a locked memory can still be read"
        assert view.remembered is None
        assert any(
            "Nothing was kept in the memory: memory.sqlite: database is locked" in note
            for each in view.rounds
            for note in each.notes
        )
    assert other.memory.count() == 1
    assert asked(other)[1].remembered is not None
    other.memory.close()


def test_a_run_answers_while_another_process_writes_to_the_postgres_memory(
    bench: Workbench, database_url: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(database, "LOCK_WAIT_S", 0.2)
    bench.embedder = WordEncoder()
    bench.memory = Memory(PostgresMemoryStore(database_url, "workbench"), bench.embedder)
    bench.memory.add([Entry("Japan: ask the auditor how many people live there.", id="note")])
    with psycopg.connect(database_url) as holder:
        holder.execute("SELECT pg_advisory_lock(hashtextextended('memory workbench', 0))")
        _, view = asked(bench)
        assert view.recalled is not None
        assert "auditor" in view.recalled.text, "a locked memory can still be read"
        assert view.remembered is None
        assert any(
            "Nothing was kept in the memory: the database" in note for each in view.rounds for note in each.notes
        )
    assert bench.memory.count() == 1
    assert asked(bench)[1].remembered is not None
    database.close_pool(database_url)


def test_a_run_answers_although_the_postgres_memory_does_not(
    bench: Workbench, database_url: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(database, "RESPONSE_S", 0.2)
    bench.embedder = WordEncoder()
    bench.memory = Memory(PostgresMemoryStore(database_url, "workbench"), bench.embedder)
    bench.memory.add([Entry("Japan: ask the auditor how many people live there.", id="note")])
    database.pool(database_url).close()
    memory_failed(asked(bench)[1], "DATABASE_URL does not answer")
    database.close_pool(database_url)


def test_a_full_disk_loses_no_memory_entry(with_memory: Workbench) -> None:
    # SQLite reports this as a full disk, without a disk being filled.
    connection = with_memory.memory._store._db.conn
    pages = connection.execute("PRAGMA page_count").fetchone()[0]
    connection.execute(f"PRAGMA max_page_count = {pages}")
    with pytest.raises(StoreUnavailable, match="full"):
        for n in range(1_000):
            with_memory.memory.add([Entry(f"n{n} was noted")])
    before = with_memory.memory.entries(limit=1_000)
    _, view = asked(with_memory, "everything")
    assert view.remembered is None
    assert any(
        "Nothing was kept in the memory: memory.sqlite: database or disk is full" in n
        for each in view.rounds
        for n in each.notes
    )
    assert with_memory.memory.entries(limit=1_000) == before
    connection.execute("PRAGMA max_page_count = 1000000")
    assert asked(with_memory)[1].remembered is not None
    assert with_memory.memory.count() > len(before)


def test_a_run_answers_although_the_vectors_of_its_memory_have_the_wrong_length(
    in_either_store: Workbench, place: str
) -> None:
    """Vectors that cannot be compared are an error like any other."""
    kept = open_store(place)
    with kept.writing():
        kept.put_vectors("words:64", dict.fromkeys(kept.numbers(), b"\x01\x02"))
    kept.close()
    in_either_store.memory.close()
    in_either_store.memory = Memory(open_store(place), WordEncoder())
    _, view = asked(in_either_store)
    assert view.recalled is not None
    assert not view.recalled.ok


@pytest.mark.parametrize("share", [0.1, 0.35, 0.6, 0.85])
def test_a_run_answers_although_its_memory_file_is_damaged(with_memory: Workbench, share: float) -> None:
    with_memory.memory.add(
        Entry(f"Japan: people of prefecture {n} live there. " + f"line{n} " * 50, id=f"e{n}") for n in range(60)
    )
    with_memory.memory.close()
    path = with_memory.settings.home / "memory.sqlite"
    with closing(sqlite3.connect(path)) as connection:
        connection.execute("PRAGMA wal_checkpoint(TRUNCATE)")
    with path.open("r+b") as file:
        file.seek(int(path.stat().st_size * share))
        file.write(b"\xa5" * 20_000)
    events, _ = asked(again(with_memory))
    assert [type(event) for event in events].count(e.RunFinished) == 1


@pytest.mark.slow
def test_every_acknowledged_entry_survives_repeated_kills_of_the_writer(place: str) -> None:
    """A batch in flight is saved completely or not at all."""
    acknowledged: dict[str, int] = {}
    for kill, after in enumerate((1, 2, 7, 19)):
        name = f"writer{kill}"
        command = [sys.executable, "-c", WRITER, place, name]
        process = subprocess.Popen(command, cwd=ROOT, stdout=subprocess.PIPE, text=True)
        assert process.stdout is not None
        for line in process.stdout:
            acknowledged[name] = int(line) + 1
            if acknowledged[name] == after:
                process.kill()  # lines that still arrive were printed before the kill
        assert process.wait() == -9
        process.stdout.close()
        if not place.startswith("postgresql:"):
            with closing(sqlite3.connect(place)) as connection:
                assert connection.execute("PRAGMA integrity_check").fetchall() == [("ok",)]
        opened = open_store(place)
        assert all(each.vectors for each in opened.stored(0, 100_000))
        with closing(Memory(opened, WordEncoder(), 100_000)) as kept:
            there = {entry.id for entry in kept.entries(limit=100_000)}
            for writer, batches in acknowledged.items():
                own = {id_ for id_ in there if id_.startswith(f"{writer}-")}
                sure = {f"{writer}-{n}-{part}" for n in range(batches) for part in range(3)}
                assert sure <= own
                assert len(own) - len(sure) in (0, 3)
            assert kept.search(f"{name} wrote line 0", 3)[0].entry.id.startswith(f"{name}-")
            assert {each.entry.id for each in kept.search("wrote line part", 100_000)} == there
