"""The search tool with several services at once, over real HTTP on loopback."""

from __future__ import annotations

import threading
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from research._util import cancel
from research.errors import Stopped, ToolError
from research.search.cache import ResultCache
from research.search.merge import canonical
from research.search.web import Service
from research.tools.search import SearchTool
from research.types import Passage
from research.web.throttling import RateLimit
from tests import fake_search as fake
from tests.fake_search import HITS, FakeSearch, Hit, Reply
from tests.workers import LONG_S

Open = Callable[..., Service]


class Shelf:
    """A search service that cannot filter, like the library."""

    def __init__(self, *passages: Passage) -> None:
        self.queries: list[str] = []
        self._passages = passages

    def search(self, query: str, limit: int = 10) -> list[Passage]:
        self.queries.append(query)
        return list(self._passages)


def test_results_of_several_services_are_merged_into_one_list(open_service: Open) -> None:
    one = [
        Hit("https://only-tavily.example/"),
        Hit("http://www.both.example/page/?utm_source=x#part", "Both", "Tavily's."),
    ]
    two = [Hit("https://both.example:443/page", "Both", "Brave's.", "2024-01-02"), Hit("https://only-brave.example/")]
    with FakeSearch([fake.tavily(one)]) as first, FakeSearch([fake.brave(two)]) as second:
        tool = SearchTool([open_service("tavily", first.url), open_service("brave", second.url)])
        output = tool("cats")
    assert [p.url for p in output.passages] == [
        "https://both.example:443/page", "https://only-tavily.example/", "https://only-brave.example/",
    ]  # fmt: skip
    assert output.passages[0].csl["issued"] == {"date-parts": [[2024, 1, 2]]}
    assert output.text == "" and not output.private


def test_a_failing_service_does_not_fail_the_others(open_service: Open) -> None:
    with FakeSearch([fake.duckduckgo_captcha()]) as bad, FakeSearch([fake.tavily(HITS)]) as good:
        tool = SearchTool([open_service("duckduckgo", bad.url), open_service("tavily", good.url)])
        output = tool("cats")
    assert len(output.passages) == 2
    assert output.text.startswith("duckduckgo failed: duckduckgo takes this machine for a robot")


def test_if_all_services_fail_each_reason_is_given(open_service: Open) -> None:
    with FakeSearch([Reply("", 403)]) as first, FakeSearch([Reply({}, 401)]) as second:
        tool = SearchTool([open_service("duckduckgo", first.url), open_service("tavily", second.url)])
        with pytest.raises(ToolError, match="duckduckgo: .*robot.*; tavily: tavily refused the key"):
            tool("cats")


def test_services_are_asked_at_the_same_time(open_service: Open) -> None:
    both = threading.Barrier(2, timeout=LONG_S)  # raises unless two threads wait at once

    def reply(hits: Reply) -> Callable[[Any], Reply]:
        def wait(asked: Any) -> Reply:
            both.wait()
            return hits

        return wait

    with FakeSearch(reply(fake.tavily(HITS))) as first, FakeSearch(reply(fake.brave(HITS))) as second:
        tool = SearchTool([open_service("tavily", first.url), open_service("brave", second.url)])
        assert tool("cats").text == ""


def test_the_model_sees_the_age_of_cached_results(open_service: Open, tmp_path: Path) -> None:
    with FakeSearch([fake.tavily(HITS)]) as server:
        service = open_service("tavily", server.url, keep=86_400)
        tool = SearchTool([service])
        tool("cats")
        service.cache = ResultCache(tmp_path / "search-cache.sqlite", 86_400, lambda: time.time() + 3 * 3_600)
        assert tool("cats").text == "tavily: from the cache, 3 h old."


def test_a_service_without_filters_gets_the_year_as_a_word_and_its_urls_are_filtered() -> None:
    shelf = Shelf(Passage("library://factbook/france/economy", "France", "q"), Passage("library://x-1/a.txt", "A", "q"))
    output = SearchTool([shelf])("GDP", filter_year=2023, site="factbook")
    assert shelf.queries == ["GDP 2023"]
    assert [p.url for p in output.passages] == ["library://factbook/france/economy"]


def test_results_from_the_users_folders_are_private() -> None:
    public = Passage("library://factbook/france/economy", "France", "q")
    own = Passage("library://notes-1a2b3c4d/plan.txt", "Plan", "q")
    lookalike = Passage("library://factbook-1a2b3c4d/plan.txt", "Plan", "q")
    assert not SearchTool([Shelf(public)])("plan").private
    assert SearchTool([Shelf(public, own)])("plan").private
    assert SearchTool([Shelf(lookalike)])("plan").private


def test_at_most_ten_results_with_short_quotes_are_returned(open_service: Open) -> None:
    hits = [Hit(f"https://{n}.example/", f"T{n}", f"{n} " + "long text " * 100) for n in range(15)]
    with FakeSearch([fake.searxng(hits)]) as server:
        output = SearchTool([open_service("searxng", server.url)])("cats")
    assert len(output.passages) == 10
    assert len(output.passages[0].quote) <= 500
    assert max(len(p.quote) for p in output.passages[1:]) <= 200


def test_copies_of_a_text_are_merged_but_other_facts_are_not(open_service: Open) -> None:
    story = "The council of the old town has decided after a long debate that the bridge will be closed for repairs in 2024."
    hits = [
        Hit("https://agency.example/1", "Bridge will be closed for repairs, council decides", story),
        Hit("https://paper.example/2", "Bridge will be closed for repairs, council decides - The Paper", story),
        Hit(
            "https://paper.example/3",
            "Bridge will be closed for repairs, council decides",
            story.replace("2024", "2025"),
        ),
        Hit(
            "https://paper.example/4",
            "Tunnel opens",
            "A new tunnel opens below the river, and the council is proud of it.",
        ),
    ]
    with FakeSearch([fake.serper(hits)]) as server:
        output = SearchTool([open_service("serper", server.url)])("bridge")
    assert [p.url[-1] for p in output.passages] == ["1", "3", "4"]


def test_a_document_that_repeats_another_is_shown_once() -> None:
    said = "The wind farm of Odense has twelve turbines.\nIt delivered 99,500 MWh in 2024."
    first, copy = (Passage(f"library://notes/{n}.txt", "Wind farm Odense", said) for n in (1, 2))
    part = Passage(
        "library://notes/3.txt", "Wind farm Odense", said.replace("\nIt", " IT").replace("99,500", "99,500 ")
    )
    longer = Passage("library://notes/4.txt", "Wind farm Odense", f"{said}\nIts owner is Fyns Vind.")
    other = Passage("library://notes/5.txt", "Wind farm Odense", said.replace("2024", "2023"))
    short = (Passage(f"library://notes/{n}.txt", "Report", "Incidents: 0") for n in (6, 7))
    output = SearchTool([Shelf(first, copy, part, longer, other, *short)])("wind farm Odense")
    assert [p.url[-5] for p in output.passages] == ["4", "5", "6", "7"]


def test_a_long_quote_of_a_service_is_cut_to_the_part_that_fits(open_service: Open) -> None:
    text = "It rained. " * 60 + "The bridge of Visby was closed in May. " + "It rained. " * 60
    with FakeSearch([fake.searxng([Hit("https://a.example/", "News", text)])]) as server:
        (found,) = SearchTool([open_service("searxng", server.url)])("bridge of Visby closed").passages
    assert "The bridge of Visby was closed in May." in found.quote
    assert len(found.quote) <= 500


def test_finding_nothing_is_reported_with_the_filters(open_service: Open) -> None:
    with FakeSearch([fake.tavily([])]) as server:
        tool = SearchTool([open_service("tavily", server.url)])
        assert tool("cats", filter_year=2020, site="a.example").text == (
            "No results for 'cats' on a.example and of 2020, nor without that filter. Try other or fewer words."
        )
        with pytest.raises(ToolError, match="12 is not a year"):
            tool("cats", filter_year=12)
        with pytest.raises(ToolError, match="no words"):
            tool("?!")


def test_a_site_that_a_source_does_not_have_is_dropped_with_a_note() -> None:
    shelf = Shelf(Passage("library://factbook/france/economy", "France", "q"))
    output = SearchTool([shelf])("GDP", site="en.wikipedia.org")
    assert [p.url for p in output.passages] == ["library://factbook/france/economy"]
    assert output.text == "No results on en.wikipedia.org: these are without that filter."


def test_a_year_in_which_nothing_exists_is_dropped_with_a_note(open_service: Open) -> None:
    hits = [Hit("https://a.example/", "A", "a", "2024-01-02")]
    with FakeSearch([fake.brave(hits)]) as server:
        output = SearchTool([open_service("brave", server.url)])("cats", filter_year=2044)
    assert [p.url for p in output.passages] == ["https://a.example/"]
    assert "No results of 2044: these are without that filter." in output.text


def test_results_without_a_date_are_told_when_a_year_is_asked_for() -> None:
    dated = Passage("https://a.example/", "A", "q", {"issued": {"date-parts": [[2023]]}})
    other = Passage("https://b.example/", "B", "q", {"issued": {"date-parts": [[1999]]}})
    output = SearchTool([Shelf(dated, other, Passage("https://c.example/", "C", "q"))])("GDP", filter_year=2023)
    assert [p.url for p in output.passages] == ["https://a.example/", "https://c.example/"]
    assert output.text == "library: 1 of 2 results have no date, so their year was not checked."


@pytest.mark.parametrize(
    "same",
    [
        ("https://www.a.example/x/", "http://a.example/x"),
        ("https://a.example/x?b=2&a=1", "https://a.example:443/x?a=1&b=2#top"),
        ("https://en.m.wikipedia.org/wiki/Cat", "https://en.wikipedia.org/wiki/Cat"),
        ("https://m.a.example/x", "https://A.EXAMPLE/x"),
        ("https://a.example/caf%C3%A9", "https://a.example/café"),
        ("https://a.example/?fbclid=1&utm_medium=x&id=7&GCLID=q", "https://a.example/?id=7"),
        ("https://bücher.example/", "https://xn--bcher-kva.example"),
    ],
)
def test_urls_of_one_page_have_the_same_canonical_form(same: tuple[str, str]) -> None:
    assert canonical(same[0]) == canonical(same[1])


@pytest.mark.parametrize(
    "different",
    [
        ("https://a.example/x?id=1", "https://a.example/x?id=2"),
        ("https://a.example/?uid=1", "https://a.example/?uid=2"),
        ("https://a.example/view?123", "https://a.example/view?124"),
        ("https://a.example/X", "https://a.example/x"),
        ("https://a.example:8080/", "https://a.example/"),
        ("https://m.co/", "https://t.co/"),
        ("https://a.example/a%2Fb", "https://a.example/a/b"),
        ("https://a.example/?q=a%26b", "https://a.example/?q=a&b"),
        ("library://factbook/france/economy", "library://factbook/spain/economy"),
        ("http://[::1/", "http://[::2/"),
        ("http://10.0.0.1/", "http://0.0.1/"),
    ],
)
def test_urls_of_different_pages_have_different_canonical_forms(different: tuple[str, str]) -> None:
    assert canonical(different[0]) != canonical(different[1])


def test_a_stopped_call_does_not_retry(open_service: Open) -> None:
    given_up = threading.Event()
    asked = []

    def reply(request: Any) -> Reply:
        asked.append(request)
        given_up.set()  # the user stops the run while the first answer is under way
        return Reply("", 503, headers={"Retry-After": "9"})

    with FakeSearch(reply) as server:
        service = open_service("tavily", server.url)
        service.remote.rate_limit = RateLimit("tavily", 0.0)  # with the real clock
        with cancel.cancelled_by(given_up), pytest.raises(Stopped):
            SearchTool([service])("cats")
    assert len(asked) == 1


def test_a_stopped_call_reads_no_further(open_service: Open) -> None:
    given_up = threading.Event()

    def slowly() -> Iterator[bytes]:
        given_up.set()
        yield next(iter(fake._pieces(fake.tavily(HITS).body)))

    with FakeSearch([Reply(slowly())]) as server, cancel.cancelled_by(given_up), pytest.raises(Stopped):
        SearchTool([open_service("tavily", server.url)])("cats")
