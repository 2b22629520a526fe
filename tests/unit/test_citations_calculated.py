"""Figures that follow from cited ones are recomputed in base units, and a slip of a unit is never ticked."""

from __future__ import annotations

import re
from decimal import Decimal

from hypothesis import assume, example, given
from hypothesis import strategies as st

from research._util.amounts import amount
from research.citations import check
from research.models.extractive.arithmetic import hindrance
from research.models.extractive.evidence import Fact
from research.models.extractive.question import Question, Target
from research.models.extractive.verdict import Finding, Verdict
from research.models.extractive.write import answer
from research.types import HOLDS, Source
from tests.fuzz import up_to

SCALES = {"thousand": 10**3, "million": 10**6, "billion": 10**9, "trillion": 10**12}
MONEY = ("$", "€", "£", "")


def sources(one: str, two: str) -> list[Source]:
    text = "Budget of the port: {} (2023 est.)\nStaff of the port: 41 (2023 est.)"
    pages = ((1, "Chile · Ports", one), (2, "Peru · Ports", two))
    return [Source(n, f"https://example.org/{n}", title, text.format(value)) for n, title, value in pages]


def statuses(claim: str, one: str, two: str) -> set[str]:
    return {citation.status for citation in check(claim, sources(one, two))}


def written(tenths: int, scale: str, sign: str) -> str:
    return f"{sign}{tenths / 10:.1f} {scale}"


amounts = st.tuples(
    st.integers(101, 9_999), st.integers(101, 9_999), st.sampled_from(list(SCALES)), st.sampled_from(MONEY)
)


def test_a_figure_that_two_passages_of_a_page_state_is_calculated_with_once() -> None:
    pages = sources("$9.3 million", "$4.1 million")
    claim = "The budget of the port was $5.2 million more in Chile than in Peru in 2023 [1][2]."
    assert {each.status for each in check(claim, [*pages, *pages])} == {"calculated"}
    other = sources("$9.4 million", "$4.1 million")
    assert not {each.status for each in check(claim, [*pages, other[0]])} & HOLDS


@up_to(60)
@given(amounts, st.sampled_from(list(SCALES)))
def test_a_difference_and_a_sum_are_calculated_in_the_right_unit_only(
    pair: tuple[int, int, str, str], other: str
) -> None:
    a, b, scale, sign = pair
    assume(a > b and a - b not in (a, b))
    one, two = written(a, scale, sign), written(b, scale, sign)
    for claim, value in (
        ("The budget of the port was {} more in Chile than in Peru in 2023 [1][2].", a - b),
        ("The budgets of the ports of Chile and Peru were {} together in 2023 [1][2].", a + b),
    ):
        right = written(value, scale, sign)
        assert statuses(claim.format(right), one, two) == {"calculated"}, claim.format(right)
        if other != scale:
            wrong = written(value, other, sign)
            assert not statuses(claim.format(wrong), one, two) & HOLDS, (claim.format(wrong), one, two)


@up_to(40)
@given(amounts)
def test_amounts_in_different_currencies_are_never_combined(pair: tuple[int, int, str, str]) -> None:
    a, b, scale, _ = pair
    assume(a > b and a - b not in (a, b))
    claim = f"The budget of the port was {written(a - b, scale, '$')} more in Chile than in Peru in 2023 [1][2]."
    assert not statuses(claim, written(a, scale, "$"), written(b, scale, "€")) & HOLDS


@up_to(40)
@given(st.integers(101, 999), st.integers(101, 999))
@example(512, 136)
def test_percentage_points_are_the_difference_of_two_percentages(a: int, b: int) -> None:
    assume(a > b and a - b not in (a, b))
    one, two = f"{a / 10:.1f}%", f"{b / 10:.1f}%"
    claim = "The budget of the port was {} higher in Chile than in Peru in 2023 [1][2]."
    assert statuses(claim.format(f"{(a - b) / 10:.1f} percentage points"), one, two) == {"calculated"}
    assert not statuses(claim.format(f"{a - b} percentage points"), one, two) & HOLDS


FAMILIES = (
    ("",), ("$",), ("€",), ("%",), ("% of GDP",), ("km", "m"), ("sq km",), ("kWh", "MWh", "GWh"), ("metric tons", "kt"),
)  # fmt: skip
"""Units that can be converted to each other."""
WORDS = {"en": ("million", "billion", "trillion"), "zh": ("万", "亿", "万亿")}
RESULTS = re.compile(r"difference|相差|together|合计| times|倍")


@st.composite
def figures(draw: st.DrawFn) -> tuple[str, str]:
    """Return two figures as the Factbook writes them, mostly of units that can be converted."""
    family = draw(st.sampled_from(FAMILIES))
    # A figure without a unit has that of the other, as heights of the Factbook do.
    unlike = draw(st.sampled_from(FAMILIES[1:])) if family != FAMILIES[0] else family
    other = draw(st.sampled_from((*[family] * 5, unlike)))
    found = []
    for units in (family, other):
        unit = draw(st.sampled_from(units))
        percent = unit.startswith("%")
        digits = Decimal(draw(st.integers(1, 999 if percent else 999_999))).scaleb(-draw(st.integers(0, 3)))
        scale = "" if percent else draw(st.sampled_from(("", *SCALES)))
        words = f"{digits:,f} {scale}".strip()
        found.append(
            f"{unit}{words}" if unit in ("$", "€") else f"{words}{unit}" if percent else f"{words} {unit}".strip()
        )
    return found[0], found[1]


def report(one: str, two: str, operation: str, language: str) -> tuple[str, list[Source]]:
    """Return the paragraphs of the offline model on two figures, without quotes, and its sources."""
    pages = ((1, "Chile", one), (2, "Peru", two))
    facts = [Fact(n, name, f"{name} · Economy", f"Exports 2024: {value} (2024 est.)") for n, name, value in pages]
    found = tuple(Finding(name, Target("Exports"), fact) for (_, name, _), fact in zip(pages, facts, strict=True))
    question = Question("Which?", ("Chile", "Peru"), frozenset(), (Target("Exports"),), (), operation)
    obstacle = hindrance(facts)
    values = [found_amount.value for fact in facts if (found_amount := amount(fact.value))]
    verdict = Verdict(
        question,
        findings=found,
        chosen="" if obstacle else "Chile" if values[0] >= values[1] else "Peru",
        hindrance=obstacle,
        computed=not obstacle,
    )
    text = answer(verdict, language, []).partition("\n\n###")[0]
    return text, [Source(fact.n, fact.url, fact.title, fact.line) for fact in facts]


@up_to(100)
@given(figures(), st.sampled_from(("compare", "sum")), st.sampled_from(("en", "zh")), st.integers(0, 1))
@example(("8.5% of GDP", "0.5% of GDP"), "sum", "zh", 0)
@example(("186", "0.128"), "compare", "en", 0)
def test_the_checker_calculates_what_the_offline_model_writes_and_ticks_no_other_scale(
    pair: tuple[str, str], operation: str, language: str, step: int
) -> None:
    text, found = report(*pair, operation, language)
    one, two = (read for value in pair if (read := amount(value)))
    if one.base != two.base:
        assert ("different units" if language == "en" else "单位不同") in text
        assert not RESULTS.search(text)
        return
    assume(one.value != two.value)
    checked = check(text, found)
    assert {each.status for each in checked if not RESULTS.search(each.claim)} == {"supported"}, text
    results = [each for each in checked if RESULTS.search(each.claim)]
    assert results and {each.status for each in results} == {"calculated"}, [
        (each.claim, each.reason) for each in results
    ]
    shown = re.search(r"(?:difference in [^*]{1,99} is|相差|together:|合计) ?\*\*([^*（]+)", text)
    assert shown
    value = abs(one.value - two.value) if operation == "compare" else one.value + two.value
    read = amount(shown[1].replace(" percentage points", "%").replace("个百分点", "%"))
    assert read is not None
    assert abs(read.value - value) <= abs(value) * Decimal("0.0006"), text
    scale = next((word for word in ("万亿", *WORDS[language]) if word in shown[1]), "")
    if not scale:
        return
    digits = Decimal(re.sub(r"[^\d.]", "", shown[1]))
    assert digits >= 1
    assert scale in ("trillion", "万亿") or digits < (1_000 if language == "en" else 10_000), text
    wrong = [word for word in WORDS[language] if word != scale][step]
    slipped = check(text.replace(shown[1], shown[1].replace(scale, wrong)), found)
    assert not {each.status for each in slipped if wrong in each.claim and RESULTS.search(each.claim)} & HOLDS
