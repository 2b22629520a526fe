"""Scholarly services over real HTTP on loopback: their requests, their replies, and papers that several of them find."""

from __future__ import annotations

import itertools
from collections.abc import Callable
from pathlib import Path

import pytest

from research import plugins
from research.config.settings import load
from research.errors import ToolError
from research.search import web
from research.search.merge import same_paper
from research.search.services.openalex import abstract
from research.search.web import Service
from research.tools.scholar import ScholarTool
from research.types import Passage
from research.web import csl
from research.web.throttling import RateLimit
from tests import fake_search as fake
from tests.fake_search import FakeClock, FakeSearch, Paper, Reply

SPEAK: dict[str, Callable[..., Reply]] = {
    "semantic_scholar": fake.semantic_scholar, "openalex": fake.openalex, "arxiv": fake.arxiv,
}  # fmt: skip
ATTENTION = Paper(
    "Attention is All you Need", ("Ashish Vaswani", "Noam Shazeer", "Niki Parmar", "Jakob Uszkoreit"), 2017,
    "The dominant sequence transduction models are based on complex networks.", "10.5555/3295222", "1706.03762", 90_123,
    "Neural Information Processing Systems",
)  # fmt: skip


@pytest.fixture
def open_service(tmp_path: Path) -> Callable[..., Service]:
    def make(name: str, url: str, clock: FakeClock | None = None, *, keep: float = 0, **keys: str) -> Service:
        settings = load(home=tmp_path, search_cache_s=keep, **{f"{name}_url": url}, **keys)
        service: Service = plugins.searcher.get(name).function(settings)
        service.remote.rate_limit = RateLimit(name, 1.0, clock or FakeClock())
        return service

    return make


Open = Callable[..., Service]


@pytest.mark.parametrize("name", SPEAK)
def test_papers_become_passages_with_their_bibliographic_data(name: str, open_service: Open) -> None:
    with FakeSearch([SPEAK[name]([ATTENTION])]) as server:
        (paper,) = open_service(name, server.url).search("attention")
    assert paper.title == ATTENTION.title and paper.quote == ATTENTION.abstract
    assert paper.csl["author"][0] == {"family": "Vaswani", "given": "Ashish"} and len(paper.csl["author"]) == 4
    assert paper.csl["issued"] == {"date-parts": [[2017, 6, 12]]}
    assert paper.csl["DOI"] == "10.5555/3295222"
    if name == "semantic_scholar":
        assert paper.url == "https://arxiv.org/abs/1706.03762"
    if name == "arxiv":
        assert paper.url == "https://arxiv.org/abs/1706.03762v2"
        assert paper.csl["type"] == "article" and paper.csl["publisher"] == "arXiv"
        assert paper.csl["note"] == f"Published in {ATTENTION.venue}"
    else:
        assert paper.csl["type"] == "article-journal" and paper.csl["container-title"] == ATTENTION.venue
        assert paper.csl["page"] == "1-11" and csl.citations(paper.csl) == 90_123
    if name != "openalex":
        assert csl.arxiv_id(paper.csl) == "1706.03762"


@pytest.mark.parametrize("name", SPEAK)
def test_a_paper_without_abstract_and_authors_is_returned(name: str, open_service: Open) -> None:
    bare = Paper("Untitled work", (), 1999, "", "", "hep-th/9711200", 0)
    with FakeSearch([SPEAK[name]([bare])]) as server:
        (paper,) = open_service(name, server.url).search("work")
    assert paper.quote == "" and "author" not in paper.csl and "DOI" not in paper.csl
    output = ScholarTool([_Has(paper)])("work")
    # arXiv does not count citations.
    assert output.passages[0].quote == ("1999" if name == "arxiv" else "1999 · 0 citations")


def test_each_service_gets_its_key_and_query_in_its_own_form(open_service: Open) -> None:
    sent = {}
    keys = {"semantic_scholar_api_key": "s2-secret", "openalex_api_key": "oa-secret"}
    for name in SPEAK:
        with FakeSearch([SPEAK[name]([])]) as server:
            open_service(name, server.url, **keys).search("What is graph-based learning? AND (more)")
            sent[name] = server.asked[0]
    assert sent["semantic_scholar"].path == "/graph/v1/paper/search"
    assert sent["semantic_scholar"].headers["x-api-key"] == "s2-secret"
    assert (
        "-" not in sent["semantic_scholar"].params["query"]
        and "citationCount" in sent["semantic_scholar"].params["fields"]
    )
    assert sent["openalex"].path == "/works" and sent["openalex"].params["api_key"] == "oa-secret"
    assert sent["openalex"].params["search"] == "What is graph-based learning AND more"
    assert sent["arxiv"].path == "/api/query"
    assert sent["arxiv"].params["search_query"] == "all:graph AND all:based AND all:learning AND all:more"
    with FakeSearch([fake.semantic_scholar([])]) as server:
        open_service("semantic_scholar", server.url).search("x")
        assert "x-api-key" not in server.asked[0].headers


@pytest.mark.parametrize(
    ("years", "sent"),
    [
        ((2015, None), ("2015-", "from_publication_date:2015-01-01", "[201501010000 TO 210012312359]")),
        ((None, 2018), ("-2018", "to_publication_date:2018-12-31", "[190001010000 TO 201812312359]")),
        (
            (2015, 2018),
            (
                "2015-2018",
                "from_publication_date:2015-01-01,to_publication_date:2018-12-31",
                "[201501010000 TO 201812312359]",
            ),
        ),
        ((None, None), (None, None, None)),
    ],
)
def test_a_range_of_years_may_be_open_at_either_end(
    years: tuple[int | None, int | None], sent: tuple[str | None, ...], open_service: Open
) -> None:
    papers = [
        Paper(f"Paper of {year} on tigers", year=year, arxiv=f"{n:04}.0000{n}")
        for n, year in enumerate(range(2013, 2021), 1)
    ]
    asked, found = {}, {}
    for name in SPEAK:
        with FakeSearch([SPEAK[name](papers)]) as server:  # it ignores the filter
            output = ScholarTool([open_service(name, server.url)])("tigers", *years)
            asked[name], found[name] = server.asked[0].params, [csl.year(p.csl) or 0 for p in output.passages]
    assert asked["semantic_scholar"].get("year") == sent[0]
    assert asked["openalex"].get("filter") == sent[1]
    submitted = asked["arxiv"]["search_query"].partition("submittedDate:")[2] or None
    assert submitted == sent[2]
    low, high = years[0] or 2013, years[1] or 2020
    assert all(years_found == list(range(low, high + 1)) for years_found in found.values())


def test_impossible_years_are_refused(open_service: Open) -> None:
    tool = ScholarTool([_Has()])
    with pytest.raises(ToolError, match="the first year 2020 is after the last year 2010; swap them"):
        tool("tigers", 2020, 2010)
    with pytest.raises(ToolError, match="99999 is not a year"):
        tool("tigers", year_to=99_999)


def test_inverted_abstracts_are_reassembled() -> None:
    assert abstract({"the": [0, 3], "cat": [1], "sees": [2], "dog": [4]}) == "the cat sees the dog"
    assert abstract({}) == ""
    assert len(abstract({"a": list(range(1_000_000))}).split()) == 5_000
    assert abstract({"b": [10**18], "a": [-5]}) == "a b"


# Failures


def failure(service: Service) -> str:
    with pytest.raises(ToolError) as caught:
        service.search("tigers")
    return str(caught.value)


def test_a_shared_rate_limit_is_retried_and_reported_with_the_key_to_set(open_service: Open) -> None:
    body = {"message": "Too Many Requests. Please wait and try again or apply for a key.", "code": "429"}
    clock = FakeClock()
    with FakeSearch([Reply(body, 429)]) as server:
        said = failure(open_service("semantic_scholar", server.url, clock))
        assert len(server.asked) == 3
    assert "set the key in Settings for a limit of your own" in said and "retry in 15 s" in said
    with FakeSearch([Reply(body, 429), fake.semantic_scholar([ATTENTION])]) as server:
        assert len(open_service("semantic_scholar", server.url).search("attention")) == 1


def test_a_spent_budget_without_a_key_is_reported_with_the_key_to_set(open_service: Open) -> None:
    body = {"error": "Rate limit exceeded", "message": "Insufficient budget. This request costs $0.001."}
    with FakeSearch([Reply(body, 429, headers={"Retry-After": "40000"})]) as server:
        said = failure(open_service("openalex", server.url))
        assert len(server.asked) == 1
    assert "a free key in OPENALEX_API_KEY allows far more" in said and "retry in 600 s" in said


def test_an_error_in_an_arxiv_feed_is_reported(open_service: Open) -> None:
    with FakeSearch([fake.arxiv_error("incorrect id format for 1234")]) as server:
        assert "arxiv rejected the query" in failure(open_service("arxiv", server.url))


BOMB = (
    '<?xml version="1.0"?><!DOCTYPE feed [<!ENTITY a "aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa">'
    + "".join(f'<!ENTITY {chr(98 + n)} "{f"&{chr(97 + n)};" * 10}">' for n in range(8))
    + ']><feed xmlns="http://www.w3.org/2005/Atom"><entry><id>http://arxiv.org/abs/1706.03762</id><title>&i;</title></entry></feed>'
)


@pytest.mark.parametrize(
    "feed",
    [
        BOMB,
        '<!DOCTYPE feed [<!ENTITY x SYSTEM "file:///etc/passwd">]><feed xmlns="http://www.w3.org/2005/Atom"><entry>'
        "<id>http://arxiv.org/abs/1706.03762</id><title>&x;</title></entry></feed>",
        '<!DOCTYPE feed SYSTEM "http://127.0.0.1:1/x.dtd"><feed xmlns="http://www.w3.org/2005/Atom"/>',
        "<feed", "", "plain words", "<html><body>maintenance</body></html>", "<a>" * 100_000,
    ],
)  # fmt: skip
def test_an_invalid_or_malicious_feed_is_an_error(feed: str, open_service: Open) -> None:
    with FakeSearch([Reply(feed, kind="application/atom+xml")]) as server:
        said = failure(open_service("arxiv", server.url))
    assert "arxiv sent an unreadable response" in said and "root:" not in said and len(said) < 600


# Several at once, through the tool


class _Has:
    def __init__(self, *papers: Passage) -> None:
        self._papers = papers

    def search(self, query: str, limit: int = 10) -> list[Passage]:
        return list(self._papers)


def test_a_paper_found_by_several_services_is_listed_once(open_service: Open) -> None:
    preprint = Paper(ATTENTION.title, ATTENTION.authors, 2017, ATTENTION.abstract, "", ATTENTION.arxiv)
    other = Paper(
        "Deep residual learning", ("Kaiming He",), 2016, "Deeper networks.", "10.1109/cvpr.2016.90", "1512.03385", 7
    )
    with (
        FakeSearch([fake.semantic_scholar([other, ATTENTION])]) as s2,
        FakeSearch([fake.openalex([Paper(**{**vars(ATTENTION), "citations": 100_000})])]) as oa,
        FakeSearch([fake.arxiv([preprint])]) as ax,
    ):
        tool = ScholarTool(
            [
                open_service(name, server.url)
                for name, server in (("arxiv", ax), ("openalex", oa), ("semantic_scholar", s2))
            ]
        )
        output = tool("attention")
    assert [paper.title for paper in output.passages] == [ATTENTION.title, other.title]
    first, second = output.passages
    assert first.quote == (
        "Ashish Vaswani, Noam Shazeer, Niki Parmar, et al. · 2017 · 100,000 citations\n" + ATTENTION.abstract
    )
    assert second.quote == "Kaiming He · 2016 · 7 citations\nDeeper networks."
    # The reviewed version is cited, and keeps the arXiv number.
    assert first.csl["type"] == "article-journal" and first.csl["container-title"] == ATTENTION.venue
    assert first.csl["DOI"] == ATTENTION.doi and first.csl["number"] == "arXiv:1706.03762"
    assert output.text == "" and not output.private


def test_a_failing_service_is_named_and_the_others_answer(open_service: Open) -> None:
    with (
        FakeSearch([Reply({"message": "Too Many Requests"}, 429)]) as s2,
        FakeSearch([fake.openalex([ATTENTION])]) as oa,
        FakeSearch([Reply("<html>", 503, "text/html")]) as ax,
    ):
        servers = {"semantic_scholar": s2, "openalex": oa, "arxiv": ax}
        output = ScholarTool([open_service(name, server.url) for name, server in servers.items()])("attention")
    assert len(output.passages) == 1
    assert "semantic_scholar failed: semantic_scholar reports too many requests (429)" in output.text
    assert "arxiv failed: arxiv failed with status 503" in output.text


def test_the_age_of_cached_results_is_shown_and_long_abstracts_are_cut(open_service: Open) -> None:
    long = Paper("Tigers", abstract="word " * 500)
    with FakeSearch([fake.openalex([long])]) as server:
        tool = ScholarTool([open_service("openalex", server.url, keep=60)])
        assert tool("tigers").text == ""
        again = tool("tigers")
    assert again.text == "openalex: from the cache, less than a minute old."
    assert len(again.passages[0].quote.split("\n")[1]) <= 200


def test_finding_no_papers_is_reported_with_advice(open_service: Open) -> None:
    with FakeSearch([fake.arxiv([])]) as server:
        output = ScholarTool([open_service("arxiv", server.url)])("tigers", year_to=2000)
    assert output.text == "No papers for 'tigers' up to 2000, nor of other years. Try other or fewer words."
    assert output.passages == ()


_NUMBERS = itertools.count()


def _paper(title: str, **fields: object) -> Passage:
    url = str(fields.pop("url", f"https://x.example/{next(_NUMBERS)}"))
    return Passage(url, title, "", csl.record(**fields))


@pytest.mark.parametrize(
    ("a", "b", "same"),
    [
        (_paper("One", DOI="10.1/a"), _paper("Two", DOI="10.1/a"), True),
        (_paper("One", number="arXiv:1706.03762"), _paper("Two", DOI="10.48550/arxiv.1706.03762"), True),
        (_paper("One", number="arXiv:1706.03762"), _paper("Two", number="arXiv:1706.03763"), False),
        (_paper("Tigers: A Study", author=[csl.name("A. Ray")]), _paper("Tigers – a study", author=[csl.name("Ann Ray")]), True),
        (_paper("Editorial", author=[csl.name("A. Ray")]), _paper("Editorial", author=[csl.name("B. Cox")]), False),
        (_paper("Editorial"), _paper("Editorial"), False),
        (_paper("A very long and telling title of tigers"), _paper("A very long and telling title of tigers"), True),
        (
            _paper("Editorial", author=[csl.name("A. Ray")], DOI="10.1/a", type="article-journal"),
            _paper("Editorial", author=[csl.name("A. Ray")], DOI="10.1/b", type="article-journal"),
            False,
        ),
        (
            _paper("Tigers", author=[csl.name("A. Ray")], DOI="10.1101/a", type="article"),
            _paper("Tigers", author=[csl.name("A. Ray")], DOI="10.1/b", type="article-journal"),
            True,
        ),
        (_paper("", DOI=""), _paper("", DOI=""), False),
        (_paper("Maß", author=[csl.name("José Núñez")]), _paper("Maß", author=[csl.name("Jose Nunez")]), True),
    ],
)  # fmt: skip
def test_records_of_the_same_paper_are_recognized(a: Passage, b: Passage, same: bool) -> None:
    assert same_paper(a, b) is same_paper(b, a) is same


@pytest.mark.parametrize(
    ("text", "name"),
    [
        ("Ada Lovelace", {"family": "Lovelace", "given": "Ada"}),
        ("Laurens van der Maaten", {"family": "van der Maaten", "given": "Laurens"}),
        ("van der Maaten, Laurens", {"family": "van der Maaten", "given": "Laurens"}),
        ("Martin Luther King Jr.", {"family": "King", "given": "Martin Luther", "suffix": "Jr."}),
        ("Van Morrison", {"family": "Morrison", "given": "Van"}),
        ("OpenAI", {"literal": "OpenAI"}),
        ("王小明", {"literal": "王小明"}),
        ("Jean-Luc  de la Rue", {"family": "de la Rue", "given": "Jean-Luc"}),
    ],
)
def test_author_names_are_split_into_parts(text: str, name: dict[str, str]) -> None:
    assert csl.name(text) == name


@pytest.mark.parametrize(
    ("text", "parts"),
    [
        ("2024-03-05", [2024, 3, 5]), ("2024-03-05T10:00:00.000Z", [2024, 3, 5]), ("2024-03", [2024, 3]), ("2024", [2024]),
        ("Mar 5, 2024", [2024, 3, 5]), ("March 5, 2024", [2024, 3, 5]), ("Tue, 05 Mar 2024 10:00:00 GMT", [2024, 3, 5]),
        ("5 March 2024", [2024, 3, 5]), ("2024-13-40", [2024]), ("2 days ago", None), ("", None), (None, None),
        ("20240305", None), ("yesterday", None),
    ],
)  # fmt: skip
def test_dates_are_parsed_in_the_formats_of_the_services(text: str | None, parts: list[int] | None) -> None:
    assert csl.date(text) == (parts and {"date-parts": [parts]})


def test_each_service_has_its_minimum_interval(tmp_path: Path) -> None:
    settings = load(home=tmp_path)
    intervals = {s.name: s.remote.rate_limit.interval_s for s in web.services(web.scholars(), settings)}  # type: ignore[attr-defined]
    assert intervals["semantic_scholar"] >= 1 and intervals["arxiv"] >= 3
