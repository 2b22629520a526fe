"""One damaged row hides nothing else: its run is shown as damaged, can be saved as it is, and deleted."""

from __future__ import annotations

import sqlite3
from collections.abc import Callable
from contextlib import closing
from pathlib import Path
from typing import Any

import pytest

from research.config.settings import load
from research.errors import ConfigError
from research.events.recipe import Recipe
from research.memory import Entry
from research.ops.metrics import times
from research.store import Filters, RunRow
from research.store.saved import Preset, SavedValues
from research.workbench import run_import
from research.workbench.workbench import Workbench
from tests.unit.test_importing import life

RUN, OTHER = "261121-120000-abcd", "261121-120001-abce"
VALUES = ["not json", "{}", "[]", "5", '{"framework":5}', None, b"\xff\xfe", -1, 1e308, "NaN", "[" * 100_000]
COLUMNS = ["recipe", "question", "status", "outcome", "answer", "created", "updated", "beat", "origin", "origin_how",
           "origin_round", "recipe_hash"]  # fmt: skip


@pytest.fixture
def bench(tmp_path: Path) -> Workbench:
    bench = Workbench(load(home=tmp_path / "home"))
    for run in (RUN, OTHER):
        bench.store.create(RunRow(run, "How many?", Recipe()))
        bench.store.append(life(Recipe(), run))
    bench.store.tag(RUN, ["moon"])
    return bench


def damage(bench: Workbench, statement: str, *values: Any) -> None:
    with closing(sqlite3.connect(bench.settings.home / "workbench.sqlite")) as connection, connection:
        connection.execute(statement, values)


@pytest.mark.parametrize("column", COLUMNS)
def test_a_damaged_column_of_a_run_hides_no_run(bench: Workbench, column: str) -> None:
    for value in VALUES:
        if value is None and column.startswith("origin"):
            continue
        damage(bench, f"UPDATE runs SET {column} = ? WHERE id = ?", value, RUN)
        store = bench.store
        rows = store.runs(filters=Filters(since=-1.0)) if column != "created" else store.runs()
        assert {row.id for row in rows} == {RUN, OTHER}
        store.runs("many", filters=Filters(frameworks=("react",), contexts=("full",), models=("extractive",)))
        row = store.run(RUN)
        assert isinstance(row.question, str) and row.created >= 0 and row.recipe.framework
        assert row.damaged == () or row.outcome == "failed"
        assert store.run(OTHER).damaged == ()
        assert store.bodies(RUN)
        store.stale(9e9)
    damage(bench, f"UPDATE runs SET {column} = CAST(x'fffe41' AS TEXT) WHERE id = ?", RUN)
    assert len(bench.store.runs()) == 2


def test_a_broken_recipe_is_named_and_its_run_can_be_saved_and_deleted(bench: Workbench) -> None:
    damage(bench, "UPDATE runs SET recipe = '{' WHERE id = ?", RUN)
    assert bench.store.run(RUN).damaged == ("recipe",)
    assert run_import.read_run(run_import.to_jsonl(bench.store.events(RUN))).events
    bench.store.delete([RUN])
    assert [row.id for row in bench.store.runs()] == [OTHER]


@pytest.mark.parametrize("body", ["{", None, b"\xff", "[]", "[" * 100_000, '{"type":"Nothing"}'])
def test_a_run_with_a_broken_event_can_be_saved_as_it_is(bench: Workbench, body: Any) -> None:
    damage(bench, "UPDATE events SET body = ? WHERE run = ? AND seq = 1", body, RUN)
    with pytest.raises(ConfigError):
        bench.store.events(RUN)
    assert bench.store.events(OTHER)
    saved = run_import.as_it_is(bench.store, RUN)
    assert b"RunStarted" in saved and b"RunFinished" in saved
    bench.store.delete([RUN])
    assert [row.id for row in bench.store.runs()] == [OTHER]


@pytest.mark.parametrize(
    "column", ["kind", "provenance", "text", "quote", "url", "title", "run", "round", "time", "tags"]
)
def test_a_damaged_entry_of_the_memory_hides_no_other(tmp_path: Path, column: str) -> None:
    bench = Workbench(load(home=tmp_path))
    bench.memory.add([Entry("Japan has 5 towns.", id="a"), Entry("France has 7 rivers.", id="b")])
    for value in VALUES:
        with closing(sqlite3.connect(tmp_path / "memory.sqlite")) as connection, connection:
            connection.execute(f"UPDATE entries SET {column} = coalesce(?, '') WHERE id = 'a'", (value,))
        found = bench.memory.search("How many rivers does France have?")
        assert "France has 7 rivers." in [each.entry.text for each in found]
        assert {each.id for each in bench.memory.entries()} == {"a", "b"}
        assert len(list(bench.memory.export())) == 2


def test_a_tag_that_is_no_text_hides_no_run(bench: Workbench) -> None:
    damage(bench, "UPDATE tags SET tag = x'fffe'")
    assert len(bench.store.runs()) == 2
    assert len(bench.store.tags()) == 1


@pytest.mark.examples(11)
@pytest.mark.parametrize("kind", ["preset", "comparison", "opinion", "evaluation", "row", "set", "spent", "tested"])
@pytest.mark.parametrize("body", ["{", "[]", "5", b"\xff"])
def test_a_damaged_saved_value_hides_no_other(bench: Workbench, kind: Any, body: Any) -> None:
    saved = SavedValues(bench.store)
    saved.save_preset(Preset("mine", {"framework": "react"}))
    damage(bench, "INSERT INTO kept (kind, key, body, time) VALUES (?, 'x/y', ?, 1.0)", kind, body)
    assert [each.name for each in saved.presets()] == ["mine"]
    reads: list[Callable[[], Any]] = [saved.comparisons, lambda: saved.opinions("x")]
    for read in reads:
        assert not read()


def test_times_of_a_damaged_run_are_no_obstacle() -> None:
    assert times([0.0]).p50 == 0.0
