"""The contract of every store, over a SQLite file and over a real Postgres."""

from __future__ import annotations

import json
import subprocess
import sys
import threading
import time
from ast import literal_eval
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import Any

import pytest
from hypothesis import HealthCheck, given
from hypothesis import strategies as st

from research.errors import ConfigError, StoreUnavailable
from research.events.events import (
    Event,
    Paused,
    ReportUpdated,
    Resumed,
    RunFinished,
    RunStarted,
    Streamed,
    UserReplied,
    WaitingForUser,
)
from research.events.recipe import Recipe
from research.store import Filters, Origin, RunRow, Store
from research.store.commits import Batch, Commits
from research.store.database import close_pool
from research.store.postgres import PostgresStore
from research.store.saved import Comparison, Opinion, Preset, SavedValues
from research.store.sqlite import SqliteStore
from tests.fuzz import up_to
from tests.workers import LONG_S

ROOT = Path(__file__).parents[2]
RECIPE = Recipe(framework="react", context="window", context_options={"k": 3})


@pytest.fixture(params=["sqlite", "postgres"])
def place(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[str]:
    """The place of one store: the path of a file, or the URL of an empty database."""
    if request.param == "sqlite":
        yield str(tmp_path / "runs.sqlite")
    else:
        url = request.getfixturevalue("database_url")
        yield url
        close_pool(url)


def at(place: str) -> Store:
    return PostgresStore(place, "workbench") if "://" in place else SqliteStore(Path(place))


AT = (
    "import sys; from pathlib import Path\n"
    "from research.store import RunRow; from research.store.postgres import PostgresStore; from research.store.sqlite import SqliteStore\n"
    "from research.events.events import *; from research.events.recipe import Recipe; from research.errors import *\n"
    "place = sys.argv[1]\n"
    "store = PostgresStore(place, 'workbench') if '://' in place else SqliteStore(Path(place))\n"
)
"""Code with which another process opens the same store."""


@pytest.fixture
def open_store(place: str) -> Iterator[Callable[[], Store]]:
    """Returns a function that opens the same place again."""
    opened: list[Store] = []

    def another() -> Store:
        opened.append(at(place))
        return opened[-1]

    yield another
    for store in opened:
        store.close()


@pytest.fixture
def store(open_store: Callable[[], Store]) -> Store:
    return open_store()


def noted(run: str, seq: int) -> Event:
    return ReportUpdated(run=run, seq=seq, time=float(seq), report=f"draft {seq}, 《汉字》 and a \u2028")


def streamed(run: str, seq: int) -> Event:
    return Streamed(run=run, seq=seq, time=float(seq), ask=1, text=f"piece {seq}")


def test_events_are_read_back_equal_and_in_order(store: Store) -> None:
    store.create(RunRow("a", "Why?", RECIPE))
    events: list[Event] = [RunStarted(run="a", seq=0, question="Why?", recipe=RECIPE), noted("a", 1)]
    store.append(events)
    store.append([noted("a", 3)])
    store.append([noted("a", 2)])
    assert store.events("a") == [*events, noted("a", 2), noted("a", 3)]


def test_events_after_a_position_are_only_the_later_ones(store: Store) -> None:
    store.create(RunRow("a", "Why?", RECIPE))
    store.create(RunRow("b", "How?", RECIPE))
    store.append([noted("a", seq) for seq in range(5)])
    store.append([noted("b", 9)])
    assert [event.seq for event in store.events("a", after=2)] == [3, 4]
    assert store.events("a", after=4) == []
    assert store.events("nothing") == []


def test_an_event_cannot_be_written_at_a_position_that_is_taken(store: Store) -> None:
    store.create(RunRow("a", "Why?", RECIPE))
    store.append([noted("a", 0)])
    with pytest.raises(ConfigError, match="running elsewhere"):
        store.append([noted("a", 1), noted("a", 0)])
    assert [event.seq for event in store.events("a")] == [0], "only a part of the batch was saved"


def test_a_run_is_found_by_a_unique_prefix_of_its_id(store: Store) -> None:
    for run in ("260101-aa", "260101-ab", "260102-aa", "260102-aa-long"):
        store.create(RunRow(run, f"Question of {run}", RECIPE))
    assert store.run("260101-ab").id == "260101-ab"
    assert store.run("260102-aa").id == "260102-aa", "a longer id was found instead of the exact one"
    assert store.run("260102-aa-").id == "260102-aa-long"
    with pytest.raises(ConfigError, match="260101-aa and 260101-ab|260101-ab and 260101-aa"):
        store.run("260101")
    for unknown in ("", "nothing", "%", "26010_-aa", "\\"):
        with pytest.raises(ConfigError, match="unknown run"):
            store.run(unknown)


def test_a_runs_row_follows_its_events(store: Store) -> None:
    store.create(RunRow("a", "Why?", RECIPE))
    row = store.run("a")
    assert (row.question, row.recipe, row.status, row.outcome) == ("Why?", RECIPE, "running", None)
    store.append([WaitingForUser(run="a", seq=0, prompt="Which one?")])
    row = store.run("a")
    assert (row.status, row.outcome, row.answer) == ("waiting_input", "needs_input", "Which one?")
    store.append([UserReplied(run="a", seq=1, text="This one")])
    assert (store.run("a").status, store.run("a").outcome) == ("running", None)
    store.append([RunFinished(run="a", seq=2, status="completed", outcome="answered", answer="So.", report="So.")])
    row = store.run("a")
    assert (row.status, row.outcome, row.answer) == ("completed", "answered", "So.")


def test_runs_are_listed_newest_first_and_searched(store: Store) -> None:
    for run in ("a", "b", "c"):
        store.create(RunRow(run, f"Question {run}", RECIPE))
    store.append([RunFinished(run="b", seq=0, status="completed", outcome="answered", answer="A giraffe.", report="")])
    assert [row.id for row in store.runs()] == ["c", "b", "a"]
    assert [row.id for row in store.runs(limit=1, offset=1)] == ["b"]
    assert [row.id for row in store.runs("giraffe")] == ["b"]
    assert [row.id for row in store.runs("question A")] == ["a"]


def test_a_request_to_stop_reaches_another_connection(open_store: Callable[[], Store]) -> None:
    asking, working = open_store(), open_store()
    working.create(RunRow("a", "Why?", RECIPE))
    assert working.requests(["a"]) == {}
    asking.request("a", "stop")
    assert working.requests(["a", "b"]) == {"a": "stop"}
    assert working.requests(["b"]) == {}


def test_a_heartbeat_is_seen_by_another_connection(open_store: Callable[[], Store]) -> None:
    working, watching = open_store(), open_store()
    working.create(RunRow("a", "Why?", RECIPE))
    before = watching.run("a").heartbeat
    working.heartbeat(["a"])
    assert watching.run("a").heartbeat >= before


def test_threads_with_their_own_stores_lose_no_events(open_store: Callable[[], Store]) -> None:
    stores = [open_store(), open_store()]
    shared = stores[0]

    def write(number: int) -> None:
        store = stores[number % 2]
        store.create(RunRow(f"run-{number}", "Why?", RECIPE))
        for seq in range(25):
            store.append([noted(f"run-{number}", seq)])

    threads = [threading.Thread(target=write, args=[number]) for number in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    for number in range(4):
        assert [event.seq for event in shared.events(f"run-{number}")] == list(range(25))


def test_streamed_text_is_visible_before_the_event_that_follows_it(open_store: Callable[[], Store]) -> None:
    ours, theirs = open_store(), open_store()
    ours.create(RunRow("a", "Why?", RECIPE))
    ours.append([streamed("a", 0)])
    assert ours.events("a") == [streamed("a", 0)], "the writer does not see its own event"
    ours.append([streamed("a", 1)])
    ours.heartbeat(["a"])
    assert theirs.events("a", after=0) == [streamed("a", 1)], "others do not see it after a heartbeat"
    ours.append([streamed("a", 2)])
    ours.append([noted("a", 3)])
    assert [event.seq for event in theirs.events("a")] == [0, 1, 2, 3]


def test_after_streamed_text_that_could_not_be_saved_no_later_event_is_saved(open_store: Callable[[], Store]) -> None:
    ours, zombie = open_store(), open_store()
    ours.create(RunRow("a", "Why?", RECIPE))
    ours.create(RunRow("b", "How?", RECIPE))
    ours.append([noted("a", 0)])
    for seen_between in (False, True):
        zombie.append([streamed("a", 0)])
        zombie.append([streamed("b", 0 + seen_between)])
        if seen_between:
            zombie.heartbeat(["a"])
        with pytest.raises(ConfigError, match="run a is running elsewhere"):
            zombie.append([noted("a", 1)])
    assert ours.events("a") == [noted("a", 0)]
    assert [event.seq for event in ours.events("b")] == [0, 1], "another run lost events"


def test_each_of_many_concurrent_writers_learns_of_its_own_failure_only(store: Store) -> None:
    gate, failed = threading.Barrier(8), list[int]()
    for number in range(8):
        store.create(RunRow(f"run-{number}", "Why?", RECIPE))
    store.append([noted("run-3", 5)])

    def write(number: int) -> None:
        gate.wait(LONG_S)
        try:
            for seq in range(10):
                store.append([noted(f"run-{number}", seq)])
        except ConfigError:
            failed.append(number)

    threads = [threading.Thread(target=write, args=[number]) for number in range(8)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert failed == [3]
    kept = {number: [event.seq for event in store.events(f"run-{number}")] for number in range(8)}
    assert kept == {number: list(range(6 if number == 3 else 10)) for number in range(8)}


@pytest.mark.examples(1)
def test_two_processes_can_write_at_the_same_time(open_store: Callable[[], Store], place: str) -> None:
    code = AT + (
        "store.create(RunRow('theirs', 'Why?', Recipe()))\n"
        "for seq in range(50): store.append([ReportUpdated(run='theirs', seq=seq, report='x')])\n"
    )
    # Started before this process opens the store, so that both may find it without tables.
    process = subprocess.Popen([sys.executable, "-c", code, place], cwd=ROOT)
    store = open_store()
    store.create(RunRow("ours", "Why?", RECIPE))
    for seq in range(50):
        store.append([noted("ours", seq)])
    assert process.wait(LONG_S) == 0
    assert len(store.events("ours")) == len(store.events("theirs")) == 50


@pytest.mark.examples(1)
def test_several_processes_can_create_the_store_at_once(place: str) -> None:
    command = [sys.executable, "-c", AT, place]
    started = [subprocess.Popen(command, cwd=ROOT, stderr=subprocess.PIPE, text=True) for _ in range(4)]
    for process in started:
        _, err = process.communicate(timeout=LONG_S)
        assert process.returncode == 0, err


@pytest.mark.examples(1)
def test_only_one_of_several_racing_processes_writes_each_position(open_store: Callable[[], Store], place: str) -> None:
    store = open_store()
    store.create(RunRow("a", "Why?", RECIPE))
    code = AT + (
        "won = []\n"
        "sys.stdin.readline()\n"
        "for seq in range(40):\n"
        "    try: store.append([Streamed(run='a', seq=2 * seq, time=1.0, ask=1, text='same'),\n"
        "                       ReportUpdated(run='a', seq=2 * seq + 1, time=1.0, report='same')])\n"
        "    except ConfigError: continue\n"
        "    won.append(seq)\n"
        "print(won)\n"
    )
    command = [sys.executable, "-c", code, place]
    pipe = subprocess.PIPE
    started = [subprocess.Popen(command, cwd=ROOT, stdin=pipe, stdout=pipe, text=True) for _ in range(3)]
    for process in started:
        assert process.stdin is not None
        process.stdin.write("go\n")
        process.stdin.flush()
    won = [seq for process in started for seq in literal_eval(process.communicate(timeout=LONG_S)[0])]
    assert sorted(won) == list(range(40)), "a position was acknowledged never or twice"
    assert [event.seq for event in store.events("a")] == list(range(80))


def test_acknowledged_events_are_there_after_reopening(open_store: Callable[[], Store]) -> None:
    first = open_store()
    first.create(RunRow("a", "Why?", RECIPE))
    first.append([noted("a", 0)])
    first.close()
    assert open_store().events("a") == [noted("a", 0)]


def test_filters_can_be_combined(store: Store) -> None:
    store.create(RunRow("a", "Why?", Recipe(), created=10.0))
    store.create(RunRow("b", "How?", RECIPE, created=20.0))
    store.create(RunRow("c", "How much?", Recipe(model="openai:x"), created=30.0))
    store.append([RunFinished(run="b", seq=0, status="completed", outcome="answered", answer="So.", report="So.")])

    def found(query: str = "", **wanted: Any) -> list[str]:
        return [row.id for row in store.runs(query, filters=Filters(**wanted))]

    assert found() == ["c", "b", "a"]
    assert found(contexts=("full",)) == ["c", "a"]
    assert found(frameworks=("react",), models=("extractive",)) == ["b", "a"]
    assert found(outcomes=("answered",)) == ["b"]
    assert found(outcomes=("running", "answered")) == ["c", "b", "a"]
    assert found(since=20.0) == ["c", "b"]
    assert store.endings() == {"answered": 1, "running": 2}
    assert store.endings("How", Filters(models=("openai:x",))) == {"running": 1}
    assert found("How", models=("openai:x",)) == ["c"]
    store.append([Paused(run="a", seq=0)])
    store.append([Paused(run="c", seq=0, reason="The service is down.")])
    assert [row.ending for row in store.runs()] == ["failed", "answered", "running"]
    assert (found(outcomes=("failed",)), found(outcomes=("running",))) == (["c"], ["a"])


def test_tags_can_be_set_listed_and_filtered_by(store: Store) -> None:
    store.create(RunRow("a", "Why?", RECIPE))
    store.create(RunRow("b", "How?", RECIPE))
    store.tag("a", ["to read", " to  read ", "", "经济"])
    store.tag("b", ["old"])
    store.tag("b", [])
    assert store.run("a").tags == ("to read", "经济")
    assert store.run("b").tags == ()
    assert store.tags() == ["to read", "经济"]
    assert [row.id for row in store.runs(filters=Filters(tags=("经济", "old")))] == ["a"]
    store.tag("b", ["eval:first", "old"])
    assert [row.id for row in store.runs(filters=Filters(not_tagged="eval:"))] == ["a"]
    assert {row.id for row in store.runs(filters=Filters(not_tagged="%"))} == {"a", "b"}


def test_a_deleted_run_is_in_no_list_until_it_is_restored(store: Store) -> None:
    store.create(RunRow("a", "Why?", RECIPE))
    store.append([noted("a", 0)])
    store.tag("a", ["mine"])
    store.delete(["a"])
    assert store.runs() == [] == store.tags()
    with pytest.raises(ConfigError, match="unknown run 'a'"):
        store.run("a")
    with pytest.raises(ConfigError, match="deleted a moment ago"):
        store.create(RunRow("a", "Again?", RECIPE))
    store.restore(["a"])
    assert store.run("a").tags == ("mine",)
    assert store.events("a") == [noted("a", 0)]


def test_purge_removes_only_runs_deleted_before_the_given_time(store: Store) -> None:
    for run in ("a", "b"):
        store.create(RunRow(run, "Why?", RECIPE))
        store.append([noted(run, 0)])
    store.delete(["a"])
    assert store.purge(0.0) == 0
    assert store.purge(time.time() + 1) == 1
    store.restore(["a"])
    assert [row.id for row in store.runs()] == ["b"]
    assert store.events("a") == []
    assert store.events("b") == [noted("b", 0)]


def test_a_run_knows_its_origin(store: Store) -> None:
    store.create(RunRow("a", "Why?", RECIPE))
    store.create(RunRow("b", "Why?", RECIPE, origin=Origin("a", "fork", 2)))
    assert store.run("a").origin is None
    assert store.run("b").origin == Origin("a", "fork", 2)
    assert Origin("a", "rerun").round == 0
    assert [row.id for row in store.runs(filters=Filters(origin="a"))] == ["b"]


def test_presets_comparisons_and_opinions_are_saved(open_store: Callable[[], Store]) -> None:
    saved = SavedValues(open_store())
    saved.save_preset(Preset(" My  way ", {"framework": "react", "tools": ["search"]}))
    saved.save_preset(Preset("A", {}))
    saved.save_comparison(Comparison("x", "Why?", ("a", "b"), 1.0))
    saved.save_opinion(Opinion("x", "a", 1, "better"))
    saved.save_opinion(Opinion("x", "a", -1, "worse 《》"))
    saved.save_opinion(Opinion("xy", "b"))
    again = SavedValues(open_store())
    assert again.presets() == [Preset("A", {}), Preset("My way", {"framework": "react", "tools": ["search"]})]
    assert again.comparison("x").runs == ("a", "b")
    assert again.opinions("x") == {"a": Opinion("x", "a", -1, "worse 《》")}
    again.delete_preset("A")
    again.delete_comparison("x")
    assert [preset.name for preset in saved.presets()] == ["My way"]
    with pytest.raises(ConfigError, match="unknown comparison 'x'"):
        saved.comparison("x")
    with pytest.raises(ConfigError, match="1 to 40 characters"):
        saved.save_preset(Preset("  ", {}))


def test_any_text_is_read_back_unchanged(open_store: Callable[[], Store]) -> None:
    store, numbers = open_store(), iter(range(1_000))
    special = st.sampled_from(
        ["\0", "\ufdd0", "\ufdd00", "\ufdd01", "\\", "%", "_", "'", '"', "{", "}", ",", "NULL", "\u2028"]
    )
    texts = st.lists(st.text() | special, min_size=1, max_size=4).map("".join)
    # U+0000 is removed; tests/contract/test_nul.py
    texts = texts.map(lambda text: text.replace("\0", "0"))

    @given(texts, texts.filter(str.strip))
    @up_to(30, database=None, suppress_health_check=[HealthCheck.too_slow])
    def kept(text: str, tag: str) -> None:
        run = f"run-{next(numbers)}"
        recipe = Recipe(model=f"openai:{text}", framework_options={"x": text})
        report = ReportUpdated(run=run, seq=0, report=text)
        store.create(RunRow(run, text, recipe, origin=Origin(text or "x", "rerun")), [report])
        end = RunFinished(run=run, seq=1, status="completed", outcome="answered", answer=text, report=text)
        store.append([end])
        store.tag(run, [tag])
        row = store.run(run)
        assert (row.question, row.answer, row.recipe, row.origin) == (text, text, recipe, Origin(text or "x", "rerun"))
        assert row.tags == (" ".join(tag.split()),)
        assert store.events(run) == [report, end]
        assert run in {each.id for each in store.runs(filters=Filters(tags=row.tags))}
        store.request(run + text, "stop")
        assert store.requests([run + text]) == {run + text: "stop"}
        store.put("preset", text, b'"%s"' % run.encode())
        assert b'"%s"' % run.encode() in store.values("preset", text)
        store.remove("preset", text)
        store.take_turn(text, 60)

    kept()


def test_values_are_found_by_a_prefix_of_their_key(store: Store) -> None:
    keys = ["", "a", "a/", "a/1", "a/\0", "a/\U0010ffff", "a/\U0010ffff\U0010ffff1", "a0", "b", "A/1"]
    for key in keys:
        store.put("preset", key, json.dumps(key.encode().hex()).encode())  # a body would lose its U+0000
    store.put("opinion", "a/1", b"{}")
    for prefix in ("", "a", "a/", "a/\0", "a/\U0010ffff", "c"):
        found = [bytes.fromhex(json.loads(body)).decode() for body in store.values("preset", prefix)]
        assert sorted(found) == sorted(key for key in keys if key.startswith(prefix))


def test_an_impossible_id_is_unknown(store: Store) -> None:
    store.create(RunRow("a", "Why?", RECIPE))
    for odd in ("\0", "a\0", "\ufdd0", "a'", "a" * 100_000):
        with pytest.raises(ConfigError, match="unknown run"):
            store.run(odd)
        assert store.events(odd) == []


def test_search_words_are_taken_literally(store: Store) -> None:
    for number, question in enumerate(("100 % of it", "100 parts of it", "a_b", "axb", "back\\slash")):
        store.create(RunRow(f"run-{number}", question, RECIPE))
    found = {words: [row.question for row in store.runs(words)] for words in ("100 %", "A_B", "k\\s", "%", "")}
    assert found["100 %"] == ["100 % of it"] == found["%"]
    assert found["A_B"] == ["a_b"]
    assert found["k\\s"] == ["back\\slash"]
    assert len(found[""]) == 5


def test_a_run_is_created_with_its_first_events_or_not_at_all(store: Store) -> None:
    started = RunStarted(run="a", seq=0, question="Why?", recipe=RECIPE)
    end = RunFinished(run="a", seq=1, status="completed", outcome="answered", answer="So.", report="So.")
    store.create(RunRow("a", "Why?", RECIPE), [started, end])
    assert store.events("a") == [started, end]
    assert (store.run("a").status, store.run("a").answer) == ("completed", "So.")
    with pytest.raises(ConfigError, match="exists already"):
        store.create(RunRow("a", "How?", RECIPE), [noted("a", 7)])
    assert store.events("a") == [started, end]
    assert store.run("a").question == "Why?"


def test_a_queued_run_becomes_running_with_its_first_heartbeat(store: Store) -> None:
    resumed = Resumed(run="a", seq=1)
    store.create(RunRow("a", "Why?", RECIPE, status="queued"), [noted("a", 0), resumed])
    store.create(RunRow("b", "How?", RECIPE))
    assert store.run("a").status == "queued", "the status came from its first events"
    store.heartbeat(["a", "b"])
    assert [store.run(run).status for run in "ab"] == ["running", "running"]
    store.set_queued("a")
    assert store.run("a").status == "queued"
    store.append([RunFinished(run="b", seq=0, status="completed", outcome="answered", answer="So.", report="")])
    store.set_queued("b")
    store.heartbeat(["b"])
    assert store.run("b").status == "completed", "a finished run was queued again"


def test_stale_runs_are_unfinished_runs_without_a_recent_heartbeat(store: Store) -> None:
    for run, born in (("c", 30.0), ("a", 10.0), ("b", 20.0), ("d", 10.0), ("e", 10.0), ("f", 10.0)):
        store.create(RunRow(run, "Why?", RECIPE, created=born, status="queued" if run == "a" else "running"))
    store.append([Paused(run="d", seq=0)])
    store.delete(["e"])
    store.heartbeat(["f"])
    assert [row.id for row in store.stale(100.0)] == ["a", "b", "c"]
    assert [row.id for row in store.stale(20.0)] == ["a"]


def test_resuming_a_run_clears_the_requests_to_it(store: Store) -> None:
    store.create(RunRow("a", "Why?", RECIPE))
    store.create(RunRow("b", "Why?", RECIPE))
    for run in "ab":
        store.request(run, "stop")
        store.request(run, "pause")
    assert store.requests(["a", "b"]) == {"a": "pause", "b": "pause"}, "an earlier request won"
    store.append([Resumed(run="a", seq=0), noted("a", 1)])
    store.clear_requests("b")
    assert store.requests(["a", "b"]) == {}


def test_rate_limit_turns_are_evenly_spaced_across_all_stores(open_store: Callable[[], Store]) -> None:
    ours, theirs = open_store(), open_store()
    begun = time.time()
    waits = [store.take_turn("openai", 6.0) for store in (ours, theirs, ours, theirs)]
    took = time.time() - begun
    assert waits[0] == 0.0
    for number, wait in enumerate(waits):
        assert number * 10.0 - took <= wait <= number * 10.0
    assert ours.take_turn("anthropic", 6.0) == 0.0, "two providers share their turns"


def test_a_turn_that_has_already_come_does_not_wait(store: Store) -> None:
    # Turns a microsecond apart have come before the next one is requested.
    assert [store.take_turn("openai", 60_000_000.0) for _ in range(20)] == [0.0] * 20


def test_concurrent_threads_get_different_turns(store: Store) -> None:
    waits, begun = list[float](), time.time()

    def take() -> None:
        waits.extend(store.take_turn("openai", 0.006) for _ in range(5))

    threads = [threading.Thread(target=take) for _ in range(8)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    took = time.time() - begun
    turns = sorted(round((wait + took / 2) / 10_000) for wait in waits)  # a turn comes 10,000 s after the last
    assert turns == list(range(40))


def test_closing_the_store_saves_buffered_events(open_store: Callable[[], Store]) -> None:
    first = open_store()
    first.create(RunRow("a", "Why?", RECIPE))
    first.append([streamed("a", 0)])
    first.close()
    assert open_store().events("a") == [streamed("a", 0)]


def test_appending_nothing_changes_nothing(store: Store) -> None:
    store.append([])
    store.create(RunRow("a", "Why?", RECIPE))
    store.append([noted("a", 0)])
    assert store.events("a") == [noted("a", 0)]


def test_runs_that_share_a_commit_each_update_their_own_row(store: Store) -> None:
    gate = threading.Barrier(12)
    for number in range(12):
        store.create(RunRow(f"run-{number}", "Why?", RECIPE))

    def write(number: int) -> None:
        gate.wait(LONG_S)
        run = f"run-{number}"
        store.append([streamed(run, 0)])
        store.append([WaitingForUser(run=run, seq=1, prompt="?")])
        store.append([UserReplied(run=run, seq=2, text="x")])
        store.append(
            [RunFinished(run=run, seq=3, status="completed", outcome="answered", answer=f"So {number}.", report="")]
        )

    threads = [threading.Thread(target=write, args=[number]) for number in range(12)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert {row.id: row.answer for row in store.runs()} == {f"run-{number}": f"So {number}." for number in range(12)}
    assert all([event.seq for event in store.events(f"run-{number}")] == [0, 1, 2, 3] for number in range(12))


def test_an_interrupted_commit_is_an_error_for_every_writer_in_it() -> None:
    began, goes_on, seen = threading.Event(), threading.Event(), list[type[BaseException]]()
    kept: list[Batch] = []

    def commit(batches: Sequence[Batch]) -> None:
        if not began.is_set():
            began.set()
            goes_on.wait(LONG_S)
        elif not kept:
            kept.append(batches[0])
            raise KeyboardInterrupt
        else:
            kept.extend(batches)

    commits = Commits(commit, lambda rows: ())

    def write(number: int) -> None:
        try:
            commits.append([noted(f"run-{number}", 0)])
        except (StoreUnavailable, KeyboardInterrupt) as error:
            seen.append(type(error))

    first = threading.Thread(target=write, args=[0])
    first.start()
    began.wait(LONG_S)
    commits.append([streamed("run-9", 0)])
    others = [threading.Thread(target=write, args=[number]) for number in (1, 2, 3)]
    for thread in others:
        thread.start()
    while commits.waiting < 4:
        first.join(0.001)
    goes_on.set()
    for thread in (first, *others):
        thread.join(LONG_S)
    assert sorted(error.__name__ for error in seen) == ["KeyboardInterrupt", "StoreUnavailable", "StoreUnavailable"]
    commits.flush()
    assert "run-9" in [batch.run for batch in kept[1:]], "a buffered event was not retried"
