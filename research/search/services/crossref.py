"""Crossref: what publishers say of their works, and retractions.  API: https://api.crossref.org/swagger-ui."""

from __future__ import annotations

from collections.abc import Iterable

import msgspec
from msgspec import Struct

from research.config.settings import Settings
from research.plugins import searcher
from research.search import web
from research.types import Passage
from research.web import csl

_FIELDS = ",".join(
    "DOI URL title author issued container-title volume issue page publisher type abstract is-referenced-by-count "
    "updated-by".split()
)
_TYPES = {
    "journal-article": "article-journal",
    "proceedings-article": "paper-conference",
    "book": "book",
    "monograph": "book",
    "book-chapter": "chapter",
    "dataset": "dataset",
    "dissertation": "thesis",
    "report": "report",
    "posted-content": "article",
}


class _Author(Struct):
    given: str | None = None
    family: str | None = None
    name: str | None = None


class _Issued(Struct):
    parts: list[list[int | None]] = msgspec.field(default_factory=list, name="date-parts")


class _Update(Struct):
    type: str | None = None


class _Work(Struct, rename={"doi": "DOI", "url": "URL"}):
    doi: str | None = None
    url: str | None = None
    title: list[str] = msgspec.field(default_factory=list)
    author: list[_Author] = msgspec.field(default_factory=list)
    issued: _Issued = msgspec.field(default_factory=_Issued)
    within: list[str] = msgspec.field(default_factory=list, name="container-title")
    volume: str | None = None
    issue: str | None = None
    page: str | None = None
    publisher: str | None = None
    type: str | None = None
    abstract: str | None = None
    cited: int | None = msgspec.field(default=None, name="is-referenced-by-count")
    updated: list[_Update] = msgspec.field(default_factory=list, name="updated-by")


class _Found(Struct):
    items: list[_Work]


class _Response(Struct):
    message: _Found


class Crossref(web.Service):
    """Works with a DOI."""

    def fetch(self, request: web.SearchRequest) -> Iterable[Passage | None]:
        params: dict[str, str | int] = {
            "query.bibliographic": request.query,
            "rows": min(request.limit, 100),
            "select": _FIELDS,
        }
        if request.days:
            params["filter"] = f"from-pub-date:{request.days[0]},until-pub-date:{request.days[1]}"
        answer = self.remote.json(_Response, "/works", params=params)
        return [_passage(work) for work in answer.message.items]


def _named(author: _Author) -> dict[str, str]:
    parts = {"family": author.family, "given": author.given} if author.family else {"literal": author.name}
    return {part: web.line(text) for part, text in parts.items() if text}


def _passage(work: _Work) -> Passage | None:
    title = " ".join(work.title)
    retracted = any(each.type == "retraction" for each in work.updated) or title.startswith("RETRACTED")
    days = [part for part in (work.issued.parts[0] if work.issued.parts else []) if part]
    return web.passage(
        work.url or (f"https://doi.org/{work.doi}" if work.doi else ""),
        title,
        web.TAG.sub(" ", work.abstract or ""),
        type=_TYPES.get(work.type or "", "article"),
        author=[named for each in work.author if (named := _named(each))],
        issued=csl.date("-".join(f"{part:02}" for part in days)),
        container_title=" ".join(work.within[:1]),
        publisher=work.publisher,
        volume=work.volume,
        issue=work.issue,
        page=work.page,
        DOI=csl.doi(work.doi),
        custom={**(csl.cited(work.cited) or {}), **({"retracted": True} if retracted else {})},
    )


@searcher("Crossref", scholar=True)
def crossref(settings: Settings) -> Crossref:
    """Works of all publishers with a DOI, and which were retracted; no key."""
    return Crossref(web.remote(settings, "crossref", interval_s=0.3), web.result_cache(settings))
