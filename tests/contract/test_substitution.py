"""A measure is not answered by another: a question for a part of what a figure is of is refused, and told so."""

from __future__ import annotations

import pytest

import research
from research.workbench.workbench import Workbench


@pytest.mark.examples(3)
@pytest.mark.parametrize(
    ("question", "word"),
    [
        ("What share of Poland's electricity comes from coal?", "coal"),
        ("How much crude oil does Norway produce?", "crude"),
        ("How much diesel does Brazil consume?", "diesel"),
        ("How much rice does Thailand export?", "rice"),
        ("What are the gold reserves of India?", "gold"),
        ("How many people in Kenya speak Swahili?", "speak"),
        ("How many people visit Spain each year?", "visit"),
        ("泰国出口多少大米？", "大米"),
        ("越南的咖啡出口量是多少？", "咖啡"),
        ("挪威的原油产量是多少？", "原油"),
    ],
)
def test_a_part_of_what_a_figure_is_of_is_not_answered_by_the_figure(
    bench: Workbench, question: str, word: str
) -> None:
    view = research.run(question, workbench=bench)
    assert view.outcome == "no_evidence", view.answer
    assert word in view.parts[0].reason
    assert f"“{word}”" in view.answer.split("\n")[0]  # what a page and an export say


@pytest.mark.examples(2)
@pytest.mark.parametrize(
    ("question", "figure"),
    [
        ("What share of Poland's electricity comes from coal, oil and gas?", "72.7%"),
        ("What are the foreign exchange and gold reserves of India?", "$643.043 billion"),
        ("How much oil does Norway produce?", "2.02 million"),
        ("How many people live in Kenya?", "55,751,717"),
    ],
)
def test_all_of_what_a_figure_is_of_is_answered(bench: Workbench, question: str, figure: str) -> None:
    assert figure in research.run(question, workbench=bench).short


@pytest.mark.examples(2)
@pytest.mark.parametrize(
    ("question", "answer"),
    [
        ("Which country produces the most oil?", "United States"),  # not the most ports with oil terminals
        ("Which country has the largest gold reserves?", ""),
        ("Which European country gets the largest share of its electricity from coal?", ""),
    ],
)
def test_countries_are_not_ranked_by_another_measure(bench: Workbench, question: str, answer: str) -> None:
    view = research.run(question, workbench=bench)
    assert view.short == answer
    assert (view.outcome == "no_evidence") == (not answer)


@pytest.mark.parametrize(
    ("question", "figures"),
    [
        ("What is the population of Kenya and how fast is it growing?", "55,751,717 (2025 est.); 2.15% (2025 est.)"),
        ("What share of Morocco's people live in cities and how quickly is that growing?", "1.88% annual rate"),
        ("越南的人口有多少，增长多快？", "0.86%"),
    ],
)
def test_its_growth_is_that_of_what_was_asked_before(bench: Workbench, question: str, figures: str) -> None:
    assert figures in research.run(question, workbench=bench).short


@pytest.mark.examples(2)
@pytest.mark.parametrize(
    ("question", "answer"),
    [
        ("How much does Switzerland spend on education?", "4.9% of GDP (2022 est.)"),  # it has no other such figure
        ("When are the next elections in Sweden?", "September 2026"),  # nobody elects its king
        ("俄罗斯男女预期寿命相差多少？", "10年"),
        ("挪威的出口比进口多多少？", "667.38亿美元"),
        ("日本比韩国多多少人？", "71,715,602人"),
        ("How much larger is Mali than Chad?", "Chad; 43,808 sq km"),
        ("How much less does Norway import than it exports?", "$66.738 billion"),
    ],
)
def test_what_is_asked_is_said_the_right_way_round(bench: Workbench, question: str, answer: str) -> None:
    assert research.run(question, workbench=bench).short == answer
