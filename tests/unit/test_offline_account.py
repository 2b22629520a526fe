"""What the offline model says of its answer: the parts of a question, what answers them, and the short answer."""

from __future__ import annotations

from typing import Any

import pytest

from research.citations import check
from research.models.extractive.asked import options, parts_of
from research.models.extractive.assessing import Assessment, assess
from research.types import Citation, Source

JAPAN = Source(
    1,
    "https://example.org/japan",
    "Japan",
    "Population: 123,201,945 (2024 est.)\nCapital, name: Tokyo",
)


def judged(question: str, report: str, *sources: Source) -> Assessment:
    """Return what the gate says of a report whose citations the rules have checked."""
    return assess(question, report, check(report, sources), sources)


@pytest.mark.parametrize(
    ("question", "parts"),
    [
        ("What is the capital of Japan?", ["What is the capital of Japan?"]),
        ("How large is Lebanon, how long is its coast, and what is its highest summit called?",
         ["How large is Lebanon", "how long is its coast", "what is its highest summit called?"]),
        ("Who is the king of Thailand? What was it called before?",
         ["Who is the king of Thailand?", "What was it called before?"]),
        ("For a fact box on Rwanda: capital, number of inhabitants, and the share of people living in towns.",
         ["Rwanda: capital", "Rwanda: number of inhabitants", "Rwanda: the share of people living in towns"]),
        ("What are Ukraine's top export commodity and its largest export market?",
         ["What are Ukraine's top export commodity", "its largest export market?"]),
        ("Compare the area and population of Japan, China and India.",
         ["Compare the area and population of Japan, China and India."]),
        ("Is obesity more common in Mexico or in Argentina? Percentages too, please.",
         ["Is obesity more common in Mexico or in Argentina? Percentages too, please."]),
        ("沙特阿拉伯的石油储量和日产量分别是多少？", ["沙特阿拉伯的石油储量是多少", "沙特阿拉伯的日产量是多少"]),
    ],
)  # fmt: skip
def test_a_question_is_split_where_it_asks_for_several_things(question: str, parts: list[str]) -> None:
    assert [part.text for part in parts_of(question)] == parts


@pytest.mark.parametrize(
    ("question", "chosen"),
    [
        ("Is the capital of Australia Sydney or Canberra?", ("Sydney", "Canberra")),
        ("Is Eswatini a republic or a monarchy?", ("republic", "monarchy")),
        ("土耳其的首都是伊斯坦布尔还是安卡拉？", ("伊斯坦布尔", "安卡拉")),
        ("Are there ten or more airports in Chad?", ()),
        ("How many people live in Japan?", ()),
    ],
)
def test_the_options_of_a_choice_are_found(question: str, chosen: tuple[str, ...]) -> None:
    assert options(question) == chosen


def test_a_half_answered_question_is_partly_answered() -> None:
    found = judged("How many people live in Japan, and who is its emperor?", "Japan has 123,201,945 people [1].", JAPAN)
    assert found.outcome == "partly_answered"
    assert [part.status for part in found.parts] == ["answered", "not_found"]
    assert "emperor" in found.parts[1].reason


@pytest.mark.parametrize("status", ["contradicted", "unsupported", "dead"])
def test_a_report_none_of_whose_citations_holds_answers_nothing(status: Any) -> None:
    citations = [Citation(1, "Japan has 123,201,945 people.", status, by="model:judge")]
    report = "Japan has 123,201,945 people [1]."
    found = assess("How many people live in Japan?", report, citations, [JAPAN])
    assert (found.outcome, found.parts[0].reason) == ("no_evidence", "none of the cited statements holds")


def test_an_unverified_statement_may_answer() -> None:
    citations = [Citation(1, "Japan has 123,201,945 people.", "unverified", "Population: 123,201,945 (2024 est.)")]
    report = "Japan has 123,201,945 people [1]."
    assert assess("How many people live in Japan?", report, citations, [JAPAN]).outcome == "answered"


def test_an_assignment_is_judged_by_its_names_only() -> None:
    question = "Write an overview of the political and economic development of Japan."
    assert judged(question, "Japan has 123,201,945 people [1].", JAPAN).outcome == "answered"
    assert (
        judged(question.replace("Japan", "Peru"), "Japan has 123,201,945 people [1].", JAPAN).outcome == "no_evidence"
    )


@pytest.mark.parametrize(
    "said", ["grew by 3 %", "was 3 % higher than before", "shrank 3 %", "is up 3 %", "made a gain of 3 %"]
)
def test_a_change_may_be_told_in_any_words(said: str) -> None:
    told = f"The output of Japan {said} in 2024"
    source = Source(1, "https://example.org/japan", "Japan", f"{told}.")
    assert judged("By how much did the output of Japan change in 2024?", f"{told} [1].", source).outcome == "answered"


def test_a_figure_alone_is_no_change() -> None:
    assert judged(
        "By how much did the population of Japan change?", "Japan has 123,201,945 people [1].", JAPAN
    ).outcome == ("no_evidence")


@pytest.mark.parametrize(
    ("question", "report", "short"),
    [
        (
            "How many people live in Japan?",
            "Japan: Population: 123,201,945 (2024 est.) [1].",
            "123,201,945 (2024 est.)",
        ),
        ("What is the capital of Japan?", "The capital of Japan is Tokyo [1].", "Tokyo"),
        ("Is the capital of Japan Kyoto or Tokyo?", "The capital of Japan is Tokyo [1].", "Tokyo"),
        ("Is Tokyo the capital of Japan?", "Yes, Tokyo is the capital of Japan [1].", "yes"),
        ("Describe Japan.", "The capital of Japan is Tokyo [1].", ""),
        (
            "Which has more people: Peru or Japan?",
            "# Which has more people: Peru or Japan?\n\n**Japan** has the highest total population: 123,201,945 [1].",
            "Japan",
        ),
    ],
)
def test_the_short_answer_is_a_span_of_the_kind_that_is_asked_for(question: str, report: str, short: str) -> None:
    assert judged(question, report, JAPAN).short == short


def test_a_short_answer_ends_at_its_figure() -> None:
    line = "Electricity generation sources: hydroelectricity: 89.1% of total installed capacity"
    source = Source(1, "https://example.org/norway", "Norway · Energy", line)
    question = "What share of Norway's electricity generation is hydroelectricity?"
    assert judged(question, f"Norway: {line} [1].", source).short == "89.1%"


def test_a_change_has_a_value_and_a_calculated_figure_as_its_short_answer() -> None:
    lines = "Real GDP (purchasing power parity) 2024: $3.732 trillion\nReal GDP (purchasing power parity) 2023: $3.689 trillion"
    report = (
        "**France**: Real GDP (purchasing power parity) rose by **1.2 %**, "
        "from $3.689 trillion in 2023 [1] to **$3.732 trillion** in 2024 [1]."
    )
    question = (
        "What was France's real GDP (purchasing power parity) in {}, and by how much did it grow compared with {}?"
    )
    source = Source(1, "https://example.org/france", "France · Economy", lines)
    assert judged(question.format(2024, 2023), report, source).short == "$3.732 trillion; 1.2 %"
    assert judged(question.format(2023, 2024), report, source).short == "$3.689 trillion; 1.2 %"
    invented = report.replace("1.2 %", "4.9 %")
    assert judged(question.format(2024, 2023), invented, source).short == ""


COAL = Source(
    1, "https://example.org/1", "Kenya · Energy",
    "Coal, production: 12 million metric tons (2023 est.)\nCoal, consumption: 9 million metric tons (2023 est.)\n"
    "Coal, exports: 3 million metric tons (2023 est.)",
)  # fmt: skip
EXPORTED = "Out of all the coal that Kenya digs up, what per cent goes abroad?"


def wanted(_: str, line: str) -> str:
    """Say that a question wants the exports divided by the production."""
    return next(
        (f"÷{n}/2" for n, label in enumerate(("Coal, exports", "Coal, production")) if line.startswith(label)), ""
    )


@pytest.mark.parametrize(
    ("report", "outcome"),
    [
        ("Kenya: 25%, the share of Coal, exports 3 million metric tons in Coal, production 12 million metric tons [1].",
         "answered"),
        ("Kenya: 33.33%, the share of Coal, exports 3 million metric tons in Coal, consumption 9 million metric tons [1].",
         "no_evidence"),
        ("Kenya: 75%, the share of Coal, consumption 9 million metric tons in Coal, production 12 million metric tons [1].",
         "no_evidence"),
        ("Kenya: 400%, the share of Coal, production 12 million metric tons in Coal, exports 3 million metric tons [1].",
         "no_evidence"),
        ("Kenya: 9 million metric tons, which is Coal, production 12 million metric tons minus Coal, exports 3 million "
         "metric tons [1].", "no_evidence"),
    ],
)  # fmt: skip
def test_a_calculation_answers_only_with_the_lines_and_the_operation_asked_for(report: str, outcome: str) -> None:
    found = assess(EXPORTED, report, check(report, [COAL]), [COAL], asks_for=wanted)
    assert (found.outcome or "answered") == outcome, found
