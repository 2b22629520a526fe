"""The overview of an evaluation: the Pareto front, real differences, and questions on which recipes disagree."""

from __future__ import annotations

import pytest

from research.evaluation import Candidate, Evaluation, Plan, Question, Row, Scores
from research.evaluation.overview import by_question, disagree, figure, measured, pairs, points
from research.evaluation.plans import results
from research.events.recipe import Recipe

QUESTIONS = tuple(Question(f"q{n}", f"What is {n}?", ("it",)) for n in range(20))
REACT, REWOO = Candidate("react/full", Recipe()), Candidate("rewoo/full", Recipe(framework="rewoo"))
ORACLE = Candidate("oracle", Recipe(framework="reflexion", framework_options={"evaluator": "gold"}))


def rows(of: Candidate, right: str, tokens: int = 100) -> list[Row]:
    """Return a row per sign: `1` right, `0` wrong, `-` not measured."""
    return [
        Row(
            "e", of.key, question.id, question.digest, f"run-{question.id}",
            "" if sign == "-" else "answered", scores=Scores(right=None if sign == "-" else float(sign)),
            prompt_tokens=tokens,
        )
        for question, sign in zip(QUESTIONS, right, strict=False)
    ]  # fmt: skip


def found(**of: tuple[Candidate, str, int]) -> tuple[Plan, Evaluation]:
    plan = Plan("e", QUESTIONS, tuple(each for each, _, _ in of.values()))
    return plan, results(plan, [row for each, right, tokens in of.values() for row in rows(each, right, tokens)])


def test_unmeasured_rows_are_left() -> None:
    _, one = found(a=(REACT, "11-", 1), b=(REWOO, "0", 1))
    assert (one.left, [len(each) for each in one.rows.values()]) == (40 - 3, [2, 1])


@pytest.mark.parametrize(
    ("first", "second", "verdict", "points_"),
    [
        ("1" * 20, "1" * 10 + "0" * 10, "real", 50),
        ("1" * 20, "1" * 20, "equal", 0),
        ("10" * 10, "01" * 10, "equal", 0),
        # A bootstrap would call it real: its interval is above 0, but five coins often fall the same way.
        ("1" * 20, "0" * 5 + "1" * 15, "equal", 25),
    ],
)
def test_a_difference_is_real_when_chance_cannot_explain_it(
    first: str, second: str, verdict: str, points_: int
) -> None:
    _, one = found(a=(REACT, first, 1), b=(REWOO, second, 1))
    (pair,) = pairs(one, "right")
    assert (pair.verdict, round(100 * pair.figure.mean), pair.figure.n) == (verdict, points_, 20)
    assert pair.figure.interval and (pair.figure.interval[0] > 0) == (verdict == "real")
    assert (pair.more_questions == 0) == (verdict == "real")


def test_a_difference_of_one_pair_is_not_certain_among_many() -> None:
    others = {f"r{n}": (Candidate(f"r{n}", Recipe(model=f"m{n}")), "10" * 10, 1) for n in range(4)}
    better = (REACT, "11" * 7 + "10" * 3, 1)
    _, alone = found(a=better, b=(REWOO, "10" * 10, 1))
    _, among = found(a=better, b=(REWOO, "10" * 10, 1), **others)
    (pair,) = pairs(alone, "right")
    again = next(each for each in pairs(among, "right") if (each.first, each.second) == (pair.first, pair.second))
    assert again.figure == pair.figure and again.evidence <= pair.evidence
    assert again.p == pair.p and again.p_holm > pair.p_holm


def test_unbounded_measures_are_compared_by_which_recipe_uses_more() -> None:
    _, one = found(a=(REACT, "1" * 20, 900), b=(REWOO, "1" * 20, 100))
    (pair,) = pairs(one, "tokens")
    assert (pair.first, pair.verdict, pair.figure.interval) == ("react/full", "real", (800.0, 800.0))


def test_pairs_name_the_better_recipe_first_and_list_real_differences_first() -> None:
    third = Candidate("react/window", Recipe(context="window"))
    _, one = found(a=(REWOO, "0" * 20, 1), b=(REACT, "1" * 20, 1), c=(third, "1" * 19 + "0", 1))
    told = pairs(one, "right")
    assert [(pair.first, pair.second, pair.verdict) for pair in told] == [
        ("react/full", "rewoo/full", "real"), ("react/window", "rewoo/full", "real"), ("react/full", "react/window", "equal"),
    ]  # fmt: skip


def test_only_questions_measured_for_both_recipes_are_compared() -> None:
    _, one = found(a=(REACT, "1111", 1), b=(REWOO, "--00", 1))
    (pair,) = pairs(one, "right")
    assert (pair.figure.n, pair.figure.mean) == (2, 1.0)


def test_the_front_contains_unbeaten_recipes_and_ignores_oracles() -> None:
    dear = Candidate("parallel/full", Recipe(framework="parallel"))
    plan, one = found(
        a=(REACT, "1110", 200), b=(REWOO, "1100", 100), c=(dear, "1110", 300), d=(ORACLE, "1111", 50)
    )  # fmt: skip
    assert {each.name: each.front for each in points(plan, one, "right")} == {
        "react/full": True, "rewoo/full": True, "parallel/full": False, "oracle": False,
    }  # fmt: skip


def test_equal_recipes_share_the_front() -> None:
    plan, one = found(a=(REACT, "10", 100), b=(REWOO, "01", 100))
    assert [each.front for each in points(plan, one, "right")] == [True, True]


def test_a_partly_known_cost_is_unknown() -> None:
    some = [Row("e", "r", "q", "d", "run", "answered", cost_usd=cost) for cost in (0.5, None)]
    assert figure(some, "cost_usd") is None
    assert (known := figure(some[:1], "cost_usd")) and known.mean == 0.5


def test_measures_without_values_are_not_offered() -> None:
    _, one = found(a=(REACT, "10", 100))
    assert measured(one) == ["right", "tokens", "seconds"]


def test_questions_are_listed_with_the_rows_of_each_recipe() -> None:
    plan, one = found(a=(REACT, "11-", 1), b=(REWOO, "10", 1))
    told = by_question(plan, one)
    assert [(question.id, list(each)) for question, each in told] == [
        ("q0", ["react/full", "rewoo/full"]), ("q1", ["react/full", "rewoo/full"]),
    ]  # fmt: skip
    assert [disagree(list(each.values())) for _, each in told] == [False, True]
