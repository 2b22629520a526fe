"""The queue of engines and workers, on a SQLite file and on a real Postgres."""

from __future__ import annotations

import threading
import time
from collections.abc import Iterator
from pathlib import Path

import pytest
from pydantic import SecretStr
from sqlalchemy import text

from research.agent.context import RunContext
from research.config.settings import Settings, load
from research.engine import queue
from research.engine.queue import DbosQueue, enqueued
from research.engine.rate_limit import Rate, RateLimiter, parse_rates
from research.errors import ConfigError
from research.events.events import Warned
from research.store.sqlite import SqliteStore
from research.workbench.workbench import Workbench
from tests.fake_openai import FakeOpenAI
from tests.player import QUESTION, Player
from tests.workers import LONG_S, Listener, until

KEYS = ("", "0123456789abcdef")


@pytest.fixture(params=["sqlite", "postgres"])
def settings(request: pytest.FixtureRequest, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Settings:
    if request.param == "postgres":
        monkeypatch.setenv("DATABASE_URL", request.getfixturevalue("database_url"))
    return load(home=tmp_path / "home")


@pytest.fixture
def listener(settings: Settings) -> Iterator[Listener]:
    """A process that takes runs from the queue and holds each until it may end it."""
    with Listener(settings) as process:
        yield process


def test_enqueuing_before_any_worker_has_started_creates_no_queue(settings: Settings) -> None:
    DbosQueue(settings, "").put("one")
    assert enqueued(settings) == set()
    assert not (settings.root / "queue.sqlite").exists()


@pytest.mark.examples(1)
def test_each_enqueued_run_is_taken_exactly_once(settings: Settings, listener: Listener) -> None:
    for user in KEYS:
        DbosQueue(settings, user).put("one")
    assert {listener.taken(), listener.taken()} == {(user, "one") for user in KEYS}
    for user in KEYS:  # they were taken a moment ago
        DbosQueue(settings, user).put_lost("one")
    assert enqueued(settings) == set()
    DbosQueue(settings, "").put("two")
    assert listener.taken() == ("", "two"), "a run was taken twice"


@pytest.mark.examples(1)
def test_a_run_enqueued_many_times_waits_in_the_queue_once(tmp_path: Path, settings: Settings) -> None:
    with Listener(settings, runs=1) as listener:
        DbosQueue(settings, "").put("first")
        assert listener.taken() == ("", "first")
        threads = [threading.Thread(target=DbosQueue(settings, "").put, args=("one",)) for _ in range(8)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        DbosQueue(settings, "").put("one:1")
        assert enqueued(settings) == {("", "one"), ("", "one:1")}
        listener.let_go()
        assert listener.taken() == ("", "one")
        listener.let_go()
        assert listener.taken() == ("", "one:1"), "the other run was in the queue more than once"


@pytest.mark.examples(1)
def test_a_paused_run_can_be_enqueued_again(settings: Settings, listener: Listener) -> None:
    for _ in range(3):
        DbosQueue(settings, "").put("one")
        assert listener.taken() == ("", "one")
        listener.let_go()
        assert listener.ended() == ("", "one")


@pytest.mark.examples(1)
def test_a_dead_workers_run_goes_to_another_worker_and_frees_its_slot(
    settings: Settings, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(queue, "TAKEN_S", 0.0)
    settings = settings.model_copy(update={"runs_at_once": 1})
    with Listener(settings) as dead:
        DbosQueue(settings, "").put("one")
        assert dead.taken() == ("", "one")
    with Listener(settings) as alive:
        DbosQueue(settings, "").put_lost("one")
        assert alive.taken() == ("", "one"), "the dead worker's run still counts towards the limit of one"


@pytest.mark.examples(1)
def test_the_number_of_concurrent_runs_stays_within_the_limits(settings: Settings) -> None:
    settings = settings.model_copy(update={"runs_at_once": 3, "runs_per_user": 2})
    with Listener(settings) as one, Listener(settings) as other:
        for user in KEYS:
            for run in ("a", "b", "c"):
                DbosQueue(settings, user).put(run)
        at_work: list[tuple[str, str]] = []

        def looked(count: int) -> bool:
            """Return whether `count` runs are held, and check that the limits are not exceeded."""
            at_work[:] = one.held() + other.held()
            assert len(at_work) <= 3
            assert max(sum(user == key for user, _ in at_work) for key in KEYS) <= 2
            return len(at_work) == count

        until(lambda: looked(3))
        for _ in range(6):
            until(lambda: not looked(0))
            busy = one if one.held() else other
            busy.let_go()
            busy.ended()
        until(lambda: looked(0))


@pytest.mark.examples(1)
def test_ended_entries_are_deleted_from_the_queue(
    settings: Settings, listener: Listener, monkeypatch: pytest.MonkeyPatch
) -> None:
    DbosQueue(settings, "").put("one")
    DbosQueue(settings, "").put("two")
    assert {listener.taken()[1], listener.taken()[1]} == {"one", "two"}
    listener.let_go()
    gone = listener.ended()[1]
    client = queue._client(settings)
    assert client is not None

    def turns() -> list[tuple[str, str]]:
        return sorted((each.workflow_id, each.status) for each in client.list_workflows())

    until(lambda: (f":{gone}:1", "SUCCESS") in turns())
    queue.delete_ended(settings)
    assert len(turns()) == 2, "an entry that has only just ended was deleted"
    monkeypatch.setattr(queue, "KEEP_ENDED_S", -2.0)
    queue.delete_ended(settings)
    assert [status for _, status in turns()] == ["PENDING"]


@pytest.mark.examples(1)
def test_nothing_in_the_queue_is_pickled(settings: Settings, listener: Listener) -> None:
    DbosQueue(settings, KEYS[1]).put("one")
    listener.taken()
    client = queue._client(settings)
    assert client is not None
    [turn] = client.list_workflows()
    assert turn.input == {"args": (KEYS[1], "one"), "kwargs": {}}
    schema = "" if settings.database_url is None else f"{queue.SCHEMA}."
    with client._sys_db.engine.connect() as connection:
        written = connection.execute(text(f"SELECT serialization FROM {schema}workflow_status")).scalars().all()
    assert written == ["portable_json"]


@pytest.mark.parametrize(
    ("url", "said"),
    [
        ("postgresql://someone:s3cret@127.0.0.1:1/none", "DATABASE_URL: no connection to 127.0.0.1"),
        ("postgresql//someone:s3cret@127.0.0.1/none", "DATABASE_URL is not a url"),
    ],
)
def test_a_missing_database_is_reported_without_its_password(tmp_path: Path, url: str, said: str) -> None:
    settings = load(home=tmp_path).model_copy(update={"database_url": SecretStr(url)})
    with pytest.raises(ConfigError, match=said) as caught:
        queue.listen(settings, 1, lambda user, run: None)
    assert "s3cret" not in str(caught.value)


def test_a_queue_file_of_another_format_is_left_unchanged(tmp_path: Path) -> None:
    settings = load(home=tmp_path)
    (settings.root / "queue.sqlite").write_text("something else " * 100)
    with pytest.raises(ConfigError, match="move it away"):
        queue.listen(settings, 1, lambda user, run: None)
    assert (settings.root / "queue.sqlite").read_text() == "something else " * 100


@pytest.mark.parametrize(
    ("text", "found"),
    [("", {}), ("openai=60", {"openai": 60}), (" openai = 0.5 , anthropic=30,", {"openai": 0.5, "anthropic": 30})],
)
def test_rate_limits_are_parsed(text: str, found: dict[str, float]) -> None:
    assert parse_rates(text) == found


@pytest.mark.parametrize(
    "text", ["openai", "openai=", "openai=0", "openai=-1", "openai=nan", "openai=inf", "opnai=3", "openai=1,openai=2"]
)
def test_an_invalid_rate_limit_is_refused(text: str) -> None:
    with pytest.raises(ConfigError, match="WORKBENCH_RATE_LIMITS"):
        parse_rates(text)


def test_processes_share_the_rate_limit_of_a_provider(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(time, "time", lambda: 1_800_000_000.0)
    one, other = (SqliteStore(tmp_path / "runs.sqlite") for _ in range(2))
    limits = {"openai": Rate(60)}
    limiters = [RateLimiter(limits, lambda: one), RateLimiter(limits, lambda: other)]
    waits = [pacing(model) for model in ("openai:a", "openai:b") for pacing in limiters]
    assert waits == [0, 1, 2, 3]
    assert RateLimiter(limits, lambda: one)("anthropic:a") == 0.0


def test_a_run_that_waits_for_several_turns_warns_once(bench: Workbench, monkeypatch: pytest.MonkeyPatch) -> None:
    waited: list[float] = []
    monkeypatch.setattr(RateLimiter, "__call__", lambda limiter, model, tokens=0: 2.0)
    monkeypatch.setattr(RunContext, "wait", lambda context, seconds: waited.append(seconds))
    with FakeOpenAI(Player("native", laps=3)) as server:
        bench.settings.openai_base_url = server.base_url
        run = bench.engine.start(QUESTION, bench.recipe(model="openai:fake", tools=["search"]), here=True)
        assert sum(isinstance(event, Warned) for event in run.events()) == 1
    assert waited == [2.0] * 4


def test_a_rate_limited_run_warns_once_and_can_be_stopped(bench: Workbench) -> None:
    with FakeOpenAI(Player("native", laps=3)) as server:
        bench.settings.openai_base_url = server.base_url
        bench.settings.rate_limits = "openai=0.01"
        run_id = bench.engine.start(QUESTION, bench.recipe(model="openai:fake", tools=["search"])).run_id
        until(lambda: any(isinstance(event, Warned) for event in bench.store.events(run_id)))
        bench.engine.stop(run_id)
        assert bench.engine.wait(run_id, LONG_S)
        assert len(server.requests) == 1
    events = bench.store.events(run_id)
    assert [event.text for event in events if isinstance(event, Warned)] == [
        "Requests to openai are limited here: each waits for its turn."
    ]
    assert bench.store.run(run_id).status == "stopped"
