"""A year works on every source, or is refused with the reason; none ignores it."""

from __future__ import annotations

import json
import threading
from collections.abc import Callable
from pathlib import Path

import pytest

from research import plugins
from research.agent.journal import Journal
from research.agent.toolbox import Toolbox
from research.config.settings import load
from research.events.recipe import FOLDERS, LIBRARY
from research.mcp import config
from research.mcp.server_tools import McpServers
from research.search.web import Service
from research.tools.recall import RecallTool
from research.tools.scholar import ScholarTool
from research.tools.search import SearchTool
from research.types import ToolCall
from research.workbench.workbench import Workbench
from tests.calls import used
from tests.contract.test_mcp_client import example
from tests.fake_search import SPEAK, FakeSearch, Hit, Paper

Open = Callable[..., Service]
HITS = [
    Hit("https://a.example/", "This year", "Tigers of this year.", "2020-05-01"),
    Hit("https://b.example/", "Another year", "Tigers of the year before.", "2019-05-01"),
    Hit("https://c.example/", "No date", "Tigers of all times."),
]
PAPERS = [Paper(f"Tigers of {year}", year=year, arxiv=f"{year % 100}05.00001") for year in (2019, 2020, 2021)]
OTHERS = {"crossref", "pubmed", "wikipedia"}
"""Services whose answers are in `test_more_sources`, with the years that they are told."""
SERVICES = {entry.id: entry.scholar for entry in plugins.searcher.all() if entry.id not in OTHERS}


@pytest.mark.parametrize("name", [name for name, scholar in SERVICES.items() if not scholar])
def test_every_web_service_is_told_the_year_and_returns_no_other(name: str, open_service: Open) -> None:
    with FakeSearch([SPEAK[name](HITS)]) as server:
        output = SearchTool([open_service(name, server.url)])("tigers", filter_year=2020)
        (asked,) = server.asked
    assert "2020" in json.dumps([asked.params, asked.body]), "the service was not told the year"
    assert [passage.title for passage in output.passages] == ["This year", "No date"]
    assert "1 of 2 results have no date, so their year was not checked" in output.text


@pytest.mark.parametrize("name", [name for name, scholar in SERVICES.items() if scholar])
@pytest.mark.parametrize(
    ("years", "titles"), [((2020, 2020), {2020}), ((None, 2020), {2019, 2020}), ((2021, None), {2021})]
)
def test_every_scholarly_service_is_told_the_years_and_returns_no_other(
    name: str, years: tuple[int | None, int | None], titles: set[int], open_service: Open
) -> None:
    with FakeSearch([SPEAK[name](PAPERS)]) as server:
        output = ScholarTool([open_service(name, server.url)])("tigers", *years)
        (asked,) = server.asked
    assert all(str(year) in json.dumps([asked.params, asked.body]) for year in years if year)
    assert {passage.title for passage in output.passages} == {f"Tigers of {year}" for year in titles}


@pytest.mark.parametrize("source", [LIBRARY, FOLDERS])
def test_the_library_and_folders_search_for_the_year_and_say_that_it_was_not_checked(
    source: str, tmp_path: Path, home: Path, own_library: Path
) -> None:
    folder = tmp_path / "notes"
    folder.mkdir()
    (folder / "a.md").write_text("The census of 2020 counted 12 tigers in the valley.", encoding="utf-8")
    (folder / "b.md").write_text("The census of 2019 counted 9 tigers in the valley.", encoding="utf-8")
    bench = Workbench(load(home=home))
    bench.library.add_folder(folder)
    recipe = bench.recipe(search=(source,), folders=(folder,))
    context = bench.context_for(recipe, Journal(), threading.Event())
    result = used(context.tools, ToolCall("1", "search", {"query": "census tigers valley", "filter_year": 2020}))
    assert result.ok
    assert "12 tigers" in result.passages[0].quote
    assert "results have no date, so their year was not checked" in result.text


def test_the_memory_and_mcp_servers_refuse_a_year_with_what_they_accept(tmp_path: Path) -> None:
    (tmp_path / config.FILE).write_text(json.dumps({"mcpServers": {"ex": example()}}), encoding="utf-8")
    servers = McpServers(tmp_path, (), {})
    try:
        tools = servers.offer(("ex",)).tools
        box = Toolbox([*tools, RecallTool(lambda: pytest.fail("the memory was searched without the year"))])
        for spec in box.specs:
            required = dict.fromkeys(spec.parameters.get("required", ()), "x")
            result = used(box, ToolCall("1", spec.name, {**required, "filter_year": 2020}))
            assert (result.ok, result.text.startswith(f"{spec.name} cannot filter by filter_year.")) == (False, True)
            assert "Accepted: {" in result.text
    finally:
        servers.close()


def test_a_year_that_is_left_empty_is_no_filter() -> None:
    box = Toolbox([RecallTool(lambda: pytest.fail("reached"))])
    with pytest.raises(pytest.fail.Exception, match="reached"):
        used(box, ToolCall("1", "recall", {"query": "tigers", "filter_year": None}))
