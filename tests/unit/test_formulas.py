"""Measures calculated from two lines of one subject."""

from __future__ import annotations

import pytest

from research.models.extractive.formulas import Formula, asked
from research.models.extractive.question import parse

AREA, PEOPLE = "Area, total", "Population, total"


@pytest.mark.parametrize(
    ("question", "formula"),
    [
        ("What is Bangladesh's population density per square kilometre?", Formula("density", PEOPLE, AREA)),
        ("荷兰每平方公里大约住多少人？", Formula("density", PEOPLE, AREA)),
        ("How many kilometres of railway does Switzerland have per 1,000 sq km of territory?",
         Formula("ratio", "Railways, total", AREA, 1000)),
        ("How many tonnes of CO2 does each Australian account for?",
         Formula("ratio", "Carbon dioxide emissions, total emissions", PEOPLE)),
        ("What is Germany's trade balance?", Formula("difference", "Exports", "Imports")),
        ("Roughly how many people in Madagascar have no access to electricity?",
         Formula("without", PEOPLE, "Electricity access, electrification - total population")),
    ],
)  # fmt: skip
def test_a_measure_that_two_lines_give_is_recognised(question: str, formula: Formula) -> None:
    assert asked(parse(question)) == formula


@pytest.mark.parametrize(
    "question",
    [
        "What is the real GDP per capita of France?",
        "What is the population of France?",
        "How long is Chile's coastline?",
        "What is the median age in Japan?",
    ],
)
def test_a_measure_that_a_line_states_is_looked_up(question: str) -> None:
    assert asked(parse(question)) is None
