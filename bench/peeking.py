"""How often an evaluation that is watched question by question is wrong, and how soon it finds a true difference.

    python -m bench.peeking [--evaluations 1000] [--questions 300] [--recipes 10] [--difference 0.15]
                           [--with-difference 100]

Questions differ in difficulty (a beta distribution), and recipes answer each one independently given its difficulty.  In A/A
evaluations all recipes are equal; otherwise the first is better by the difference.  A fixed design asks a number of
questions that was chosen in advance, and tests all pairs by McNemar with Holm's correction.
"""

from __future__ import annotations

import argparse
import time
from itertools import combinations

import numpy as np
from numpy.typing import NDArray

from research.evaluation import anytime
from research.evaluation.anytime import CERTAIN, adjusted
from research.evaluation.inference import holm, mcnemar

Scores = NDArray[np.float64]


def simulated(draw: np.random.Generator, recipes: int, questions: int, difference: float) -> Scores:
    """Return 0 or 1 for each recipe and question; the first recipe is better by `difference` on average."""
    easy = draw.beta(2, 2, questions)
    shares = np.tile(easy, (recipes, 1))
    shares[0] += difference * 6 * easy * (1 - easy) / 1.2  # the mean of 6x(1-x) over beta(2, 2) is 1.2
    return (draw.random((recipes, questions)) < shares).astype(np.float64)


def evidence_over_time(scores: Scores) -> tuple[list[tuple[str, str]], Scores]:
    """Return the pairs and their e-values after each question."""
    pairs = list(combinations(range(len(scores)), 2))
    differences = np.stack([scores[one] - scores[two] for one, two in pairs])
    bets = np.asarray(anytime._BETS)[:, None]
    e = np.zeros(differences.shape)
    for sign in (1, -1):
        logs = np.log1p(sign * bets[:, :, None] * differences[None]).cumsum(axis=2)
        e = np.maximum(e, np.exp(np.minimum(logs, 690)).mean(axis=0) / 2)
    return [(f"{one:02}", f"{two:02}") for one, two in pairs], e


def first_certain(scores: Scores, wanted: set[tuple[str, str]] | None = None, every: int = 1) -> int | None:
    """Return after how many questions one of the wanted pairs (by default: any) is certain; `every`: of looks, one in n."""
    pairs, e = evidence_over_time(scores)
    rows = [place for place, pair in enumerate(pairs) if wanted is None or pair in wanted]
    # All recipes may be equal, so nothing is certain unless the mean of all pairs is.
    for look in np.flatnonzero((e[rows] >= CERTAIN).any(axis=0) & (e.mean(axis=0) >= CERTAIN)):
        if look % every:
            continue
        lowered = adjusted(dict(zip(pairs, e[:, look].tolist(), strict=True)))
        if any(each >= CERTAIN for pair, each in lowered.items() if wanted is None or pair in wanted):
            return int(look) + 1
    return None


def fixed_power(draw: np.random.Generator, recipes: int, questions: int, difference: float, times: int) -> float:
    """Return how often the fixed design finds that the first recipe is better than the second."""
    found = 0
    for _ in range(times):
        scores = simulated(draw, recipes, questions, difference)
        p = []
        for one, two in combinations(range(recipes), 2):
            more = scores[one] - scores[two]
            p.append(mcnemar(int((more > 0).sum()), int((more < 0).sum())))
        found += holm(p)[0] <= 0.05 and scores[0].sum() > scores[1].sum()
    return found / times


def fixed_questions(recipes: int, difference: float, times: int) -> int:
    """Return how many questions the fixed design needs to find the difference with a chance of .8."""
    low, high = 10, 2_000
    while high - low > 2:
        middle = (low + high) // 2
        enough = fixed_power(np.random.default_rng(7), recipes, middle, difference, times) >= 0.8
        low, high = (low, middle) if enough else (middle, high)
    return high


def main() -> None:
    parser = argparse.ArgumentParser()
    parser.add_argument("--evaluations", type=int, default=1_000)
    parser.add_argument("--questions", type=int, default=300)
    parser.add_argument("--with-difference", type=int, default=100, help="evaluations in which the first is better")
    parser.add_argument("--recipes", type=int, default=10)
    parser.add_argument("--difference", type=float, default=0.15)
    chosen = parser.parse_args()
    started, draw = time.time(), np.random.default_rng(20_261_125)
    equal = [
        first_certain(simulated(draw, chosen.recipes, chosen.questions, 0.0)) is not None
        for _ in range(chosen.evaluations)
    ]
    print(f"A/A: {sum(equal)} of {len(equal)} evaluations ever call a recipe better ({np.mean(equal):.1%})", flush=True)
    needed = fixed_questions(chosen.recipes, chosen.difference, 100)
    print(f"fixed design (McNemar, Holm, a chance of .8): {needed} questions", flush=True)
    for what, wanted in (
        ("the first is better than the second", {("00", "01")}),
        ("the first is better than some other", {("00", f"{other:02}") for other in range(1, chosen.recipes)}),
    ):
        draw = np.random.default_rng(1)
        when = [
            first_certain(simulated(draw, chosen.recipes, 2 * needed, chosen.difference), wanted, 5)
            for _ in range(chosen.with_difference)
        ]
        at = np.asarray([each or 10**9 for each in when])
        print(
            f"{what}: found within {needed} questions {np.mean(at <= needed):.1%}, within {2 * needed} "
            f"{np.mean(at <= 2 * needed):.1%}; median {np.median(at):.0f} questions, {np.median(at) / needed:.0%} of the "
            "fixed design"
        )
    print(f"{time.time() - started:.0f} s")


if __name__ == "__main__":
    main()
