"""Measures that no line states are calculated from several lines, or not at all if the lines do not allow it."""

from __future__ import annotations

import pytest

from research.models.extractive.composing import calculated, measure_of
from research.models.extractive.evidence import Fact
from research.models.extractive.phrasebook import Measure, entries, measures


def lines(*texts: str) -> list[Fact]:
    return [Fact(1, "library://norland/energy", "Norland · Energy", text) for text in texts]


@pytest.mark.parametrize(
    ("measure", "texts", "value"),
    [
        (Measure("share", ("a", "b")), ("Coal, exports: 3 million metric tons", "Coal, production: 12 million metric tons"),
         "25%"),
        (Measure("part", ("a", "a", "b")), ("Methane, waste: 20 kt", "Methane, waste: 20 kt", "Methane, energy: 60 kt"), "25%"),
        (Measure("sum_over", ("a", "b", "c")), ("Water, towns: 1 km", "Water, farms: 2 km", "Water: 4 km"), "75%"),
        (Measure("ratio", ("a", "b")), ("Exports: $6 billion", "Imports: $4 billion"), "1.5"),
        (Measure("per", ("Coal", "Population, total")), ("Coal: 30 tons", "Population, total: 20"), "1.5 tons per person"),
        (Measure("minus", ("a", "b")), ("Literacy, male: 50.5%", "Literacy, female: 40%"), "10.5 percentage points"),
        (Measure("plus", ("a", "b")), ("Seats, lower: 400", "Seats, upper: 205"), "605"),
        (Measure("rest", ("a", "b")), ("Farms: 33.8%", "Industry: 18.7%"), "47.5%"),
        (Measure("product", ("Birth rate", "Population, total")),
         ("Birth rate: 20 births/1,000 population (2025 est.)", "Population, total: 3,000 (2025 est.)"), "60 births"),
        (Measure("gap_product", ("Birth rate", "Death rate", "Population, total")),
         ("Birth rate: 20 births/1,000 population", "Death rate: 5 deaths/1,000 population", "Population, total: 2,000"),
         "30 people"),
        (Measure("inverse", ("Physician density",)), ("Physician density: 4 physicians/1,000 population",),
         "250 people for each"),
        (Measure("years", ("Oil", "Pumped")), ("Oil: 730 million barrels", "Pumped: 100,000 bbl/day"), "20 years"),
        (Measure("months", ("Reserves", "Imports")), ("Reserves: $1 billion", "Imports: $3 billion"), "4 months"),
    ],
)  # fmt: skip
def test_a_measure_is_calculated_with_the_code_that_is_shown(
    measure: Measure, texts: tuple[str, ...], value: str, capsys: pytest.CaptureFixture[str]
) -> None:
    found = calculated(measure, lines(*texts))
    assert found is not None
    assert found[0] == value
    exec(found[1])
    number = value.partition(" ")[0].rstrip("%").replace(",", "")
    assert float(capsys.readouterr().out) == float(number)


@pytest.mark.parametrize(
    ("measure", "texts"),
    [
        (Measure("share", ("a", "b")), ("Coal, exports: 3 million metric tons", "Coal, production: 12%")),
        (Measure("minus", ("a", "b")), ("Exports: $6 billion", "Population, total: 20")),
        (Measure("plus", ("a", "b")), ("Ports: none", "Airports: 7")),
        (Measure("rest", ("a", "b")), ("Farms: 63.8%", "Industry: 58.7%")),
        (Measure("years", ("Oil", "Pumped")), ("Oil: 730 million barrels", "Pumped: 0 bbl/day")),
        (Measure("product", ("Births", "Population, total")), ("Births: 20", "Population, total: 3,000")),
    ],
)
def test_figures_that_do_not_fit_are_not_calculated_with(measure: Measure, texts: tuple[str, ...]) -> None:
    assert calculated(measure, lines(*texts)) is None


@pytest.mark.parametrize(
    ("question", "measure"),
    [
        ("What is Bangladesh's population density?", Measure("per", ("Population, total", "Area, total"))),
        ("韩国的贸易差额是多少？", Measure("minus", ("Exports", "Imports"))),
    ],
)
def test_a_measure_with_a_name_of_its_own_is_recognised(question: str, measure: Measure) -> None:
    assert measure_of(question) == measure


def test_every_measure_is_made_of_labels_that_the_classifier_knows() -> None:
    known = {entry.label for entry in entries()}
    for measure in measures().values():
        assert set(measure.labels) <= known, measure.name
        assert measure.says, measure.name
