"""A tool of another package that says it searches is one of the tools that search, everywhere."""

from __future__ import annotations

import importlib
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

import research
from research import plugins
from research._util.registry import Entry
from research.agent.plan_text import sources_of
from research.config.settings import load
from research.errors import ConfigError, ToolError
from research.events.recipe import Recipe
from research.events.view import fold
from research.types import Observation, Source, ToolCall
from research.web.url_guard import UrlGuard
from research.workbench.workbench import Workbench
from tests.registrations import registering
from tests.warm import ROOT

SECRET = Observation("1", "search", "", sources=(Source(1, "library://mine/a.txt", "a", "secret"),), private=True)
PAGE = Source(2, "https://example.org/atlas/japan", "Japan", "Population: 123,201,945 (2024)")
FOUND = Observation("2", "atlas", "", sources=(PAGE,), private=True)
VISIT = ToolCall("3", "visit", {"url": PAGE.url, "goal": "Japan"})


@pytest.fixture
def atlas(monkeypatch: pytest.MonkeyPatch) -> Iterator[str]:
    """The searching tool of the example package, registered as its import does."""
    monkeypatch.syspath_prepend(str(ROOT / "tests" / "plugin_package"))
    with registering():
        yield importlib.import_module("plugin_package.atlas").atlas.__name__
    for name in [each for each in sys.modules if each.partition(".")[0] == "plugin_package"]:
        del sys.modules[name]


def test_the_addresses_that_it_finds_may_be_opened_in_a_private_run(atlas: str) -> None:
    guard = UrlGuard([SECRET, FOUND])
    guard.check(VISIT)
    guard.check(ToolCall("4", atlas, {"query": "what is at https://example.org/written?by=the-model"}))


def test_those_of_a_tool_that_is_not_installed_may_not() -> None:
    guard = UrlGuard([SECRET, FOUND])
    with pytest.raises(ToolError, match="was not opened"):
        guard.check(VISIT)
    with pytest.raises(ToolError, match="was not opened"):
        guard.check(ToolCall("4", "atlas", {"query": "what is at https://example.org/written?by=the-model"}))


def test_an_answer_cites_what_it_finds(atlas: str, home: Path) -> None:
    bench = Workbench(load(home=home))
    view = fold(list(research.stream("How many people live in Japan?", workbench=bench, tools=[atlas])))
    assert (view.outcome, [each.url for found in view.sources.values() for each in found]) == ("answered", [PAGE.url])
    assert "123,201,945" in view.answer


def test_a_plan_names_it_and_an_offline_run_refuses_it(atlas: str, home: Path) -> None:
    assert sources_of(Recipe(tools=("visit", "recall", atlas, "scholar"))) == (atlas, "scholar", "recall", "visit")
    with pytest.raises(ConfigError, match="atlas sends what the model writes"):
        Workbench(load(home=home)).recipe(tools=[atlas], egress="offline")


def test_a_tool_that_is_not_installed_has_no_traits() -> None:
    unknown = plugins.tool.traits("gone")
    own = set(plugins.ToolEntry.__struct_fields__) - set(Entry.__struct_fields__)
    assert {name: getattr(unknown, name) for name in own} == dict.fromkeys(own, False)
