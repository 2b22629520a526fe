"""Real runs stay within the estimate that is shown before them."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pytest

import research
from research import plugins
from research.config.settings import load
from research.events.recipe import Budget
from research.events.view import RunView
from research.workbench.estimate import Estimate, estimate
from research.workbench.recipes import pairs
from research.workbench.workbench import Workbench
from tests.conftest import linked_home
from tests.fake_openai import Body, FakeOpenAI, FakeReply
from tests.pairwise import slow_but_each_value
from tests.player import QUESTION, Player

CELLS = pairs()
SOME = [(f, c) for f, c in CELLS if f == "react" or c == plugins.framework.get(f).default_context]
"""A selection with every framework and every strategy."""
QUESTIONS = [
    "Which of Germany, Spain and Italy has the largest population, and what is its area?",
    "法国2024年的实际国内生产总值（购买力平价）是多少？比2023年增长了多少？",
]


class Uncounted(Player):
    """A server that reports no usage, so that the workbench counts tokens itself."""

    def __call__(self, body: Body) -> FakeReply:
        return replace(super().__call__(body), usage=None)


@pytest.fixture(scope="module")
def place(prepared_home: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A home shared by all tests of this file; none of them changes the library."""
    return linked_home(prepared_home, tmp_path_factory.mktemp("estimate") / "home")


def holds(found: Estimate, view: RunView) -> list[str]:
    """Return the figures of a run that lie outside its estimate."""
    taken = {
        "calls": (found.calls, view.model_calls),
        "prompt": (found.prompt_tokens, view.prompt_tokens),
        "completion": (found.completion_tokens, view.completion_tokens),
        "tokens": (found.tokens, view.prompt_tokens + view.completion_tokens),
    }
    return [
        f"{name}: {real} not in {span}" for name, (span, real) in taken.items() if not span.low <= real <= span.high
    ]


@pytest.mark.examples(3)
@pytest.mark.parametrize(("framework", "context"), slow_but_each_value(CELLS))
def test_offline_runs_stay_within_their_estimate(place: Path, framework: str, context: str) -> None:
    bench = Workbench(load(home=place))
    # Chinese tokens have another length; every framework and every strategy is tried with them once.
    for question in QUESTIONS if (framework, context) in SOME else QUESTIONS[:1]:
        recipe = bench.recipe(framework=framework, context=context, model="extractive")
        found = estimate(recipe, question, models=bench.model)
        view = research.run(question, workbench=bench, model="extractive", framework=framework, context=context)
        assert view.status == "completed"
        assert holds(found, view) == []


@pytest.mark.examples(3)
@pytest.mark.parametrize(
    ("framework", "context", "laps", "rounds"),
    [
        (framework, context, laps, rounds)
        for framework, context in SOME
        for laps, rounds in [(12, 20), (30, 6)]
        if framework != "rewoo" or laps == 12  # a plan has no limit of rounds
    ],
)
def test_long_runs_and_runs_out_of_rounds_stay_within_their_estimate(
    place: Path, framework: str, context: str, laps: int, rounds: int
) -> None:
    options = {"framework.rounds": rounds} if framework != "rewoo" else {}
    if context == "resum":
        options["context.max_tokens"] = 3000
    with FakeOpenAI(Uncounted("tagged", laps)) as server:
        bench = Workbench(load(home=place, openai_base_url=server.base_url))
        chosen = {"framework": framework, "context": context, "protocol": "tagged", "model": "openai:fake"}
        found = estimate(bench.recipe(**chosen, options=options), QUESTION, models=bench.model)
        view = research.run(QUESTION, workbench=bench, options=options, **chosen)
    assert view.status == "completed"
    assert holds(found, view) == []
    assert found.usd is None, "a local server has no known price"


@pytest.mark.examples(3)
@pytest.mark.parametrize(("framework", "context"), SOME)
def test_runs_that_exhaust_their_token_budget_stay_within_their_estimate(
    place: Path, framework: str, context: str
) -> None:
    with FakeOpenAI(Uncounted("native", 50)) as server:
        bench = Workbench(load(home=place, openai_base_url=server.base_url))
        chosen = {"framework": framework, "context": context, "model": "openai:fake", "budget": Budget(tokens=8_000)}
        found = estimate(bench.recipe(**chosen), QUESTION, models=bench.model)
        view = research.run(QUESTION, workbench=bench, **chosen)
    assert holds(found, view) == []
