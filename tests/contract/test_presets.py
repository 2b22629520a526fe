"""Presets give a valid recipe in any home and report what is missing."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

import research
from research import plugins
from research.config.settings import load
from research.errors import ConfigError
from research.events.branches import first_rounds
from research.events.events import Asked
from research.events.recipe import Budget, Recipe
from research.events.view import RunView, fold
from research.store.saved import Preset
from research.workbench import presets
from research.workbench.presets import ADVICE, BUILT_IN, Choices
from research.workbench.workbench import Workbench

Open = Callable[..., Workbench]


@pytest.fixture
def bench(tmp_path: Path) -> Open:
    def start(**settings: Any) -> Workbench:
        return Workbench(load(home=tmp_path, **settings))

    return start


@pytest.mark.parametrize("name", [each.name for each in BUILT_IN])
def test_a_built_in_preset_gives_a_recipe_in_an_empty_home(bench: Open, name: str) -> None:
    opened = bench()
    recipe = opened.recipe(**presets.find(opened, name).choices.arguments())
    assert recipe.model == "extractive"
    assert recipe.search == ("library",)
    assert recipe.budget.tokens


def test_preset_names_ignore_case_and_spacing(bench: Open) -> None:
    opened = bench()
    assert presets.find(opened, "  quick   LOOK ") == presets.find(opened, "Quick look")


def test_an_unknown_preset_gives_an_error_with_the_known_ones(bench: Open) -> None:
    with pytest.raises(ConfigError, match=r"unknown preset 'Deeep'; known: Quick look, Deep, Academic"):
        presets.find(bench(), "Deeep")


def test_missing_services_are_reported_and_configured_ones_are_used(bench: Open) -> None:
    without = presets.find(bench(), "Academic")
    assert {gap.text for gap in without.gaps} == {presets.UNSET_WEB, presets.UNSET_MODEL, presets.NETWORK}
    assert "scholar" in without.choices.tools
    opened = bench(searxng_url="http://127.0.0.1:9", model="openai:some")
    found = presets.find(opened, "Academic")
    assert [gap.text for gap in found.gaps] == [presets.NETWORK]
    assert opened.recipe(**{**found.choices.arguments(), "model": "extractive"}).search == ("library", "searxng")


def test_the_presets_are_the_configurations_that_the_architecture_document_recommends(bench: Open) -> None:
    """Seed 002, 实践建议: research has scholar and the external memory, reliability has parallel samples."""
    opened = bench()
    academic, deep, reliable = (
        opened.recipe(**presets.find(opened, name).choices.arguments())
        for name in ("Academic", "Deep", "High reliability")
    )
    assert {"scholar"} < set(academic.tools) & set(deep.tools)
    assert (academic.framework, academic.recall > 0, academic.remember) == ("iter_research", True, "findings")
    assert (reliable.framework, reliable.framework_options["branch"]) == ("parallel", "iter_research")


def test_a_user_preset_is_loaded_as_it_was_saved(bench: Open) -> None:
    opened = bench()
    choices = Choices(
        framework="parallel", context="window", options={"framework.n": 2, "framework.spread": 0.5, "context.k": 3},
        roles={"writer": "openai:big"}, tools=("search",), budget=Budget(usd=0.5), temperature=0.2, language="zh",
    )  # fmt: skip
    presets.keep(opened, " Weekly  review ", choices)
    assert presets.names(opened)[-1] == "Weekly review"
    found = presets.find(opened, "weekly review")
    assert (found.choices, found.gaps) == (choices, ())
    presets.keep(opened, "Weekly review", Choices())
    assert presets.find(opened, "Weekly review").choices == Choices(context=None)


@pytest.mark.parametrize("name", ["", "   ", "x" * 41, "deep"])
def test_an_invalid_preset_name_is_rejected(bench: Open, name: str) -> None:
    opened = bench()
    with pytest.raises(ConfigError, match="preset name"):
        presets.keep(opened, name, Choices())
    assert opened.saved.presets() == []


def test_choices_that_no_longer_exist_are_dropped_and_reported(bench: Open) -> None:
    opened = bench()
    wanted = Choices(
        framework="rewoo", context="evolving", options={"framework.concurrency": 99, "framework.gone": 1, "context.k": 2},
        tools=("search", "telescope"), search=("library", "tavily", "archive"), scholar=("nobody",), folders=("/gone",),
        mcp=("away",), roles={"poet": "openai:x", "judge": "extractive"},
    )  # fmt: skip
    found = presets.fit(opened, wanted)
    assert opened.recipe(**found.choices.arguments()).framework == "rewoo"
    said = " ".join(map(str, found.gaps))
    for name in ("evolving", "concurrency", "gone", "context.k", "telescope", "TAVILY_API_KEY", "archive", "nobody",
                 "/gone", "away", "poet"):  # fmt: skip
        assert name in said
    assert found.choices.search == ("library",)
    assert found.choices.roles == {"judge": "extractive"}


def test_the_chosen_model_is_never_replaced(bench: Open) -> None:
    found = presets.fit(bench(), Choices(model="openai:paid"))
    assert (found.choices.model, found.gaps) == ("openai:paid", ())


def test_an_unreadable_preset_is_reported_by_name(bench: Open) -> None:
    opened = bench()
    opened.saved.save_preset(Preset("Broken", {"tools": 7}))
    with pytest.raises(ConfigError, match=r"preset 'Broken' cannot be read: .*tools"):
        presets.find(opened, "Broken")


def test_a_recipe_survives_conversion_to_choices_and_back(bench: Open) -> None:
    opened = bench()
    recipe = opened.recipe(
        framework="tool_rounds", context="window", options={"framework.rounds": 3, "context.k": 2}, tools=["search"],
        budget=Budget(seconds=9), roles={"summarise": "extractive"}, protocol="tagged", temperature=0.1, language="en",
    )  # fmt: skip
    assert opened.recipe(**presets.of(recipe).arguments()) == recipe


def test_choices_cover_every_field_of_a_recipe() -> None:
    own = {"framework_options", "context_options", "prompts"}
    of_evaluations = {"world", "world_new", "seed"}
    assert set(Choices.__struct_fields__) - {"options"} == set(Recipe.__struct_fields__) - own - of_evaluations


def test_advice_names_only_valid_pairs() -> None:
    for each in ADVICE:
        plugins.framework.get(each.framework)
        plugins.context.get(each.context)
        assert each.context not in plugins.framework.get(each.framework).refuses
        assert presets.advice(each.framework, each.context) == each.id


def test_every_framework_and_strategy_says_when_to_use_it() -> None:
    for entry in [*plugins.framework.all(), *plugins.context.all()]:
        assert entry.when.endswith("."), entry.id


QUESTION = "How many people live in Japan?"


def played(home: Path, name: str) -> RunView:
    """Return a run of the preset with the offline model over the library."""
    opened = Workbench(load(home=home))
    return fold(research.stream(QUESTION, workbench=opened, **presets.find(opened, name).choices.arguments()))


@pytest.mark.parametrize("name", ["Deep", "Academic"])
def test_a_run_of_a_research_preset_offers_papers(home: Path, name: str) -> None:
    opened = Workbench(load(home=home))
    events = list(research.stream(QUESTION, workbench=opened, **presets.find(opened, name).choices.arguments()))
    acting = [event for event in events if isinstance(event, Asked) and event.purpose == "act"]
    assert acting
    assert all("scholar" in event.tools for event in acting)
    assert fold(events).outcome == "answered"


def test_a_run_of_the_academic_preset_remembers_and_the_next_one_recalls(home: Path) -> None:
    first, second = played(home, "Academic"), played(home, "Academic")
    assert first.remembered is not None
    assert len(first.remembered.added) > 0
    assert first.recalled is None or not first.recalled.sources
    assert second.recalled is not None
    assert "123,201,945" in "\n".join(source.quote for source in second.recalled.sources)


def test_a_run_of_the_reliability_preset_shows_its_branches(home: Path) -> None:
    view = played(home, "High reliability")
    assert (view.outcome, len(view.branches)) == ("answered", 3)
    for branch in view.branches.values():
        assert branch.outcome == "answered"
        assert "123,201,945" in branch.text
        assert branch.reports, "the reports of a branch cannot be read"
    assert (
        fold(first_rounds(Workbench(load(home=home)).store.events(view.run), 1)).branches.keys() == view.branches.keys()
    )
