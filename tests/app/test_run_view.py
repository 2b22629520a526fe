"""The view of one run: changes, pages of rounds, agents, and follow-ups, forks and reruns."""

from __future__ import annotations

import json
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from urllib.parse import parse_qs

import msgspec
import pytest
from streamlit.testing.v1 import AppTest

import research
from pages.parts.run import head, naming
from pages.parts.run.agents import Child, children, spans
from pages.parts.run.meter import omitted
from pages.parts.runs.table import CELL
from pages.parts.shared import language
from pages.parts.shared.safe import plain
from research.citations import check
from research.config import saved_settings
from research.config.settings import load
from research.evaluation import Dataset, Question
from research.evaluation.sets import Sets
from research.events.events import Asked, ChildStarted, Paused, ReportUpdated, RunFailed, ToolFinished
from research.events.recipe import ROLE_OF, Recipe
from research.events.rounds import CallView, RoundView
from research.events.view import RunView, fold
from research.exports.charts import headline
from research.store import Store
from research.text import clip
from research.types import Citation, Observation, Part, Reply, Source, ToolCall, Verdict
from research.web.fetch import FetchedPage
from research.workbench.example import EXAMPLE_QUESTION
from research.workbench.workbench import Workbench
from tests.app.test_pages import RUN, press, report_text, reports, texts
from tests.fake_openai import Body, FakeOpenAI, FakeReply
from tests.long_run import LINES, LongRun, ending
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
    assert rounds(app) == [str(n) for n in range(26, 61)]
    assert rounds(press(app, "Earlier")) == [str(n) for n in range(1, 26)]
    assert "Rounds 1 to 25 of 60" in texts(app)
    assert rounds(press(app, "Later")) == [str(n) for n in range(26, 61)]
    press(app, "Replay")
    app.slider[0].set_value(30).run()
    assert rounds(app) == [str(n) for n in range(1, 31)]


def test_a_partly_answered_run_shows_its_short_answer_and_the_missing_parts(visit: Visit, home: Path) -> None:
    run = LongRun(bench(home).store, LONG)
    run.rounds(2)
    parts = (Part("how many chapters?", "answered"), Part("who wrote it?", "not_found", "nothing cited covers “wrote”"))
    run.add([msgspec.structs.replace(ending(2), outcome="partly_answered", short="200 chapters", parts=parts)])
    app = visit(home, run=LONG)
    assert any("Partly answered]" in each.value and "**1 of 2** parts" in each.value for each in app.markdown)
    assert [each.value for each in app.get_by_key("short-answer").markdown] == ["200 chapters"]
    (missing,) = [each.value for each in app.warning]
    assert "who wrote it?" in missing and "how many chapters?" not in missing


@pytest.mark.parametrize(("status", "said"), [
    ("supported", ":green[:material/verified:] **1 of 1** citations checked, **1** confirmed"),
    ("unverified", ":orange[:material/rule:] 1 citation not verified"),
])  # fmt: skip
def test_whether_the_citations_hold_has_a_sign_of_its_own(visit: Visit, home: Path, status: Verdict, said: str) -> None:
    claim = "The harbour has 7 ships."
    run = LongRun(bench(home).store, LONG)
    run.rounds(2)
    run.add([ending(2, f"{claim} [1]", (Citation(1, claim, status, LINES[:80]),))])
    head_line = next(each.value for each in visit(home, run=LONG).markdown if "Answered]" in each.value)
    assert ":green-badge[:material/check_circle: Answered]" in head_line and said in head_line


def test_a_refusal_is_said_once(visit: Visit, home: Path) -> None:
    run = LongRun(bench(home).store, LONG)
    run.rounds(2)
    refusal = ending(2, "**No answer found.** The sources do not answer this question.", ())
    run.add([msgspec.structs.replace(refusal, outcome="no_evidence")])
    app = visit(home, run=LONG)
    (drawn,) = reports(app)
    assert report_text(drawn).strip() == "The sources do not answer this question."
    assert "search_off: No answer found]" in texts(app)


def test_a_refusal_that_shows_what_comes_closest_is_called_so(visit: Visit, home: Path) -> None:
    claim = "The harbour has 7 ships."
    run = LongRun(bench(home).store, LONG)
    run.rounds(2)
    near = ending(2, f"**No certain answer found.** {claim} [1]", (Citation(1, claim, "supported", LINES[:80]),))
    run.add([msgspec.structs.replace(near, outcome="no_evidence")])
    assert "search_off: No certain answer]" in texts(visit(home, run=LONG))


def test_a_run_whose_search_failed_offers_to_try_again(visit: Visit, home: Path) -> None:
    run = LongRun(bench(home).store, LONG)
    run.rounds(2)
    run.add([msgspec.structs.replace(ending(2, "**A search failed**", ()), outcome="tool_errors")])
    app = visit(home, run=LONG)
    assert "error: Tools failed]" in texts(app)
    assert "Try again" in [button.label for button in app.button]


def test_a_source_that_only_a_hidden_section_cites_has_no_card(visit: Visit, home: Path) -> None:
    run = LongRun(bench(home).store, LONG)
    run.rounds(2)
    run.finish("The harbour has 7 ships [1].\n\n### Evidence\n\n- Chronicle · Chapter 2: “It has 14 ships.” [2]", ())
    app = visit(home, run=LONG)
    assert [each.value for each in app.subheader if "Chronicle" in each.value] == ["1  Chronicle · Chapter 1"]
    (rest,) = [each for each in app.expander if each.label == "Also read (1)"]
    assert "Chronicle · Chapter 2" in rest.markdown[0].value


def test_a_failure_is_one_sentence_above_everything_and_its_remedies_are_buttons(visit: Visit, home: Path) -> None:
    run = LongRun(bench(home).store, LONG)
    run.rounds(2)
    error = "model 'openai:gpt-5-nano': the server answered 401: invalid api key"
    run.add([RunFailed(error=error, traceback="")])
    report = f"**The run failed.** {error}\n\nSeen so far:\n\n- Chapter one [1]"
    run.add([msgspec.structs.replace(ending(2, report), status="failed", outcome="failed", short="Chapter one")])
    app = visit(home, run=LONG)
    assert not app.exception
    (failure,) = app.error
    assert "401: invalid api key" in failure.value
    assert "Try again" in [each.label for each in app.button]
    assert "Open Settings" in [each.label for each in app.page_link]
    assert "error: Failed]" in texts(app)
    (drawn,) = reports(app)
    assert "401" not in report_text(drawn) and "Chapter one" in report_text(drawn)
    assert not any(each.value == "Chapter one" for each in app.markdown), "what was seen is no answer"


def test_a_round_is_named_by_its_call_and_the_words_beside_it_are_its_thought(
    visit: Visit, home: Path, tmp_path: Path
) -> None:
    call = {"name": "search", "arguments": {"query": "France exports"}}
    lines = [{"text": "I look for the exports of France first.", "calls": [call]}, {"text": "No figure was found."}]
    script = tmp_path / "native.jsonl"
    script.write_text("\n".join(json.dumps(line) for line in lines), encoding="utf-8")
    own = bench(home)
    for _ in own.engine.start(
        EXAMPLE_QUESTION, own.recipe(model=f"scripted:{script}", protocol="native"), LONG, here=True
    ).events():
        pass
    app = visit(home, run=LONG)
    assert app.get_by_key("rounds").expander[0].label.startswith("**1**  Search: France exports  \n")
    app.session_state[f"round-{LONG}-main-1"] = True
    assert "I look for the exports of France first." in texts(app.run())


def test_agents_that_work_at_once_have_lanes(visit: Visit, home: Path) -> None:
    own = bench(home)
    for _ in own.engine.start(
        EXAMPLE_QUESTION, own.recipe(framework="parallel", options={"framework.n": 2}), LONG, here=True
    ).events():
        pass
    (drawn,) = (json.loads(each.proto.json) for each in visit(home, run=LONG).get_by_key("lanes").get("bidi_component"))
    assert {lane["name"] for lane in drawn["lanes"]} == {"main", "run-1", "run-2"}
    bars = [bar for lane in drawn["lanes"] for bar in lane["spans"]]
    assert bars and all(0 <= start <= end <= 1 for _, start, end in bars)


def test_an_agent_that_has_asked_nothing_yet_has_an_empty_lane(visit: Visit, home: Path) -> None:
    run = LongRun(bench(home).store, LONG)
    run.rounds(2)
    run.add([ChildStarted(agent="main/branch-1", question="What do the chapters say?", recipe="react")])
    app = visit(home, run=LONG)
    assert not app.exception
    (drawn,) = (json.loads(each.proto.json) for each in app.get_by_key("lanes").get("bidi_component"))
    assert [(lane["name"], bool(lane["spans"])) for lane in drawn["lanes"]] == [("main", True), ("branch-1", False)]


def test_a_sentence_with_many_citations_is_drawn_with_all_of_them(visit: Visit, home: Path) -> None:
    run = LongRun(bench(home).store, LONG)
    run.rounds(2)
    marks = range(1, 8)
    claim = "The seven towns have a market"
    citations = tuple(Citation(n, claim, "dead") for n in marks)
    run.add([ending(2, f"{claim} {' '.join(f'[{n}]' for n in marks)}.", citations)])
    app = visit(home, run=LONG)
    assert not app.exception
    (report,) = reports(app)
    assert report_text(report).strip() == "The seven towns have a market\u202f{0}."
    (mark,) = report["marks"]
    assert (mark["n"], mark["v"], len(mark["c"])) == (list(marks), "dead", 7)


def test_a_statement_without_a_source_is_marked_in_the_report(visit: Visit, home: Path) -> None:
    run = LongRun(bench(home).store, LONG)
    run.rounds(2)
    claims = "The seven towns have 7 markets.", "Chapter 1 tells of the harbour."
    end = ending(2, f"{claims[0]} {claims[1][:-1]} [1].", (Citation(1, claims[1], "supported"),))
    run.add([msgspec.structs.replace(end, uncited=claims[:1])])
    (report,) = reports(visit(home, run=LONG))
    assert report_text(report).startswith("The seven towns have 7 markets.{0} Chapter 1 tells of the harbour\u202f{1}.")
    mark = report["marks"][0]
    assert (mark["n"], mark["label"], report["cites"][mark["c"][0]]["links"]) == ([], "No source", [])


def test_a_short_report_whose_sources_get_smaller_numbers_is_not_called_too_long(visit: Visit, home: Path) -> None:
    run = LongRun(bench(home).store, LONG)
    run.rounds(2)
    claim = "The seven towns have a market"
    run.add([ending(2, f"{claim} [12].", (Citation(12, claim, "dead"),))])
    app = visit(home, run=LONG)
    (report,) = reports(app)
    assert [mark["n"] for mark in report["marks"]] == [[1]]
    assert not [each.value for each in app.info if "too long" in each.value]


def test_an_earlier_round_labels_its_changes_to_the_report(visit: Visit, home: Path) -> None:
    run = LongRun(bench(home).store, LONG)
    run.rounds(60)
    run.finish()
    app = visit(home, run=LONG, round="50")
    report = app.get_by_key("report")
    assert "Report after round 50 · 1 new, 1 changed" in [caption.value for caption in report.caption]
    assert "1 removed" in {popover.proto.popover.label for popover in report.get("popover")}
    (drawn,) = reports(report)
    changed = {block["state"]: block for block in drawn["blocks"] if "state" in block}
    assert set(changed) == {"added", "changed"}
    assert "49 chapters were read so far" in changed["changed"]["before"]
    new = [piece["x"] for piece in changed["changed"]["s"] if isinstance(piece, dict) and piece.get("new")]
    assert new == ["50"], "only the words that are new are marked"
    # The finished report is for reading, so changes are not marked.
    press(app, "Go to the end")
    assert not any("state" in block for block in reports(app)[0]["blocks"])


def test_a_running_run_shows_its_latest_rounds_and_any_earlier_one(visit: Visit, home: Path) -> None:
    run = LongRun(bench(home).store, LONG)
    run.rounds(60)
    app = visit(home, run=LONG)
    assert "Round 60 of 200" in texts(app)
    assert r"\$0.06 of \$1.00" in texts(app).replace("\u00a0", " ")
    assert rounds(app) == [str(n) for n in range(26, 61)]
    press(app, "Replay")
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
        step.label for step in visit(home, run=LONG).get_by_key("rounds").expander if "Name the sections" in step.label
    )
    assert "  Name the sections: " in divided.split("  \n")[0]
    assert "the coastline of France" in divided and "'" not in divided and "{" not in divided
    calls = [CallView(ToolCall(f"c{n}", "search", {"query": f"coast {n}"}), 0.0) for n in (1, 2)]
    asked = RoundView("main", 1, 1, "act", "extractive", 0.0, 0, [], calls=calls)
    assert naming.line(RunView(), asked, 2.0).split("  \n") == [
        "**1**  Search: coast 1 +1",
        ":gray[:small[Search: coast 1 → … 2.0 s]]",
        ":gray[:small[Search: coast 2 → … 2.0 s]]",
    ]


def test_pages_whose_long_names_begin_alike_are_told_apart() -> None:
    begin = "Country comparison · Life expectancy at birth, total population, "
    places = ("South Asia", "Central Asia")
    view = RunView(sources={n: [Source(n, f"library://f/{n}", begin + place, "q")] for n, place in enumerate(places)})
    visits = [ToolCall(f"c{n}", "visit", {"url": f"library://f/{n}"}) for n in range(2)]
    south, central = (naming.action(view, each) for each in visits)
    assert south.endswith("South Asia") and central.endswith("Central Asia") and len(south) < 70


def test_tables_that_fit_are_named_by_their_files() -> None:
    seen = 'table staff (staff.xlsx › Pay, 4 rows)\n- name "Name": text\n\ntable one (one.csv, 1 row)\n- a "A": number'
    call = CallView(
        ToolCall("c1", "query", {"about": "Who earns most?"}), 0.0, Observation("c1", "query", seen, seconds=0.2)
    )
    asked = RoundView("main", 1, 1, "act", "m", 0.0, 0, [], calls=[call])
    assert naming.line(RunView(), asked, None).endswith("staff.xlsx › Pay, one.csv · 0.2 s]]")


@pytest.mark.parametrize(
    ("url", "address"),
    [("library://factbook/norway/energy", []), ("https://a.example/energy", [":gray[:small[a.example/energy]]"])],
)
def test_a_visit_is_named_by_its_page_and_its_address_and_goal_stand_apart(url: str, address: list[str]) -> None:
    call = ToolCall("c1", "visit", {"url": url, "goal": "electricity by source"})
    read = Observation("c1", "visit", "…", sources=(Source(1, url, "Norway · Energy", "…"),), seconds=0.2)
    asked = RoundView("main", 2, 2, "act", "m", 0.0, 0, [], calls=[CallView(call, 0.0, read)])
    known = RunView(sources={1: list(read.sources)})
    assert naming.line(known, asked, None).split("  \n") == [
        "**2**  Read Norway · Energy",
        *address,
        ":gray[:small[looking for: electricity by source]]",
        ":gray[:small[1 source · 0.2 s]]",
    ]
    unseen = plain("norway · energy" if "factbook" in url else url.removeprefix("https://"))
    assert naming.line(RunView(), asked, None).startswith(f"**2**  Read {unseen}")


def test_a_page_that_cannot_be_read_is_told_with_its_cause_and_without_its_address_twice() -> None:
    url = "https://energy.example/a/long/path/of/many/words/that/leaves/no/room"
    failed = Observation(
        "c1", "visit", f"{url} cannot be read (energy.example does not resolve)", ok=False, seconds=0.2
    )
    done = CallView(ToolCall("c1", "visit", {"url": url}), 0.0, failed)
    asked = RoundView("main", 2, 2, "act", "m", 0.0, 0, [], calls=[done])
    said = naming.line(RunView(), asked, None).split("  \n")
    assert said[1:] == [f":gray[:small[failed: {plain('cannot be read (energy.example does not resolve)')} · 0.2 s]]"]


def test_a_question_to_the_user_is_told_once() -> None:
    call = ToolCall("c1", "ask_user", {"question": "Which year?"})
    asked = RoundView("main", 1, 1, "act", "m", 0.0, 0, [], reply=Reply("", calls=(call,)), asked="Which year?")
    assert naming.line(RunView(), asked, None).split("  \n") == ["**1**  Ask you", ":gray[:small[Which year?]]"]


def test_a_calculation_is_told_by_its_result_rather_than_by_its_code() -> None:
    call = ToolCall("c1", "python", {"code": "values = {'Kenya': 70.4}\nprint(max(values))"})
    done = CallView(call, 0.0, Observation("c1", "python", "Kenya", seconds=0.2))
    asked = RoundView("main", 2, 2, "act", "m", 0.0, 0, [], calls=[done])
    assert naming.line(RunView(), asked, None).split("  \n") == ["**2**  Calculate", ":gray[:small[Kenya · 0.2 s]]"]


@pytest.mark.parametrize(
    ("purpose", "name"),
    [
        ("verify", "Checking citations"),
        ("scribe", "Summing up"),
        ("extract", "Reading a page"),
        ("conclude", "**3**  Writing the report"),
        ("outline", "**3**  Planning"),
        ("act", "**3**  Write the answer"),
    ],
)
def test_a_round_without_calls_is_named_by_its_phase(purpose: str, name: str) -> None:
    asked = RoundView("main", 3, 3, purpose, "m", 0.0, 0, [], reply=Reply("{}"), role=ROLE_OF[purpose])
    view = RunView(recipe=Recipe(framework="supervisor", context="evolving"))
    assert naming.line(view, asked, None).startswith(name)


def test_agents_and_the_tools_of_a_framework_have_chinese_names(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(language, "current", lambda: "zh")
    call = ToolCall("c1", "Section", {"name": "挪威的电力"})
    done = CallView(call, 0.0, Observation("c1", "Section", "已记录。"))
    asked = RoundView("main/researcher-1", 2, 2, "research", "m", 0.0, 0, [], calls=[done])
    view = RunView(recipe=Recipe(framework="supervisor"))
    assert naming.line(view, asked, None).splitlines()[0].strip() == "**2**  研究员 1 · 提交章节：挪威的电力"


def test_the_head_names_a_phase_instead_of_a_round(visit: Visit, home: Path) -> None:
    run = LongRun(bench(home).store, LONG)
    run.rounds(3)
    run.add([Asked(ask=4, round=3, purpose="verify", model="m")])
    drawn = texts(visit(home, run=LONG))
    assert "● Checking citations]" in drawn and "Round 3 of" not in drawn


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
    app.text_area(key=f"follow-up-text-{RUN}").set_value("And of Spain?")
    press(app, "Send")
    assert not app.exception
    following = app.query_params["run"]
    row = bench(answered).store.run(following)
    assert row.origin is not None
    assert (row.question, row.origin.how, row.origin.run) == ("And of Spain?", "follow_up", RUN)
    earlier = clip(EXAMPLE_QUESTION, 80)
    assert f"Follow-up to: {plain(earlier)}" in [link.label for link in app.page_link]
    listed = visit(answered, "runs").dataframe[0].value["Question"].tolist()
    assert clip(f"↳ And of Spain? (after “{earlier}”)", CELL) in listed
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


def test_the_question_is_added_to_a_set_that_evaluate_offers(visit: Visit, answered: Path) -> None:
    store = Workbench(load(home=answered)).store
    Sets(store).add("mine", Dataset("one", (Question("q1", "Who built it?"),)), "made")
    row = store.run(RUN)
    app = visit(answered, run=RUN)
    app.text_input(key=f"set-answer-{row.id}").set_value("4,853 km").run()
    app.button(key=f"set-add-{row.id}").click().run()
    assert not app.exception
    (saved,) = Sets(store).latest()
    assert saved.questions[1].question == row.question and saved.questions[1].answers == ("4,853 km",)
    app = visit(answered, "evaluate")
    app.selectbox(key="evaluate-dataset").select("set:mine").run()
    assert not app.exception and "mine: 2 questions" in "\n".join(each.value for each in app.caption)


def test_run_again_and_compare_are_links(visit: Visit, answered: Path) -> None:
    links = {link.label: link.proto.query_string for link in visit(answered, run=RUN).page_link}
    assert links["Run again"] == f"again={RUN}"
    assert links["Compare"] == f"runs={RUN}"


def test_a_paused_run_offers_only_to_resume(visit: Visit, home: Path) -> None:
    run = LongRun(bench(home).store, LONG)
    run.rounds(3)
    run.add([Paused()])
    app = visit(home, run=LONG)
    assert "pause_circle: Paused]" in texts(app)
    labels = [button.label for button in app.button]
    assert "Resume" in labels
    assert not {"Pause", "Stop", "Send"} & set(labels)


def test_a_run_that_cannot_reach_its_model_failed_and_is_tried_again_or_with_another(
    visit: Visit, home: Path, tmp_path: Path
) -> None:
    """The remedy names what the user set where they set it, and an address of this machine has not left it."""
    with FakeOpenAI() as server:
        url = server.base_url
    saved_settings.save(load(home=home), openai_base_url=url)
    own = bench(home)
    for _ in own.engine.start(EXAMPLE_QUESTION, own.recipe(model="openai:fake"), LONG, here=True).events():
        pass
    app = visit(home, run=LONG)
    (failure,) = app.error
    assert "the address in Settings" in failure.value and "OPENAI_BASE_URL" not in failure.value
    assert "Errno" not in failure.value
    assert "error: Failed]" in texts(app) and "Paused" not in texts(app)
    assert not {"Resume", "Finish now"} & {each.label for each in app.button}
    assert "Left this machine: nothing" in [each.value for each in app.caption]
    assert head.state(own.store.run(LONG)) == "Failed"
    app.selectbox(key="other-model").set_value("extractive").run()
    app.button(key="continue-with-model").click().run()
    assert not app.exception
    (other,) = (row for row in own.store.runs() if row.id != LONG)
    assert other.recipe.model == "extractive" and other.question == EXAMPLE_QUESTION


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


def test_the_requests_of_a_page_reader_are_rounds_of_their_own_agent(visit: Visit, home: Path, tmp_path: Path) -> None:
    folder = tmp_path / "pages"
    folder.mkdir()
    (folder / "line.md").write_text("The line owns four ships.", encoding="utf-8")
    bench(home).library.add_folder(folder)
    (page,) = bench(home).library.documents(str(folder))

    def reply(body: Body) -> FakeReply:
        if body["model"] == "reader":
            return FakeReply('{"summary": "", "quotes": ["The line owns four ships."]}')
        if any(message["role"] == "tool" for message in body["messages"]):
            return FakeReply("The line owns four ships [1].")
        return FakeReply("", [("visit", {"url": page.url, "goal": "ships"})])

    with FakeOpenAI(reply, models=("fake", "reader")) as server:
        opened = Workbench(load(home=home, openai_base_url=server.base_url))
        recipe = {"model": "openai:fake", "roles": {"reader": "openai:reader"}}
        run = research.run("How many ships does the line own?", workbench=opened, **recipe).run
    app = visit(home, run=run)
    assert not app.exception
    assert len(app.get_by_key("rounds").expander) == 3
    app = visit(home, run=run, agent="main/reader")
    assert not app.exception
    assert len(app.get_by_key("rounds").expander) == 1


def test_branches_that_answered_the_same_question_are_compared(visit: Visit, home: Path) -> None:
    opened = bench(home)
    recipe = opened.recipe(framework="parallel", options={"framework.n": 2})
    run = opened.engine.start(EXAMPLE_QUESTION, recipe, here=True)
    list(run.events())
    app = visit(home, run=run.run_id)
    assert "Where 2 branches agree" in [each.label for each in app.expander]
    (opening,) = [each for each in app.expander if each.label == "Where 2 branches agree"]
    app.session_state[opening.key] = True
    said = texts(app.run())
    assert "are in every branch" in said
    assert "**run-1** says the same" in said


def test_a_report_that_lost_much_is_told_on_its_page(visit: Visit, home: Path) -> None:
    run = LongRun(bench(home).store, LONG)
    run.rounds(3)
    facts = [f"Town {n} has {n * 17} people [1]." for n in range(1, 7)]
    source = Source(1, "https://example.org/", "Towns", "\n".join(facts).replace(" [1]", ""))
    seen = Observation("x", "search", "", True, (source,))
    run.add([ToolFinished(observation=seen), ReportUpdated(report="\n".join(facts)), ReportUpdated(report=facts[0])])
    run.add([ending(3)])
    app = visit(home, run=LONG)
    assert any("no longer contains 5 of 6 supported statements" in each.value for each in app.warning)
    assert "What the report kept, round by round" in [each.label for each in app.expander]


def test_a_web_source_links_the_copy_of_it_that_is_kept(visit: Visit, home: Path) -> None:
    own = bench(home)
    run = LongRun(own.store, LONG)
    run.rounds(2)
    run.finish()
    own.library.pages.keep(FetchedPage("https://chronicle.example/1", "Chapter 1", LINES, "text/html"))
    own.library.close()
    app = visit(home, run=LONG)
    copies = [each.proto for each in app.get("page_link") if each.proto.label == "Open the kept copy"]
    (parameters,) = [parse_qs(each.query_string) for each in copies if each.page == "library"]
    assert parameters["doc"] == ["https://chronicle.example/1"]
    assert parameters["quote"][0] in LINES


def test_a_question_in_a_report_names_a_document_without_its_page(visit: Visit, home: Path) -> None:
    run = LongRun(bench(home).store, LONG)
    run.rounds(2)
    minutes = Source(3, "library://notes/minutes.pdf", "minutes.pdf › page 1", "The bridge costs 3 million euros.")
    run.add([ToolFinished(observation=Observation("main-2-1", "search", LINES, sources=(minutes,)))])
    asked = "What will minutes.pdf › page 1 cost?"
    run.finish(f"## {asked}\n\nThe bridge costs 3 million euros [3].\n\nUnderstood as: {asked}", ())
    (report,) = reports(visit(home, run=LONG))
    assert report_text(report).count("What will minutes.pdf cost?") == 2


def test_a_quote_stands_once_with_its_source_and_not_in_the_report_too(visit: Visit, answered: Path) -> None:
    row = bench(answered).store.runs(limit=1)[0]
    view = fold(bench(answered).store.events(row.id))
    assert "\n### Evidence" in view.report
    app = visit(answered, "ask", run=row.id)
    (report,) = reports(app)
    assert "Evidence" not in report_text(report)
    quotes = [each.value for each in app.get_by_key("source-card-1").markdown if each.value.startswith("> ")]
    assert len(quotes) == len(set(quotes)) == 2


def test_a_source_that_an_answer_only_quotes_has_the_passage_on_its_card(visit: Visit, home: Path) -> None:
    quote = "Employees may work from home up to two days a week."
    handbook = Source(3, "library://notes/handbook.docx", "Employee Handbook", quote)
    run = LongRun(bench(home).store, LONG)
    run.rounds(2)
    run.add([ToolFinished(observation=Observation("main-2-1", "search", quote, sources=(handbook,)))])
    report = f"Employee Handbook: “{quote}” [3]"
    run.finish(report, check(report, [handbook]))
    card = visit(home, run=LONG).get_by_key("source-card-1")
    assert [each.value for each in card.markdown if each.value.startswith("> ")] == [f"> {quote}"]


def test_the_winner_of_a_comparison_is_shown_with_its_figure() -> None:
    rates = ((1, "Spain", "11.4%"), (2, "Italy", "6.8%"))
    sources = [
        Source(n, f"library://book/{n}", f"{name} · Economy", f"Unemployment rate 2024: {rate} (2024 est.)")
        for n, name, rate in rates
    ]
    report = " ".join(f"The unemployment rate of {name} was {rate} in 2024 [{n}]." for n, name, rate in rates)
    view = RunView(
        run=LONG,
        question="Which is higher?",
        status="completed",
        outcome="answered",
        report=report,
        short="Spain",
        citations=check(report, sources),
        sources={each.n: [each] for each in sources},
    )
    assert headline(view) == "Spain: 11.4%"
    assert headline(replace(view, short="Greece")) == "Greece"
    assert headline(replace(view, citations=view.citations[1:], short="Italy")) == "Italy: 6.8%", "without a chart"


def test_a_calculation_says_what_its_results_are() -> None:
    def told(code: str, printed: str) -> list[str]:
        seen = Observation("1", "python", printed)
        return naming._sums(ToolCall("1", "python", {"code": code}), seen)

    code = "values = {'Kenya': 3, 'Ghana': 2}\nprint(max(values))\nprint(round(3 - 2, 6))\nprint(round(3 / 2, 4))"
    assert told(code, "Kenya\n1\n1.5\n") == ["Kenya", "3 - 2 = 1", "3 / 2 = 1.5"]
    assert told("for n in (1, 2):\n    print(n)", "1\n2") == []
    assert told("no code", "1") == []
