"""The page Runs: filter, open, tag, compare, import, delete and restore runs."""

from __future__ import annotations

import sqlite3
import time
from collections.abc import Callable
from contextlib import closing
from pathlib import Path

import msgspec
import pytest
import streamlit as st
from streamlit.testing.v1 import AppTest

from pages.parts.run import head
from pages.parts.runs import figures, table
from pages.parts.search import found
from pages.parts.shared import titles
from research.config.settings import load
from research.events.recipe import Recipe
from research.events.view import fold
from research.exports.charts import headline
from research.store import Origin, RunRow
from research.store.sqlite import SqliteStore
from research.text import clip
from research.workbench import run_import
from research.workbench.example import EXAMPLE_QUESTION
from research.workbench.workbench import Workbench
from tests.long_run import LongRun, ending
from tests.unit.test_importing import life

RUN = "261121-120000-abcd"
OTHER = "261121-120001-abce"
Visit = Callable[..., AppTest]


def texts(app: AppTest) -> str:
    return "\n".join(element.value for element in [*app.markdown, *app.caption, *app.subheader])


def press(app: AppTest, label: str) -> AppTest:
    return next(button for button in app.button if button.label == label).click().run()


def store_of(home: Path) -> SqliteStore:
    return Workbench(load(home=home)).store


def questions(app: AppTest) -> list[str]:
    return [] if not app.dataframe else app.dataframe[0].value["Question"].tolist()


def select(app: AppTest, rows: list[int]) -> AppTest:
    """Select rows as a click does: `AppTest` cannot click in a table."""
    key, ids = app.session_state["runs-listed"]
    app.session_state["runs-selected"] = tuple(ids[row] for row in rows)
    return app.run()


@pytest.fixture
def two(answered: Path) -> Path:
    """A home with the answered example and a rerun of it with another framework."""
    store = store_of(answered)
    recipe = Recipe(framework="rewoo", context="window", model="scripted:x")
    store.create(RunRow(OTHER, "How many?", recipe, origin=Origin(RUN, "rerun")))
    store.append(life(recipe, OTHER))
    store.tag(OTHER, ["moon"])
    store.close()
    return answered


def test_filters_can_come_from_the_url(visit: Visit, two: Path) -> None:
    assert len(questions(visit(two, "runs"))) == 2
    for name, value in {"framework": "rewoo", "context": "window", "model": "scripted:x", "tag": "moon"}.items():
        assert questions(visit(two, "runs", **{name: value})) == ["↳ How many? (rerun)"]
    assert questions(visit(two, "runs", q="france")) == [clip(EXAMPLE_QUESTION, table.CELL)]
    found = visit(two, "runs", q="france").dataframe[0].value
    assert "France" in found["Found"].tolist()[0], "it shows where the word was found"
    assert list(found)[-1] == "Found", "a search moves no other column"
    assert questions(visit(two, "runs", outcome="failed")) == []


def test_a_selected_filter_is_kept_in_the_url_until_it_is_reset(visit: Visit, two: Path) -> None:
    app = visit(two, "runs")
    app.query_params["page"] = "1"
    app.run().multiselect(key="runs-framework").select("rewoo").run()
    assert app.query_params["framework"] == "rewoo"
    assert "page" not in app.query_params
    assert questions(app) == ["↳ How many? (rerun)"]
    app = press(app, "Reset filters")
    assert "framework" not in app.query_params
    assert len(questions(app)) == 2


def test_outcomes_are_chosen_by_one_click_and_kept_in_the_url(visit: Visit, two: Path) -> None:
    store = store_of(two)
    store.create(RunRow("261121-120002-abcf", "Another question?", Recipe()))
    store.close()
    app = visit(two, "runs")
    assert app.button_group(key="runs-outcome").options == ["Answered \\(2\\)", "Not finished \\(1\\)"]
    app.button_group(key="runs-outcome").set_value(["running"]).run()
    assert app.query_params["outcome"] == "running"
    assert questions(app) == ["Another question?"]
    linked = visit(two, "runs", outcome="running", framework="rewoo")
    assert questions(linked) == []
    assert linked.button_group(key="runs-outcome").value == ["running"]


def test_a_tick_selects_a_run_and_a_click_on_a_cell_opens_it(monkeypatch: pytest.MonkeyPatch) -> None:
    state = {"runs-listed": ("rows", [RUN, OTHER]), "rows": {"selection": {"rows": [1], "cells": []}}}
    shown: list[str] = []
    monkeypatch.setattr(table.st, "session_state", state)
    monkeypatch.setattr(table, "show", shown.append)
    table._selected()
    assert (state["runs-selected"], shown) == ((OTHER,), [])
    state["rows"] = {"selection": {"rows": [1], "cells": [(0, "Question")]}}
    table._selected()
    assert (state["runs-selected"], shown) == ((OTHER,), [RUN])


@pytest.mark.examples(6)
@pytest.mark.parametrize("value", ["<script>", "-1", "²", "99999999999999"])
@pytest.mark.parametrize("name", ["framework", "outcome", "since", "page", "tag"])
def test_hostile_query_parameters_break_nothing(visit: Visit, two: Path, name: str, value: str) -> None:
    app = visit(two, "runs")
    app.query_params[name] = value
    assert not app.run().exception
    assert "script>" not in texts(app).replace("\\<script\\>", "")


def test_runs_of_evaluations_are_hidden_unless_asked_for(visit: Visit, two: Path) -> None:
    store = store_of(two)
    store.tag(OTHER, ["eval:nightly"])
    store.close()
    app = visit(two, "runs")
    assert questions(app) == [clip(EXAMPLE_QUESTION, table.CELL)]
    assert len(questions(press(app, "Show the runs of evaluations"))) == 2
    assert app.query_params["evaluations"] == "1"
    assert questions(visit(two, "runs", tag="eval:nightly")) == ["↳ How many? (rerun)"]
    store = store_of(two)
    store.delete([RUN])
    store.close()
    assert "Only evaluations have run so far" in texts(visit(two, "runs"))


def test_runs_are_grouped_by_question_with_their_state_in_words(visit: Visit, answered: Path) -> None:
    store = store_of(answered)
    store.create(RunRow("261121-120002-abcf", "Another question?", Recipe()))
    store.create(RunRow("261121-120003-abcf", EXAMPLE_QUESTION, Recipe()))
    store.close()
    app = visit(answered, "runs")
    assert "runs of the same question stand together" in texts(app)
    listed = app.dataframe[0].value
    assert listed["Question"].tolist() == [clip(EXAMPLE_QUESTION, table.CELL)] * 2 + ["Another question?"]
    assert listed["Outcome"].tolist() == ["● Running", "✓ Answered", "● Running"]
    assert listed["When"].tolist()[0] == "just now"


def test_the_list_says_what_each_run_answers(visit: Visit, answered: Path) -> None:
    store = store_of(answered)
    for number, (outcome, report) in enumerate(
        (
            ("answered", "Handbook: “Two days a week.” [1]\n\nQuoted word for word."),
            ("no_evidence", "Nothing was found."),
        )
    ):
        run = LongRun(store, f"261121-12000{number + 1}-abcd")
        run.rounds(2)
        run.add([msgspec.structs.replace(ending(2, report), outcome=outcome, answer=report)])
    short = headline(fold(store.events(RUN)))
    store.close()
    app = visit(answered, "runs")
    assert app.dataframe[0].value["Answer"].tolist() == ["", "“Two days a week.”", clip(short, table.ANSWER)]
    links = {each.key: each.label for each in app.button if each.key and each.key.startswith("runs-link-")}
    assert "“Two days a week.” · " in links["runs-link-261121-120001-abcd"]


def test_a_run_took_as_long_as_it_worked_not_as_long_as_it_waited(visit: Visit, home: Path) -> None:
    store = store_of(home)
    run = LongRun(store, RUN)
    run.rounds(2)
    run.add([msgspec.structs.replace(ending(2), seconds=65.0)])
    store.close()
    assert visit(home, "runs").dataframe[0].value["Took"].tolist() == ["65 s"]


@pytest.mark.slow
def test_older_runs_are_on_the_next_page(visit: Visit, answered: Path) -> None:
    store = store_of(answered)
    for number in range(205):
        store.create(RunRow(f"260101-000000-{number:04x}", f"Question {number}", Recipe(), created=1_000.0 + number))
    store.close()
    app = visit(answered, "runs")
    assert len(questions(app)) == 200
    app = press(app, "Older")
    assert app.query_params["page"] == "2"
    assert questions(app)[-1] == "Question 0"
    assert len(questions(app)) == 6
    assert len(questions(press(app, "Newer"))) == 200


def test_two_selected_runs_are_tagged_together_and_linked_to_compare(visit: Visit, two: Path) -> None:
    app = select(visit(two, "runs"), [0, 1])
    assert "**2 runs selected**" in texts(app)
    link = next(link for link in app.page_link if link.value == "Compare")
    assert set(link.proto.query_string.partition("runs=")[2].replace("%2C", ",").split(",")) == {RUN, OTHER}
    tags = next(each for each in app.multiselect if each.key and each.key.startswith("runs-tags-"))
    assert tags.value == []
    tags.select("moon").run()
    store = store_of(two)
    assert (store.run(RUN).tags, store.run(OTHER).tags) == (("moon",), ("moon",))


def test_a_deletion_can_be_undone(visit: Visit, two: Path) -> None:
    app = press(select(visit(two, "runs"), [0, 1]), "Delete")
    assert not app.exception
    assert questions(app) == []
    text, restore, _ = app.session_state["undo"]  # `AppTest` runs the page without the bar that app.py draws
    assert text == "2 runs deleted."
    restore()
    assert len(questions(app.run())) == 2


def test_an_open_run_can_be_deleted(visit: Visit, two: Path) -> None:
    app = press(visit(two, "runs", run=OTHER), "Delete")
    assert questions(app) == [clip(EXAMPLE_QUESTION, table.CELL)]
    assert "run" not in app.query_params


def test_a_running_run_is_not_deleted(visit: Visit, answered: Path) -> None:
    with closing(sqlite3.connect(answered / "workbench.sqlite")) as connection, connection:
        connection.execute("UPDATE runs SET status = 'running', outcome = NULL, beat = ?", [time.time() + 3600])
    app = visit(answered, "runs")
    assert any(":primary[●] Round 3" in element.value for element in app.markdown)
    app = press(select(app, [0]), "Delete")
    assert questions(app) == [clip(EXAMPLE_QUESTION, table.CELL)]
    assert "were not deleted" in app.toast[0].value


def test_related_runs_are_shown_as_a_tree(visit: Visit, two: Path) -> None:
    app = visit(two, "runs", run=RUN)
    assert [expander.label for expander in app.expander if "Related" in expander.label] == ["Related runs · 2"]
    assert any("Run again: ReWOO" in button.label for button in app.button)
    assert questions(app).count("↳ How many? (rerun)") == 1


def test_the_list_shows_figures_for_its_runs(visit: Visit, two: Path) -> None:
    drawn = texts(visit(two, "runs"))
    assert "2 runs · 2.0 rounds on average · 0.0% of tool calls failed" in drawn


def test_the_events_of_a_run_that_ended_are_read_once(visit: Visit, two: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    before = visit(two, "runs")
    monkeypatch.setattr(figures, "fold", None)
    st.cache_resource.clear()  # as after a restart
    after = visit(two, "runs")
    assert texts(after) == texts(before)
    assert after.dataframe[0].value["Took"].tolist() == before.dataframe[0].value["Took"].tolist()
    store = store_of(two)
    store.delete([RUN, OTHER])
    store.purge(time.time() + 1)
    assert store.values("ended") == [], "what is kept of a run goes with it"


def test_an_excerpt_begins_with_an_answer_not_with_the_question_that_a_report_repeats() -> None:
    row = RunRow(RUN, "Who?", Recipe(), answer="**How many ships?**\n\nThere are 7 ships [1].\n\n**Whose?**\n\nNone.")
    assert found.excerpt(row, "").startswith("There are 7 ships.")
    assert found.excerpt(row, "whose").startswith("Whose?")


def test_checks_of_reports_are_counted_apart_as_on_metrics(visit: Visit, two: Path) -> None:
    store = store_of(two)
    recipe = Recipe(framework="audit")
    store.create(RunRow("261121-120004-abcf", "Check of “Ports”", recipe))
    store.append(life(recipe, "261121-120004-abcf"))
    store.close()
    assert "2 runs · 1 report check · 2.0 rounds on average" in texts(visit(two, "runs"))


def test_each_state_has_a_sign_of_its_own() -> None:
    outcomes = ("answered", "partly_answered", "no_evidence", "failed", "stopped", "rounds", "needs_input")
    symbols = [titles.look(outcome)[1] for outcome in outcomes]
    symbols += [titles.look(outcome, audit=True)[1] for outcome in titles.CHECKS]
    assert len({head.SIGNS[symbol] for symbol in (*symbols, "pause_circle", "pending")}) == len(symbols) + 2


def test_an_imported_run_is_escaped_and_loses_its_folders_and_mcp_servers(visit: Visit, home: Path) -> None:
    app = visit(home, "runs")
    wild = "![x](https://evil.example/p.png) $a^2$ :red[red]"
    events = [*life(Recipe(framework="<b>no such</b>", mcp=("shell",), folders=("/etc",)))]
    hostile = run_import.to_jsonl(events).replace(b"How many?", wild.encode())
    app.file_uploader[0].upload("run.jsonl", hostile, "application/jsonl").run()
    assert not app.exception
    assert "1 run imported." in app.success[0].value
    assert "/etc, MCP server shell" in app.info[0].value.replace("\\", "")
    assert app.query_params["run"] == RUN
    assert "![" not in texts(app)
    assert store_of(home).run(RUN).recipe.mcp == ()


def test_an_imported_unfinished_run_is_paused_and_shows_what_it_may_take(visit: Visit, home: Path) -> None:
    app = visit(home, "runs")
    life_so_far = life(Recipe(framework_options={"rounds": 10**9}), ended=False)
    app.file_uploader[0].upload("run.jsonl", run_import.to_jsonl(life_so_far), "application/jsonl").run()
    assert not app.exception
    notes = "\n".join(each.value for each in app.info)
    assert "framework.rounds: 2,048 instead of 1000000000" in notes
    assert "It is paused until you resume it." in notes
    assert store_of(home).run(RUN).status == "paused"
    assert "Whole run: Offline · usually" in texts(app)


def test_a_file_that_is_not_a_run_shows_an_error_and_imports_nothing(visit: Visit, home: Path) -> None:
    app = visit(home, "runs")
    app.file_uploader[0].upload("notes.jsonl", b'{"a": 1}', "application/jsonl").run()
    assert not app.exception
    assert "Line 1" in app.error[0].value
    assert store_of(home).runs() == []
