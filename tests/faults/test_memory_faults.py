"""A memory that is locked, full, damaged or killed: runs end with their answers, and what was acknowledged is there."""

from __future__ import annotations

import sqlite3
import subprocess
import sys
from collections.abc import Iterator, Sequence
from contextlib import closing
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

import research
from research import database
from research import events as e
from research.events import Event
from research.memory import Entry
from research.memory.memory import Memory
from research.view import RunView, fold
from research.workbench import TOOLS, Workbench
from tests.player import QUESTION
from tests.word_encoder import WordEncoder

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

ROOT = Path(__file__).parents[2]
WRITER = """
import sys
from pathlib import Path
from research.memory import Entry
from research.memory.memory import Memory
from tests.word_encoder import WordEncoder
kept = Memory(Path(sys.argv[1]), WordEncoder(), 100_000)
for n in range(1_000_000):
    kept.add([Entry(f"{sys.argv[2]} wrote line {n}, part {part}", id=f"{sys.argv[2]}-{n}-{part}") for part in range(3)])
    print(n, flush=True)
"""


@pytest.fixture
def desk(bench: Workbench) -> Iterator[Workbench]:
    """A home with the Factbook, a memory of words, and one thing that is remembered."""
    bench.embedder = WordEncoder()
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


def test_vectors_of_another_encoder_are_not_mixed(desk: Workbench) -> None:
    other = again(desk)
    other.embedder = WordEncoder(32)
    said(asked(other)[1], "'words:64', and the encoder is now 'words:32'")
    assert [entry.id for entry in other.memory.entries()] == ["note"]
    other.memory.close()


class Failing(WordEncoder):
    """An encoder whose library has a bad day."""

    def __init__(self, error: type[Exception]) -> None:
        super().__init__()
        self._error = error

    def encode(self, texts: Sequence[str]) -> NDArray[np.float32]:
        raise self._error("out of memory on the device")


def test_an_encoder_that_fails_costs_what_would_be_remembered_and_not_the_answer(desk: Workbench) -> None:
    other = again(desk)
    other.memory = Memory(other.settings.home / "memory.sqlite", Failing(RuntimeError))
    said(asked(other)[1], "out of memory on the device")
    other.memory.close()
    other.memory = Memory(other.settings.home / "memory.sqlite", Failing(KeyError))
    view = research.run(QUESTION, workbench=other, remember="everything")
    assert (view.status, view.error, view.remembered) == ("completed", "", None)
    assert any("Nothing was kept in the memory: KeyError" in note for each in view.rounds for note in each.notes)
    view = research.run(QUESTION, workbench=other, recall=5)
    assert (view.status, view.error[:8]) == ("failed", "KeyError"), "nobody expects this; the run ends all the same"
    other.memory.close()


def test_while_another_process_holds_the_file_the_run_waits_and_then_goes_on(
    desk: Workbench, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(database, "WAIT_S", 0.05)
    other = again(desk)
    assert other.memory.count() == 1
    with closing(sqlite3.connect(other.settings.home / "memory.sqlite", isolation_level=None)) as holder:
        holder.execute("BEGIN IMMEDIATE")
        _, view = asked(other)
        assert view.recalled is not None
        assert "auditor" in view.recalled.text, "it can be read"
        assert view.remembered is None
        assert any(
            "Nothing was kept in the memory: database is locked" in note for each in view.rounds for note in each.notes
        )
    assert other.memory.count() == 1
    assert asked(other)[1].remembered is not None
    other.memory.close()


def test_a_full_disk_loses_nothing(desk: Workbench) -> None:
    # What SQLite says when there is no room for another page, without filling a disk.
    connection = desk.memory._shelf._db.conn
    pages = connection.execute("PRAGMA page_count").fetchone()[0]
    connection.execute(f"PRAGMA max_page_count = {pages}")
    with pytest.raises(sqlite3.OperationalError, match="full"):
        for n in range(1_000):
            desk.memory.add([Entry(f"n{n} was noted")])
    before = desk.memory.entries(limit=1_000)
    _, view = asked(desk, "everything")
    assert view.remembered is None
    assert any(
        "Nothing was kept in the memory: database or disk is full" in n for each in view.rounds for n in each.notes
    )
    assert desk.memory.entries(limit=1_000) == before
    connection.execute("PRAGMA max_page_count = 1000000")
    assert asked(desk)[1].remembered is not None
    assert desk.memory.count() > len(before)


def test_a_memory_that_turns_unreadable_while_it_is_open(desk: Workbench) -> None:
    """Its vectors are of another length than they were: what cannot be computed with is an error like any other."""
    desk.memory._shelf._db.conn.execute("UPDATE vectors SET vector = x'0102'")
    other = again(desk)
    _, view = asked(other)
    assert view.recalled is not None
    assert not view.recalled.ok
    other.memory.close()


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


def test_killed_again_and_again_while_adding_every_acknowledged_entry_is_found(tmp_path: Path) -> None:
    """A batch in flight is there as a whole or not at all."""
    path = tmp_path / "memory.sqlite"
    told: dict[str, int] = {}
    for kill, after in enumerate((1, 2, 7, 19)):
        name = f"writer{kill}"
        command = [sys.executable, "-c", WRITER, str(path), name]
        process = subprocess.Popen(command, cwd=ROOT, stdout=subprocess.PIPE, text=True)
        assert process.stdout is not None
        for line in process.stdout:
            told[name] = int(line) + 1
            if told[name] == after:
                process.kill()  # what it still says was done before
        assert process.wait() == -9
        process.stdout.close()
        with closing(sqlite3.connect(path)) as connection:
            assert connection.execute("PRAGMA integrity_check").fetchall() == [("ok",)]
            orphans = "SELECT count(*) FROM entries WHERE number NOT IN (SELECT entry FROM vectors)"
            assert connection.execute(orphans).fetchone() == (0,)
        with closing(Memory(path, WordEncoder(), 100_000)) as kept:
            there = {entry.id for entry in kept.entries(limit=100_000)}
            for writer, batches in told.items():
                own = {id_ for id_ in there if id_.startswith(f"{writer}-")}
                sure = {f"{writer}-{n}-{part}" for n in range(batches) for part in range(3)}
                assert sure <= own
                assert len(own) - len(sure) in (0, 3)
            assert kept.search(f"{name} wrote line 0", 3)[0].entry.id.startswith(f"{name}-")
            assert {each.entry.id for each in kept.search("wrote line part", 100_000)} == there
