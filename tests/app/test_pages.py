"""The pages Ask, Runs and Library: forms, a run's rounds and replay, and errors."""

from __future__ import annotations

import json
import sqlite3
from collections.abc import Callable
from contextlib import closing
from pathlib import Path
from typing import Any

import pytest
from streamlit.testing.v1 import AppTest

from pages.parts.runs.table import CELL
from pages.parts.shared import home as open_home
from research.config.settings import load
from research.engine.reclaim import MAX_RECLAIMS
from research.events.events import Resumed
from research.store.sqlite import SqliteStore
from research.text import clip
from research.workbench.example import EXAMPLE_QUESTION
from research.workbench.workbench import Workbench

RUN = "261121-120000-abcd"
Visit = Callable[..., AppTest]


def texts(app: AppTest) -> str:
    """Return all text that is drawn as Markdown, and the text of reports."""
    drawn = [*app.markdown, *app.caption, *app.subheader, *app.title]
    return "\n".join([*(element.value for element in drawn), *map(report_text, reports(app))])


def reports(part: Any) -> list[dict[str, Any]]:
    """Return the data of the reports that a page or a part of it draws."""
    found = (json.loads(element.proto.json) for element in part.get("bidi_component"))
    return [data for data in found if data["kind"] == "report"]


def report_text(data: Any) -> str:
    """Return the text of a report; a mark is the place of its citation: `{0}`."""
    match data:
        case str():
            return data
        case list():
            return "".join(map(report_text, data))
        case {"m": place}:
            return f"{{{place}}}"
        case {"x": text}:
            return str(text)
        case {"br": _}:
            return "\n"
        case {"head": head, "rows": rows}:
            return "\n".join(" | ".join(map(report_text, row)) for row in [head, *rows]) + "\n"
        case {"blocks": inner} | {"b": inner} | {"items": inner}:
            return report_text(inner)
        case {"s": inner}:
            return report_text(inner) + "\n"
        case _:
            return ""


def press(app: AppTest, label: str) -> AppTest:
    return next(button for button in app.button if button.label == label).click().run()


@pytest.mark.parametrize("page", ["check", "compare", "evaluate", "runs", "memory", "metrics", "library", "settings"])
@pytest.mark.parametrize("language", ["en", "zh"])
def test_every_page_has_one_title_in_its_language(visit: Visit, home: Path, page: str, language: str) -> None:
    app = visit(home, page, lang=language)
    (title,) = (each.value for each in app.title)
    assert title and title.isascii() == (language == "en")


def test_ask_opens_with_one_button(visit: Visit, home: Path) -> None:
    app = visit(home)
    assert not app.exception
    assert [button.label for button in app.button if button.proto.type == "primary"] == ["Start"]
    assert "without a language model" in texts(app)


def test_option_widgets_come_from_the_signatures(visit: Visit, home: Path) -> None:
    app = visit(home)
    rounds = app.number_input(key="framework.react.rounds")
    assert (rounds.value, rounds.min, rounds.max, rounds.help) == (30, 1, 2048, "Rounds before the forced answer.")
    app.radio(key="context-react").set_value("window").run()
    assert app.number_input(key="context-react.window.k").value == 5


def pick_model(app: AppTest, name: str) -> None:
    """Select a model as if a server had listed it: `AppTest` cannot type a new option."""
    app.session_state["known-models"] = [name]
    app.run()
    app.selectbox(key="model").select(name)


def test_start_runs_the_selected_recipe(visit: Visit, home: Path, tmp_path: Path) -> None:
    script = tmp_path / "script.jsonl"
    script.write_text(json.dumps({"text": "<answer>No one knows.</answer>"}), encoding="utf-8")
    app = visit(home)
    app.radio(key="context-react").set_value("window").run()
    app.number_input(key="context-react.window.k").set_value(2)
    app.number_input(key="budget-tokens").set_value(5_000)
    pick_model(app, f"scripted:{script}")
    app.text_area(key="question").set_value("Who knows?")
    press(app, "Start")
    assert not app.exception
    row = Workbench(load(home=home)).store.run(app.query_params["run"])
    assert (row.question, row.recipe.context, row.recipe.context_options) == ("Who knows?", "window", {"k": 2})
    assert row.recipe.framework_options == {}
    assert row.recipe.budget.tokens == 5_000


@pytest.mark.parametrize(
    ("key", "value", "said"),
    [
        ("question", "x" * 20_001, "20,001 characters"),
        ("model", "nonsense:x", "Unknown model provider"),
        ("model", "scripted:/nowhere.jsonl", "cannot be read"),
    ],
)
def test_invalid_input_shows_an_error_and_keeps_the_form(
    visit: Visit, home: Path, key: str, value: str, said: str
) -> None:
    app = visit(home, q=EXAMPLE_QUESTION)
    if key == "question":
        app.text_area(key=key).set_value(value)
    else:
        pick_model(app, value)
    app.number_input(key="budget-tokens").set_value(77)
    press(app, "Start")
    assert said in app.error[0].value
    assert "run" not in app.query_params
    assert app.number_input(key="budget-tokens").value == 77
    assert Workbench(load(home=home)).store.runs() == []


@pytest.mark.parametrize(
    ("page", "name", "said", "others"),
    [
        ("library", "doc", "document", "All documents"),
        ("runs", "run", "run", "All runs"),
        ("compare", "id", "comparison", "All comparisons"),
        ("evaluate", "evaluation", "evaluation", "All evaluations"),
        ("memory", "entry", "memory entry", "All entries"),
    ],
)
def test_an_address_without_its_id_says_what_is_missing(
    visit: Visit, home: Path, page: str, name: str, said: str, others: str
) -> None:
    app = visit(home, page, **{name: ""})
    assert [each.value for each in app.title] == [f"The address names no {said}."]
    assert not app.button(key=f"all-{name}").click().run().exception
    assert app.title[0].value != f"The address names no {said}."


def test_a_finished_run_shows_outcome_rounds_report_and_quotes(visit: Visit, answered: Path) -> None:
    app = visit(answered, run=RUN)
    assert not app.exception
    drawn = texts(app)
    assert "check_circle: Answered]" in drawn
    assert "**2 of 2** parts" in drawn
    assert "**1 of 1** citations checked, **1** confirmed" in drawn
    assert "1 supported" in drawn or "1 calculated" in drawn
    assert "2 supported" not in drawn and "3 supported" not in drawn, "a source counts quoted passages"
    (report,) = reports(app)
    assert "$3.732 trillion" in report_text(report)
    assert {mark["v"] for mark in report["marks"]} == {"calculated"}
    cite = report["cites"][report["marks"][0]["c"][0]]
    assert cite["title"] == "France · Economy"
    assert any("$3.732 trillion" in line for line in cite["quote"])
    assert len(app.get_by_key("rounds").expander) == 3
    assert app.download_button[0].label == "Markdown"


def test_an_opened_round_shows_the_exact_call_and_the_exact_prompt(visit: Visit, answered: Path) -> None:
    app = visit(answered, run=RUN)
    app.session_state[f"round-{RUN}-main-2"] = True
    app.run()
    assert any(code.value.startswith("print(") and code.language == "python" for code in app.code)
    app.toggle(key=f"sent-{RUN}-main-2").set_value(True).run()
    assert any("<tool_response" in code.value for code in app.code)


def test_the_url_opens_a_round_and_the_slider_moves_to_another(visit: Visit, answered: Path) -> None:
    app = visit(answered, run=RUN, round="1")
    assert "Round 1 of 3" in texts(app)
    assert len(app.get_by_key("rounds").expander) == 1
    app.slider[0].set_value(2).run()
    assert app.query_params["round"] == "2"
    app.slider[0].set_value(3).run()
    assert "round" not in app.query_params
    assert "check_circle: Answered]" in texts(app)


@pytest.mark.parametrize(("number", "opened"), [("0", 1), ("99", 3), ("-1", 3), ("abc", 3), ("²", 3)])
def test_a_round_out_of_range_opens_the_closest_one_and_other_text_the_last(
    visit: Visit, answered: Path, number: str, opened: int
) -> None:
    app = visit(answered, run=RUN, round=number)
    assert not app.exception
    assert app.slider[0].value == opened


def test_play_starts_at_the_first_round(visit: Visit, answered: Path) -> None:
    app = press(visit(answered, run=RUN), "Replay")
    assert "Round 1 of 3" in texts(app)
    assert "Round 1 of 3" in texts(press(app, "Pause replay"))


def test_the_slider_is_not_in_the_way_of_reading(visit: Visit, answered: Path) -> None:
    app = visit(answered, run=RUN)
    assert not app.slider
    app = press(press(app, "Replay"), "Go to the end")
    assert app.slider[0].value == 3
    assert not press(app, "Close replay").slider


def test_an_unknown_run_shows_an_error(visit: Visit, home: Path) -> None:
    app = visit(home, run="nope")
    assert "Unknown run 'nope'" in app.error[0].value.replace("\\", "")


def test_a_run_that_kills_its_process_each_time_ends_up_interrupted(visit: Visit, answered: Path) -> None:
    store = SqliteStore(answered / "workbench.sqlite")
    with closing(sqlite3.connect(store.path)) as connection, connection:
        connection.execute("DELETE FROM events WHERE json_extract(body, '$.type') = 'RunFinished'")
    last = store.events(RUN)[-1].seq
    store.append([Resumed(run=RUN, seq=last + n, by_itself=True) for n in range(1, MAX_RECLAIMS + 1)])
    with closing(sqlite3.connect(store.path)) as connection, connection:
        connection.execute("UPDATE runs SET status = 'running', outcome = NULL, beat = beat - 60")
    app = visit(answered)
    assert open_home.bench().engine.reclaimer.reclaim_lost() == []
    app.query_params["run"] = RUN
    app.run()
    assert "power_off: Interrupted]" in texts(app)
    assert not any(button.label == "Stop" for button in app.button)
    runs = visit(answered, "runs")
    assert open_home.bench().engine.reclaimer.reclaim_lost() == []
    assert runs.run().dataframe[0].value["Outcome"].tolist() == ["‖ Interrupted"]


def test_a_run_whose_process_died_is_not_yet_shown_as_interrupted(visit: Visit, answered: Path) -> None:
    with closing(sqlite3.connect(answered / "workbench.sqlite")) as connection, connection:
        connection.execute("UPDATE runs SET status = 'running', outcome = NULL, beat = beat - 60")
        connection.execute("DELETE FROM events WHERE json_extract(body, '$.type') = 'RunFinished'")
    app = visit(answered, run=RUN)
    assert "Interrupted]" not in texts(app)
    assert any(button.label == "Stop" for button in app.button)


def test_runs_without_any_run_links_to_the_first_question(visit: Visit, home: Path) -> None:
    app = visit(home, "runs")
    assert not app.exception
    assert "No runs yet" in texts(app)
    assert app.page_link[0].value == "Ask the first question"


def test_runs_lists_and_searches(visit: Visit, answered: Path) -> None:
    app = visit(answered, "runs")
    table = app.dataframe[0].value
    assert table["Question"].tolist() == [clip(EXAMPLE_QUESTION, CELL)]
    assert table["Outcome"].tolist() == ["✓ Answered"]
    app.text_input[0].set_value("chess").run()
    assert not app.dataframe
    assert "No runs match" in texts(app)


def test_the_library_lists_its_collections(visit: Visit, home: Path) -> None:
    app = visit(home, "library")
    assert not app.exception
    assert "CIA World Factbook" in texts(app)
    assert "13 documents" in texts(app)


def test_the_library_searches_and_highlights_the_quoted_passage(visit: Visit, home: Path) -> None:
    app = visit(home, "library")
    app.text_input[0].set_value("gdp growth").run()
    assert "France · Economy" in texts(app)
    app = visit(home, "library", doc="library://factbook/france/economy", quote="GDP (purchasing power parity) 2024: …")
    assert "Real :primary-background[GDP \\(purchasing power parity\\) 2024:]" in texts(app)
    assert "highlighted (1 line" in texts(app)


def test_an_unknown_document_shows_an_error(visit: Visit, home: Path) -> None:
    app = visit(home, "library", doc="library://factbook/france/nothing")
    assert "No document" in app.error[0].value


def test_a_folder_is_added_searched_and_removed(visit: Visit, home: Path, tmp_path: Path) -> None:
    papers = tmp_path / "papers"
    papers.mkdir()
    (papers / "moon.md").write_text("# The moon\n\nThe moon is $3 of ![cheese](https://evil.example/p.png).", "utf-8")
    (papers / "broken.docx").write_bytes(b"not a docx")
    app = visit(home, "library")
    app.text_input(key="folder-path-library").set_value(str(papers))
    press(app, "Add folder")
    assert not app.exception
    assert "1 file read" in app.success[0].value
    assert "broken.docx" in app.warning[0].value
    app.text_input[0].set_value("moon cheese").run()
    assert r"\$3" in texts(app)
    assert "![" not in texts(app)
    assert visit(home).button_group(key="sources").value == ["factbook", str(papers)]
    app = press(visit(home, "library"), "Remove")
    assert "no longer searched" in app.session_state["undo"][0]


def test_a_folder_added_on_ask_is_selected(visit: Visit, home: Path, tmp_path: Path) -> None:
    papers = tmp_path / "papers"
    papers.mkdir()
    (papers / "moon.md").write_text("The moon is made of basalt.", "utf-8")
    app = visit(home, q="Why?")
    next(field for field in app.text_input if field.label == "Folder on this computer").set_value(str(papers))
    press(app, "Add folder")
    assert app.button_group(key="sources").value == ["factbook", str(papers)]
    assert app.text_area(key="question").value == "Why?"


@pytest.mark.parametrize(("path", "said"), [("/no/such/folder", "/no/such/folder"), ("  ", "Enter a folder")])
def test_an_invalid_folder_shows_an_error(visit: Visit, home: Path, path: str, said: str) -> None:
    app = visit(home, "library")
    app.text_input(key="folder-path-library").set_value(path)
    press(app, "Add folder")
    assert said in app.error[0].value.replace("\\", "")


def test_a_damaged_database_is_named_and_left_unchanged(visit: Visit, home: Path) -> None:
    (home / "workbench.sqlite").write_bytes(b"this is no database" * 100)
    app = visit(home)
    assert not app.exception
    assert "workbench.sqlite" in app.error[0].value.replace("\\", "")
    assert (home / "workbench.sqlite").read_bytes().startswith(b"this is no database")


def test_ask_links_to_a_running_run(visit: Visit, answered: Path) -> None:
    with closing(sqlite3.connect(answered / "workbench.sqlite")) as connection, connection:
        connection.execute("UPDATE runs SET status = 'running', outcome = NULL, beat = beat + 3600")
    assert any(link.value.startswith("Running: What was France") for link in visit(answered).page_link)
