"""Semantic Scholar.  API: https://api.semanticscholar.org/api-docs/graph (`/paper/search`).

A key allows one request a second; requests without a key share one quota, which is often used up (429).
"""

from __future__ import annotations

from collections.abc import Iterable

import msgspec
from msgspec import Struct

from research.config.settings import Settings
from research.plugins import searcher
from research.search import web
from research.types import Passage
from research.web import csl

_FIELDS = "title,abstract,url,year,publicationDate,citationCount,authors,externalIds,journal,venue,publicationTypes"
_TYPES = {
    "Conference": "paper-conference",
    "JournalArticle": "article-journal",
    "Review": "article-journal",
    "Book": "book",
    "BookSection": "chapter",
    "Dataset": "dataset",
}
"""CSL types by Semantic Scholar's types, the most specific first."""


class _Author(Struct):
    name: str | None = None


class _Journal(Struct):
    name: str | None = None
    volume: str | None = None
    pages: str | None = None


class _Paper(Struct):
    title: str | None = None
    abstract: str | None = None
    url: str | None = None
    year: int | None = None
    published: str | None = msgspec.field(default=None, name="publicationDate")
    citations: int | None = msgspec.field(default=None, name="citationCount")
    authors: list[_Author] | None = None
    ids: dict[str, str | int] | None = msgspec.field(default=None, name="externalIds")
    journal: _Journal | None = None
    venue: str | None = None
    types: list[str] | None = msgspec.field(default=None, name="publicationTypes")


class _Response(Struct):
    total: int
    data: list[_Paper] = []
    """Missing when nothing was found."""


class SemanticScholar(web.Service):
    """Papers of all fields, with citation counts."""

    def fetch(self, request: web.SearchRequest) -> Iterable[Passage | None]:
        # The documentation says that a query with a hyphen finds nothing.
        params: dict[str, str | int] = {
            "query": request.query.replace("-", " "),
            "limit": min(request.limit, 100),
            "fields": _FIELDS,
        }
        if request.year_from is not None or request.year_to is not None:
            params["year"] = f"{request.year_from or ''}-{request.year_to or ''}"
        headers = {"x-api-key": self.remote.key} if self.remote.key else {}
        answer = self.remote.json(_Response, "/graph/v1/paper/search", params=params, headers=headers)
        return [_passage(paper) for paper in answer.data]


def _passage(paper: _Paper) -> Passage | None:
    ids, journal = paper.ids or {}, paper.journal or _Journal()
    return web.passage(
        # Semantic Scholar's own pages need JavaScript.
        f"https://arxiv.org/abs/{ids['ArXiv']}" if ids.get("ArXiv") else paper.url,
        paper.title,
        paper.abstract,
        type=next((_TYPES[kind] for kind in _TYPES if kind in (paper.types or ())), "article"),
        author=csl.names(author.name for author in paper.authors or ()),
        issued=csl.date(paper.published) or csl.date(str(paper.year or "")),
        container_title=web.line(journal.name or paper.venue),
        volume=journal.volume,
        page=journal.pages,
        DOI=csl.doi(str(ids.get("DOI", ""))),
        number=f"arXiv:{ids['ArXiv']}" if ids.get("ArXiv") else None,
        PMID=str(ids.get("PubMed", "")),
        custom=csl.cited(paper.citations),
    )


@searcher("Semantic Scholar", scholar=True)
def semantic_scholar(settings: Settings) -> SemanticScholar:
    """Papers in all fields; SEMANTIC_SCHOLAR_API_KEY gives you your own rate limit."""
    return SemanticScholar(web.remote(settings, "semantic_scholar", interval_s=1.1), web.result_cache(settings))
