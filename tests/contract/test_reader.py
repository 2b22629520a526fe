"""The reader: a language model reads the short answer in the passages that the offline planner cites."""

from __future__ import annotations

import json
from collections.abc import Callable

import pytest

import research
from research.events.view import RunView
from research.workbench.estimate import estimate
from research.workbench.workbench import Workbench
from tests.notes import Noted

TEXTS = {
    "Halden Ferries": "Halden Ferries is a shipping line that crosses the Sund of Orrin. Its ships sail from Port Varn to "
    "the island of Skelt every morning. The line employs ninety people.",
    "Port Varn": "Port Varn is a harbour town on the coast of Orrin. It was founded in 1820 by the merchant Olaf Brecht. "
    "The town has 4,300 inhabitants.",
    "Skelt (island)": "Skelt is an island known for its lighthouse. The lighthouse of Skelt was designed by the engineer "
    "Mirela Dunov in 1874.",
    "Gardening in spring": "Tulips are planted in autumn. Many gardeners cover their beds with straw in the north.",
}
QUESTION = "Who designed the lighthouse of Skelt?"
QUOTE = "The lighthouse of Skelt was designed by the engineer Mirela Dunov in 1874."

Script = Callable[..., str]
Ask = Callable[..., RunView]


@pytest.fixture(scope="module")
def notes(noted: Noted) -> tuple[Workbench, str]:
    return noted(TEXTS)


@pytest.fixture
def ask(notes: tuple[Workbench, str], script: Script) -> Ask:
    bench, folder = notes

    def run(said: object, question: str = QUESTION, **recipe: object) -> RunView:
        text = said if isinstance(said, str) else json.dumps(said)
        chosen = {"model": "extractive", "search": ("folders",), "folders": (folder,)} | recipe
        return research.run(question, workbench=bench, roles={"reader": script({"text": text})}, **chosen)

    return run


def asked(view: RunView) -> int:
    return sum(round.purpose == "read" for round in view.rounds)


def test_the_answer_of_the_reader_comes_first_with_its_quote(ask: Ask) -> None:
    view = ask({"answer": "the engineer Mirela Dunov", "quote": QUOTE})
    short, quote, *_ = view.report.split("\n\n")
    assert short.startswith("**the engineer Mirela Dunov** [")
    assert quote.startswith(f"Skelt (island): “{QUOTE}” [")
    assert [each.status for each in view.citations if QUOTE in each.claim] == ["supported"]
    assert view.short == "the engineer Mirela Dunov"
    assert view.report.count(QUOTE) == 1
    assert asked(view) == 1


def test_the_other_sentences_quoted_before_follow(ask: Ask) -> None:
    question = "What is Halden Ferries?"
    before = ask({"answer": "not stated", "quote": ""}, question=question).report.split("\n\n")
    view = ask({"answer": "ninety people", "quote": "The line employs ninety people."}, question=question)
    others = [each for each in before if "“" in each and "ninety" not in each]
    assert others
    assert all(each in view.report for each in others)


@pytest.mark.parametrize(
    "said",
    [
        {"answer": "not stated", "quote": ""},
        {"answer": "Olaf Brecht", "quote": QUOTE},
        {"answer": "Olaf Brecht", "quote": "The lighthouse of Skelt was designed by Olaf Brecht."},
        {"answer": "Mirela", "quote": ""},
        {"answer": "yes", "quote": QUOTE},
        "Mirela Dunov",
    ],
    ids=["not stated", "answer not in quote", "invented quote", "no quote", "not a yes-or-no question", "not JSON"],
)
def test_a_reply_that_the_passages_do_not_contain_changes_nothing(ask: Ask, said: object) -> None:
    plain = ask({"answer": "not stated", "quote": ""})
    view = ask(said)
    assert view.report == plain.report
    assert "**Mirela Dunov**" in view.report


def test_the_reader_is_not_asked_about_labelled_figures(bench: Workbench, script: Script) -> None:
    reader = script({"text": json.dumps({"answer": "1", "quote": "1"})})
    view = research.run(
        "What is the population of France?", workbench=bench, model="extractive", roles={"reader": reader}
    )
    assert asked(view) == 0


def test_the_reader_is_not_asked_if_a_language_model_plans(ask: Ask, script: Script) -> None:
    planner = script({"text": "<answer>Nothing.</answer>"})
    assert asked(ask({"answer": "x", "quote": "x"}, model=planner)) == 0


def test_a_reader_that_fails_leaves_the_report_as_it_is(notes: tuple[Workbench, str], script: Script) -> None:
    bench, folder = notes
    view = research.run(
        QUESTION,
        workbench=bench,
        model="extractive",
        search=("folders",),
        folders=(folder,),
        roles={"reader": script({"error": "truncated"}, {"error": "truncated"}, {"error": "truncated"})},
        budget=research.Budget(seconds=60),
    )
    assert view.status == "completed"
    assert "Mirela Dunov" in view.report


@pytest.mark.parametrize("framework", ["react", "iter_research", "rewoo", "parallel", "supervisor"])
def test_every_framework_asks_the_reader_once(ask: Ask, framework: str) -> None:
    view = ask({"answer": "Mirela Dunov", "quote": QUOTE}, framework=framework, context=research_context(framework))
    assert asked(view) == 1
    assert view.short == "Mirela Dunov"


def research_context(framework: str) -> str:
    return "evolving" if framework == "iter_research" else "full"


def test_the_estimate_contains_the_request_to_the_reader(bench: Workbench, script: Script) -> None:
    alone = bench.recipe(model="extractive")
    read = bench.recipe(model="extractive", roles={"reader": script({"text": "x"})})
    calls = [estimate(recipe, QUESTION, models=bench.model).calls for recipe in (alone, read)]
    assert calls[1].high == calls[0].high + 1
    assert calls[1].low == calls[0].low
