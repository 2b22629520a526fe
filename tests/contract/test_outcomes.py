"""What a run is worth: by what its answer cites and says of itself, never by its words."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator, Sequence

import pytest

import research
from research import plugins
from research.agent.context import Steps
from research.agent.run import Run
from research.events import events as e
from research.events.view import RunView, fold
from research.types import Answer, Citation, Part
from research.workbench.workbench import Workbench
from tests.registrations import registering

Script = Callable[..., str]
QUESTION = "How many people live in Japan, and who is its emperor?"
SEARCH = '<tool_call>{"name": "search", "arguments": {"query": "Japan population total"}}</tool_call>'
SAID = "Japan: Population, total: 123,201,945 (2024 est.) [1]."
FOUND = '<part status="answered">how many people live in Japan</part>'
MISSING = '<part status="not_found" reason="no page names him">who is its emperor</part>'


def ask(bench: Workbench, script: Script, *answer: str, question: str = QUESTION, **recipe: object) -> RunView:
    text = "\n\n".join(answer)
    return research.run(question, workbench=bench, model=script(SEARCH, f"<answer>{text}</answer>"), **recipe)  # type: ignore[arg-type]


@pytest.mark.parametrize(
    "question",
    [
        "Answer in Markdown: how many people live in Japan?",
        "I work for Acme. How many people live in Japan? Thanks, Anna",
        "Read library://factbook/japan/people-and-society and tell me how many people live there.",
        "일본에는 몇 명이 살고 있습니까?",
        "Wie viele Menschen leben in Japan?",
        "كم عدد سكان اليابان؟",
    ],
)
def test_the_words_of_a_question_do_not_decide_what_the_answer_is_worth(
    bench: Workbench, script: Script, question: str
) -> None:
    view = ask(bench, script, SAID, question=question)
    assert (view.outcome, view.short, view.parts) == ("answered", "", ())


@pytest.mark.parametrize("framework", ["react", "tool_rounds"])
def test_the_same_replies_end_the_same_way_again_in_the_same_home(
    bench: Workbench, script: Script, framework: str
) -> None:
    vague = "The country is among the larger ones of Asia [1]."  # what the rules leave open
    outcomes = [ask(bench, script, SAID, vague, framework=framework).outcome for _ in range(3)]
    assert outcomes == ["answered"] * 3


def test_the_short_answer_and_the_parts_are_those_that_the_model_gives(bench: Workbench, script: Script) -> None:
    view = ask(bench, script, SAID, "<short>123,201,945</short>", FOUND, MISSING)
    assert (view.outcome, view.short) == ("partly_answered", "123,201,945")
    assert view.parts[1] == Part("who is its emperor", "not_found", "no page names him")
    assert "<" not in view.report
    last = view.rounds[-1].reply
    assert last
    assert last.answer == SAID


@pytest.mark.parametrize(
    ("answer", "outcome"),
    [
        ((SAID, MISSING), "no_evidence"),
        ((SAID, "Its emperor is named nowhere [99]."), "partly_answered"),
        (("Japan: Population, total: 99,000,000 (2024 est.) [1].",), "no_evidence"),
        (("Nothing was found.", FOUND), "no_evidence"),
    ],
)
def test_an_outcome_follows_from_what_is_cited_and_what_is_missing(
    bench: Workbench, script: Script, answer: tuple[str, ...], outcome: str
) -> None:
    view = ask(bench, script, "<short>99</short>", *answer)
    assert view.outcome == outcome
    assert bool(view.short) == (outcome != "no_evidence")


@pytest.mark.parametrize(
    ("replies", "outcome"),
    [
        (("Japan has 123,201,945 people [1].",), "answered"),
        (("Japan has 123,201,945 people [web:2].",), "no_evidence"),
        ((), "no_evidence"),
    ],
)
def test_a_model_whose_marks_lead_nowhere_is_asked_once_for_numbers(
    bench: Workbench, script: Script, replies: tuple[str, ...], outcome: str
) -> None:
    answers = [f"<answer>{text}</answer>" for text in ("Japan has 123,201,945 people [web:1].", *replies)]
    view = research.run(QUESTION, workbench=bench, model=script(SEARCH, *answers))
    assert view.outcome == outcome
    asked = [event for event in bench.store.events(view.run) if isinstance(event, e.Asked)]
    assert [each.purpose for each in asked] == ["act", "act", "conclude"]
    assert "[web:1]" in asked[-1].messages[-1].content and "[web:" not in view.report


def test_what_an_approved_plan_got_is_what_the_answer_says_of_its_items(bench: Workbench, script: Script) -> None:
    plan = {"text": "- How many people live in Japan?\n- Who is its emperor?", "purpose": "propose"}
    for said, done in ((f"{FOUND}\n{MISSING}", ["answered", "not_found"]), ("", [])):
        view = research.run(
            QUESTION, workbench=bench, model=script(plan, SEARCH, f"<answer>{SAID}\n\n{said}</answer>"), plan="approve"
        )
        for _ in bench.engine.resume(view.run, plan=view.plan, here=True).events():
            pass
        view = fold(bench.store.events(view.run))
        assert [part.status for part in view.plan_done] == done
        assert ("no page names him" in view.report) == bool(done)


VERDICT = json.dumps({"verdicts": [{"claim": 1, "verdict": "supported", "lines": [1]}]})


def judgement(answered: object) -> str:
    return json.dumps({"parts": [{"part": 1, "answered": answered, "reason": "it gives no number"}]})


@pytest.mark.parametrize(
    ("reply", "status", "warned"),
    [
        (judgement(True), "answered", False),
        (judgement(False), "not_found", False),
        (judgement("perhaps"), "answered", True),
        ("No idea.", "answered", True),
    ],
)
def test_a_judge_can_take_a_part_back_and_one_that_errs_changes_nothing(
    bench: Workbench, script: Script, reply: str, status: str, *, warned: bool
) -> None:
    judged = [
        {"text": text, "purpose": "verify", "agent": f"main/{agent}"}
        for agent, text in (("judge-1", VERDICT), ("parts", reply))
    ]
    model = script(SEARCH, f"<answer>{SAID}\n\n{FOUND}</answer>", *judged)
    view = research.run(QUESTION, workbench=bench, model=model, judge=f"model:{model}")
    assert [part.status for part in view.parts] == [status]
    assert view.outcome == ("answered" if status == "answered" else "no_evidence")
    warnings = [event.text for event in bench.store.events(view.run) if isinstance(event, e.Warned)]
    assert any("whether the answer has all parts" in text for text in warnings) == warned


@pytest.fixture
def check() -> Iterator[Callable[..., None]]:
    """Register a function as an answer check, until the end of the test."""
    with registering():
        yield lambda function: plugins.register("answer_check", function, "Length")


def test_an_answer_with_a_finding_is_shown_with_it(
    bench: Workbench, script: Script, check: Callable[..., None]
) -> None:
    def lengthy(question: str, answer: str, citations: Sequence[Citation]) -> str | None:
        """Ask for more."""
        return f"{len(citations)} citation of {question[:9]}" if len(answer) < 1_000 else None

    check(lengthy)
    view = ask(bench, script, SAID)
    assert view.outcome == "rejected"
    warned = [event.text for event in bench.store.events(view.run) if isinstance(event, e.Warned)]
    assert warned == ["Length: 1 citation of How many "]


def test_a_check_that_fails_says_so_and_loses_nothing(
    bench: Workbench, script: Script, check: Callable[..., None]
) -> None:
    def broken(question: str, answer: str, citations: Sequence[Citation]) -> str | None:
        """Fail."""
        raise KeyError(question)

    check(broken)
    view = ask(bench, script, SAID)
    assert (view.outcome, view.report) == ("rejected", SAID)
    assert any("could not check the answer: KeyError" in each for each in view.rounds[-1].notes)


def test_a_run_folds_the_same_whatever_is_installed_today(bench: Workbench, script: Script) -> None:
    def digging(run: Run) -> Steps[Answer]:
        """Dig."""
        return Answer.of((yield from run.ask("dig", tools=())))

    with registering():
        plugins.register("framework", digging, "Digging", prompt="react", purposes={"dig": "planner"}, steps=("dig",))
        model = script({"text": "<answer>Nothing.</answer>", "purpose": "dig"})
        view = research.run(QUESTION, workbench=bench, model=model, framework="digging")
        assert (view.round_count(), view.rounds[0].role) == (1, "planner")
    assert fold(bench.store.events(view.run)) == view
