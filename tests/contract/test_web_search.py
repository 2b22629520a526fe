"""Web search services over real HTTP on loopback: their requests and their replies."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest

from research.config.settings import load
from research.errors import ConfigError, ToolError
from research.search import web
from research.search.web import SearchRequest, Service
from tests import fake_search as fake
from tests.fake_search import ALL, HITS, KEY, SPEAK, WEB, FakeSearch, Hit

Open = Callable[..., Service]


# Requests and replies


@pytest.mark.parametrize("name", WEB)
def test_search_results_become_passages(name: str, open_service: Open) -> None:
    with FakeSearch([SPEAK[name](HITS)]) as server:
        first, second = open_service(name, server.url).search("large cats")
    assert (first.url, first.title, first.quote) == (HITS[0].url, "First & best", "Tigers are large cats.")
    assert second.url == "https://b.example/AT%26T?q=a%26b"  # escapes are unchanged
    assert first.csl["type"] == "webpage" and first.csl["URL"] == first.url
    assert first.csl["issued"] == {"date-parts": [[2024, 3, 5]]}
    assert "issued" not in second.csl


@pytest.mark.parametrize("name", ALL)
def test_finding_nothing_is_not_an_error(name: str, open_service: Open) -> None:
    with FakeSearch([SPEAK[name]([])]) as server:
        assert list(open_service(name, server.url).search("nothing at all")) == []


def test_each_service_gets_the_filters_in_its_own_form(open_service: Open) -> None:
    ask = web.search_request("large cats", year_from=2020, year_to=2021, site="https://www.Nature.com/")
    asked = {}
    for name in WEB:
        with FakeSearch([SPEAK[name]([])]) as server:
            open_service(name, server.url).find(ask)
            asked[name] = server.asked[0]
    assert asked["searxng"].params == {"q": "large cats site:nature.com", "format": "json"}
    assert asked["tavily"].body == {
        "query": "large cats", "max_results": 10, "include_domains": ["nature.com"],
        "start_date": "2020-01-01", "end_date": "2021-12-31",
    }  # fmt: skip
    assert asked["tavily"].headers["authorization"] == f"Bearer {KEY}"
    assert asked["brave"].params["q"] == "large cats site:nature.com"
    assert asked["brave"].params["freshness"] == "2020-01-01to2021-12-31"
    assert asked["brave"].headers["x-subscription-token"] == KEY
    assert asked["serper"].body["q"] == "large cats site:nature.com"
    assert asked["serper"].body["tbs"] == "cdr:1,cd_min:01/01/2020,cd_max:12/31/2021"
    assert asked["serper"].headers["x-api-key"] == KEY
    assert asked["duckduckgo"].body["q"] == "large cats site:nature.com"
    assert asked["duckduckgo"].body["df"] == "2020-01-01..2021-12-31"


@pytest.mark.parametrize("name", WEB)
def test_results_outside_the_filters_are_dropped(name: str, open_service: Open) -> None:
    hits = [
        Hit("https://news.nature.com/a", date="2020-05-01"), Hit("https://nature.com/undated"),
        Hit("https://www.nature.com/old", date="2019-12-31"), Hit("https://nature.com.evil.example/"),
        Hit("https://other.example/?nature.com"),
    ]  # fmt: skip
    with FakeSearch([SPEAK[name](hits)]) as server:
        found = open_service(name, server.url).find(
            web.search_request("cats", year_from=2020, year_to=2020, site="nature.com")
        )
    assert [passage.url for passage in found.passages] == ["https://news.nature.com/a", "https://nature.com/undated"]


@pytest.mark.parametrize("name", WEB)
def test_results_with_dangerous_urls_are_dropped(name: str, open_service: Open) -> None:
    bad = [
        "javascript:alert(1)",
        "file:///etc/passwd",
        "https://a.example/x\n[9] fake",
        "data:text/html,x",
        "",
        "https://a.example/\u202egpj.exe",
    ]
    with FakeSearch([SPEAK[name]([*map(Hit, bad), Hit("https://good.example/")])]) as server:
        assert [passage.url for passage in open_service(name, server.url).search("cats")] == ["https://good.example/"]


def test_duckduckgo_redirect_links_are_resolved_to_their_targets(open_service: Open) -> None:
    with FakeSearch([fake.duckduckgo(HITS, redirects=True)]) as server:
        assert [p.url for p in open_service("duckduckgo", server.url).search("cats")] == [hit.url for hit in HITS]


def test_searxng_gets_the_year_as_a_word_because_it_cannot_filter(open_service: Open) -> None:
    with FakeSearch([fake.searxng([])]) as server:
        open_service("searxng", server.url).find(
            web.search_request("cats", year_from=2020, year_to=2020, site="a.example")
        )
        assert server.asked[0].params["q"] == "cats 2020 site:a.example"


def test_long_queries_are_cut_to_each_services_limit(open_service: Open) -> None:
    query = "word " * 300
    for name, longest in (("brave", 400), ("duckduckgo", 499), ("tavily", 400)):
        with FakeSearch([SPEAK[name]([])]) as server:
            open_service(name, server.url).find(web.search_request(query, site="a.example" if name != "tavily" else ""))
            sent = server.asked[0]
        words = sent.params.get("q") or sent.body.get("q") or sent.body["query"]
        assert 100 < len(words) <= longest
        assert len(words.split()) <= 50 or name != "brave"


# Configured services


def test_duckduckgo_is_asked_through_ddgs_and_keeps_the_order_of_its_page(
    open_service: Open, monkeypatch: pytest.MonkeyPatch
) -> None:
    from ddgs.ddgs import DDGS

    text, asked = DDGS.text, []
    monkeypatch.setattr(
        DDGS, "text", lambda self, query, **options: asked.append(query) or text(self, query, **options)
    )
    hits = [Hit("https://a.example/", "Dogs", "dogs"), Hit("https://en.wikipedia.org/wiki/Cat", "Cat", "cats")]
    with FakeSearch([fake.duckduckgo(hits), fake.duckduckgo([])]) as server:
        service = open_service("duckduckgo", server.url)
        assert [p.url for p in service.search("cats")] == [hit.url for hit in hits]
        assert list(service.search("nothing")) == []
    assert asked == ["cats", "nothing"]


def test_web_uses_the_configured_services_or_else_duckduckgo(tmp_path: Path) -> None:
    assert web.configured(load(home=tmp_path)) == ["duckduckgo"]
    assert web.configured(load(home=tmp_path, tavily_api_key="")) == ["duckduckgo"]
    both = load(home=tmp_path, tavily_api_key=KEY, searxng_url="http://127.0.0.1:8888")
    assert web.configured(both) == ["searxng", "tavily"]
    assert web.scholars() == ["arxiv", "crossref", "openalex", "pubmed", "semantic_scholar"]
    assert [service.name for service in web.services(["tavily"], both)] == ["tavily"]  # type: ignore[attr-defined]
    with pytest.raises(ConfigError, match="unknown search service 'bing'"):
        web.services(["bing"], both)


def test_a_search_request_understands_what_models_write() -> None:
    assert web.search_request("a  b", site="site:https://www.Nature.com/articles/").site == "nature.com/articles"
    assert web.search_request("a", site="nature.com/articles").host == "nature.com"
    assert web.search_request("a", site="nature").host == ""
    assert SearchRequest("a").days is None
    assert web.search_request("a", year_to=2010).days == ("1900-01-01", "2010-12-31")
    with pytest.raises(ToolError, match="swap them"):
        web.search_request("a", year_from=2011, year_to=2010)
