"""Domains and dates that the user allows are kept in every search and visit, or refused with the reason."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any

import pytest

import research
from research.agent.toolbox import Toolbox
from research.citations import Ledger
from research.config.settings import load
from research.errors import ToolError
from research.exports.json import as_dict
from research.exports.progress import summary
from research.search import classes, web
from research.search.scope import Scope, domain, scope_of
from research.search.services import openalex
from research.tools.scholar import ScholarTool
from research.tools.search import SearchTool
from research.tools.visit import Pages, VisitTool
from research.types import Passage, ToolCall, ToolOutput
from research.web.fetch import FetchedPage
from research.workbench.workbench import Workbench


def page(url: str, *date: int) -> Passage:
    return Passage(
        url, url, f"words about the thing on {url}", {"issued": {"date-parts": [list(date)]}} if date else {}
    )


class Fake(web.Service):
    """A service that finds these pages, and keeps what it was asked."""

    name = "fake"

    def __init__(self, *pages: Passage) -> None:
        self._pages = pages
        self.asked: list[web.SearchRequest] = []

    def find(self, request: web.SearchRequest) -> web.SearchResults:
        self.asked.append(request)
        return web.SearchResults(tuple(filter(request.admits, self._pages)))


PAGES = [
    page("https://www.stats.gov/a", 2024, 5, 1),
    page("https://evil.example/b", 2024, 5, 1),
    page("https://notstats.gov.example/c", 2024),
    page("https://stats.gov/old", 2019),
    page("https://stats.gov/undated"),
]


def found(scope: Scope, pages: Sequence[Passage] = PAGES) -> tuple[list[str], str, Fake]:
    service = Fake(*pages)
    output = SearchTool([service], scope=scope)(query="thing")
    return [passage.url for passage in output.passages], output.text, service


def test_only_allowed_domains_are_found_and_their_subdomains() -> None:
    urls, _, service = found(scope_of(["gov"]))
    assert urls == ["https://www.stats.gov/a", "https://stats.gov/old", "https://stats.gov/undated"]
    assert service.asked[0].site == "gov"
    urls, text, _ = found(scope_of(["stats.gov", "oecd.org"]))
    assert len(urls) == 3
    assert (
        "2 results left out: evil.example is not among the domains that the user allows (stats.gov, oecd.org)" in text
    )


def test_denied_domains_are_left_out_even_if_allowed() -> None:
    urls, text, _ = found(scope_of(["gov", "example"], ["evil.example"]))
    assert "https://evil.example/b" not in urls
    assert "excludes" in text


def test_dates_are_kept_and_a_source_without_one_is_left_out() -> None:
    urls, text, service = found(scope_of(since="2020", until="2024-06"))
    assert urls == [PAGES[0].url, PAGES[1].url, PAGES[2].url]
    assert "since 2020" not in text  # both ends are named
    assert "it has no date, and the user wants only sources from 2020-01-01 to 2024-06-30" in text
    assert (service.asked[0].year_from, service.asked[0].year_to) == (2020, 2024)
    with pytest.raises(ToolError, match="the user wants only sources since 2020-01-01; search within these years"):
        SearchTool([Fake()], scope=scope_of(since="2020"))(query="thing", filter_year=2010)


def test_documents_of_the_library_have_no_domain() -> None:
    class Library:
        def search(self, query: str, limit: int = 10) -> Sequence[Passage]:
            return [page("library://factbook/japan/economy")]

    output = SearchTool([Library()], scope=scope_of(["gov"], since="2020"))(query="thing")
    assert [each.url for each in output.passages] == ["library://factbook/japan/economy"]


def test_a_page_outside_the_scope_is_neither_opened_nor_used_after_a_redirect() -> None:
    opened = []

    def reader(url: str) -> FetchedPage:
        opened.append(url)
        return FetchedPage(url="https://evil.example/b", title="t", text="words", content_type="text/html")

    visit = VisitTool(None, Pages(reader, None, scope_of(["stats.gov"])))  # type: ignore[arg-type]
    with pytest.raises(ToolError, match="not opened: evil.example is not among"):
        visit(url="https://evil.example/b", goal="x")
    assert opened == []
    with pytest.raises(ToolError, match="not used: evil.example is not among"):
        visit(url="https://stats.gov/a", goal="x")


def test_no_tool_returns_a_passage_outside_the_scope() -> None:
    class Unaware:
        """A tool that knows nothing of scopes."""

        timeout_s = 5.0
        spec = SearchTool([]).spec

        def __call__(self, **arguments: Any) -> Any:
            return ToolOutput("", tuple(PAGES))

    box = Toolbox([Unaware()], refusal=scope_of(deny_domains=["stats.gov"]).refusal)
    result = box.begin(ToolCall("1", "search", {"query": "x"})).result()
    assert [each.url for each in result.passages] == [PAGES[1].url, PAGES[2].url]
    assert "3 results left out" in result.text


@pytest.mark.parametrize(
    ("text", "plain"),
    [
        ("https://www.Example.org/", "example.org"),
        ("*.gov", "gov"),
        (".gov.uk", "gov.uk"),
        ("bücher.de", "xn--bcher-kva.de"),
    ],
)
def test_domains_are_compared_in_one_form(text: str, plain: str) -> None:
    assert domain(text) == plain


def test_a_recipe_says_what_it_cannot_keep_and_its_hash_changes_only_with_limits(bench: Workbench) -> None:
    assert not {"allow_domains", "deny_domains", "since", "until"} & bench.recipe().fields.keys()
    limited = bench.recipe(allow_domains=["https://www.OECD.org"], search=["duckduckgo"], since="2024")
    assert (limited.allow_domains, limited.since) == (("oecd.org",), "2024-01-01")
    with pytest.raises(research.ConfigError, match="have no publication date, so since and until cannot limit them"):
        bench.recipe(since="2024")
    with pytest.raises(research.ConfigError, match=r"'a/b': write a host such as example.org"):
        bench.recipe(deny_domains=["a/b"])
    with pytest.raises(research.ConfigError, match="as_of needs an archive of the web: set WORKBENCH_ARCHIVE"):
        bench.recipe(as_of="2024")
    with_archive = Workbench(load(home=bench.settings.home, archive_url="https://archive.org"))
    assert with_archive.recipe(as_of="2024-06").as_of == "2024-06-30"
    with pytest.raises(research.ConfigError, match="since '24' is not a date"):
        bench.recipe(since="24", search=["duckduckgo"])
    with pytest.raises(research.ConfigError, match="since 2025 is after until 2024"):
        bench.recipe(since="2025", until="2024", search=["duckduckgo"])


@pytest.mark.parametrize(
    ("url", "kind", "expected"),
    [
        ("https://data.census.gov/table", "", "primary data"),
        ("https://doi.org/10.1/x", "dataset", "primary data"),
        ("https://pmc.ncbi.nlm.nih.gov/articles/1", "", "journal"),
        ("https://shop.example/a", "article-journal", "journal"),
        ("https://www.bbc.co.uk/news", "webpage", "news"),
        ("https://docs.aws.amazon.com/x", "", "vendor"),
        ("https://old.reddit.com/r/x", "", "forum"),
        ("https://notreddit.com/", "", "unknown"),
        ("library://factbook/japan/economy", "", "primary data"),
        ("library://papers/own.pdf", "", ""),
    ],
)
def test_a_source_has_the_class_of_its_type_or_its_domain(url: str, kind: str, expected: str) -> None:
    passage = Passage(url, "", "", {"type": kind} if kind else {})
    assert classes.Table(classes.shipped()).of(passage) == expected


def test_every_class_has_its_reason_and_the_user_can_change_the_table(tmp_path: Path) -> None:
    assert set(classes.shipped()) == set(classes.CLASSES)
    assert all(entry.why for entry in classes.shipped().values())
    (tmp_path / classes.FILE).write_text('[vendor]\ndomains = ["bbc.co.uk"]\nwhy = "for a test"\n')
    assert classes.table(tmp_path).of(page("https://bbc.co.uk/x")) == "vendor"
    (tmp_path / classes.FILE).write_text('[gossip]\ndomains = ["bbc.co.uk"]\n')
    with pytest.raises(research.ConfigError, match="unknown class 'gossip'; known: primary data, journal"):
        classes.table(tmp_path)


def test_classes_are_saved_with_the_sources_and_counted(bench: Workbench) -> None:
    view = research.run("How many people live in Japan?", workbench=bench)
    assert {source.kind for source in view.cited_sources} == {"primary data"}
    assert "Sources cited: 1 primary data" in summary(view)
    printed = as_dict(view)
    assert printed["source_classes"] == {"primary data": 1}
    assert printed["sources"][0]["class"] == "primary data"


def test_a_retraction_is_said_to_the_model_and_shown() -> None:
    paper = Passage(
        "https://doi.org/10.1/x", "Cold fusion", "We saw it.", {"custom": {"retracted": True, "citations": 3}}
    )
    output = ScholarTool([Fake(paper, Passage("https://doi.org/10.1/y", "Cold fusion", "", {}))])(query="fusion")
    assert "RETRACTED · 3 citations" in output.passages[0].quote
    assert Ledger().add(output.passages[0]).retracted


def test_openalex_tells_of_retractions() -> None:
    work = openalex._Work(doi="https://doi.org/10.1/x", display_name="Cold fusion", cited_by_count=3, is_retracted=True)
    found = openalex._passage(work)
    assert found
    assert found.csl["custom"] == {"citations": 3, "retracted": True}
    assert "is_retracted" in openalex._FIELDS
