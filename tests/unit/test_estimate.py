"""The estimate before a run follows options and budgets, and leaves unknown costs unknown."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Annotated

import pytest

from research import defaults, plugins
from research.errors import ConfigError
from research.events.recipe import Budget, Recipe
from research.plugins import Range
from research.types import Completion, Delta, Request, Usage
from research.workbench.estimate import Call, Estimate, Loop, Span, estimate
from research.workbench.recipes import pairs
from tests.player import QUESTION
from tests.registrations import registering

CELLS = pairs()
SOME = [(f, c) for f, c in CELLS if f == "react" or c == plugins.framework.get(f).default_context]
"""A selection with every framework and every strategy."""


class Fixed:
    """A model that costs $1 per million prompt tokens and $10 per million completion tokens."""

    native = True

    def __init__(self, name: str, factor: float | None = 1.0) -> None:
        self.name = name
        self._factor = factor

    def stream(self, request: Request) -> Iterator[Delta | Completion]:
        raise AssertionError("an estimate asks nobody")

    def price(self, usage: Usage) -> float | None:
        each = (usage.prompt_tokens + 10 * usage.completion_tokens) / 1e6
        return None if self._factor is None else self._factor * each


def priced(recipe: Recipe, question: str = QUESTION) -> Estimate:
    return estimate(recipe, question, models=Fixed)


def tokens_of(recipe: Recipe) -> float:
    return priced(recipe).tokens.high


def test_tokens_grow_quadratically_with_a_full_history_and_linearly_with_a_window() -> None:
    def growth(context: str) -> float:
        few, many = (tokens_of(Recipe(context=context, framework_options={"rounds": n})) for n in (25, 100))
        return many / few

    assert growth("full") > 10
    assert growth("window") < 5
    assert growth("resum") < growth("full") / 2
    assert growth("evolving") < 5


def test_options_change_the_upper_bound() -> None:
    def high(framework: str, **options: object) -> float:
        return tokens_of(Recipe(framework=framework, framework_options=options))

    assert high("reflexion", trials=6) > 1.8 * high("reflexion", trials=3)
    assert high("parallel", n=8) > 3.5 * high("parallel", n=2)
    assert high("supervisor", rounds=16) > 1.5 * high("supervisor", rounds=8)
    assert high("tool_rounds", rounds=100, max_tokens=1000) < high("tool_rounds", rounds=100) / 3
    assert priced(Recipe(framework="react", framework_options={"rounds": "7"})).calls == Span(2, 8)


@pytest.mark.parametrize("framework", defaults.FRAMEWORKS)
def test_a_token_budget_lowers_the_upper_bound(framework: str) -> None:
    free = priced(Recipe(framework=framework))
    capped = priced(Recipe(framework=framework, budget=Budget(tokens=5_000)))
    assert capped.tokens.high < free.tokens.high
    assert capped.prompt_tokens.high <= capped.tokens.high
    assert free.usd
    assert capped.usd
    assert capped.usd.high < free.usd.high
    assert capped.tokens.low <= free.tokens.low


def test_a_cost_budget_lowers_the_upper_bound_of_the_cost() -> None:
    free, capped = priced(Recipe()).usd, priced(Recipe(budget=Budget(usd=0.05))).usd
    assert free
    assert capped
    assert 0.05 < capped.high < free.high
    assert priced(Recipe(budget=Budget(usd=1_000.0))).usd == free


def test_each_purpose_is_priced_at_the_rates_of_its_model() -> None:
    prices = {"dear": 100.0, "cheap": 0.01, "free": 0.0, "unknown": None}

    def cost(framework: str = "supervisor", model: str = "cheap", **roles: str) -> Span | None:
        recipe = Recipe(framework=framework, model=model, roles=roles)
        return estimate(recipe, QUESTION, models=lambda name: Fixed(name, prices[name])).usd

    assert cost(model="free") == Span(0, 0)
    assert cost(model="unknown") is None
    assert cost(research="unknown") is None
    assert cost(synthesise="dear") == cost(), "the supervisor never synthesises"
    base, dear = cost(), cost(research="dear")
    assert base
    assert dear
    assert dear.high > 100 * base.high


def test_a_plugin_framework_has_an_estimate() -> None:
    with registering():

        @plugins.framework("Mine", prompt="react")
        def mine_alone(run: object, *, rounds: Annotated[int, Range(1, 50)] = 4) -> None:
            """Ask."""

        @plugins.framework("Mine too", prompt="react", work=lambda options: [Call(purpose="guess", reads=Span(0, 0))])
        def mine_told(run: object) -> None:
            """Guess."""

        @plugins.framework(
            "Mine three", prompt="react", work=lambda options: [Loop(rounds=options["steps"], agents=Span(2, 2))]
        )
        def mine_double(run: object, *, steps: Annotated[int, Range(1, 50)] = 3) -> None:
            """Twice."""

        assert priced(Recipe(framework="mine_alone", framework_options={"rounds": 9})).calls == Span(2, 10)
        assert priced(Recipe(framework="mine_told")).calls == Span(1, 1)
        assert priced(Recipe(framework="mine_double")).calls == Span(4, 8)


def test_an_invalid_recipe_is_reported() -> None:
    with pytest.raises(ConfigError, match="nothing_such"):
        priced(Recipe(framework="nothing_such"))
    with pytest.raises(ConfigError, match="rounds"):
        priced(Recipe(framework_options={"rounds": 0}))


@pytest.mark.parametrize(
    ("calls", "tokens", "usd", "line"),
    [
        (Span(3, 30), Span(8_000, 240_000), Span(0.01, 0.35), "3–30 calls, 8 k–240 k tokens, $0.01–0.35"),
        (Span(2, 31), Span(697, 820_000), Span(0, 0), "2–31 calls, 0.7 k–820 k tokens, free"),
        (Span(1, 1), Span(812, 812), Span(0, 0), "1 call, 812 tokens, free"),
        (Span(2, 7), Span(999.6, 1_249_000), None, "2–7 calls, 1 k–1.2 M tokens, cost unknown"),
        (Span(2, 7), Span(1, 9_949), Span(0.00001, 12.3456), "2–7 calls, 0.001 k–9.9 k tokens, $0.0001–12.35"),
    ],
)
def test_the_estimate_is_formatted_as_a_short_line(calls: Span, tokens: Span, usd: Span | None, line: str) -> None:
    assert Estimate(calls, tokens, tokens, tokens, usd, "").line() == line


def test_the_basis_lists_the_assumptions() -> None:
    told = priced(Recipe(context="window", budget=Budget(tokens=5_000, usd=1.0))).basis
    assert all(word in told for word in ("react", "window", "tokens of results", "cap on tokens", "cap on cost"))
