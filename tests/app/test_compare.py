"""The page Compare: start, watch, vote, save, and cope with missing runs."""

from __future__ import annotations

import json
import re
import sqlite3
from collections.abc import Callable
from contextlib import closing
from pathlib import Path

import pytest
from streamlit.testing.v1 import AppTest

from pages.parts.compare import numbers
from research.compare.numbers import figures
from research.compare.starting import compare, compare_saved
from research.config.settings import load
from research.events.recipe import Budget, Recipe
from research.events.view import RunView, fold
from research.store.saved import Opinion
from research.workbench.example import EXAMPLE_QUESTION
from research.workbench.workbench import Workbench
from tests.app.conftest import key
from tests.app.test_pages import report_text, reports
from tests.workers import LONG_S

RUN = "261121-120000-abcd"
OTHER = "261121-120001-abcd"
THIRD = "261121-120002-abcd"
Visit = Callable[..., AppTest]


def texts(app: AppTest) -> str:
    """Return all text that is drawn as Markdown."""
    return "\n".join(element.value for element in [*app.markdown, *app.caption, *app.subheader])


def press(app: AppTest, label: str) -> AppTest:
    return next(button for button in app.button if button.label == label).click().run()


def script(path: Path, *texts: str) -> str:
    path.write_text("\n".join(json.dumps({"text": text}) for text in texts), encoding="utf-8")
    return f"scripted:{path}"


def saved(home: Path, run_id: str, recipe: Recipe | None = None, question: str = EXAMPLE_QUESTION) -> str:
    """Finish a run in this home and return its id."""
    bench = Workbench(load(home=home))
    for _ in bench.engine.start(question, recipe or bench.recipe(context="window"), run_id, here=True).events():
        pass
    return run_id


@pytest.fixture
def compared(answered: Path) -> tuple[Path, str]:
    """A home with a comparison of two finished runs, and its id."""
    saved(answered, OTHER)
    return answered, compare_saved(Workbench(load(home=answered)), [RUN, OTHER]).id


def test_of_runs_that_answered_a_part_the_verdict_names_only_what_is_missing(visit: Visit, answered: Path) -> None:
    question = f"{EXAMPLE_QUESTION} Who won the 2022 World Cup?"
    runs = [saved(answered, run, question=question) for run in (OTHER, THIRD)]
    app = visit(answered, "compare", id=compare_saved(Workbench(load(home=answered)), runs).id)
    said = "\n".join(each.value for each in app.get_by_key("compare-verdict").markdown)
    assert said.count("Not found: Who won the 2022 World Cup?") == 2
    assert "GDP" not in said


def test_a_first_visit_offers_two_recipes_and_one_button(visit: Visit, home: Path) -> None:
    app = visit(home, "compare")
    assert not app.exception
    assert app.text_area(key="compare-question").value == ""
    assert EXAMPLE_QUESTION in app.text_area(key="compare-question").placeholder
    assert [button.label for button in app.button if button.proto.type == "primary"] == ["Start all"]
    assert [app.selectbox(key=f"compare-2-{n}-framework").value for n in (0, 1)] == ["react", "iter_research"]
    assert app.selectbox(key="compare-2-0-context-react").value == "full"
    assert app.selectbox(key="compare-2-1-context-iter_research").value == "evolving"
    assert "Offline · usually a few seconds · free" in texts(app)
    assert "Your comparisons will be listed here" in texts(app)


def test_start_runs_all_recipes_with_one_budget_and_opens_the_comparison(
    visit: Visit, home: Path, tmp_path: Path
) -> None:
    app = visit(home, "compare")
    app.segmented_control(key="compare-number-2").set_value(3).run()
    app.number_input(key=key(app, "compare-2-0.react.rounds")).set_value(7)
    app.number_input(key=key(app, "compare-budget-tokens")).set_value(50_000)
    app.text_area(key="compare-question").set_value("What is the population of France?")
    press(app, "Start all")
    assert not app.exception
    bench = Workbench(load(home=home))
    comparison = bench.saved.comparison(app.query_params["id"])
    rows = [bench.store.run(run) for run in comparison.runs]
    assert [row.recipe.framework for row in rows] == ["react", "iter_research", "tool_rounds"]
    assert {row.recipe.budget for row in rows} == {Budget(tokens=50_000)}
    assert rows[0].recipe.framework_options == {"rounds": 7}
    assert {row.question for row in rows} == {"What is the population of France?"}
    from pages.parts.shared import home as open_home

    for run in comparison.runs:
        assert open_home.bench().engine.wait(run, LONG_S)


def test_a_model_chosen_on_ask_is_the_default_until_another_is_chosen_here(visit: Visit, home: Path) -> None:
    def models(app: AppTest) -> list[str]:
        return [app.selectbox(key=f"compare-2-{n}-model").value for n in (0, 1)]

    app = visit(home, "compare")
    assert models(app) == ["extractive"] * 2
    app.switch_page("pages/ask.py").run()
    app.session_state["known-models"] = ["openai:one", "openai:two"]
    app.run()
    app.selectbox(key=key(app, "model")).select("openai:one").run()
    app.switch_page("pages/compare.py").run()
    assert models(app) == ["openai:one"] * 2
    app.selectbox(key="compare-2-1-model").select("openai:two").run()
    app.switch_page("pages/ask.py").run()
    app.selectbox(key=key(app, "model")).select("extractive").run()
    app.switch_page("pages/compare.py").run()
    assert models(app) == ["extractive", "openai:two"]


def test_an_unusable_recipe_shows_an_error_and_starts_nothing(visit: Visit, home: Path) -> None:
    app = visit(home, "compare")
    app.session_state["known-models"] = ["nonsense:x"]
    app.run()
    app.selectbox(key="compare-2-1-model").select("nonsense:x")
    press(app, "Start all")
    assert "Unknown model provider" in app.error[0].value
    assert app.error[0].proto.title == "Recipe 2 can't be used"
    assert Workbench(load(home=home)).store.runs() == []


def test_an_empty_question_starts_nothing(visit: Visit, home: Path) -> None:
    app = visit(home, "compare")
    app.text_area(key="compare-question").set_value("  ")
    press(app, "Start all")
    assert any("Type a question first" in each.value for each in app.caption)
    assert Workbench(load(home=home)).store.runs() == []


def test_recipes_without_a_source_say_what_to_choose_and_start_nothing(visit: Visit, home: Path) -> None:
    app = visit(home, "compare")
    app.button_group(key=key(app, "sources")).set_value([]).run()
    app.text_area(key="compare-question").set_value("What is the population of France?")
    press(app, "Start all")
    assert texts(app).count("nothing to search") == 1
    assert next(each for each in app.expander if each.label.startswith("Shared settings")).proto.expanded
    assert Workbench(load(home=home)).store.runs() == []


def test_an_unsupported_strategy_is_not_offered(visit: Visit, home: Path) -> None:
    app = visit(home, "compare")
    app.selectbox(key="compare-2-0-framework").select("rewoo").run()
    assert "evolving" not in app.selectbox(key="compare-2-0-context-rewoo").options
    assert len(app.selectbox(key="compare-2-0-context-rewoo").options) == 3


def test_the_question_can_come_from_the_url(visit: Visit, home: Path) -> None:
    assert visit(home, "compare", question="Why?").text_area(key="compare-question").value == "Why?"


def test_two_finished_runs_are_shown_side_by_side(visit: Visit, compared: tuple[Path, str]) -> None:
    home, key = compared
    app = visit(home, "compare", id=key)
    assert not app.exception
    drawn = texts(app)
    assert "**1 · ReAct / Full history**" in drawn
    assert "**2 · ReAct / Sliding window**" in drawn
    assert app.get_by_key("compare-verdict").subheader[0].value == ":green[:material/check_circle:] Same answer"
    assert "All 3 steps are the same in every run." in drawn
    app.toggle(key="compare-only-differences").set_value(False).run()
    steps = app.get_by_key("compare-steps").markdown[0].value
    assert "| 1 · ReAct / Full history | 2 · ReAct / Sliding window |" in steps
    row = next(line for line in steps.splitlines() if "Search" in line)
    assert row.count("Search") == 2, "the same query is aligned in one row"
    assert "Word for word the same as 1 · ReAct / Full history" in drawn, "an equal answer is shown once"
    figures = app.get_by_key("compare-figures").markdown[0].value
    assert "| Outcome | Answered | Answered |" in figures
    assert figures.count("3.732 trillion; rose by 1.2 % |") == 2
    assert "read by every run" in drawn
    links = {link.proto.query_string for link in app.page_link if link.proto.label in ("Full report", "Replay")}
    assert {f"run={RUN}", f"run={OTHER}", f"run={RUN}&round=1"} <= links
    assert [button.label for button in app.download_button] == ["Markdown", "PDF", "Word"]
    assert not any(button.label.startswith("Stop") for button in app.button)


def test_the_winner_of_a_comparison_is_shown_with_its_figure(
    visit: Visit, answered: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("pages.parts.compare.numbers.headline", lambda view: f"{view.short}: 55 million")
    saved(answered, OTHER)
    app = visit(answered, "compare", id=compare_saved(Workbench(load(home=answered)), [RUN, OTHER]).id)
    assert app.get_by_key("compare-figures").markdown[0].value.count("1.2 %: 55 million") == 2


def test_votes_and_notes_are_saved_and_updates_from_elsewhere_appear(visit: Visit, compared: tuple[Path, str]) -> None:
    home, key = compared
    app = visit(home, "compare", id=key)
    vote, note = f"compare-run-1-{key}-vote", f"compare-run-1-{key}-note"
    app.segmented_control(key=vote).set_value(1).run()
    app.text_area(key=note).set_value("clear").run()
    saved = Workbench(load(home=home)).saved
    assert saved.opinions(key) == {RUN: Opinion(key, RUN, 1, "clear")}
    saved.save_opinion(Opinion(key, RUN, -1, "wrong after all"))
    app.run()
    assert (app.segmented_control(key=vote).value, app.text_area(key=note).value) == (-1, "wrong after all")
    app.segmented_control(key=vote).set_value(None).run()
    assert saved.opinions(key)[RUN] == Opinion(key, RUN, 0, "wrong after all")
    assert visit(home, "compare", id=key).text_area(key=note).value == "wrong after all"


def test_the_differences_between_two_reports_are_drawn_when_opened(
    visit: Visit, answered: Path, tmp_path: Path
) -> None:
    bench = Workbench(load(home=answered))
    answer = "<answer>Real GDP was **$3.7 trillion**.\n\nIt has a coast.</answer>"
    saved(answered, OTHER, bench.recipe(model=script(tmp_path / "s.jsonl", answer)))
    app = visit(answered, "compare", id=compare_saved(bench, [OTHER, RUN]).id)
    assert "in both" not in texts(app)
    app.session_state["compare-apart-0"] = True
    app.run()
    assert not app.exception
    assert "It has a coast" in texts(app)
    assert "in both" in texts(app)


def test_a_deleted_run_keeps_its_column_and_the_rest_still_works(visit: Visit, compared: tuple[Path, str]) -> None:
    home, key = compared
    Workbench(load(home=home)).store.delete([OTHER])
    app = visit(home, "compare", id=key)
    assert not app.exception
    assert "This run was deleted" in texts(app)
    assert r"\$3.732 trillion" in texts(app)
    Workbench(load(home=home)).store.restore([OTHER])
    assert "This run was deleted" not in texts(app.run())


def test_a_comparison_whose_runs_are_all_deleted_still_opens(visit: Visit, compared: tuple[Path, str]) -> None:
    home, key = compared
    Workbench(load(home=home)).store.delete([RUN, OTHER])
    app = visit(home, "compare", id=key)
    assert not app.exception
    assert texts(app).count("This run was deleted") >= 2


def test_runs_with_different_questions_or_budgets_show_a_warning(visit: Visit, answered: Path) -> None:
    bench = Workbench(load(home=answered))
    saved(answered, OTHER, bench.recipe(budget=Budget(tokens=90_000)), "What is the population of France?")
    app = visit(answered, "compare", id=compare_saved(bench, [RUN, OTHER]).id)
    said = " ".join(warning.value for warning in app.warning)
    assert "answered different questions" in said
    assert "had different budgets" in said


def test_runs_of_different_questions_are_compared_only_after_asking(visit: Visit, answered: Path) -> None:
    saved(answered, OTHER, question="What is the population of France?")
    app = press(visit(answered, "compare", runs=f"{RUN},{OTHER}"), "Compare")
    assert "id" not in app.query_params
    assert app.warning[0].proto.title == "These runs answered 2 different questions"
    app = press(app, "Compare them anyway")
    assert Workbench(load(home=answered)).saved.comparison(app.query_params["id"]).runs == (RUN, OTHER)
    assert "answered different questions" in app.warning[0].value
    with pytest.raises(KeyError):
        app.get_by_key("compare-verdict")
    said = [element.value for element in app.markdown]
    answers = next(n for n, each in enumerate(said) if each.count("1 · ReAct / Full history: **") == 1)
    assert answers < next(n for n, each in enumerate(said) if "| Metric" in each or "| Outcome |" in each)


def test_contradicting_answers_are_quoted_side_by_side(visit: Visit, answered: Path, tmp_path: Path) -> None:
    bench = Workbench(load(home=answered))
    call = json.dumps({"name": "search", "arguments": {"query": "France real GDP"}})
    model = script(
        tmp_path / "s.jsonl",
        f"<tool_call>{call}</tool_call>",
        "<answer>France: Real GDP (purchasing power parity) rose by 9 % from $3.689 trillion in 2023 to $4.021 trillion in "
        "2024 [1].</answer>",
    )
    saved(answered, OTHER, bench.recipe(model=model))
    app = visit(answered, "compare", id=compare_saved(bench, [RUN, OTHER]).id)
    card = app.get_by_key("compare-verdict")
    assert not app.exception
    assert card.subheader[0].value.startswith(":red[:material/compare_arrows:] They disagree on")
    quotes = "\n".join(each.value for each in card.markdown if each.value.startswith(">"))
    assert "3.732 trillion" in quotes
    assert "4.021 trillion" in quotes
    answers = card.markdown[0].value.splitlines()
    assert [each.partition(": **")[0] for each in answers] == ["1 · ReAct / Full history", "2 · ReAct / Full history"]
    assert "rose by 9 %" in answers[1], "without a short answer, the first sentence of the report"


def test_a_run_without_citations_has_no_better_value_in_their_row(visit: Visit, answered: Path, tmp_path: Path) -> None:
    bench = Workbench(load(home=answered))
    call = json.dumps({"name": "search", "arguments": {"query": "France real GDP"}})
    cites = "<answer>France: Real GDP (purchasing power parity) was $9.021 trillion in 2024 [1].</answer>"
    bare = bench.recipe(model=script(tmp_path / "bare.jsonl", "<answer>France has a coast.</answer>"))
    wrong = bench.recipe(model=script(tmp_path / "wrong.jsonl", f"<tool_call>{call}</tool_call>", cites))
    saved(answered, OTHER, bare)
    saved(answered, THIRD, wrong)
    app = visit(answered, "compare", id=compare_saved(bench, [OTHER, THIRD]).id)
    row = next(line for line in app.get_by_key("compare-figures").markdown[0].value.splitlines() if "Citations" in line)
    assert "1 of 1 citations not confirmed" in "\n".join(
        each.value for each in app.get_by_key("compare-verdict").markdown
    )
    assert ":material/check:" not in row
    assert "****" not in row
    assert "| – |" in row


@pytest.mark.parametrize(("amounts", "marked"), [((1_000, 950), ()), ((1_000, 800), (1,)), ((1_000, 500, 490), (1, 2))])
def test_only_a_clear_difference_is_marked_as_better(amounts: tuple[int, ...], marked: tuple[int, ...]) -> None:
    runs = [figures(RunView(outcome="answered", prompt_tokens=each, status="completed")) for each in amounts]
    (tokens,) = [each for each in numbers._metrics() if each.title == "Tokens"]
    cells = numbers._cells(tokens, runs, over=True)
    assert tuple(place for place, cell in enumerate(cells) if numbers.BETTER in cell) == marked


def test_an_unknown_comparison_shows_an_error(visit: Visit, home: Path) -> None:
    app = visit(home, "compare", id="nope")
    assert not app.exception
    assert "nope" in app.error[0].value


def test_a_saved_run_can_be_compared_with_a_new_recipe(visit: Visit, answered: Path) -> None:
    app = visit(answered, "compare", runs=RUN)
    assert not app.exception
    assert app.selectbox(key="compare-1-0-framework").value == "iter_research"
    press(app, "Start next to it")
    assert not app.exception
    bench = Workbench(load(home=answered))
    comparison = bench.saved.comparison(app.query_params["id"])
    assert comparison.runs[0] == RUN
    row = bench.store.run(comparison.runs[1])
    assert (row.question, row.recipe.framework) == (EXAMPLE_QUESTION, "iter_research")
    from pages.parts.shared import home as open_home

    assert open_home.bench().engine.wait(row.id, LONG_S)


def test_runs_in_the_url_are_selected_and_compared_with_one_click(visit: Visit, answered: Path) -> None:
    saved(answered, OTHER)
    app = visit(answered, "compare", runs=f"{RUN},{OTHER},nope")
    assert "nope" in app.error[0].value
    assert [button.label for button in app.button if button.proto.type == "primary"] == ["Compare"]
    press(app, "Compare")
    assert Workbench(load(home=answered)).saved.comparison(app.query_params["id"]).runs == (RUN, OTHER)


def test_a_past_comparison_is_listed_removed_and_restored(visit: Visit, compared: tuple[Path, str]) -> None:
    home, key = compared
    app = visit(home, "compare")
    assert any(link.proto.query_string == f"id={key}" for link in app.page_link)
    app.button(key=f"compare-forget-{key}").click().run()
    saved = Workbench(load(home=home)).saved
    assert saved.comparisons() == []
    said, restore, _ = app.session_state["undo"]  # `AppTest` runs a page alone, without the bar that app.py draws
    assert "removed" in said
    restore()
    assert [each.id for each in saved.comparisons()] == [key]
    assert len(Workbench(load(home=home)).store.runs()) == 2


def test_running_runs_show_their_progress_and_can_be_stopped(visit: Visit, answered: Path) -> None:
    key = compare_saved(Workbench(load(home=answered)), [RUN, saved(answered, OTHER)]).id
    with closing(sqlite3.connect(answered / "workbench.sqlite")) as connection, connection:
        connection.execute(
            "UPDATE runs SET status = 'running', outcome = NULL, beat = beat + 3600 WHERE id = ?", (OTHER,)
        )
        connection.execute("DELETE FROM events WHERE run = ? AND seq > 3", (OTHER,))
    app = visit(answered, "compare", id=key)
    assert not app.exception
    labels = [button.label for button in app.button]
    assert labels.count("Stop") == 1
    assert "Stop all" in labels
    assert "Round 1" in texts(app)
    assert texts(app).count("Vote") == 0
    press(app, "Stop all")
    assert Workbench(load(home=answered)).store.requests([OTHER]) == {OTHER: "stop"}


def test_a_report_at_work_says_in_words_what_was_tried(visit: Visit, answered: Path) -> None:
    bench = Workbench(load(home=answered))
    saved(answered, OTHER, bench.recipe(framework="iter_research", context="evolving", tools=("search", "python")))
    events = bench.store.events(OTHER)
    tried = (n for n in range(len(events)) if '"code": "' in fold(events[:n]).report)
    last = events[next(tried) - 1].seq
    key = compare_saved(bench, [RUN, OTHER]).id
    with closing(sqlite3.connect(answered / "workbench.sqlite")) as connection, connection:
        connection.execute(
            "UPDATE runs SET status = 'running', outcome = NULL, beat = beat + 3600 WHERE id = ?", (OTHER,)
        )
        connection.execute("DELETE FROM events WHERE run = ? AND seq > ?", (OTHER, last))
    said = report_text(reports(visit(answered, "compare", id=key))[-1])
    assert "Search: " in said and "Calculate → " in said, said
    assert "{" not in re.sub(r"\{\d+\}", "", said), "marks only, and no JSON"


def test_hostile_text_is_escaped(visit: Visit, answered: Path, tmp_path: Path) -> None:
    evil = "![x](https://evil.example/x.png) | :material/bug: $x$ <img src=x>"
    bench = Workbench(load(home=answered))
    call = json.dumps({"name": "search", "arguments": {"query": evil}})
    model = script(
        tmp_path / "s.jsonl", f"<think>{evil}</think><tool_call>{call}</tool_call>", f"<answer>{evil}</answer>"
    )
    saved(answered, OTHER, bench.recipe(model=model), evil)
    app = visit(answered, "compare", id=compare_saved(bench, [OTHER, RUN]).id)
    assert not app.exception
    assert "![" not in texts(app)
    assert ":material/bug:" not in texts(app)
    steps = app.get_by_key("compare-steps").markdown[0].value
    assert all(line.replace("\\|", "").count("|") == 3 for line in steps.splitlines())


def test_a_comparison_started_through_the_api_opens_on_the_page(visit: Visit, home: Path) -> None:
    bench = Workbench(load(home=home))
    comparison = compare(bench, EXAMPLE_QUESTION, [bench.recipe(), bench.recipe(context="window")])
    assert all(bench.engine.wait(run, LONG_S) for run in comparison.runs)
    assert r"\$3.732 trillion" in texts(visit(home, "compare", id=comparison.id))
