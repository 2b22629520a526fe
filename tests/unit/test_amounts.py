"""Amounts are read into base units, calculated with exactly, and written with a unit that fits."""

from __future__ import annotations

from decimal import Decimal

import pytest
from hypothesis import given
from hypothesis import strategies as st

from research._util.amounts import Amount, amount, unlike, written
from research.models.extractive.arithmetic import change, hindrance
from research.models.extractive.evidence import Fact
from research.models.extractive.question import Question, Target
from research.models.extractive.verdict import Finding, Hindrance, Verdict
from research.models.extractive.write import answer

SCALES = {"": 0, "thousand": 3, "million": 6, "billion": 9, "trillion": 12}
UNITS = [
    "",
    "$",
    "%",
    "% of GDP",
    "sq km",
    "km",
    "m",
    "years",
    "bbl/day",
    "kWh",
    "metric tons",
    "deaths/1,000 live births",
]
POWERS = {"km": 3, "kWh": 3}


@st.composite
def stated(draw: st.DrawFn, unit: st.SearchStrategy[str] | None = None) -> tuple[str, Decimal, str]:
    """A figure as a source writes it, its value in base units, and its unit."""
    digits = Decimal(draw(st.integers(1, 999_999))).scaleb(-draw(st.integers(0, 3)))
    units = st.sampled_from(UNITS) if unit is None else unit
    scale, of = draw(st.sampled_from(sorted(SCALES))), draw(units)
    words = " ".join(filter(None, [f"{digits:,f}", scale, "" if of == "$" else of]))
    text = f"${words}" if of == "$" else words
    return f"{text} (2024 est.)", digits.scaleb(SCALES[scale] + POWERS.get(of, 0)), of


def read(text: str) -> Amount:
    found = amount(text)
    assert found is not None
    return found


def fact(value: str, subject: str = "A", label: str = "Exports 2024", n: int = 1) -> Fact:
    return Fact(n, f"library://{subject}", f"{subject} · Economy", f"{label}: {value}")


@given(stated())
def test_a_figure_is_read_into_base_units(figure: tuple[str, Decimal, str]) -> None:
    text, value, unit = figure
    assert read(text).value == value
    assert read(text).unit == unit


@given(st.sampled_from(UNITS).flatmap(lambda unit: st.tuples(stated(st.just(unit)), stated(st.just(unit)))))
def test_a_difference_as_written_is_the_difference_in_base_units(
    pair: tuple[tuple[str, Decimal, str], tuple[str, Decimal, str]],
) -> None:
    (one, a, _), (two, b, _) = pair
    like = [read(one), read(two)]
    assert unlike(like) is None
    for language in ("en", "zh"):
        again = read(written(abs(a - b), like, language))
        assert abs(again.value - abs(a - b)) <= abs(a - b) * Decimal("0.0006")
        assert again.base == like[0].base


@given(stated(), stated())
def test_figures_of_unlike_units_are_never_calculated_with(
    one: tuple[str, Decimal, str], two: tuple[str, Decimal, str]
) -> None:
    found = hindrance([fact(one[0], "A"), fact(two[0], "B", n=2)])
    bases = {read(one[0]).base, read(two[0]).base} - {""}
    symbol = any(unit.startswith(("$", "%")) for unit in (one[2], two[2]))
    if len(bases) > 1 or (symbol and one[2] != two[2]):
        assert found is not None and found.kind == "units"
    else:
        assert found is None


@pytest.mark.parametrize(
    ("one", "two", "difference"),
    [
        ("2.02 million bbl/day", "753,000 bbl/day", "1.267 million bbl/day"),
        ("$2.592 trillion (2024 est.)", "$416 million (2024 est.)", "$2.592 trillion"),
        ("46.8 years", "13 years", "33.8 years"),
        ("1,426,000,000", "1,414,000,000", "12,000,000"),
        ("4,810", "2,963 m", "1,847 m"),
        ("1.5 km", "900 m", "0.6 km"),
        ("1 billion", "1", "1 billion"),
    ],
)
def test_a_difference_has_the_scale_and_unit_that_fit(one: str, two: str, difference: str) -> None:
    verdict = Verdict(
        Question("Which?", ("A", "B"), frozenset(), (Target("Exports"),), (), "compare"),
        findings=(
            Finding("A", Target("Exports"), fact(one, "A")),
            Finding("B", Target("Exports"), fact(two, "B", n=2)),
        ),
        chosen="A",
        computed=True,
    )
    said = answer(verdict, "en", [])
    assert f"The difference in exports is **{difference}**. [1] [2]" in said


@pytest.mark.parametrize(
    ("one", "two", "said"),
    [
        ("$3 million", "$9 billion", "for B is **3,000 times** that for A"),
        ("9,000 km", "2 km", "for A is **4,500 times** that for B"),
    ],
)
def test_a_ratio_is_that_of_the_larger_figure(one: str, two: str, said: str) -> None:
    found = tuple(Finding(name, Target("Exports"), fact(value, name)) for name, value in (("A", one), ("B", two)))
    q = Question("Which?", ("A", "B"), frozenset(), (Target("Exports"),), (), "compare")
    assert f"The figure {said}." in answer(Verdict(q, findings=found, chosen="A", computed=True), "en", [])


def test_a_figure_is_not_compared_with_itself() -> None:
    assert hindrance([fact("5 km"), fact("5 km")]) == Hindrance("same")


def test_figures_of_two_measures_are_not_compared() -> None:
    pair = [fact("$5 billion", "A"), fact("$4 billion", "B", "Coal, exports")]
    assert hindrance(pair) == Hindrance("measures", "Exports", "Coal, exports")


def test_different_years_are_said() -> None:
    q = Question("Which?", ("A", "B"), frozenset(), (Target("Exports"),), (), "compare")
    findings = (
        Finding("A", Target("Exports"), fact("$5 billion", "A")),
        Finding("B", Target("Exports"), fact("$4 billion", "B", "Exports 2021", 2)),
    )
    said = answer(Verdict(q, findings=findings, chosen="A", computed=True), "en", [])
    assert "The figures are of different years: A 2024, B 2021." in said


def test_a_change_from_a_negative_figure_has_no_percentage() -> None:
    assert change(fact("-$5 billion"), fact("$4 billion")) == "print(round(4000000000 - (-5000000000), 6))"
