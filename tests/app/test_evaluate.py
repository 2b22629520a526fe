"""The page Evaluate: the form, errors beside their field, results, and work that survives a closed page."""

from __future__ import annotations

import json
import time
from collections.abc import Callable, Sequence
from pathlib import Path

import msgspec
import pytest
from streamlit.testing.v1 import AppTest

from pages.parts.evaluate import jobs
from pages.parts.shared import home as open_home
from research.config.settings import load
from research.evaluation import Plan, Question, Records, Row, Scores, candidate
from research.evaluation.plans import store_plan, stored_plans
from research.events.events import RunStarted
from research.store import RunRow
from research.workbench.workbench import Workbench

Visit = Callable[..., AppTest]
HOSTILE = "![x](https://evil.example/x.png) :material/home: $x$"


def texts(app: AppTest) -> str:
    """Return all text that is drawn as Markdown."""
    return "\n".join(element.value for element in [*app.markdown, *app.caption, *app.subheader])


def press(app: AppTest, label: str) -> AppTest:
    return next(button for button in app.button if button.label == label).click().run()


def unescaped(text: str) -> str:
    """Return the text as a reader sees it, without escapes."""
    return text.replace("\\", "").replace("\u2060", "")


def errors(app: AppTest) -> str:
    return unescaped("\n".join(element.value for element in app.error))


def own_file(app: AppTest, path: object, documents: object = "") -> AppTest:
    """Select a dataset file by its path."""
    app.selectbox(key="evaluate-dataset").select("own").run()
    app.segmented_control(key="evaluate-way").set_value("path").run()
    app.text_input(key="evaluate-documents-path").set_value(str(documents))
    return app.text_input(key="evaluate-path").set_value(str(path)).run()


@pytest.fixture
def asked(tmp_path: Path) -> Path:
    """A dataset file with two questions."""
    path = tmp_path / "france.jsonl"
    lines = [
        {"id": "a", "question": "What is the length of the coastline of France?", "answer": "4,853 km"},
        {"id": "b", "question": HOSTILE, "answer": "nothing", "kind": "odd"},
    ]
    path.write_text("\n".join(map(json.dumps, lines)), encoding="utf-8")
    return path


def kept(
    home: Path, recipes: dict[str, str], name: str = "mine", part: str = "dev", question: str = "What is {n}?"
) -> list[str]:
    """Store an evaluation with one row per sign (`1` right, `0` wrong, `-` not asked yet) and return the runs' ids."""
    bench = Workbench(load(home=home))
    most = max(map(len, recipes.values()))
    questions = [Question(f"{part}-{n}", question.format(n=n), (f"gold {n}",), kind="one") for n in range(most)]
    plan = Plan(name, tuple(questions), tuple(candidate(bench, text) for text in recipes))
    records = Records(bench.store, name)
    store_plan(records, plan)
    runs = []
    for place, (each, signs) in enumerate(zip(plan.candidates, recipes.values(), strict=True), 1):
        for asked, sign in zip(questions, signs, strict=True):
            if sign != "-":
                runs.append(f"261121-1200{place:02}-{len(runs):04x}")
                records.keep(
                    Row(name, each.key, asked.id, asked.digest, runs[-1], "answered", f"said {asked.id} {HOSTILE}",
                        Scores(right=float(sign)), 1_000 * place, 10, cost_usd=0.0, seconds=1.0)
                )  # fmt: skip
    bench.store.close()
    return runs


def at_its_end(app: AppTest, name: str) -> AppTest:
    """Wait for the evaluation to end and return the page."""
    job = jobs.of(open_home._open()[0]).job(name)
    assert job is not None
    job.join(120)
    assert not job.is_alive()
    return app.run()


# -- the form -----------------------------------------------------------------------------------------------------------


def test_a_new_home_offers_an_offline_example_with_its_size_and_cost(visit: Visit, home: Path) -> None:
    app = visit(home, "evaluate")
    assert not app.exception
    assert [button.label for button in app.button if button.proto.type == "primary"] == ["Start"]
    assert app.multiselect(key="evaluate-models").value == ["extractive"]
    assert "10 questions × 3 recipes = 30 runs" in texts(app) and "free" in texts(app)
    assert "will be listed here" in texts(app)


def test_the_questions_are_at_first_in_the_language_of_the_page(visit: Visit, home: Path) -> None:
    assert visit(home, "evaluate").selectbox(key="evaluate-dataset").value == "factbook"
    app = visit(home, "evaluate", lang="zh")
    assert app.selectbox(key="evaluate-dataset").value == "factbook-zh"
    assert "以中文提问" in texts(app)


def test_the_shortcut_buttons_fill_the_recipe_list(visit: Visit, home: Path) -> None:
    app = press(visit(home, "evaluate"), "All combinations")
    assert len(app.multiselect(key="evaluate-recipes").value) == 27
    assert "10 questions × 27 recipes = 270 runs" in texts(app)
    app = press(app, "Every strategy with ReAct")
    assert {text.partition("/")[0] for text in app.multiselect(key="evaluate-recipes").value} == {"react"}


def test_each_recipe_runs_with_each_model(visit: Visit, home: Path, tmp_path: Path) -> None:
    script = tmp_path / "script.jsonl"
    script.write_text(json.dumps({"text": "<answer>No.</answer>"}), encoding="utf-8")
    app = visit(home, "evaluate")
    app.session_state["evaluate-models"] = ["extractive", f"scripted:{script}"]
    app.run()
    assert "10 questions × 6 recipes = 60 runs" in texts(app)


def test_the_held_out_split_shows_a_warning(visit: Visit, home: Path) -> None:
    app = visit(home, "evaluate")
    assert not app.warning
    app.segmented_control(key="evaluate-split").set_value("held").run()
    assert "not at its questions" in app.warning[0].value


@pytest.mark.parametrize(
    ("content", "said"),
    [
        (None, ["/nothing.jsonl", "cannot be read"]),
        ("{", ["nothing.jsonl, line 1", "not JSON"]),
        ('{"id": "a", "answer": "b"}', ["record 1", "has no question"]),
        ("", ["contains no questions"]),
    ],
)
def test_an_unreadable_file_is_named_with_the_reason(
    visit: Visit, home: Path, tmp_path: Path, content: str | None, said: Sequence[str]
) -> None:
    path = tmp_path / "nothing.jsonl"
    if content is not None:
        path.write_text(content, encoding="utf-8")
    app = own_file(visit(home, "evaluate"), path)
    assert not app.exception
    assert all(each in errors(app) for each in said), errors(app)
    assert next(button for button in app.button if button.label == "Start").disabled


@pytest.mark.parametrize(
    ("recipes", "said"),
    [
        (["react:rounds=0/full"], "rounds"), (["nonsense/full"], "nonsense"), (["rewoo/evolving"], "ReWOO"),
        (["react:rounds/full"], "NAME=VALUE"),
    ],
)  # fmt: skip
def test_an_unusable_recipe_is_named_with_the_reason(visit: Visit, home: Path, recipes: list[str], said: str) -> None:
    app = visit(home, "evaluate")
    app.session_state["evaluate-recipes"] = recipes
    app.run()
    assert not app.exception
    assert said in errors(app) and recipes[0] in errors(app) and "--recipe" not in errors(app)
    assert next(button for button in app.button if button.label == "Start").disabled


def test_an_empty_selection_shows_an_error_beside_the_list(visit: Visit, home: Path) -> None:
    app = visit(home, "evaluate")
    app.multiselect(key="evaluate-recipes").set_value([]).run()
    assert "Choose at least one recipe." in texts(app)
    assert next(button for button in app.button if button.label == "Start").disabled


def test_a_cost_limit_with_an_unknown_price_starts_nothing(
    visit: Visit, home: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("OPENAI_BASE_URL", "http://127.0.0.1:9/v1")
    monkeypatch.setenv("OPENAI_API_KEY", "sk-test")
    app = visit(home, "evaluate")
    app.session_state["evaluate-models"] = ["openai:unpriced-thing"]
    app.session_state["evaluate-max-usd"] = 1.0
    app.run()
    assert "cost unknown" in texts(app)
    press(app, "Start")
    assert "The price of openai:unpriced-thing is unknown" in errors(app)
    assert "evaluation" not in app.query_params
    assert Workbench(load(home=home)).store.runs() == []


def test_an_invalid_name_starts_nothing(visit: Visit, home: Path, asked: Path) -> None:
    app = own_file(visit(home, "evaluate"), asked)
    app.text_input(key="evaluate-name").set_value("a/b").run()
    press(app, "Start")
    assert "1 to 60 printable characters" in errors(app)


# -- running ------------------------------------------------------------------------------------------------------------


def test_an_evaluation_runs_without_the_page_and_its_rows_link_to_their_runs(
    visit: Visit, home: Path, asked: Path
) -> None:
    app = own_file(visit(home, "evaluate"), asked)
    app.multiselect(key="evaluate-recipes").set_value(["react/full", "rewoo/full"]).run()
    assert "2 questions × 2 recipes = 4 runs" in texts(app)
    press(app, "Start")
    assert not app.exception and app.query_params["evaluation"] == "france"
    at_its_end(app, "france")
    assert not app.exception
    assert "All 4 runs done" in texts(app)
    assert "| 1 · ReAct / Full history |" in texts(app)
    assert {each.run for each in rows(home, "france")} == {row.id for row in Workbench(load(home=home)).store.runs()}
    app.query_params["question"] = "a"
    app.run()
    links = [element.proto for element in app.get("page_link")]
    assert sum("run=" in link.query_string for link in links) == 2
    assert "4,853 km" in texts(app)


def rows(home: Path, name: str) -> list[Row]:
    return list(Records(Workbench(load(home=home)).store, name).rows().values())


@pytest.mark.slow
def test_a_recorded_evaluation_can_be_the_world_of_another(visit: Visit, home: Path, asked: Path) -> None:
    app = own_file(visit(home, "evaluate"), asked)
    app.multiselect(key="evaluate-recipes").set_value(["react/full"]).run()
    at_its_end(press(app, "Start"), "france")
    app = own_file(visit(home, "evaluate"), asked)
    app.multiselect(key="evaluate-recipes").set_value(["react/full"]).run()
    app.selectbox(key="evaluate-world").select("france").run()
    app = at_its_end(press(app, "Start"), "france 2")
    assert not app.exception and "recorded world: france" in texts(app)
    found = [row.scores for row in rows(home, "france 2")]
    assert len(found) == 2 and all(each.played and each.diverged == 0 for each in found)
    assert "Calls without a record" in texts(app)


@pytest.mark.slow
def test_an_interrupted_evaluation_resumes_and_asks_no_question_twice(visit: Visit, home: Path) -> None:
    before = kept(home, {"react/full": "1-", "react/window": "--"}, question="What is the area of France? {n}")
    app = visit(home, "evaluate", evaluation="mine")
    assert "1 of 4 runs done" in texts(app)
    press(app, "Resume")
    at_its_end(app, "mine")
    assert not app.exception and "All 4 runs done" in texts(app)
    done = rows(home, "mine")
    assert len(done) == 4 and all(row.done for row in done) and before[0] in {row.run for row in done}
    assert len(Workbench(load(home=home)).store.runs()) == 3, "the first question was asked again"


@pytest.mark.slow
def test_an_evaluation_running_in_another_process_cannot_be_resumed_here(visit: Visit, home: Path) -> None:
    kept(home, {"react/full": "1-"})
    bench = Workbench(load(home=home))
    plan, now = stored_plans(bench.store)[0].plan, time.time()
    question, run = plan.questions[1], "261121-120000-abcd"
    recipe = plan.candidates[0].recipe
    started = RunStarted(run=run, seq=0, time=now, question=question.question, recipe=recipe)
    bench.store.create(RunRow(run, question.question, recipe), [started])
    Records(bench.store, "mine").keep(Row("mine", plan.candidates[0].key, question.id, question.digest, run))
    app = visit(home, "evaluate", evaluation="mine")
    assert "1 of 2 runs done · runs started by another process" in texts(app)
    assert "Resume" not in [button.label for button in app.button]
    bench.store.delete([run])
    assert "Resume" in [button.label for button in app.run().button]
    bench.store.close()


@pytest.mark.slow
def test_a_missing_folder_is_named_and_the_finished_rows_are_kept(
    visit: Visit, home: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    kept(home, {"react/full": "1-"})
    folder = home / "gone"
    store = Workbench(load(home=home)).store
    body = Records(store, "mine").plan()
    assert body is not None
    plan = msgspec.json.decode(body)
    plan["plan"]["corpus"] = {"folder": str(folder), "ids": {}}
    Records(store, "mine").keep_plan(msgspec.json.encode(plan))
    store.close()
    app = press(visit(home, "evaluate", evaluation="mine"), "Resume")
    at_its_end(app, "mine")
    assert str(folder) in errors(app)
    assert "1 of 2 runs done" in texts(app)
    assert "Resume" in [button.label for button in app.button]


# -- results ------------------------------------------------------------------------------------------------------------


def verdict(app: AppTest) -> tuple[str, str]:
    """Return the title of the verdict and the words below it."""
    card = app.get_by_key("evaluate-verdict")
    return unescaped(card.subheader[0].value), unescaped(card.markdown[0].value)


def test_figures_differences_and_the_pareto_front_are_described_in_text(visit: Visit, home: Path) -> None:
    kept(home, {"react/full": "1" * 20, "react/window": "1" * 20, "rewoo/full": "0" * 12 + "1" * 8})
    app = visit(home, "evaluate", evaluation="mine")
    assert not app.exception
    said = unescaped(texts(app))
    assert "100 % :gray[:small[84–100]]" in said and "40 % :gray[:small[22–61]]" in said
    assert "**1 · ReAct / Full history** is 60 points more accurate than **3 · ReWOO / Full history**" in said
    assert "a certain difference over 20 questions" in said
    assert (
        "**1 · ReAct / Full history** and **2 · ReAct / Sliding window** show no certain difference over 20 questions"
        in said
    )
    assert "No other recipe does as well with fewer tokens: 1 · ReAct / Full history (100 %)." in said
    title, told = verdict(app)
    assert title == ":green[:material/check_circle:] Correct answers: 1 · ReAct / Full history is ahead"
    assert told.startswith("It is certainly better than 3 · ReWOO / Full history.")
    assert told.splitlines()[-3:] == [
        "- 1 · ReAct / Full history: **20 of 20** right, 100 % (84–100)",
        "- 2 · ReAct / Sliding window: **20 of 20** right, 100 % (84–100)",
        "- 3 · ReWOO / Full history: **8 of 20** right, 40 % (22–61)",
    ]
    forest, scatter, matrix = (element.proto for element in app.get("vega_lite_chart"))
    assert forest.alt.startswith("1 · ReAct / Full history: 100 % (84–100); 2 · ReAct / Sliding window: 100 % (84–100)")
    assert matrix.alt == "ReAct / Full history: 100 %; ReAct / Sliding window: 100 %; ReWOO / Full history: 40 %"
    assert scatter.alt == "Fewest tokens for their quality: 1 · ReAct / Full history (100 %)"


def test_no_grid_is_drawn_where_each_framework_has_a_strategy_of_its_own(visit: Visit, home: Path) -> None:
    kept(home, {"react/full": "1" * 10, "iter_research/evolving": "01" * 5})
    app = visit(home, "evaluate", evaluation="mine")
    assert len(app.get("vega_lite_chart")) == 2 and "Framework and strategy" not in texts(app)


def test_few_questions_are_followed_by_their_answers_and_the_statistics_are_folded(visit: Visit, home: Path) -> None:
    kept(home, {"react/full": "101", "rewoo/full": "100"})
    app = visit(home, "evaluate", evaluation="mine")
    assert not app.exception
    (folded,) = [each for each in app.expander if each.label.startswith("Statistics")]
    assert len(folded.get("vega_lite_chart")) == len(app.get("vega_lite_chart")) > 0


def test_the_name_of_an_evaluation_says_its_questions_in_words(visit: Visit, home: Path) -> None:
    assert visit(home, "evaluate").text_input(key="evaluate-name").placeholder.startswith("World Factbook, English")


def test_without_a_certain_difference_the_page_says_how_many_more_questions_would_decide(
    visit: Visit, home: Path
) -> None:
    kept(home, {"react/full": "1" * 8 + "0" * 4, "rewoo/full": "1" * 5 + "0" * 7})
    app = visit(home, "evaluate", evaluation="mine")
    assert not app.exception
    title, told = verdict(app)
    assert title == ":blue[:material/balance:] Correct answers: 1 · ReAct / Full history leads by 25 points"
    assert told.startswith("Over 12 questions, a lead of this size may be chance.")
    assert "more, like these, would decide between" in told
    assert "more would decide it" in texts(app) and "a certain difference" not in texts(app)


def test_recipes_with_the_same_best_value_tie(visit: Visit, home: Path) -> None:
    kept(home, {"react/full": "1" * 10, "iter_research/evolving": "1" * 10, "rewoo/full": "1" * 6 + "0" * 4})
    title, _ = verdict(visit(home, "evaluate", evaluation="mine"))
    first = "1 · ReAct / Full history, 2 · IterResearch / Evolving report"
    assert title.endswith(f"{first} tie for first, 40 points ahead")


@pytest.mark.parametrize(("answers", "told"), [("1" * 3 + "0" * 7, True), ("1" * 8 + "0" * 2, False)])
def test_few_right_answers_of_the_offline_model_are_explained(
    visit: Visit, home: Path, answers: str, told: bool
) -> None:
    kept(home, {"react/full": answers, "rewoo/full": "0" * 10})
    assert ("The offline model only quotes" in texts(visit(home, "evaluate", evaluation="mine"))) is told


def test_an_oracle_is_marked_and_left_out_of_the_pareto_front(visit: Visit, home: Path) -> None:
    kept(home, {"react/full": "10" * 5, "reflexion:evaluator=gold/full": "1" * 10})
    app = visit(home, "evaluate", evaluation="mine")
    said = unescaped(texts(app))
    assert "2 · Reflexion, oracle / Full history" in said
    assert "upper bound only" in said
    assert "fewer tokens: 1 · ReAct / Full history (50 %)." in said


@pytest.mark.slow
def test_selecting_another_measure_changes_the_differences(visit: Visit, home: Path) -> None:
    kept(home, {"react/full": "1" * 10, "rewoo/full": "1" * 10})
    app = visit(home, "evaluate", evaluation="mine")
    app.selectbox(key="evaluate-measure-mine").select("tokens").run()
    assert not app.exception
    said = unescaped(texts(app))
    assert "for tokens, lower is better" in said
    assert "**2 · ReWOO / Full history** uses 1.0k more than **1 · ReAct / Full history**" in said


def test_questions_are_filtered_and_opened(visit: Visit, home: Path) -> None:
    runs = kept(home, {"react/full": "110", "rewoo/full": "100"}, question="Which {n}? " + HOSTILE)
    app = visit(home, "evaluate", evaluation="mine")
    assert not app.exception
    assert "3 of 3 questions" in texts(app)
    (table,) = app.dataframe
    assert list(table.value["recipe-0"]) == ["correct", "correct", "wrong"]
    app.segmented_control(key="evaluate-shown").set_value("apart").run()
    assert "1 of 3 questions" in texts(app) and list(app.dataframe[0].value["question"])[0].startswith("Which 1?")
    app.segmented_control(key="evaluate-shown").set_value("wrong").run()
    assert list(app.dataframe[0].value["question"])[0].startswith("Which 2?")
    app.segmented_control(key="evaluate-shown").set_value("all").run()
    app.query_params["question"] = "dev-1"
    app.run()
    links = [element.proto for element in app.get("page_link")]
    assert [link.query_string for link in links if "run=" in link.query_string] == [f"run={runs[1]}", f"run={runs[4]}"]
    assert "gold 1" in texts(app) and "said dev-1" in texts(app)


def test_text_from_models_and_files_is_escaped(visit: Visit, home: Path, asked: Path) -> None:
    kept(home, {"react/full": "10"}, question="Which {n}? " + HOSTILE, name="n ![x](y) :red[z]")
    app = visit(home, "evaluate", evaluation="n ![x](y) :red[z]", question="dev-0")
    assert not app.exception
    labels = [element.proto.label for element in app.get("page_link")]
    drawn = [texts(app), *labels]
    assert "said dev-0" in drawn[0]
    assert not [text for text in drawn if "![x](" in text or ":material/home:" in text or ":red[z]" in text]
    assert not [label for label in labels if " $x$" in label], "a formula is drawn in an answer, but not in a name"


@pytest.mark.slow
def test_held_out_questions_stay_hidden_until_the_user_asks_for_them(visit: Visit, home: Path) -> None:
    kept(home, {"react/full": "10"}, part="held")
    app = visit(home, "evaluate", evaluation="mine")
    assert len(app.dataframe) == 0 and "What is 0?" not in texts(app)
    app.toggle(key="evaluate-held").set_value(True).run()
    assert len(app.dataframe) == 1


# -- the list -----------------------------------------------------------------------------------------------------------


def test_undoing_a_deletion_restores_every_row(visit: Visit, home: Path) -> None:
    kept(home, {"react/full": "10"})
    kept(home, {"react/full": "1-"}, name="other")
    app = visit(home, "evaluate")
    assert "1 run left" in texts(app) and "complete" in texts(app)
    app.button(key="evaluate-delete-mine").click()
    twice = app._tree.get_widget_states()
    app.run()
    late = [each for each in twice.widgets if "evaluate-delete" in each.id]
    del twice.widgets[:]
    twice.widgets.extend(late)
    app._run(twice)  # the second click of a double one, which must not delete what has moved up meanwhile
    assert [button.label for button in app.button if (button.key or "").startswith("evaluate-open-")] == ["other"]
    assert rows(home, "mine") == []
    said, restore, _ = app.session_state["undo"]  # `AppTest` runs a page alone, without the bar that app.py draws
    assert said == "Evaluation deleted."
    restore()
    assert len(rows(home, "mine")) == 2
    press(app.run(), "mine")
    assert app.query_params["evaluation"] == "mine" and "All 2 runs done" in texts(app)


def test_an_unknown_evaluation_shows_an_error_and_a_way_back(visit: Visit, home: Path) -> None:
    app = visit(home, "evaluate", evaluation="gone")
    assert "Unknown evaluation 'gone'" in errors(app)
    press(app, "All evaluations")
    assert "evaluation" not in app.query_params and "will be listed here" in texts(app)


def test_the_findings_can_be_published_once_there_is_a_row(visit: Visit, home: Path) -> None:
    kept(home, {"react/full": "10", "react/window": "01"})
    app = visit(home, "evaluate", evaluation="mine")
    assert not app.exception
    buttons = {button.label: button.proto for button in app.get("download_button")}
    assert not buttons["Publish"].disabled and "command that repeats" in buttons["Publish"].help
