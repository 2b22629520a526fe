"""The page Metrics."""

from __future__ import annotations

import json
import time
from collections.abc import Callable
from pathlib import Path
from urllib.parse import parse_qs

from streamlit.testing.v1 import AppTest

from pages.parts.metrics import reading
from pages.parts.shared import titles
from research.config.settings import load
from research.events.events import Event, Paused, RunFinished, RunStarted
from research.events.recipe import Recipe
from research.ops.metrics import combined
from research.store import EVALUATED, Filters, RunRow
from research.store.sqlite import SqliteStore
from research.workbench.workbench import Workbench
from tests.long_run import LongRun, ending, of_round, stamp

Visit = Callable[..., AppTest]


def tiles(app: AppTest) -> dict[str, str]:
    return {tile.label: tile.value for tile in app.metric}


def links(app: AppTest) -> dict[str, str]:
    found = [element.proto for element in app.get("page_link")]
    return {proto.label: f"{proto.page}?{proto.query_string}" for proto in found}


def add(home: Path, run: str, framework: str, outcome: str = "answered", age_s: float = 0.0) -> None:
    """Store a finished run of two rounds."""
    store, now = SqliteStore(home / "workbench.sqlite"), time.time() - age_s
    recipe, end = Recipe(framework=framework), ending(2)
    over = RunFinished(status=end.status, outcome=outcome, answer="a", report="r", seconds=end.seconds)  # type: ignore[arg-type]
    made = [RunStarted(question=f"What of {run}?", recipe=recipe), *of_round(1), *of_round(2), over]
    events = [stamp(event, run, seq, now) for seq, event in enumerate(made)]
    store.create(RunRow(run, f"What of {run}?", recipe, created=now), events)
    store.close()


def test_an_empty_home_shows_an_invitation_to_ask(visit: Visit, home: Path) -> None:
    app = visit(home, "metrics")
    assert not app.exception
    assert [each.value for each in app.subheader] == ["Nothing to measure yet"]
    assert "Ask the first question" in links(app)


def test_the_page_shows_the_same_numbers_as_the_command_line(visit: Visit, answered: Path) -> None:
    app = visit(answered, "metrics", since="all")
    assert not app.exception
    bench = Workbench(load(home=answered))
    rows = bench.store.runs()
    book = reading.ledger(bench)
    book.catch_up(bench.store, rows, 60)
    found = combined(book.of(rows))
    assert found is not None
    shown = tiles(app)
    assert shown["Finished runs"] == "1"
    assert shown["Average rounds"] == f"{found.average_rounds:.1f}"
    assert shown["Verified answers"] == "1 of 1"
    assert shown["Known cost"] == "\\$0.00"
    bench.store.close()


def test_the_tiles_have_a_sparkline_of_the_days(visit: Visit, home: Path) -> None:
    add(home, "261121-100000-aaaa", "react")
    assert not any(each.delta for each in visit(home, "metrics").metric)
    add(home, "261121-100000-bbbb", "react", age_s=3 * 86_400)
    add(home, "261121-100000-cccc", "react", age_s=3 * 86_400)
    lines = {each.label: each.delta for each in visit(home, "metrics").metric}
    assert lines["Finished runs"] == "█▅"
    assert lines["Average rounds"] == "", "a line that never moves says nothing"


def test_filters_come_from_the_url_and_links_carry_them_to_the_runs(visit: Visit, home: Path) -> None:
    add(home, "261121-100000-aaaa", "react")
    add(home, "261121-100000-bbbb", "iter_research", "failed")
    add(home, "261121-100000-cccc", "iter_research", age_s=40 * 86_400)
    app = visit(home, "metrics")
    assert tiles(app)["Finished runs"] == "2"
    app = visit(home, "metrics", since="all", framework="iter_research")
    assert tiles(app)["Finished runs"] == "2"
    assert app.multiselect[0].value == ["iter_research"]
    failed = next(to for label, to in links(app).items() if label.startswith("Failed: 1"))
    assert "outcome=failed" in failed and "framework=iter_research" in failed and "since" not in failed
    app.multiselect[0].set_value([]).run()
    assert tiles(app)["Finished runs"] == "3"


def test_as_many_runs_failed_as_the_link_to_them_lists(visit: Visit, home: Path) -> None:
    add(home, "261121-100000-aaaa", "react", "failed")
    add(home, "261121-100000-bbbb", "audit", "failed")  # answers no question
    add(home, "261121-100000-cccc", "react", "tool_errors")
    store = SqliteStore(home / "workbench.sqlite")
    events: list[Event] = [RunStarted(question="Q", recipe=Recipe()), Paused(reason="The service is down.")]
    run, now = "261121-100000-dddd", time.time()
    store.create(RunRow(run, "Q", Recipe()))
    store.append([stamp(event, run, seq, now) for seq, event in enumerate(events)])
    to = next(to for label, to in links(visit(home, "metrics")).items() if label.startswith("Failed: 2"))
    wanted = parse_qs(to.partition("?")[2])
    named = Filters(outcomes=tuple(wanted["outcome"]), frameworks=tuple(wanted["framework"]))
    assert len(store.runs(filters=named)) == 2
    store.close()


def test_runs_of_evaluations_are_measured_only_if_asked_for(visit: Visit, home: Path) -> None:
    for run in ("261121-100000-aaaa", "261121-100000-bbbb"):
        add(home, run, "react")
    store = SqliteStore(home / "workbench.sqlite")
    store.tag("261121-100000-bbbb", [f"{EVALUATED}mine"])
    store.close()
    app = visit(home, "metrics")
    assert tiles(app)["Finished runs"] == "1"
    app.toggle[0].set_value(True).run()
    assert tiles(app)["Finished runs"] == "2"
    assert all("evaluations=1" in to for label, to in links(app).items() if label.startswith("Answered"))


def test_an_outcome_has_one_colour_on_all_pages(visit: Visit, home: Path) -> None:
    outcomes = ("answered", "partly_answered", "no_evidence", "failed")
    for number, outcome in enumerate(outcomes):
        add(home, f"261121-10000{number}-aaaa", "react", outcome)
    drawn = json.loads(visit(home, "metrics", since="all").get("vega_lite_chart")[0].proto.spec)
    scale = next(layer["color"]["scale"] for layer in [drawn["encoding"]])
    assert dict(zip(scale["domain"], scale["range"], strict=True)) == {
        titles.ENDINGS[outcome]: titles.TINTS[colour]
        for outcome, colour in zip(outcomes, ("green", "orange", "gray", "red"), strict=True)
    }
    shown = "\n".join(each for each in links(visit(home, "ask")))
    assert all(f":{titles.look(outcome)[0]}[:material/{titles.look(outcome)[1]}:]" in shown for outcome in outcomes)


def test_a_filter_without_matches_shows_a_notice_and_can_be_reset(visit: Visit, home: Path) -> None:
    add(home, "261121-100000-aaaa", "react", age_s=40 * 86_400)
    app = visit(home, "metrics", since="week")
    assert any("No finished runs match" in each.value for each in app.markdown)
    next(button for button in app.button if button.label == "Show all runs").click().run()
    assert tiles(app)["Finished runs"] == "1"


def test_names_of_models_frameworks_and_questions_are_escaped(visit: Visit, home: Path) -> None:
    hostile = "![x](https://evil.example/x.png) :material/home: $x$"
    store = SqliteStore(home / "workbench.sqlite")
    LongRun(store, "261121-100000-aaaa", question=hostile, recipe=Recipe(model=f"scripted:{hostile}")).rounds(1)
    run = LongRun(
        store, "261121-100000-bbbb", question=hostile, recipe=Recipe(framework=hostile, model=f"openai:{hostile}")
    )
    run.rounds(2)
    run.finish()
    store.close()
    app = visit(home, "metrics", since="all")
    assert not app.exception
    drawn = [*links(app), *(each.value for each in app.markdown), *(each.value for each in app.caption)]
    assert not [text for text in drawn if "![x](" in text]


def test_two_users_never_share_a_ledger(tmp_path: Path) -> None:
    one, other = "0" * 16, "1" * 16
    benches = [Workbench(load(home=tmp_path, user=user)) for user in ("", one, other)]
    books = [reading.ledger(bench) for bench in benches]
    assert len({id(book) for book in books}) == 3
    assert reading.ledger(Workbench(load(home=tmp_path, user=one))) is books[1]
    for bench in benches:
        bench.store.close()


def test_a_checked_report_is_not_an_answered_question(visit: Visit, home: Path) -> None:
    add(home, "one", "react")
    add(home, "two", "audit")
    app = visit(home, "metrics", since="all")
    assert tiles(app)["Finished runs"] == "1"
    assert "Not counted: 1 report check" in [each.value for each in app.caption]
