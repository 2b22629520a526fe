"""Figures that follow from cited ones are recomputed in base units, and a slip of a unit is never ticked."""

from __future__ import annotations

import pytest
from hypothesis import assume, given, settings
from hypothesis import strategies as st

from research.citations import check
from research.types import HOLDS, Source

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


@settings(max_examples=60, deadline=None)
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


@settings(max_examples=40, deadline=None)
@given(amounts)
def test_amounts_in_different_currencies_are_never_combined(pair: tuple[int, int, str, str]) -> None:
    a, b, scale, _ = pair
    assume(a > b and a - b not in (a, b))
    claim = f"The budget of the port was {written(a - b, scale, '$')} more in Chile than in Peru in 2023 [1][2]."
    assert not statuses(claim, written(a, scale, "$"), written(b, scale, "€")) & HOLDS


@settings(max_examples=40, deadline=None)
@given(st.integers(101, 999), st.integers(101, 999))
def test_percentage_points_are_the_difference_of_two_percentages(a: int, b: int) -> None:
    assume(a > b and a - b not in (a, b))
    one, two = f"{a / 10:.1f}%", f"{b / 10:.1f}%"
    claim = "The budget of the port was {} higher in Chile than in Peru in 2023 [1][2]."
    assert statuses(claim.format(f"{(a - b) / 10:.1f} percentage points"), one, two) == {"calculated"}
    assert not statuses(claim.format(f"{a - b} percentage points"), one, two) & HOLDS


def test_the_larger_of_two_must_be_the_one_that_the_claim_calls_larger() -> None:
    claim = "The budget of the port was $1.5 million more in {} than in {} in 2023 [1][2]."
    assert statuses(claim.format("Chile", "Peru"), "$4.0 million", "$2.5 million") == {"calculated"}
    assert not statuses(claim.format("Peru", "Chile"), "$4.0 million", "$2.5 million") & HOLDS


def test_figures_of_different_years_are_not_added_or_compared() -> None:
    one = Source(1, "https://example.org/1", "Chile · Ports", "Budget of the port: $4.0 million (2023 est.)")
    two = Source(2, "https://example.org/2", "Peru · Ports", "Budget of the port: $2.5 million (2019 est.)")
    claim = "The budget of the port was $1.5 million more in Chile than in Peru [1][2]."
    assert not {citation.status for citation in check(claim, [one, two])} & HOLDS


@pytest.mark.parametrize(
    ("claim", "status", "reason"),
    [
        (
            "The works were closed six years after the death of Irene Holloway [1].",
            "calculated",
            "1963 − 1957 = six years",
        ),
        ("The works were closed nine years after the death of Irene Holloway [1].", "unverified", ""),
        ("Agnes Whitlow was 77 years old when she died [1].", "calculated", "1943 − 1866 = 77 years"),
        ("Agnes Whitlow was 67 years old when she died [1].", "unverified", ""),
    ],
)
def test_ages_and_durations_follow_from_two_years(claim: str, status: str, reason: str) -> None:
    text = "Irene Holloway died in 1957. The works were closed in 1963. Agnes Whitlow (1866-1943) kept the herbarium."
    (found,) = check(claim, [Source(1, "https://example.org", "The works", text)])
    assert found.status == status and reason in found.reason
