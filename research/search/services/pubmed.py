"""PubMed.  API: https://www.ncbi.nlm.nih.gov/books/NBK25499 (E-utilities); at most three requests a second without a key."""

from __future__ import annotations

from collections.abc import Iterable
from typing import TYPE_CHECKING

from msgspec import Struct

from research.config.settings import Settings
from research.plugins import searcher
from research.search import web
from research.types import Passage
from research.web import csl

if TYPE_CHECKING:
    from lxml.etree import _Element


class _Ids(Struct):
    idlist: list[str] = []


class _Response(Struct):
    esearchresult: _Ids


class Pubmed(web.Service):
    """Biomedical papers with their abstracts."""

    def fetch(self, request: web.SearchRequest) -> Iterable[Passage | None]:
        params: dict[str, str | int] = {
            "db": "pubmed",
            "term": request.query,
            "retmax": min(request.limit, 100),
            "retmode": "json",
            "sort": "relevance",
        }
        if request.days:
            first, last = (day.replace("-", "/") for day in request.days)
            params |= {"datetype": "pdat", "mindate": first, "maxdate": last}
        found = self.remote.json(_Response, "/entrez/eutils/esearch.fcgi", params=params).esearchresult.idlist
        ids = ",".join(each for each in found if each.isdecimal())
        if not ids:
            return []
        wanted: dict[str, str | int] = {"db": "pubmed", "id": ids, "retmode": "xml"}
        return [_passage(each) for each in self.remote.xml(_articles, "/entrez/eutils/efetch.fcgi", wanted)]


def _articles(root: _Element) -> Iterable[_Element]:
    if root.tag != "PubmedArticleSet":
        raise ValueError("it is not a set of articles")
    return root.findall("PubmedArticle")


def _named(author: _Element) -> dict[str, str]:
    tags = {"family": "LastName", "given": "ForeName", "literal": "CollectiveName"}
    return {part: web.line(text) for part, tag in tags.items() if (text := author.findtext(tag))}


def _passage(article: _Element) -> Passage | None:
    number = article.findtext("MedlineCitation/PMID") or ""
    issue = article.find(".//JournalIssue")
    date = [each.text or "" for name in ("Year", "Month", "Day") for each in article.iterfind(f".//PubDate/{name}")]
    sections = [(each.get("Label"), _text(each)) for each in article.iterfind(".//Abstract/AbstractText")]
    kinds = {_text(each) for each in article.iterfind(".//PublicationType")}
    titles = article.iterfind(".//Article/ArticleTitle")
    return web.passage(
        f"https://pubmed.ncbi.nlm.nih.gov/{number}/" if number.isdecimal() else "",
        next(map(_text, titles), ""),
        " ".join(f"{label.capitalize()}: {text}" if label else text for label, text in sections),
        type="article-journal",
        author=[named for each in article.iterfind(".//Article/AuthorList/Author") if (named := _named(each))],
        issued=csl.date(f"{date[1]} {date[2]}, {date[0]}" if len(date) == 3 else "".join(date[:1])),
        container_title=article.findtext(".//Journal/Title"),
        volume=issue.findtext("Volume") if issue is not None else None,
        issue=issue.findtext("Issue") if issue is not None else None,
        page=article.findtext(".//Pagination/MedlinePgn"),
        DOI=csl.doi(article.findtext(".//ArticleIdList/ArticleId[@IdType='doi']")),
        PMID=number,
        custom={"retracted": True} if "Retracted Publication" in kinds else {},
    )


def _text(element: _Element) -> str:
    return " ".join("".join(map(str, element.itertext())).split())


@searcher("PubMed", scholar=True)
def pubmed(settings: Settings) -> Pubmed:
    """Biomedical papers with abstracts and retractions; no key."""
    return Pubmed(web.remote(settings, "pubmed", interval_s=0.4), web.result_cache(settings))
