"""Wikipedia, Crossref and PubMed: what they find, how they are asked, and which works they say were retracted."""

from __future__ import annotations

from collections.abc import Callable

from research.search.web import Service, search_request
from tests.fake_search import Asked, FakeSearch, Reply

Open = Callable[..., Service]

PAGES = {
    "pages": [
        {"key": "Orvik_(town)", "title": "Orvik (town)", "description": "town on the coast",
         "excerpt": 'has a <span class="searchmatch">harbour</span> &amp; a crane'},
        {"key": None, "title": "without an address", "excerpt": ""},
    ]
}  # fmt: skip
WORKS = {
    "message": {
        "items": [
            {"DOI": "10.1234/AB", "URL": "https://doi.org/10.1234/ab", "title": ["Harbours"], "type": "journal-article",
             "author": [{"given": "Ada", "family": "Lind"}, {"name": "The Group"}], "issued": {"date-parts": [[2021, 5]]},
             "container-title": ["J. Harb."], "volume": "3", "issue": "4", "page": "1-9", "is-referenced-by-count": 7,
             "abstract": "<jats:p>We show <jats:italic>this</jats:italic>.</jats:p>",
             "updated-by": [{"type": "retraction", "DOI": "10.1/r"}]},
            {"DOI": "10.1234/c", "title": [], "issued": {"date-parts": [[None]]}},
        ]
    }
}  # fmt: skip
ARTICLES = """<?xml version="1.0"?><!DOCTYPE PubmedArticleSet PUBLIC "-//NLM//DTD" "https://dtd.nlm.nih.gov/p.dtd">
<PubmedArticleSet><PubmedArticle><MedlineCitation><PMID>12345</PMID><Article><Journal><Title>J. Med.</Title><JournalIssue>
<Volume>3</Volume><Issue>4</Issue><PubDate><Year>2021</Year><Month>May</Month><Day>6</Day></PubDate></JournalIssue></Journal>
<ArticleTitle>Effects of <i>salt</i>.</ArticleTitle><Abstract><AbstractText Label="METHODS">We asked.</AbstractText>
<AbstractText Label="RESULTS">It rose by 12%.</AbstractText></Abstract><AuthorList><Author><LastName>Lind</LastName>
<ForeName>Ada</ForeName></Author><Author><CollectiveName>The Group</CollectiveName></Author></AuthorList>
<PublicationTypeList><PublicationType>Retracted Publication</PublicationType></PublicationTypeList></Article></MedlineCitation>
<PubmedData><ArticleIdList><ArticleId IdType="doi">10.1234/AB</ArticleId></ArticleIdList></PubmedData></PubmedArticle>
</PubmedArticleSet>"""
AUTHORS = [{"family": "Lind", "given": "Ada"}, {"literal": "The Group"}]


def test_wikipedia_finds_articles(open_service: Open) -> None:
    with FakeSearch([Reply(PAGES)]) as server:
        (found,) = open_service("wikipedia", server.url).search("harbour")
        assert found.url == f"{server.url}/wiki/Orvik_(town)"
    assert (found.title, found.quote) == ("Orvik (town)", "town on the coast: has a harbour & a crane")
    assert server.asked[0].params == {"q": "harbour", "limit": "10"}
    with FakeSearch([Reply(PAGES)]) as server:
        open_service("wikipedia", server.url).find(search_request("harbour", 10, 2020, 2020))
    assert server.asked[0].params["q"] == "harbour 2020"


def test_crossref_describes_works_and_says_which_were_retracted(open_service: Open) -> None:
    with FakeSearch([Reply(WORKS)]) as server:
        first, second = open_service("crossref", server.url).find(search_request("harbours", 5, 2020, 2022)).passages
    assert (first.url, first.title, first.quote) == ("https://doi.org/10.1234/ab", "Harbours", "We show this .")
    assert first.csl["DOI"] == "10.1234/ab" and first.csl["author"] == AUTHORS
    assert first.csl["issued"] == {"date-parts": [[2021, 5]]} and first.csl["custom"]["retracted"] is True
    assert second.url == "https://doi.org/10.1234/c" and "retracted" not in second.csl.get("custom", {})
    asked = server.asked[0].params
    assert asked["query.bibliographic"] == "harbours"
    assert asked["filter"] == "from-pub-date:2020-01-01,until-pub-date:2022-12-31"


def test_pubmed_finds_papers_with_their_abstracts(open_service: Open) -> None:
    def answer(asked: Asked) -> Reply:
        if "esearch" in asked.path:
            return Reply({"esearchresult": {"idlist": ["12345", "x"]}})
        return Reply(ARTICLES, kind="text/xml")

    with FakeSearch(answer) as server:
        (found,) = open_service("pubmed", server.url).find(search_request("salt", 5, 2020, 2022)).passages
    assert (found.url, found.title) == ("https://pubmed.ncbi.nlm.nih.gov/12345/", "Effects of salt.")
    assert found.quote == "Methods: We asked. Results: It rose by 12%."
    assert found.csl["author"] == AUTHORS and found.csl["DOI"] == "10.1234/ab" and found.csl["PMID"] == "12345"
    assert found.csl["issued"] == {"date-parts": [[2021, 5, 6]]} and found.csl["custom"]["retracted"] is True
    search, fetch = (asked.params for asked in server.asked)
    assert (search["mindate"], search["maxdate"], search["datetype"]) == ("2020/01/01", "2022/12/31", "pdat")
    assert fetch["id"] == "12345"


def test_pubmed_that_finds_nothing_is_not_asked_for_articles(open_service: Open) -> None:
    with FakeSearch([Reply({"esearchresult": {"idlist": []}})]) as server:
        assert open_service("pubmed", server.url).search("salt") == ()
    assert len(server.asked) == 1
