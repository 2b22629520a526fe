"""A memory that is locked, full, damaged or killed: runs end with their answers, and what was acknowledged is there."""

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
from research.memory.memory import Memory
from research.memory.postgres import PostgresMemoryStore
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
from research.memory.memory import Memory
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
def desk(bench: Workbench) -> Iterator[Workbench]:
    """A home with the Factbook, a memory of words, and one thing that is remembered."""
    bench.embedder = WordEncoder()
    bench.memory.add([Entry("Japan: ask the auditor how many people live there.", id="note")])
    yield bench
    bench.memory.close()


@pytest.fixture
def anywhere(bench: Workbench, place: str) -> Iterator[Workbench]:
    """The same with the memory in either place."""
    bench.embedder = WordEncoder()
    bench.memory = Memory(open_store(place), bench.embedder)
    bench.memory.add([Entry("Japan: ask the auditor how many people live there.", id="note")])
    yield bench
    bench.memory.close()


def again(bench: Workbench) -> Workbench:
    """The same home in another process, as it were."""
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


def said(view: RunView, reason: str) -> None:
    """Nothing was recalled, before the first round and by the tool, and nothing was kept; each says why."""
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


def test_a_file_that_is_no_database_is_left_as_it_is(desk: Workbench) -> None:
    desk.memory.close()
    path = desk.settings.home / "memory.sqlite"
    path.unlink()
    path.write_bytes(b"my shopping list\n" * 500)
    other = again(desk)
    said(asked(other)[1], "cannot be opened as a database")
    assert path.read_bytes() == b"my shopping list\n" * 500


def test_vectors_of_another_encoder_are_not_mixed(anywhere: Workbench, place: str) -> None:
    anywhere.memory.close()
    anywhere.memory = Memory(open_store(place), WordEncoder(32))
    said(asked(anywhere)[1], "'words:64', and the encoder is now 'words:32'")
    assert [entry.id for entry in anywhere.memory.entries()] == ["note"]


class Failing(WordEncoder):
    """An encoder whose library has a bad day."""

    def __init__(self, error: type[Exception]) -> None:
        super().__init__()
        self._error = error

    def encode(self, texts: Sequence[str]) -> NDArray[np.float32]:
        raise self._error("out of memory on the device")


def test_an_encoder_that_fails_costs_what_would_be_remembered_and_not_the_answer(
    anywhere: Workbench, place: str
) -> None:
    other = anywhere
    other.memory.close()
    other.memory = Memory(open_store(place), Failing(RuntimeError))
    said(asked(other)[1], "out of memory on the device")
    other.memory.close()
    other.memory = Memory(open_store(place), Failing(KeyError))
    view = research.run(QUESTION, workbench=other, remember="everything")
    assert (view.status, view.error, view.remembered) == ("completed", "", None)
    assert any("Nothing was kept in the memory: KeyError" in note for each in view.rounds for note in each.notes)
    view = research.run(QUESTION, workbench=other, recall=5)
    assert (view.status, view.error[:8]) == ("failed", "KeyError"), "nobody expects this; the run ends all the same"


def test_while_another_process_holds_the_file_the_run_waits_and_then_goes_on(
    desk: Workbench, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(database, "LOCK_WAIT_S", 0.05)
    other = again(desk)
    assert other.memory.count() == 1
    with closing(sqlite3.connect(other.settings.home / "memory.sqlite", isolation_level=None)) as holder:
        holder.execute("BEGIN IMMEDIATE")
        _, view = asked(other)
        assert view.recalled is not None
        assert "auditor" in view.recalled.text, "it can be read"
        assert view.remembered is None
        assert any(
            "Nothing was kept in the memory: memory.sqlite: database is locked" in note
            for each in view.rounds
            for note in each.notes
        )
    assert other.memory.count() == 1
    assert asked(other)[1].remembered is not None
    other.memory.close()


def test_while_another_process_writes_to_the_postgres_the_run_waits_and_then_goes_on(
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
        assert "auditor" in view.recalled.text, "it can be read"
        assert view.remembered is None
        assert any(
            "Nothing was kept in the memory: the database" in note for each in view.rounds for note in each.notes
        )
    assert bench.memory.count() == 1
    assert asked(bench)[1].remembered is not None
    database.close_pool(database_url)


def test_a_postgres_that_does_not_answer_ends_no_run(
    bench: Workbench, database_url: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(database, "RESPONSE_S", 0.2)
    bench.embedder = WordEncoder()
    bench.memory = Memory(PostgresMemoryStore(database_url, "workbench"), bench.embedder)
    bench.memory.add([Entry("Japan: ask the auditor how many people live there.", id="note")])
    database.pool(database_url).close()
    said(asked(bench)[1], "DATABASE_URL does not answer")
    database.close_pool(database_url)


def test_a_full_disk_loses_nothing(desk: Workbench) -> None:
    # What SQLite says when there is no room for another page, without filling a disk.
    connection = desk.memory._store._db.conn
    pages = connection.execute("PRAGMA page_count").fetchone()[0]
    connection.execute(f"PRAGMA max_page_count = {pages}")
    with pytest.raises(StoreUnavailable, match="full"):
        for n in range(1_000):
            desk.memory.add([Entry(f"n{n} was noted")])
    before = desk.memory.entries(limit=1_000)
    _, view = asked(desk, "everything")
    assert view.remembered is None
    assert any(
        "Nothing was kept in the memory: memory.sqlite: database or disk is full" in n
        for each in view.rounds
        for n in each.notes
    )
    assert desk.memory.entries(limit=1_000) == before
    connection.execute("PRAGMA max_page_count = 1000000")
    assert asked(desk)[1].remembered is not None
    assert desk.memory.count() > len(before)


def test_a_memory_that_turns_unreadable_while_it_is_open(anywhere: Workbench, place: str) -> None:
    """Its vectors are of another length than they were: what cannot be computed with is an error like any other."""
    kept = open_store(place)
    with kept.writing():
        kept.put_vectors("words:64", dict.fromkeys(kept.numbers(), b"\x01\x02"))
    kept.close()
    anywhere.memory.close()
    anywhere.memory = Memory(open_store(place), WordEncoder())
    _, view = asked(anywhere)
    assert view.recalled is not None
    assert not view.recalled.ok


@pytest.mark.parametrize("share", [0.1, 0.35, 0.6, 0.85])
def test_a_damaged_file_ends_no_run(desk: Workbench, share: float) -> None:
    desk.memory.add(
        Entry(f"Japan: people of prefecture {n} live there. " + f"line{n} " * 50, id=f"e{n}") for n in range(60)
    )
    desk.memory.close()
    path = desk.settings.home / "memory.sqlite"
    with closing(sqlite3.connect(path)) as connection:
        connection.execute("PRAGMA wal_checkpoint(TRUNCATE)")
    with path.open("r+b") as file:
        file.seek(int(path.stat().st_size * share))
        file.write(b"\xa5" * 20_000)
    events, _ = asked(again(desk))
    assert [type(event) for event in events].count(e.RunFinished) == 1


def test_killed_again_and_again_while_adding_every_acknowledged_entry_is_found(place: str) -> None:
    """A batch in flight is there as a whole or not at all."""
    told: dict[str, int] = {}
    for kill, after in enumerate((1, 2, 7, 19)):
        name = f"writer{kill}"
        command = [sys.executable, "-c", WRITER, place, name]
        process = subprocess.Popen(command, cwd=ROOT, stdout=subprocess.PIPE, text=True)
        assert process.stdout is not None
        for line in process.stdout:
            told[name] = int(line) + 1
            if told[name] == after:
                process.kill()  # what it still says was done before
        assert process.wait() == -9
        process.stdout.close()
        if not place.startswith("postgresql:"):
            with closing(sqlite3.connect(place)) as connection:
                assert connection.execute("PRAGMA integrity_check").fetchall() == [("ok",)]
        opened = open_store(place)
        assert all(each.vectors for each in opened.stored(0, 100_000))
        with closing(Memory(opened, WordEncoder(), 100_000)) as kept:
            there = {entry.id for entry in kept.entries(limit=100_000)}
            for writer, batches in told.items():
                own = {id_ for id_ in there if id_.startswith(f"{writer}-")}
                sure = {f"{writer}-{n}-{part}" for n in range(batches) for part in range(3)}
                assert sure <= own
                assert len(own) - len(sure) in (0, 3)
            assert kept.search(f"{name} wrote line 0", 3)[0].entry.id.startswith(f"{name}-")
            assert {each.entry.id for each in kept.search("wrote line part", 100_000)} == there
