"""The view of one run: changes, pages of rounds, agents, and follow-ups, forks and reruns."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import msgspec
import pytest
from streamlit.testing.v1 import AppTest

from pages.parts.run.agents import Child, children, spans
from pages.parts.run.meter import omitted
from pages.parts.run.timeline import _line
from research.config.settings import load
from research.events.events import Paused
from research.events.recipe import Recipe
from research.events.view import CallView, RoundView, RunView, fold
from research.store import Store
from research.types import Citation, Part, ToolCall
from research.workbench.example import EXAMPLE_QUESTION
from research.workbench.workbench import Workbench
from tests.app.test_pages import RUN, press, texts
from tests.long_run import LongRun, ending
from tests.workers import until

Visit = Callable[..., AppTest]
LONG = "261121-120000-long"


def rounds(app: AppTest) -> list[str]:
    """Return the numbers of the rounds on the page."""
    return [step.label.split("**")[1] for step in app.get_by_key("rounds").expander]


def bench(home: Path) -> Workbench:
    return Workbench(load(home=home))


def waited(store: Store, run_id: str) -> None:
    """Wait until a run in another workbench on the same home no longer runs."""
    until(lambda: store.run(run_id).status != "running")


@pytest.mark.parametrize(
    ("context", "purpose", "wanted"),
    [
        ("window", "act", "3 rounds left out"),
        ("resum", "act", "3 rounds left out"),
        ("resum", "summarise", "summary replaces 3 rounds"),
        ("evolving", "scribe", "report replaces 3 rounds"),
        ("of a package that is gone", "summarise", "3 rounds left out"),
    ],
)
def test_the_meter_names_what_replaces_the_omitted_rounds(context: str, purpose: str, wanted: str) -> None:
    asked = RoundView("main", 1, 1, purpose, "extractive", 0.0, 0, [])
    assert omitted(RunView(recipe=Recipe(context=context), rounds=[asked]), "3 rounds") == wanted


def test_a_long_run_is_drawn_page_by_page(visit: Visit, home: Path) -> None:
    run = LongRun(bench(home).store, LONG)
    run.rounds(60)
    run.finish()
    app = visit(home, run=LONG)
    assert rounds(app) == [str(n) for n in range(36, 61)]
    assert rounds(press(app, "Earlier")) == [str(n) for n in range(11, 36)]
    assert "Rounds 11 to 35 of 60" in texts(app)
    assert rounds(press(app, "Later")) == [str(n) for n in range(36, 61)]
    app.slider[0].set_value(30).run()
    assert rounds(app) == [str(n) for n in range(6, 31)]


def test_a_partly_answered_run_shows_its_short_answer_and_the_missing_parts(visit: Visit, home: Path) -> None:
    run = LongRun(bench(home).store, LONG)
    run.rounds(2)
    parts = (Part("how many chapters?", "answered"), Part("who wrote it?", "not_found", "nothing cited covers “wrote”"))
    run.add([msgspec.structs.replace(ending(2), outcome="partly_answered", short="200 chapters", parts=parts)])
    app = visit(home, run=LONG)
    assert any("Partly answered · 1 of 2 parts" in each.value for each in app.markdown)
    assert any("Answer: **200 chapters**" in each.value for each in app.markdown)
    (missing,) = [each.value for each in app.warning]
    assert "who wrote it?" in missing and "how many chapters?" not in missing


def test_a_sentence_with_many_citations_is_drawn_with_all_of_them(visit: Visit, home: Path) -> None:
    run = LongRun(bench(home).store, LONG)
    run.rounds(2)
    marks = range(1, 8)
    claim = "The seven towns have a market"
    citations = tuple(Citation(n, claim, "dead") for n in marks)
    run.add([ending(2, f"{claim} {' '.join(f'[{n}]' for n in marks)}.", citations)])
    app = visit(home, run=LONG)
    assert not app.exception
    assert "The seven towns have a market" in texts(app)
    assert all(f"\\[{n}\\]" in texts(app) for n in marks)


def test_an_earlier_round_labels_its_changes_to_the_report(visit: Visit, home: Path) -> None:
    run = LongRun(bench(home).store, LONG)
    run.rounds(60)
    run.finish()
    app = visit(home, run=LONG, round="50")
    report = app.get_by_key("report")
    assert "Report after round 50 · 1 new, 1 changed" in [caption.value for caption in report.caption]
    assert "new" in [caption.value for caption in report.caption]
    assert {"changed", "1 removed"} <= {popover.proto.popover.label for popover in report.get("popover")}
    assert "49 chapters were read so far" in "".join(text.value for text in report.markdown), (
        "the report's earlier text"
    )
    # The finished report is for reading, so changes are not marked.
    press(app, "Go to the end")
    assert not any("changed" in caption.value for caption in app.get_by_key("report").caption)


def test_a_running_run_shows_its_latest_rounds_and_any_earlier_one(visit: Visit, home: Path) -> None:
    run = LongRun(bench(home).store, LONG)
    run.rounds(60)
    app = visit(home, run=LONG)
    assert "round 60 of 200" in texts(app)
    assert r"cost \$0.06 of \$1.00" in texts(app)
    assert rounds(app) == [str(n) for n in range(53, 61)]
    app.slider[0].set_value(9).run()
    assert rounds(app) == [str(n) for n in range(1, 10)]
    assert any(button.label == "Stop" for button in app.button)
    run.rounds(1)
    app.run()
    assert app.slider[0].value == 9, "the slider stays while the run continues"
    press(app, "Back to live")
    assert rounds(app)[-1] == "61"


def test_rounds_are_filtered_by_agent_and_agents_are_listed_as_a_tree(visit: Visit, home: Path) -> None:
    own = bench(home)
    for _ in own.engine.start(
        EXAMPLE_QUESTION, own.recipe(framework="parallel", options={"framework.n": 2}), LONG, here=True
    ).events():
        pass
    app = visit(home, run=LONG, agent="main/run-1")
    assert all("run-1" in step.label for step in app.get_by_key("rounds").expander)
    app.session_state[f"agents-{LONG}"] = True
    app.run()
    assert not app.exception
    tree = next(frame.value for frame in app.dataframe if "Agent" in frame.value)
    assert [name.strip() for name in tree["Agent"]] == ["main", "run-1", "run-2"]
    assert set(tree["Outcome"]) == {"Answered"}


def test_each_call_of_a_round_has_a_line_and_its_arguments_are_words(visit: Visit, home: Path) -> None:
    own = bench(home)
    question = "What is the coastline of France, and what is its population?"
    for _ in own.engine.start(question, own.recipe(framework="supervisor"), LONG, here=True).events():
        pass
    divided = next(
        step.label for step in visit(home, run=LONG).get_by_key("rounds").expander if "Sections" in step.label
    )
    assert "  \n:gray[:small[Sections: " in divided
    assert "the coastline of France" in divided and "'" not in divided and "{" not in divided
    calls = [CallView(ToolCall(f"c{n}", "search", {"query": f"coast {n}"}), 0.0) for n in (1, 2)]
    assert _line(RoundView("main", 1, 1, "act", "extractive", 0.0, 0, [], calls=calls), 2.0).split("  \n")[1:] == [
        ":gray[:small[Search: coast 1 … 2.0 s]]",
        ":gray[:small[Search: coast 2 … 2.0 s]]",
    ]


def test_a_parent_waits_for_its_children(home: Path) -> None:
    own = bench(home)
    for _ in own.engine.start(
        EXAMPLE_QUESTION, own.recipe(framework="parallel", options={"framework.n": 2}), LONG, here=True
    ).events():
        pass
    events = own.store.events(LONG)
    view, grown = fold(events), children(events)
    assert [child.outcome for child in grown.values()] == ["answered", "answered"]
    found = spans(view, grown)
    waits = [span for span in found if span.doing == "waits"]
    assert [(span.agent, span.what) for span in waits] == [("main", "run-1, run-2")]
    assert waits[0].end <= min(span.start for span in found if span.agent == "main" and span.doing == "model")
    assert all(span.end >= span.start for span in found)
    assert spans(view, {"main/run-1": Child("main/run-1", "", view.started, view.updated)})[-1].what == "run-1"


def test_a_follow_up_question_opens_the_run_that_answers_it(visit: Visit, answered: Path) -> None:
    app = visit(answered, run=RUN)
    app.text_input(key=f"follow-up-text-{RUN}").set_value("And of Spain?")
    press(app, "Send")
    assert not app.exception
    following = app.query_params["run"]
    row = bench(answered).store.run(following)
    assert row.origin is not None
    assert (row.question, row.origin.how, row.origin.run) == ("And of Spain?", "follow_up", RUN)
    assert f"Follow-up to {RUN}" in [link.label for link in app.page_link]
    waited(bench(answered).store, following)
    assert any(link.label.startswith("Follow-up: And of Spain") for link in visit(answered, run=RUN).page_link)


def test_a_fork_starts_at_the_round_on_the_page(visit: Visit, answered: Path) -> None:
    app = visit(answered, run=RUN, round="1")
    press(app, "Fork from this round …")
    press(app, "Fork and continue")
    assert not app.exception
    row = bench(answered).store.run(app.query_params["run"])
    assert row.origin is not None
    assert (row.origin.how, row.origin.run, row.origin.round) == ("fork", RUN, 1)
    assert "round" not in app.query_params
    waited(bench(answered).store, row.id)


def test_run_again_and_compare_are_links(visit: Visit, answered: Path) -> None:
    links = {link.label: link.proto.query_string for link in visit(answered, run=RUN).page_link}
    assert links["Run again with another recipe"] == f"again={RUN}"
    assert links["Compare …"] == f"runs={RUN}"


def test_a_paused_run_offers_only_to_resume(visit: Visit, home: Path) -> None:
    run = LongRun(bench(home).store, LONG)
    run.rounds(3)
    run.add([Paused()])
    app = visit(home, run=LONG)
    assert "**Paused** after 3 rounds" in texts(app)
    labels = [button.label for button in app.button]
    assert "Resume" in labels
    assert not {"Pause", "Stop", "Send"} & set(labels)


@pytest.mark.parametrize(("linked", "shown"), [("nobody", 6), ("main/run-1", 3)])
def test_an_unknown_agent_in_the_url_filters_nothing(visit: Visit, home: Path, linked: str, shown: int) -> None:
    own = bench(home)
    for _ in own.engine.start(
        EXAMPLE_QUESTION, own.recipe(framework="parallel", options={"framework.n": 2}), LONG, here=True
    ).events():
        pass
    app = visit(home, run=LONG, agent=linked)
    assert not app.exception
    assert len(app.get_by_key("rounds").expander) >= shown
