"""The helpers that reduce the suite lose no case and no pair of values."""

from __future__ import annotations

from itertools import combinations, product

import pytest

from tests.loops import loop_over
from tests.pairwise import covering, slow_but_each_value, slow_but_pairwise, spread

CASES = list(product("abcd", "xyz", (0, 1)))


def test_pairwise_keeps_every_pair_with_fewer_cases() -> None:
    chosen = covering(CASES, 2)

    def pairs(cases: list[tuple[object, ...]]) -> set[object]:
        return {(i, case[i], j, case[j]) for case in cases for i, j in combinations(range(3), 2)}

    assert pairs(chosen) == pairs(CASES)  # type: ignore[arg-type]
    assert len(chosen) < len(CASES)
    assert chosen == covering(CASES, 2), "the choice is not deterministic"


def test_cases_that_pairwise_leaves_out_are_marked_slow() -> None:
    parameters = slow_but_pairwise(CASES)
    assert [each.values for each in parameters] == CASES
    quick = [each.values for each in parameters if not each.marks]
    assert set(quick) == set(covering(CASES, 2))


def test_each_value_needs_as_many_cases_as_the_longest_list_of_values() -> None:
    parameters = slow_but_each_value(CASES)
    assert [each.values for each in parameters] == CASES
    quick = [each.values for each in parameters if not each.marks]
    assert {value for case in quick for value in case} == {*"abcd", *"xyz", 0, 1}
    assert len(quick) == len("abcd")


@pytest.mark.parametrize(("cases", "some", "quick"), [("abcdefg", 3, "adg"), ("ab", 3, "ab"), ("abc", 1, "a")])
def test_examples_are_spread_evenly(cases: str, some: int, quick: str) -> None:
    assert "".join(spread(cases, some)) == quick


def test_a_loop_continues_after_a_failure_and_names_every_failed_case() -> None:
    @loop_over("n, m", [(1, 1), (1, 2), (2, 2), (3, 4)])
    def looped(n: int, m: int) -> None:
        assert n == m

    with pytest.raises(BaseExceptionGroup, match="2 of 4 cases failed") as failed:
        looped()
    assert [each.__notes__ for each in failed.value.exceptions] == [
        ["case: {'n': 1, 'm': 2}"],
        ["case: {'n': 3, 'm': 4}"],
    ]


def test_a_loop_without_cases_fails() -> None:
    @loop_over("n", [])
    def looped(n: int) -> None: ...

    with pytest.raises(AssertionError, match="has no cases"):
        looped()
