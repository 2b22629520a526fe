"""The statistics of evaluations: compared with scipy on random data, and by hand where it has none."""

from __future__ import annotations

import itertools
import random
from statistics import fmean

import msgspec
import numpy as np
import pytest
from scipy import stats

from bench.peeking import first_certain, simulated
from research.evaluation import anytime
from research.evaluation.inference import (
    cohen_d,
    cohen_h,
    holm,
    mcnemar,
    paired,
    pass_all,
    pass_at,
    permutation,
    wilson,
)
from research.evaluation.records import Row
from research.evaluation.scorers import Scores
from research.evaluation.statistics import summary
from research.evaluation.trials import trials

DRAW = random.Random(22)


def test_wilsons_interval_agrees_with_scipy() -> None:
    for _ in range(50):
        n = DRAW.randint(1, 500)
        k = DRAW.randint(0, n)
        expected = stats.binomtest(k, n).proportion_ci(method="wilson")
        assert wilson(k, n) == pytest.approx((expected.low, expected.high), abs=1e-9)


def test_mcnemars_exact_test_agrees_with_scipy() -> None:
    for _ in range(50):
        ahead, behind = DRAW.randint(0, 60), DRAW.randint(0, 60)
        if ahead + behind:
            assert mcnemar(ahead, behind) == pytest.approx(stats.binomtest(ahead, ahead + behind).pvalue, abs=1e-9)
    assert mcnemar(0, 0) == 1.0


def test_the_permutation_test_agrees_with_scipy_when_all_flips_are_counted() -> None:
    for _ in range(10):
        differences = [DRAW.uniform(-0.5, 1) for _ in range(DRAW.randint(2, 10))]
        expected = stats.permutation_test((differences,), np.sum, permutation_type="samples", n_resamples=2**10)
        assert permutation(differences) == pytest.approx(expected.pvalue, abs=1e-9)


def test_the_permutation_test_of_many_differences_is_drawn_and_never_0() -> None:
    differences = [DRAW.gauss(0.1, 1) for _ in range(100)]
    normal = 2 * stats.norm.sf(abs(sum(differences)) / sum(each**2 for each in differences) ** 0.5)
    assert permutation(differences) == pytest.approx(normal, abs=0.02)
    assert 0 < permutation([1.0] * 100) < 1e-4
    assert permutation([0.0, 0.0]) == 1.0


def test_right_and_wrong_are_compared_by_mcnemar_and_scores_by_permutation() -> None:
    assert paired([1.0, 1.0, 0.0, -1.0]) == ("mcnemar", 1.0)
    assert paired([0.5, 0.25]) == ("permutation", 0.5)


def test_holms_correction_is_that_of_his_paper() -> None:
    # By hand, after Holm (1979): the smallest p is multiplied by the family's size, the next by one less, never falling.
    assert holm([0.01, 0.04, 0.03, 0.005]) == pytest.approx([0.03, 0.06, 0.06, 0.02])
    assert holm([0.5, 0.9]) == [1.0, 1.0] and holm([]) == []


def test_effect_sizes_are_those_of_cohen() -> None:
    # Cohen (1988), table 6.2.2: phi is 1.571 for .50 and 0.927 for .20.
    assert cohen_h(0.5, 0.2) == pytest.approx(1.571 - 0.927, abs=1e-3)
    assert cohen_d([1.0, 2.0, 3.0]) == pytest.approx(2.0) and cohen_d([1.0, 1.0]) is None


@pytest.mark.parametrize(("right", "of", "k"), [(2, 5, 1), (2, 5, 3), (0, 4, 2), (4, 4, 2), (3, 6, 6)])
def test_pass_at_k_and_pass_all_k_are_shares_of_all_choices_of_k_trials(right: int, of: int, k: int) -> None:
    chosen = list(itertools.combinations([1] * right + [0] * (of - right), k))
    assert pass_at(k, right, of) == pytest.approx(fmean(any(each) for each in chosen))
    assert pass_all(k, right, of) == pytest.approx(fmean(all(each) for each in chosen))


# -- trials -------------------------------------------------------------------------------------------------------------


def rows(**right: str) -> list[Row]:
    return [
        Row("e", "r", asked, asked, f"{asked}{trial}", "answered", scores=Scores(right=float(sign)), trial=trial)
        for asked, signs in right.items()
        for trial, sign in enumerate(signs)
    ]


def test_intervals_are_clustered_by_question() -> None:
    several, once = summary(rows(a="1111", b="0000", c="1111", d="1100")), summary(rows(a="1", b="0", c="1"))
    right = several.figures["right"]
    assert right and (right.mean, right.n, several.n) == (0.625, 4, 16)
    alone = once.figures["right"]
    assert right.interval and alone and alone.interval and alone.interval == wilson(2, 3)
    assert right.interval[1] - right.interval[0] > 0.5, "16 trials of 4 questions are not 16 questions"


def test_a_cost_of_nothing_is_no_share() -> None:
    free = summary([msgspec.structs.replace(row, cost_usd=0.0) for row in rows(a="1", b="0", c="1")]).figures[
        "cost_usd"
    ]
    assert free and free.interval == (0, 0)


def test_trials_tell_how_steady_a_recipe_is() -> None:
    found = trials(rows(a="11", b="10", c="00"))
    assert found and found.trials == 2 and found.within == pytest.approx(0.5 / 3)
    at, every = found.pass_at[2], found.pass_all[2]
    assert at and every and (at.mean, every.mean) == (pytest.approx(2 / 3), pytest.approx(1 / 3))
    assert trials(rows(a="1", b="0")) is None


# -- verdicts that hold at any time -------------------------------------------------------------------------------------


def test_the_evidence_is_the_mixture_of_bets() -> None:
    differences = [1.0, 0.0, -1.0, 1.0, 0.5]
    bets = [np.prod([1 + bet * each for each in differences]) for bet in anytime._BETS]
    assert anytime.evidence(differences) == pytest.approx(np.mean(bets) / 2, abs=1e-9)
    assert anytime.evidence([1.0] * 20_000) > 1e200, "no overflow"


def test_the_interval_excludes_0_exactly_when_the_evidence_is_certain() -> None:
    draw = np.random.default_rng(3)
    seen = set()
    for n in range(5, 105):
        differences = draw.choice([-1.0, 0.0, 1.0], n, p=[0.1, 0.6, 0.3]).tolist()
        low, high = anytime.interval(differences)
        assert low <= fmean(differences) <= high
        certain = anytime.evidence(differences) >= anytime.CERTAIN
        assert certain == (low > 0 or high < 0)
        seen.add(certain)
    assert seen == {True, False}


def test_the_interval_contains_the_mean_at_all_times() -> None:
    draw, missed = np.random.default_rng(4), 0
    for _ in range(20):
        differences = draw.choice([-1.0, 0.0, 1.0], 120, p=[0.15, 0.5, 0.35]).tolist()
        intervals = [anytime.interval(differences[:n]) for n in range(20, 121, 20)]
        missed += any(not low <= 0.2 <= high for low, high in intervals)
    assert missed <= 3


def test_corrected_evidence_is_the_least_of_all_groupings() -> None:
    pairs = list(itertools.combinations("abcd", 2))
    found = {pair: float(value) for pair, value in zip(pairs, (900, 700, 0.5, 3, 40, 0.1), strict=True)}
    lowered = anytime.adjusted(found)
    # By hand for a and b: {ab}{cd}: (900 + .1) / 2; {abc}: (900 + 700 + 3) / 3; {abd}: (900 + .5 + 40) / 3;
    # {abcd}: 1643.6 / 6, the least.
    assert lowered["a", "b"] == pytest.approx(1643.6 / 6)
    assert lowered["b", "d"] == pytest.approx((40 + 3 + 0.1) / 3), "the group of b, c and d"
    assert anytime.adjusted({("a", "b"): 25.0}) == {("a", "b"): 25.0}
    assert all(lowered[pair] <= found[pair] for pair in pairs)


def test_equal_recipes_are_not_called_different_by_watching_them() -> None:
    draw = np.random.default_rng(5)
    wrong = sum(first_certain(simulated(draw, 5, 100, 0.0)) is not None for _ in range(60))
    assert wrong <= 6, "python -m bench.peeking measures it over 1,000"
    assert first_certain(simulated(draw, 3, 300, 0.4)) is not None, "a large difference is found"
