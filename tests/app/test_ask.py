"""The page Ask: presets, cards, links that fill the form, uploads, and errors that keep the user's input."""

from __future__ import annotations

import datetime
from collections.abc import Callable
from math import ceil
from pathlib import Path

import pytest
from streamlit.testing.v1 import AppTest
from streamlit.testing.v1.element_tree import ButtonGroup

from pages.parts.shared import home as open_home
from research.config import saved_endpoints
from research.config.named_endpoints import Entry
from research.config.settings import load
from research.evaluation import load as load_dataset
from research.evaluation import open_corpus
from research.events.recipe import Budget, Recipe
from research.events.view import fold
from research.search.library.indexing import no_progress
from research.store import RunRow
from research.workbench import auditing
from research.workbench.example import EXAMPLE_QUESTION
from research.workbench.presets import BUILT_IN
from research.workbench.workbench import Workbench
from tests.app.conftest import key
from tests.workers import LONG_S

RUN = "261121-120000-abcd"
Visit = Callable[..., AppTest]


def texts(app: AppTest) -> str:
    return "\n".join(element.value for element in [*app.markdown, *app.caption, *app.subheader])


def press(app: AppTest, label: str) -> AppTest:
    return next(button for button in app.button if button.label == label).click().run()


def opened(home: Path) -> Workbench:
    return Workbench(load(home=home))


def take_back(app: AppTest) -> None:
    """Undo, as the button in the bar does: `AppTest` does not keep what `app.py` draws above this page."""
    _, restore, _ = app.session_state["undo"]
    restore()


def presets(app: AppTest) -> ButtonGroup[str]:
    """The row of presets."""
    return next(group for group in app.button_group if (group.key or "").split("-")[0] == "preset")


def choose(app: AppTest, preset: str) -> AppTest:
    return presets(app).set_value(preset).run()


def run_with_outdated_event(app: AppTest) -> AppTest:
    """Run the pending change, then an event that the browser sends before it shows the result."""
    outdated = app._tree.get_widget_states()
    app.run()
    return app._run(outdated)


def test_a_first_visit_offers_one_button_and_describes_the_run(visit: Visit, home: Path) -> None:
    app = visit(home)
    assert [button.label for button in app.button if button.proto.type == "primary"] == ["Start"]
    assert app.title[0].value == "What do you want to know?"
    assert app.text_area(key="question").value == ""
    assert "**ReAct** with Full history · Offline model" in texts(app)
    (estimate,) = (each for each in app.caption if each.value.startswith("Offline"))
    assert estimate.value == "Offline · usually a few seconds · free"
    assert "2–31 model calls" in estimate.help
    assert presets(app).value is None
    assert not app.error


def test_the_estimate_names_what_runs_like_this_took(visit: Visit, answered: Path) -> None:
    bench = opened(answered)
    for number in (1, 2):
        run = f"261121-12000{number}-abcd"
        assert "usually a few seconds" in texts(visit(answered))
        list(bench.engine.start(EXAMPLE_QUESTION, bench.recipe(), run, here=True).events())
    took = [fold(bench.store.events(row.id)).seconds for row in bench.store.runs()]
    low, high = ceil(min(took)), ceil(max(took))
    usual = f"usually {low} s" if low == high else f"usually {low}–{high} s"
    assert f"Offline · {usual} · free" in texts(visit(answered))
    app = choose(visit(answered), "Quick look")
    assert f"Offline · {usual} · free · at most 60k tokens, 3 min" in texts(app)


def test_an_example_is_asked_at_once_by_the_offline_model_and_only_filled_in_for_another(
    visit: Visit, home: Path, tmp_path: Path
) -> None:
    question = "Compare the unemployment rates of Spain, Italy and Greece."
    app = visit(home)
    (tmp_path / "s.jsonl").write_text('{"text": "hello"}', "utf-8")
    app.session_state["known-models"] = [f"scripted:{tmp_path / 's.jsonl'}"]
    app.run()
    app.selectbox(key="model").select(f"scripted:{tmp_path / 's.jsonl'}").run()
    assert press(app, "a comparison").text_area(key="question").value == question
    assert opened(home).store.runs() == []
    app = press(visit(home), "a comparison")
    (row,) = opened(home).store.runs()
    assert (row.question, app.query_params["run"]) == (question, row.id)


OF_REGIONS = "Region,Units\nNorth,5\nSouth,7\nEast,9\n"
OF_ORDERS = "\n".join(
    [
        "order_id,Invoice no,Sales_area,unit_price",
        *(f"S{1000 + n},{3000 + n},{area},{n}" for n, area in enumerate(["North", "South", "East"] * 3)),
    ]
)


@pytest.mark.parametrize(
    ("table", "example", "also"),
    [
        (OF_REGIONS, "Which region has the most units?", ("哪个region的units最高？",)),
        (OF_ORDERS, "Which sales area has the highest unit price?", ()),  # never about ids
    ],
)
def test_the_example_on_own_documents_asks_for_a_real_column_and_is_answered(
    visit: Visit, home: Path, tmp_path: Path, table: str, example: str, also: tuple[str, ...]
) -> None:
    (tmp_path / "own").mkdir()
    (tmp_path / "own" / "sales.csv").write_text(table, encoding="utf-8")
    bench = opened(home)
    bench.library.add_folder(tmp_path / "own")
    press(visit(home), "your own documents")
    question = opened(home).store.runs()[0].question
    assert question == example
    recipe = bench.recipe(search=("folders",), folders=bench.folders())
    for asked in (question, *also):
        assert "**East**" in fold(bench.engine.start(asked, recipe, here=True).events()).report


def test_without_tables_of_ones_own_the_example_opens_the_library(visit: Visit, home: Path) -> None:
    app = visit(home)
    assert "example-own" not in [button.key for button in app.button]
    assert any(link.label == "your own documents" for link in app.page_link)


def test_the_last_questions_are_listed_without_the_runs_of_evaluations(visit: Visit, answered: Path) -> None:
    bench = opened(answered)
    for number in range(7):
        bench.store.create(RunRow(f"261122-120000-{number:04x}", f"Question {number % 6}", Recipe()))
    bench.store.tag("261122-120000-0005", ["eval:nightly"])
    listed = [link.value for link in visit(answered).page_link if "Question" in link.value]
    assert [next(word for word in each.split() if word.isdigit()) for each in listed] == ["0", "4", "3", "2", "1"]


@pytest.mark.parametrize("preset", [each.name for each in BUILT_IN])
def test_the_selected_preset_is_the_recipe_that_runs(visit: Visit, home: Path, preset: str) -> None:
    wanted = next(each for each in BUILT_IN if each.name == preset).choices
    app = press(choose(visit(home, q=EXAMPLE_QUESTION), preset), "Start")
    assert not app.exception
    recipe = opened(home).store.run(app.query_params["run"]).recipe
    assert (recipe.framework, recipe.budget, recipe.tools) == (wanted.framework, wanted.budget, wanted.tools)
    given = {f"framework.{name}": value for name, value in recipe.framework_options.items()}
    assert given.items() <= wanted.options.items()


@pytest.mark.parametrize("preset", ["Quick look", "High reliability"])
def test_an_outdated_event_cannot_overwrite_a_preset(visit: Visit, home: Path, preset: str) -> None:
    wanted = next(each for each in BUILT_IN if each.name == preset).choices
    app = visit(home, q=EXAMPLE_QUESTION)
    presets(app).set_value(preset)
    run_with_outdated_event(app)
    assert presets(app).value == preset
    recipe = opened(home).store.run(press(app, "Start").query_params["run"]).recipe
    assert (recipe.framework, recipe.budget) == (wanted.framework, wanted.budget)


def test_a_second_preset_applies_before_the_first_is_shown(visit: Visit, home: Path) -> None:
    app = visit(home)
    first = presets(app).set_value("Quick look").root.get_widget_states()
    second = presets(app).set_value("Deep").root.get_widget_states()
    app._run(first)._run(second)
    assert presets(app).value == "Deep"
    assert app.number_input(key=key(app, "budget-tokens")).value == 1_500_000


def test_an_outdated_event_cannot_overwrite_the_advice(visit: Visit, home: Path) -> None:
    app = visit(home)
    app.button_group(key="advice").set_value("reliable")
    run_with_outdated_event(app)
    assert "**Parallel sampling** with Evolving report" in texts(app)


def test_an_outdated_event_cannot_apply_the_preset_that_was_saved_under_another_name(visit: Visit, home: Path) -> None:
    app = choose(visit(home), "Deep")
    app.number_input(key=key(app, "budget-tokens")).set_value(9_000).run()
    app.text_input(key="preset-name").set_value("Mine")
    next(button for button in app.button if button.label == "Save").click()
    run_with_outdated_event(app)
    assert presets(app).value == "Mine"
    assert app.number_input(key=key(app, "budget-tokens")).value == 9_000


def test_several_edits_right_after_a_preset_are_kept(visit: Visit, home: Path) -> None:
    app = visit(home)
    before = app.radio(key=key(app, "framework")).value
    choose(app, "Deep")
    assert app.radio(key=key(app, "framework")).value != before
    app.radio(key=key(app, "framework")).set_value(before)
    app.number_input(key=key(app, "budget-tokens")).set_value(None)
    app.run()
    assert app.radio(key=key(app, "framework")).value == before
    assert app.number_input(key=key(app, "budget-tokens")).value is None


def test_a_preset_keeps_what_it_does_not_set(visit: Visit, home: Path) -> None:
    app = visit(home)
    app.number_input(key="temperature").set_value(0.5)
    app.selectbox(key="answer-language").select("zh")
    app.selectbox(key="role-writer").select("extractive")
    choose(app, "Quick look")
    choose(app, "Deep")
    assert app.number_input(key=key(app, "temperature")).value == 0.5
    assert app.selectbox(key=key(app, "answer-language")).value == "zh"
    assert app.selectbox(key=key(app, "role-writer")).value == "extractive"
    assert app.number_input(key=key(app, "budget-tokens")).value == 1_500_000


def test_a_preset_keeps_the_model_and_names_the_missing_search_service(visit: Visit, home: Path) -> None:
    app = visit(home)
    app.session_state["known-models"] = ["scripted:mine.jsonl"]
    app.run()
    app.selectbox(key="model").select("scripted:mine.jsonl").run()
    app = choose(app, "Academic")
    assert app.selectbox(key=key(app, "model")).value == "scripted:mine.jsonl"
    assert "No web search service is set up" in texts(app)
    assert app.radio(key=key(app, "framework")).value == "iter_research"


def test_the_advice_selects_framework_and_context_and_clears_when_they_change(visit: Visit, home: Path) -> None:
    app = visit(home)
    app.button_group(key="advice").set_value("reliable").run()
    assert app.radio(key=key(app, "framework")).value == "parallel"
    assert app.radio(key=key(app, "context-parallel")).value == "evolving"
    app.radio(key=key(app, "framework")).set_value("supervisor").run()
    (advice,) = (group for group in app.button_group if group.label == "What kind of task is it?")
    assert advice.value is None


def test_an_unsupported_strategy_is_hidden_with_the_reason(visit: Visit, home: Path) -> None:
    app = visit(home)
    app.radio(key="framework").set_value("rewoo").run()
    assert app.radio(key="context-rewoo").options == ["**Full history**", "**Sliding window**", "**ReSum**"]
    assert "ReWOO has no rounds between which a report could evolve" in texts(app)


def test_a_user_preset_is_saved_replaced_deleted_and_restored(visit: Visit, home: Path) -> None:
    app = visit(home)
    app.number_input(key="budget-tokens").set_value(9_000).run()
    app.text_input(key="preset-name").set_value("Mine")
    press(app, "Save")
    app.number_input(key="budget-tokens").set_value(1_000).run()
    app.text_input(key="preset-name").set_value("Mine")
    press(app, "Save")
    assert opened(home).saved.presets()[0].chosen["budget"] == {"tokens": 1_000}
    take_back(app)
    app = choose(visit(home), "Mine")
    assert app.number_input(key=key(app, "budget-tokens")).value == 9_000
    press(app, "Delete")
    assert opened(home).saved.presets() == []
    assert presets(app).value is None
    take_back(app)
    assert [each.name for each in opened(home).saved.presets()] == ["Mine"]


def test_a_taken_preset_name_is_rejected_beside_the_field(visit: Visit, home: Path) -> None:
    app = visit(home)
    app.text_input(key="preset-name").set_value("deep")
    press(app, "Save")
    assert "built-in" in app.error[0].value
    assert app.text_input(key="preset-name").value == "deep"


def test_query_parameters_fill_the_form_and_start_nothing(visit: Visit, home: Path) -> None:
    app = visit(home, q="Who is ![x](https://evil.example)?", preset="deep")
    assert app.text_area(key="question").value == "Who is ![x](https://evil.example)?"
    assert presets(app).value == "Deep"
    assert app.number_input(key=key(app, "framework.iter_research.rounds")).value == 60
    app.text_area(key="question").set_value("Another").run()
    assert app.text_area(key="question").value == "Another"
    assert opened(home).store.runs() == []


def test_an_unknown_preset_in_the_url_shows_an_error(visit: Visit, home: Path) -> None:
    app = visit(home, preset="Nope")
    assert "Unknown preset" in app.error[0].value
    assert app.text_area(key="question").value == ""


def test_run_again_fills_the_form_from_the_run_and_records_its_origin(visit: Visit, home: Path) -> None:
    bench = opened(home)
    recipe = bench.recipe(
        framework="tool_rounds", context="window", options={"framework.rounds": 3, "context.k": 2},
        tools=["search", "visit"], budget=Budget(tokens=50_000, seconds=60.0), language="en", protocol="tagged",
    )  # fmt: skip
    for _ in bench.engine.start("What is the capital of France?", recipe, RUN, here=True).events():
        pass
    app = visit(home, again=RUN)
    assert app.text_area(key="question").value == "What is the capital of France?"
    assert f"come from run {RUN}" in texts(app)
    press(app, "Start")
    row = bench.store.run(app.query_params["run"])
    assert row.recipe == recipe
    assert row.origin is not None
    assert (row.origin.run, row.origin.how) == (RUN, "rerun")


def test_running_an_unknown_run_again_shows_an_error(visit: Visit, home: Path) -> None:
    app = visit(home, again="nope")
    assert "Unknown run" in app.error[0].value
    assert app.text_area(key="question").value == ""


def test_a_run_shows_its_question_instead_of_the_question_box(visit: Visit, answered: Path) -> None:
    app = visit(answered, run=RUN)
    assert "Question" not in [each.label for each in app.text_area]
    assert EXAMPLE_QUESTION.split("(")[0].strip() in app.title[0].value.replace("\\", "")
    app = press(app, "New question")
    assert app.text_area(key="question").value == ""
    assert "run" not in app.query_params


def test_a_missing_key_is_told_once_with_the_way_to_the_settings(visit: Visit, home: Path) -> None:
    app = visit(home, q=EXAMPLE_QUESTION)
    app.session_state["known-models"] = ["anthropic:any"]
    app.run()
    app.selectbox(key="model").select("anthropic:any").run()
    assert sum("ANTHROPIC" in element.value for element in app.markdown) == 1
    press(app, "Start")
    assert "ANTHROPIC" in app.error[0].value and not any("ANTHROPIC" in element.value for element in app.markdown)
    assert "Open Settings" in [each.label for each in app.page_link]
    assert app.selectbox(key="model").value == "anthropic:any"


def test_where_a_key_is_missing_the_models_that_can_be_used_are_one_click_away(visit: Visit, home: Path) -> None:
    saved_endpoints.add(load(home=home), "near", Entry(kind="vllm", url="http://127.0.0.1:9", model="m"))
    app = visit(home)
    app.session_state["known-models"] = ["openai:gpt-4o"]
    app.run()
    app.selectbox(key="model").select("openai:gpt-4o").run()
    assert [each.label for each in app.get_by_key("instead").button] == ["near:m", "Offline model"]
    app.button(key="instead-extractive").click().run()
    assert not app.exception
    assert app.selectbox(key=key(app, "model")).value == "extractive"
    assert not [each for each in app.button if (each.key or "").startswith("instead-")]


def test_a_model_without_its_provider_is_completed_with_one_click(visit: Visit, home: Path) -> None:
    app = visit(home)
    app.session_state["known-models"] = ["gpt-4o"]
    app.run()
    app.selectbox(key="model").select("gpt-4o").run()
    (offer,) = [each for each in app.button if each.label.startswith("Did you mean")]
    assert offer.label == "Did you mean `openai:gpt-4o`?"
    offer.click().run()
    chosen = app.selectbox(key=key(app, "model"))
    assert chosen.value == "openai:gpt-4o" and "openai:gpt-4o" in chosen.options  # else its title would be its value


def test_start_on_an_empty_box_asks_for_a_question_without_an_error(visit: Visit, home: Path) -> None:
    app = visit(home)
    app.text_area(key="question").set_value("  ")
    press(app, "Start")
    assert "Type a question first" in texts(app)
    assert not app.error
    assert opened(home).store.runs() == []


def test_a_question_that_is_too_long_stays_in_the_box(visit: Visit, home: Path) -> None:
    app = visit(home)
    app.text_area(key="question").set_value("x" * 20_001)
    press(app, "Start")
    assert "20,001 characters" in app.error[0].value
    assert app.text_area(key="question").value == "x" * 20_001


def test_an_empty_or_unavailable_search_selection_is_reported_beside_it(visit: Visit, home: Path) -> None:
    app = visit(home)
    app.button_group(key="sources").set_value([]).run()
    assert "nothing to search" in texts(app)
    app.text_area(key="question").set_value("What is the population of France?")
    press(app, "Start")
    assert texts(app).count("nothing to search") == 1
    assert opened(home).store.runs() == []
    app.button_group(key="one-service-ask").set_value("tavily").run()
    assert app.button_group(key="sources").value == ["tavily"]
    assert "TAVILY" in texts(app)


def test_the_offline_model_does_not_start_without_a_tool_that_finds_something(visit: Visit, home: Path) -> None:
    app = visit(home)
    app.button_group(key="tools").set_value(["python"]).run()
    app.text_area(key="question").set_value("What is the population of France?")
    press(app, "Start")
    assert "Turn on the tool Search" in texts(app)
    assert opened(home).store.runs() == []


def test_choices_survive_visits_to_other_pages_and_a_language_change(visit: Visit, home: Path) -> None:
    app = choose(visit(home), "High reliability")
    app.text_area(key="question").set_value("Who?").run()
    app.switch_page("pages/runs.py").run()
    app.switch_page("pages/ask.py").run()
    app.session_state["language"] = "zh"
    app.run()
    assert not app.exception
    assert app.text_area(key="question").value == "Who?"
    assert presets(app).value == "High reliability"
    assert app.radio(key=key(app, "framework")).value == "parallel"
    assert app.number_input(key=key(app, "framework.parallel.rounds")).value == 15
    assert app.number_input(key=key(app, "budget-usd")).value == 3.0


def test_the_tools_of_a_preset_apply_on_compare_too(visit: Visit, home: Path) -> None:
    app = choose(visit(home), "Academic")
    app.switch_page("pages/compare.py").run()
    assert app.button_group(key=key(app, "tools")).value == ["search", "visit", "python", "scholar"]
    app.button_group(key=key(app, "tools")).set_value(["search"]).run()
    app.switch_page("pages/ask.py").run()
    assert app.button_group(key=key(app, "tools")).value == ["search"]


def test_the_chip_that_queries_tables_is_chosen_as_long_as_a_source_has_tables(
    visit: Visit, home: Path, tmp_path: Path
) -> None:
    folder = tmp_path / "own"
    folder.mkdir()
    (folder / "sales.csv").write_text("Region,Units\nNorth,5\nSouth,7\nEast,9\n", encoding="utf-8")
    usual = ["search", "visit", "python"]
    assert visit(home).button_group(key="tools").value == usual
    opened(home).library.add_folder(folder)
    app = visit(home)
    assert app.button_group(key="tools").value == [*usual, "query"]
    assert "tools: Search, Read a page, Calculate, Query tables · " in texts(app)
    sources = app.button_group(key="sources").value
    app.button_group(key="sources").set_value(["factbook"]).run()
    assert app.button_group(key="tools").value == usual and "Query tables" not in texts(app)
    app.button_group(key="sources").set_value(sources).run()
    app.switch_page("pages/compare.py").run()
    assert app.button_group(key=key(app, "tools")).value == [*usual, "query"]
    app.button_group(key=key(app, "tools")).set_value(usual).run()
    app.switch_page("pages/ask.py").run()
    assert app.button_group(key=key(app, "tools")).value == usual, "the user's choice stays"
    app.text_area(key="question").set_value("Which region has the most units?")
    press(app, "Start")
    assert opened(home).store.runs()[0].recipe.tools == ("search", "visit", "python")


def test_the_library_is_searched_and_a_chip_takes_a_collection_away(visit: Visit, home: Path, tmp_path: Path) -> None:
    folder = tmp_path / "notes"
    folder.mkdir()
    (folder / "moon.md").write_text("# The moon\n\nOur office in France has 212 employees.", encoding="utf-8")
    opened(home).library.add_folder(folder)
    app = visit(home)
    chips = app.button_group(key="sources")
    assert (chips.options, chips.value) == (["CIA World Factbook", "notes", "Web"], ["factbook", str(folder)])
    app.text_area(key="question").set_value("How many employees does our office in France have?")
    press(app, "Start")
    run = app.query_params["run"]
    assert open_home._open()[0].engine.wait(run, LONG_S)
    assert "212" in texts(app.run())
    app = visit(home, q=EXAMPLE_QUESTION)
    app.button_group(key="sources").set_value([str(folder), "web"]).run()
    assert "unknown" not in texts(app)
    recipe = opened(home).store.run(press(app, "Start").query_params["run"]).recipe
    assert (recipe.search, recipe.folders) == (("folders", "duckduckgo"), (str(folder),))


def test_the_documents_of_an_evaluation_are_no_source_of_other_questions(visit: Visit, home: Path) -> None:
    bench, dataset = opened(home), load_dataset("almanac")
    documents = (dataset.documents or [])[:3]
    corpus = open_corpus(home, dataset.name, documents)
    bench.prepare(corpus.folders, no_progress)
    assert bench.folders() == []
    assert bench.recipe().folders == ()
    assert corpus.ids.keys().isdisjoint(each.url for each in bench.library.search(documents[0].title))
    assert auditing.recipe_for(bench).folders == ()
    app = visit(home)
    chips = app.button_group(key="sources")
    assert (chips.options, chips.value) == (["CIA World Factbook", "Web"], ["factbook"])
    asked = bench.recipe(search=corpus.search, folders=corpus.folders)
    assert corpus.ids[bench.library.search(documents[0].title, 1, asked.folders)[0].url] == documents[0].url
    run = bench.engine.start("How long is the bridge?", asked, here=True).run_id
    app = visit(home, again=run)  # a question of the set still searches them
    assert app.button_group(key=key(app, "sources")).value == [corpus.folder]
    shown = visit(home, "library")
    assert "Documents of evaluations" in [each.label for each in shown.expander]
    buttons = [each.key for each in shown.expander[0].button]
    assert buttons == [f"{name}-{corpus.folder}" for name in ("browse", "refresh", "forget")]


def test_a_preset_keeps_the_chosen_folders(visit: Visit, home: Path, tmp_path: Path) -> None:
    for name in ("notes", "plans"):
        (tmp_path / name).mkdir()
        (tmp_path / name / "a.md").write_text(f"# {name}\n\nAbout {name}.", encoding="utf-8")
        opened(home).library.add_folder(tmp_path / name)
    app = visit(home)
    app.button_group(key="sources").set_value([str(tmp_path / "plans")]).run()
    choose(app, "Quick look")
    assert app.button_group(key=key(app, "sources")).value == ["factbook", str(tmp_path / "plans")]
    app.text_input(key="preset-name").set_value("Mine")
    press(app, "Save")
    opened(home).library.forget(str(tmp_path / "plans"))
    assert "plans is left out: it no longer exists" in texts(choose(visit(home), "Mine"))


def test_a_run_searches_uploaded_documents(visit: Visit, home: Path) -> None:
    app = visit(home)
    moon, fake = ("../moon.md", b"The moon is made of basalt.", "text/markdown"), ("f.pdf", b"no", "application/pdf")
    app.get("file_uploader")[0].set_value([moon, fake]).run()
    assert not app.exception
    folder = home.resolve() / "uploads" / "Documents"
    assert app.button_group(key="sources").value == ["factbook", str(folder)]
    assert [path.name for path in folder.iterdir()] == ["moon.md"]
    assert "a damaged pdf" in app.warning[0].value
    app.text_area(key="question").set_value("What is the moon made of?")
    app = press(app, "Start")
    run = app.query_params["run"]
    assert opened(home).store.run(run).recipe.folders == (str(folder),)


def test_the_switch_that_ends_runs_without_news_is_part_of_the_recipe(visit: Visit, home: Path) -> None:
    app = visit(home)
    toggle = app.toggle(key=key(app, "novelty"))
    assert toggle.value is True
    toggle.set_value(False).run()
    app.text_area[0].set_value(EXAMPLE_QUESTION)
    press(app, "Start")
    bench = opened(home)
    (row,) = bench.store.runs()
    assert row.recipe.novelty is False


def test_pages_are_read_as_of_a_day_where_an_archive_is_set_up(
    visit: Visit, home: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("WORKBENCH_ARCHIVE", "https://archive.org")
    app = visit(home)
    next(each for each in app.date_input if each.label == "Read pages as of").set_value(
        datetime.date(2024, 6, 30)
    ).run()
    assert not app.exception
    assert "pages as of 2024-06-30" in texts(app)
