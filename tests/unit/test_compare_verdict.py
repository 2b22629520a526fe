"""The verdict on compared runs."""

from __future__ import annotations

from typing import Any

import pytest

from research.compare.run_verdict import verdict
from research.events.view import RunView
from research.types import Outcome


def run(report: str, short: str = "", tokens: int = 1_000, outcome: Outcome | None = "answered") -> RunView:
    view = RunView()
    view.status, view.outcome, view.report, view.short = "completed", outcome, report, short
    view.prompt_tokens = tokens
    return view


def kind(*views: RunView) -> str:
    return verdict(views).kind


FRANCE = "Real GDP of France was $3.732 trillion in 2024 [1]."


def test_equal_short_answers_are_the_same_answer() -> None:
    assert kind(run(FRANCE, "$3.732 trillion"), run("It was $3.732 trillion.", "$3.732  Trillion")) == "same"
    assert kind(run(FRANCE, "3.732 trillion dollars"), run(FRANCE, "$3.732 trillion (2024)")) == "differ"
    assert kind(run("Yes, it is [1].", "Yes"), run("No, it is not [1].", "No")) != "same"


def test_answers_without_a_short_one_are_compared_by_statement() -> None:
    assert kind(run(FRANCE), run(FRANCE)) == "same"
    assert kind(run(FRANCE), run("Its coastline is 4,853 km long [1].")) == "compatible"


def test_a_contradiction_is_named_with_both_quotes() -> None:
    found = verdict([run(FRANCE, "3.732"), run(FRANCE.replace("3.732", "4.1"), "3.732")])
    assert found.kind == "disagree"
    (dispute,) = found.disputes
    assert ("3.732" in dispute.text, "4.1" in dispute.quote) == (True, True)
    assert {dispute.run, dispute.other} == {0, 1}


@pytest.mark.parametrize(
    ("outcomes", "wanted"),
    [(("answered", "no_evidence"), "one"), (("partly_answered", "failed"), "none"), (("answered",) * 2, "same")],
)
def test_only_full_answers_are_compared(outcomes: tuple[Any, Any], wanted: str) -> None:
    assert kind(*(run(FRANCE, "3.732", outcome=outcome) for outcome in outcomes)) == wanted


def test_the_run_that_took_less_is_named_with_the_difference() -> None:
    found = verdict([run(FRANCE, "x", 1_000), run(FRANCE, "x", 600), run(FRANCE, "x", 10, "partly_answered")])
    assert found.full == (0, 1)
    assert found.tokens is not None
    assert (found.tokens.run, found.tokens.next, found.tokens.share) == (1, 0, 0.4)
    assert found.seconds is None


def test_a_run_that_took_clearly_more_than_two_equal_ones_is_told() -> None:
    found = verdict([run(FRANCE, "x", 1_000), run(FRANCE, "x", 1_300), run(FRANCE, "x", 980)])
    assert found.tokens is not None and (found.tokens.run, found.tokens.next) == (2, 1)


@pytest.mark.parametrize(("tokens", "alike"), [((1_000, 950), True), ((1_000, 950, 100), False), ((1_000, 800), False)])
def test_runs_took_about_the_same_only_within_a_tenth(tokens: tuple[int, ...], alike: bool) -> None:
    assert verdict([run(FRANCE, "x", each) for each in tokens]).alike == alike


def test_the_cheaper_run_is_named_where_all_prices_are_known() -> None:
    cheap, dear, unknown = (run(FRANCE, "x") for _ in range(3))
    cheap.cost_usd, dear.cost_usd, unknown.cost_usd = 0.01, 0.05, None
    found = verdict([dear, cheap])
    assert found.cost is not None and (found.cost.run, round(found.cost.amount, 2)) == (1, 0.04)
    assert verdict([dear, cheap, unknown]).cost is None


def test_quotes_behind_an_answer_are_no_statements_of_it() -> None:
    quotes = f"{FRANCE}\n\n### Evidence\n\n- France · Economy: “Real GDP 2024: $3.732 trillion (2024 est.)” [1]\n"
    found = verdict([run(quotes), run(FRANCE)])
    assert (found.kind, found.shared, found.statements) == ("same", 1, 1)
