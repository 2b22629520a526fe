"""The command `migrate-to` copies the files to Postgres and leaves them unchanged."""

from __future__ import annotations

import time
from collections.abc import Iterator
from pathlib import Path

import pytest

from research.errors import ConfigError
from research.events.events import Event, ReportUpdated, RunFinished, RunStarted, WaitingForUser
from research.events.recipe import Recipe
from research.store import Origin, RunRow
from research.store.database import close_pool
from research.store.migration import move
from research.store.postgres import PostgresStore
from research.store.rows import StoredRun
from research.store.saved import Comparison, Opinion, Preset, SavedValues
from research.store.sqlite import SqliteStore
from tests.command import Cli

LONG_AGO = 1_000_000.25


@pytest.fixture
def url(database_url: str) -> Iterator[str]:
    yield database_url
    close_pool(database_url)


@pytest.fixture
def source(tmp_path: Path) -> Iterator[SqliteStore]:
    store = SqliteStore(tmp_path / "workbench.sqlite")
    filled(store)
    yield store
    store.close()


def noted(run: str, seq: int) -> Event:
    return ReportUpdated(run=run, seq=seq, time=float(seq) / 3, report=f"draft {seq} 《汉字》 \0 \ufdd0")


def filled(store: SqliteStore) -> None:
    """Add runs of every kind: finished, waiting, interrupted, deleted, forked, without events."""
    started = RunStarted(run="a", seq=0, question="Why?\0", recipe=Recipe(context="window"))
    store.create(RunRow("a", "Why?\0", Recipe(context="window"), created=LONG_AGO), [started])
    store.append([noted("a", 1), noted("a", 2)])
    store.append([RunFinished(run="a", seq=3, status="completed", outcome="answered", answer="So.", report="So.")])
    store.tag("a", ["to read", "经济"])
    store.create(RunRow("b", "How?", Recipe(), created=LONG_AGO + 1, origin=Origin("a", "fork", 2)))
    store.append([noted("b", 0), WaitingForUser(run="b", seq=1, prompt="Which?")])
    store.request("b", "pause")
    store.request("b", "stop")
    store.create(RunRow("c", "What?", Recipe(), created=LONG_AGO + 2), [noted("c", 0)])
    store.create(RunRow("d", "Who?", Recipe(), created=LONG_AGO + 3), [noted("d", 0)])
    store.delete(["d"])
    store.create(RunRow("e", "When?", Recipe(), created=LONG_AGO + 4, status="queued"))
    saved = SavedValues(store)
    saved.save_preset(Preset("My way", {"framework": "react"}))
    saved.save_comparison(Comparison("x", "Why?", ("a", "b"), 1.0))
    saved.save_opinion(Opinion("x", "a", 1, "better"))


def quiet(done: int, total: int, what: str) -> None:
    assert 0 <= done <= total


def all_of(store: SqliteStore | PostgresStore) -> list[StoredRun | None]:
    return [store.stored_run(run) for run in "abcde"]


def test_a_move_copies_everything_and_leaves_the_files_unchanged(source: SqliteStore, url: str) -> None:
    kept = [path for path in source.path.parent.glob("*.sqlite*") if not path.name.endswith("-shm")]  # reader locks
    files = {path: path.read_bytes() for path in kept}
    moved = move(source, url, "workbench", quiet)
    target = PostgresStore(url, "workbench")
    assert (moved.runs, moved.new, moved.events, moved.values) == (5, 5, 8, 3)
    assert all_of(target) == all_of(source)
    assert target.stored_values() == source.stored_values()
    assert [row.id for row in target.runs()] == [row.id for row in source.runs()] == ["e", "c", "b", "a"]
    assert target.events("a") == source.events("a")
    assert target.requests(["b"]) == {"b": "stop"}
    assert SavedValues(target).opinions("x") == SavedValues(source).opinions("x")
    assert [row.id for row in target.stale(time.time())] == ["c", "e"], "they could be reclaimed there"
    target.restore(["d"])
    assert target.run("d").question == "Who?"
    assert {path: path.read_bytes() for path in kept} == files


def test_a_second_move_changes_nothing(source: SqliteStore, url: str) -> None:
    move(source, url, "workbench", quiet)
    target = PostgresStore(url, "workbench")
    before = all_of(target)
    assert move(source, url, "workbench", quiet).new == 0
    assert all_of(target) == before


def test_a_second_move_finishes_an_interrupted_one(source: SqliteStore, url: str) -> None:
    def broken(done: int, total: int, what: str) -> None:
        if done == 2:
            raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        move(source, url, "workbench", broken)
    assert move(source, url, "workbench", quiet).new == 3
    assert all_of(PostgresStore(url, "workbench")) == all_of(source)


def test_a_second_move_adds_what_changed_since_the_first(source: SqliteStore, url: str) -> None:
    move(source, url, "workbench", quiet)
    source.append([noted("c", 1)])
    source.append([RunFinished(run="c", seq=2, status="completed", outcome="answered", answer="Now.", report="")])
    SavedValues(source).save_opinion(Opinion("x", "a", -1, "worse"))
    target = PostgresStore(url, "workbench")
    target.append([noted("b", 2)])
    target.tag("a", ["changed here"])
    target.delete(["e"])
    assert move(source, url, "workbench", quiet).new == 1
    assert target.run("c").answer == "Now."
    assert target.stored_run("c") == source.stored_run("c")
    assert [event.seq for event in target.events("b")] == [0, 1, 2], "events added in the target were lost"
    assert target.run("a").tags == ("changed here",)
    assert "e" not in [row.id for row in target.runs()]
    assert SavedValues(target).opinions("x")["a"].note == "worse"
    SavedValues(target).save_opinion(Opinion("x", "a", 0, "later"))
    move(source, url, "workbench", quiet)
    assert SavedValues(target).opinions("x")["a"].note == "later"


def test_a_run_that_continued_in_both_stores_is_refused_by_id(source: SqliteStore, url: str) -> None:
    move(source, url, "workbench", quiet)
    target = PostgresStore(url, "workbench")
    source.append([noted("c", 1)])
    target.append([WaitingForUser(run="c", seq=1, prompt="Here?")])
    before = all_of(target)
    with pytest.raises(ConfigError, match="run c has different events in the two stores"):
        move(source, url, "workbench", quiet)
    assert all_of(target) == before


def test_a_move_is_refused_while_a_run_is_running(source: SqliteStore, url: str) -> None:
    source.heartbeat(["c"])
    with pytest.raises(ConfigError, match="run c is running"):
        move(source, url, "workbench", quiet)
    assert PostgresStore(url, "workbench").runs() == []


@pytest.mark.parametrize("change", ["event", "run", "thing"])
def test_a_change_during_the_move_is_an_error(source: SqliteStore, url: str, change: str) -> None:
    def between(done: int, total: int, what: str) -> None:
        if (done, what) == (0, "runs compared"):
            if change == "event":
                source.append([noted("c", 1)])
            elif change == "run":
                source.create(RunRow("f", "New?", Recipe()))
            else:
                SavedValues(source).save_preset(Preset("New", {}))

    with pytest.raises(ConfigError, match="during the move"):
        move(source, url, "workbench", between)


def test_each_users_runs_are_moved_to_a_separate_schema(source: SqliteStore, url: str) -> None:
    move(source, url, "u_0123456789abcdef", quiet)
    assert PostgresStore(url, "workbench").runs() == []
    assert len(PostgresStore(url, "u_0123456789abcdef").runs()) == 4


def test_the_command_moves_every_users_runs_and_memory(cli: Cli, home: Path, url: str) -> None:
    key = "0123456789abcdef"
    (home / "users" / key).mkdir(parents=True)
    for folder in (home, home / "users" / key):
        store = SqliteStore(folder / "workbench.sqlite")
        filled(store)
        store.close()
    assert cli("memory", "add", "Water boils at 100 degrees.").status == 0
    done = cli("migrate-to", url)
    assert done.status == 0, done.err
    assert done.out.splitlines() == [
        "5 runs with 8 events (5 of them new), 3 presets, comparisons and opinions, "
        "1 entries of the memory (1 of them new)",
        f"user {key}: 5 runs with 8 events (5 of them new), 3 presets, comparisons and opinions",
    ]
    assert "DATABASE_URL" in done.err
    assert "(0 of them new)" in cli("migrate-to", url).out
    assert len(PostgresStore(url, f"u_{key}").runs()) == len(PostgresStore(url, "workbench").runs()) == 4


def test_a_wrong_database_url_is_refused_without_showing_the_password(cli: Cli) -> None:
    for words in (
        ("migrate-to",),
        ("migrate-to", "mysql://me:sesame@host/x"),
        ("migrate-to", "postgresql://me:sesame@127.0.0.1:1/x"),
    ):
        done = cli(*words)
        assert done.status == 2
        assert "DATABASE_URL" in done.err
        assert "sesame" not in done.err
