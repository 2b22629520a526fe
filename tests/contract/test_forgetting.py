"""What an evolving report forgot: the share of supported statements that the next version no longer contains."""

from __future__ import annotations

import pytest

from research.citations.forgetting import Loss, losses
from research.evaluation.questions import Question
from research.evaluation.scorers import measure
from research.events import events as e
from research.events.recipe import Recipe
from research.events.view import RunView, fold, forgotten
from research.exports.progress import summary
from research.types import Observation, Outcome, Source, ToolCall
from tests.long_run import of_round, report

SOURCES = [
    Source(
        1, "https://a.example", "Japan", "Population: 123,201,945 (2024 est.). Capital: Tokyo. Area: 377,915 sq km."
    ),
    Source(2, "https://b.example", "Peru", "Population: 32,600,249 (2024 est.). The capital of Peru is Lima."),
]
PEOPLE = "Japan has a population of 123,201,945 [1]."
AREA = "Japan has an area of 377,915 sq km [1]."
PERU = "Peru has a population of 32,600,249 [2]."
LIMA = "The capital of Peru is Lima [2]."


def bare(*statements: str) -> tuple[str, ...]:
    return tuple(each.replace(" [1]", "").replace(" [2]", "") for each in statements)


def of(*versions: str) -> list[Loss]:
    return losses(list(enumerate(versions, 1)), SOURCES)


def test_a_supported_statement_that_is_gone_is_lost() -> None:
    assert of(f"{PEOPLE}\n{PERU}", f"## Later\n\n- {PEOPLE}") == [Loss(2, 2, bare(PERU))]


@pytest.mark.parametrize(
    "kept",
    [
        f"{PERU} {PEOPLE}",
        "123,201,945 is the population of Japan [1]. Peru has a population of 32,600,249.",
        f"{PEOPLE} {PERU} And more.",
    ],
)
def test_moved_reworded_and_unmarked_statements_are_kept(kept: str) -> None:
    assert of(f"{PEOPLE}\n{PERU}", kept) == [Loss(2, 2)]


def test_what_was_yet_to_be_verified_is_not_lost() -> None:
    assert of(f"### Confirmed\n{AREA}\n### To verify\n{PEOPLE}\n{PERU}\n{LIMA}", AREA) == [Loss(2, 1)]


def test_another_figure_is_a_loss_and_an_unsupported_statement_is_none() -> None:
    assert of(f"{PEOPLE}\nJapan has 9 people [1].\nMany live in Tokyo.", "Japan has a population of 5,000 [1].") == [
        Loss(2, 1, bare(PEOPLE))
    ]


def test_a_version_lost_much_from_three_statements_and_a_third() -> None:
    all_ = (PEOPLE, AREA, PERU, LIMA)
    (few,), (much,) = of("\n".join(all_), f"{PEOPLE}\n{AREA}"), of("\n".join(all_), PEOPLE)
    assert (few.share, few.much) == (0.5, False)
    assert (much.share, much.much) == (0.75, True)


def run_with(*versions: str, agent: str = "main", outcome: Outcome = "answered") -> RunView:
    call = ToolCall("main-1-1", "search", {"query": "Japan"})
    seen = Observation(call.id, "search", "", sources=tuple(SOURCES))
    events: list[e.Event] = [e.RunStarted(question="How many?", recipe=Recipe())]
    if agent != "main":
        events.append(e.ChildStarted(agent=agent, question="How many?", recipe=""))
    for number, text in enumerate(versions, 1):
        events.append(e.Asked(agent=agent, ask=number, round=number, purpose="act", model="m"))
        events.append(e.ReportUpdated(agent=agent, report=text))
    events += [e.ToolStarted(agent=agent, call=call), e.ToolFinished(agent=agent, observation=seen)]
    events.append(e.RunFinished(status="completed", outcome=outcome, answer="", report=versions[-1]))
    return fold(events)


@pytest.mark.parametrize("agent", ["main", "main/run-1"])
def test_the_loss_is_told_and_measured(agent: str) -> None:
    view = run_with("\n".join((PEOPLE, AREA, PERU, LIMA)), f"{PEOPLE}", PEOPLE, agent=agent)
    gone = bare(AREA, PERU, LIMA)
    assert forgotten(view) == {agent: [Loss(2, 4, gone), Loss(3, 1)]}
    where = "" if agent == "main" else f"{agent}: "
    assert f"{where}the report of round 2 no longer contains 3 of 4 supported statements" in summary(view)
    assert measure(Question("q", "How many?"), view, lambda source: ()).report_kept == 1 - 3 / 5


def test_a_refusal_is_not_told_as_a_loss() -> None:
    assert "no longer contains" not in summary(
        run_with("\n".join((PEOPLE, AREA, PERU, LIMA)), "", outcome="no_evidence")
    )


def test_runs_without_a_second_version_have_nothing_to_forget() -> None:
    view = run_with(PEOPLE)
    assert forgotten(view) == {}
    assert measure(Question("q", "How many?"), view, lambda source: ()).report_kept is None


def test_a_report_that_drops_its_oldest_chapter_loses_one_statement_a_round() -> None:
    events: list[e.Event] = [event for number in range(1, 46) for event in of_round(number)]
    (found,) = forgotten(fold([e.RunStarted(question="?", recipe=Recipe()), *events])).values()
    assert report(45) in [event.report for event in events if isinstance(event, e.ReportUpdated)]
    assert len(found) == 44
