"""What every store promises, over SQLite."""

from __future__ import annotations

import subprocess
import sys
import threading
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from research.desk import Comparison, Desk, Opinion, Preset
from research.errors import ConfigError
from research.events import Event, ReportUpdated, RunFinished, RunStarted, Streamed, UserReplied, WaitingForUser
from research.recipe import Recipe
from research.store import Filters, Origin, Store
from research.store.sqlite import SqliteStore

ROOT = Path(__file__).parents[2]
RECIPE = Recipe(framework="react", context="window", context_options={"k": 3})


@pytest.fixture
def open_store(tmp_path: Path) -> Iterator[Callable[[], SqliteStore]]:
    """Opens the same file each time."""
    opened: list[SqliteStore] = []

    def another() -> SqliteStore:
        opened.append(SqliteStore(tmp_path / "runs.sqlite"))
        return opened[-1]

    yield another
    for store in opened:
        store.close()


@pytest.fixture
def store(open_store: Callable[[], SqliteStore]) -> Store:
    return open_store()


def noted(run: str, seq: int) -> Event:
    return ReportUpdated(run=run, seq=seq, time=float(seq), report=f"draft {seq}, 《汉字》 and a \u2028")


def streamed(run: str, seq: int) -> Event:
    return Streamed(run=run, seq=seq, time=float(seq), ask=1, text=f"piece {seq}")


def test_events_come_back_equal_and_in_order(store: Store) -> None:
    store.create("a", "Why?", RECIPE)
    events: list[Event] = [RunStarted(run="a", seq=0, question="Why?", recipe=RECIPE), noted("a", 1)]
    store.append(events)
    store.append([noted("a", 3)])
    store.append([noted("a", 2)])
    assert store.events("a") == [*events, noted("a", 2), noted("a", 3)]


def test_after_gives_only_what_is_new(store: Store) -> None:
    store.create("a", "Why?", RECIPE)
    store.create("b", "How?", RECIPE)
    store.append([noted("a", seq) for seq in range(5)])
    store.append([noted("b", 9)])
    assert [event.seq for event in store.events("a", after=2)] == [3, 4]
    assert store.events("a", after=4) == []
    assert store.events("nothing") == []


def test_the_same_place_is_never_written_twice(store: Store) -> None:
    store.create("a", "Why?", RECIPE)
    store.append([noted("a", 0)])
    with pytest.raises(ConfigError, match="at work elsewhere"):
        store.append([noted("a", 1), noted("a", 0)])
    assert [event.seq for event in store.events("a")] == [0], "all or nothing"


def test_a_run_is_found_by_a_unique_beginning(store: Store) -> None:
    for run in ("260101-aa", "260101-ab", "260102-aa", "260102-aa-long"):
        store.create(run, f"Question of {run}", RECIPE)
    assert store.run("260101-ab").id == "260101-ab"
    assert store.run("260102-aa").id == "260102-aa", "a whole id wins over longer ones"
    assert store.run("260102-aa-").id == "260102-aa-long"
    with pytest.raises(ConfigError, match="260101-aa and 260101-ab|260101-ab and 260101-aa"):
        store.run("260101")
    for unknown in ("", "nothing", "%", "26010_-aa", "\\"):
        with pytest.raises(ConfigError, match="unknown run"):
            store.run(unknown)


def test_a_row_follows_the_events_of_its_run(store: Store) -> None:
    store.create("a", "Why?", RECIPE)
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
        store.create(run, f"Question {run}", RECIPE)
    store.append([RunFinished(run="b", seq=0, status="completed", outcome="answered", answer="A giraffe.", report="")])
    assert [row.id for row in store.runs()] == ["c", "b", "a"]
    assert [row.id for row in store.runs(limit=1, offset=1)] == ["b"]
    assert [row.id for row in store.runs("giraffe")] == ["b"]
    assert [row.id for row in store.runs("question A")] == ["a"]


def test_a_request_to_stop_reaches_another_connection(open_store: Callable[[], SqliteStore]) -> None:
    asking, working = open_store(), open_store()
    working.create("a", "Why?", RECIPE)
    assert working.controls(["a"]) == {}
    asking.ask_for("a", "stop")
    assert working.controls(["a", "b"]) == {"a": "stop"}
    assert working.controls(["b"]) == {}


def test_a_beat_is_seen_by_another_connection(open_store: Callable[[], SqliteStore]) -> None:
    working, watching = open_store(), open_store()
    working.create("a", "Why?", RECIPE)
    before = watching.run("a").beat
    working.beat(["a"])
    assert watching.run("a").beat >= before


def test_threads_with_stores_of_their_own_lose_nothing(open_store: Callable[[], SqliteStore]) -> None:
    stores = [open_store(), open_store()]
    shared = stores[0]

    def write(number: int) -> None:
        store = stores[number % 2]
        store.create(f"run-{number}", "Why?", RECIPE)
        for seq in range(25):
            store.append([noted(f"run-{number}", seq)])

    threads = [threading.Thread(target=write, args=[number]) for number in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    for number in range(4):
        assert [event.seq for event in shared.events(f"run-{number}")] == list(range(25))


def test_characters_of_a_reply_are_seen_before_what_follows_them(open_store: Callable[[], SqliteStore]) -> None:
    ours, theirs = open_store(), open_store()
    ours.create("a", "Why?", RECIPE)
    ours.append([streamed("a", 0)])
    assert ours.events("a") == [streamed("a", 0)], "by who asks here"
    ours.append([streamed("a", 1)])
    ours.beat(["a"])
    assert theirs.events("a", after=0) == [streamed("a", 1)], "by others when its engine says that it works"
    ours.append([streamed("a", 2)])
    ours.append([noted("a", 3)])
    assert [event.seq for event in theirs.events("a")] == [0, 1, 2, 3]


def test_after_characters_that_could_not_be_kept_nothing_is_kept(open_store: Callable[[], SqliteStore]) -> None:
    ours, zombie = open_store(), open_store()
    ours.create("a", "Why?", RECIPE)
    ours.create("b", "How?", RECIPE)
    ours.append([noted("a", 0)])
    for seen_between in (False, True):
        zombie.append([streamed("a", 0)])
        zombie.append([streamed("b", 0 + seen_between)])
        if seen_between:
            zombie.beat(["a"])
        with pytest.raises(ConfigError, match="run a is at work elsewhere"):
            zombie.append([noted("a", 1)])
    assert ours.events("a") == [noted("a", 0)]
    assert [event.seq for event in ours.events("b")] == [0, 1], "another run is not to blame"


def test_many_who_write_at_once_each_learn_of_their_own_failure(store: Store) -> None:
    gate, failed = threading.Barrier(8), list[int]()
    for number in range(8):
        store.create(f"run-{number}", "Why?", RECIPE)
    store.append([noted("run-3", 5)])

    def write(number: int) -> None:
        gate.wait(30)
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


def test_another_process_may_write_at_the_same_time(open_store: Callable[[], SqliteStore], tmp_path: Path) -> None:
    code = (
        "import sys; from pathlib import Path\n"
        "from research.events import ReportUpdated; from research.recipe import Recipe\n"
        "from research.store.sqlite import SqliteStore\n"
        "store = SqliteStore(Path(sys.argv[1])); store.create('theirs', 'Why?', Recipe())\n"
        "for seq in range(50): store.append([ReportUpdated(run='theirs', seq=seq, report='x')])\n"
    )
    # Started before this process opens the file: both may find it without tables.
    process = subprocess.Popen([sys.executable, "-c", code, str(tmp_path / "runs.sqlite")], cwd=ROOT)
    store = open_store()
    store.create("ours", "Why?", RECIPE)
    for seq in range(50):
        store.append([noted("ours", seq)])
    assert process.wait(60) == 0
    assert len(store.events("ours")) == len(store.events("theirs")) == 50


def test_processes_that_make_the_file_at_once_agree(tmp_path: Path) -> None:
    code = (
        "import sys; from pathlib import Path; from research.store.sqlite import SqliteStore as S; S(Path(sys.argv[1]))"
    )
    command = [sys.executable, "-c", code, str(tmp_path / "new.sqlite")]
    started = [subprocess.Popen(command, cwd=ROOT, stderr=subprocess.PIPE, text=True) for _ in range(4)]
    for process in started:
        _, err = process.communicate(timeout=60)
        assert process.returncode == 0, err


def test_what_was_acknowledged_is_there_after_opening_again(open_store: Callable[[], SqliteStore]) -> None:
    first = open_store()
    first.create("a", "Why?", RECIPE)
    first.append([noted("a", 0)])
    first.close()
    assert open_store().events("a") == [noted("a", 0)]


def test_a_file_that_is_no_database_is_named_and_left_as_it_is(tmp_path: Path) -> None:
    path = tmp_path / "workbench.sqlite"
    path.write_bytes(b"these are my notes, not a database\n" * 100)
    before = path.read_bytes()
    with pytest.raises(ConfigError) as error:
        SqliteStore(path)
    assert str(path) in str(error.value)
    assert "left as it is" in str(error.value)
    assert path.read_bytes() == before
    beside = {entry.name for entry in tmp_path.iterdir()} - {"workbench.sqlite.lock"}
    assert beside == {"workbench.sqlite"}, "nothing was made beside it but the lock of its opening"


def test_filters_narrow_a_list_and_go_together(store: Store) -> None:
    store.create("a", "Why?", Recipe(), created=10.0)
    store.create("b", "How?", RECIPE, created=20.0)
    store.create("c", "How much?", Recipe(model="openai:x"), created=30.0)
    store.append([RunFinished(run="b", seq=0, status="completed", outcome="answered", answer="So.", report="So.")])

    def found(query: str = "", **wanted: Any) -> list[str]:
        return [row.id for row in store.runs(query, filters=Filters(**wanted))]

    assert found() == ["c", "b", "a"]
    assert found(contexts=("full",)) == ["c", "a"]
    assert found(frameworks=("react",), models=("extractive",)) == ["b", "a"]
    assert found(outcomes=("answered",)) == ["b"]
    assert found(outcomes=("running", "answered")) == ["c", "b", "a"]
    assert found(since=20.0) == ["c", "b"]
    assert found("How", models=("openai:x",)) == ["c"]


def test_tags_are_set_listed_and_filtered_by(store: Store) -> None:
    store.create("a", "Why?", RECIPE)
    store.create("b", "How?", RECIPE)
    store.tag("a", ["to read", " to  read ", "", "经济"])
    store.tag("b", ["old"])
    store.tag("b", [])
    assert store.run("a").tags == ("to read", "经济")
    assert store.run("b").tags == ()
    assert store.tags() == ["to read", "经济"]
    assert [row.id for row in store.runs(filters=Filters(tags=("经济", "old")))] == ["a"]


def test_a_deleted_run_is_in_no_list_until_it_is_restored(store: Store) -> None:
    store.create("a", "Why?", RECIPE)
    store.append([noted("a", 0)])
    store.tag("a", ["mine"])
    store.delete(["a"])
    assert store.runs() == [] == store.tags()
    with pytest.raises(ConfigError, match="unknown run 'a'"):
        store.run("a")
    with pytest.raises(ConfigError, match="deleted a moment ago"):
        store.create("a", "Again?", RECIPE)
    store.restore(["a"])
    assert store.run("a").tags == ("mine",)
    assert store.events("a") == [noted("a", 0)]


def test_purge_removes_for_good_only_what_was_deleted_before(store: Store) -> None:
    for run in ("a", "b"):
        store.create(run, "Why?", RECIPE)
        store.append([noted(run, 0)])
    store.delete(["a"])
    assert store.purge(0.0) == 0
    assert store.purge(time.time() + 1) == 1
    store.restore(["a"])
    assert [row.id for row in store.runs()] == ["b"]
    assert store.events("a") == []
    assert store.events("b") == [noted("b", 0)]


def test_a_run_knows_where_it_comes_from(store: Store) -> None:
    store.create("a", "Why?", RECIPE)
    store.create("b", "Why?", RECIPE, origin=Origin("a", "fork", 2))
    assert store.run("a").origin is None
    assert store.run("b").origin == Origin("a", "fork", 2)
    assert [row.id for row in store.runs(filters=Filters(origin="a"))] == ["b"]


def test_the_desk_keeps_presets_comparisons_and_opinions(open_store: Callable[[], SqliteStore]) -> None:
    desk = Desk(open_store())
    desk.keep_preset(Preset(" My  way ", {"framework": "react", "tools": ["search"]}))
    desk.keep_preset(Preset("A", {}))
    desk.keep_comparison(Comparison("x", "Why?", ("a", "b"), 1.0))
    desk.keep_opinion(Opinion("x", "a", 1, "better"))
    desk.keep_opinion(Opinion("x", "a", -1, "worse 《》"))
    desk.keep_opinion(Opinion("xy", "b"))
    again = Desk(open_store())
    assert again.presets() == [Preset("A", {}), Preset("My way", {"framework": "react", "tools": ["search"]})]
    assert again.comparison("x").runs == ("a", "b")
    assert again.opinions("x") == {"a": Opinion("x", "a", -1, "worse 《》")}
    again.forget_preset("A")
    again.forget_comparison("x")
    assert [preset.name for preset in desk.presets()] == ["My way"]
    with pytest.raises(ConfigError, match="unknown comparison 'x'"):
        desk.comparison("x")
    with pytest.raises(ConfigError, match="1 to 40 characters"):
        desk.keep_preset(Preset("  ", {}))
