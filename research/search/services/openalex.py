"""OpenAlex.  API: https://developers.openalex.org.

Since February 2026 a free key allows 1,000 searches a day; without a key there is a small quota for trials.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping

from msgspec import Struct

from research._util.http import retry_after
from research.config.settings import Settings
from research.plugins import searcher
from research.search import web
from research.types import Passage
from research.web import csl
from research.web.remote import ErrorResponse
from research.web.throttling import AttemptError

_FIELDS = (
    "id,doi,display_name,publication_date,publication_year,type,cited_by_count,authorships,primary_location,biblio,"
    "abstract_inverted_index,is_retracted"
)
_TYPES = {
    "article": "article-journal",
    "review": "article-journal",
    "letter": "article-journal",
    "preprint": "article",
    "book": "book",
    "book-chapter": "chapter",
    "dataset": "dataset",
    "dissertation": "thesis",
    "report": "report",
}
_LONGEST = 5_000
"""Most words of an abstract restored from the inverted index."""


class _Name(Struct):
    display_name: str | None = None


class _Authorship(Struct):
    author: _Name | None = None
    raw_author_name: str | None = None


class _Source(Struct):
    display_name: str | None = None
    type: str | None = None


class _Location(Struct):
    landing_page_url: str | None = None
    source: _Source | None = None


class _Biblio(Struct):
    volume: str | None = None
    issue: str | None = None
    first_page: str | None = None
    last_page: str | None = None


class _Work(Struct):
    id: str | None = None
    doi: str | None = None
    display_name: str | None = None
    publication_date: str | None = None
    publication_year: int | None = None
    type: str | None = None
    cited_by_count: int | None = None
    authorships: list[_Authorship] | None = None
    primary_location: _Location | None = None
    biblio: _Biblio | None = None
    abstract_inverted_index: dict[str, list[int]] | None = None
    is_retracted: bool | None = None


class _Response(Struct):
    results: list[_Work]


class OpenAlex(web.Service):
    """Works of all fields and kinds, with citation counts."""

    def fetch(self, request: web.SearchRequest) -> Iterable[Passage | None]:
        words = " ".join(re.findall(r"[\w'-]+", request.query))  # other characters are operators or rejected
        params: dict[str, str | int] = {"search": words, "per_page": min(request.limit, 100), "select": _FIELDS}
        if request.days:
            bounds = []
            if request.year_from is not None:
                bounds.append(f"from_publication_date:{request.days[0]}")
            if request.year_to is not None:
                bounds.append(f"to_publication_date:{request.days[1]}")
            params["filter"] = ",".join(bounds)
        if self.remote.key:
            params["api_key"] = self.remote.key  # OpenAlex accepts the key in the url only
        answer = self.remote.json(_Response, "/works", params=params, explain=self._explain)
        return [_passage(work) for work in answer.results]

    def _explain(self, response: ErrorResponse) -> AttemptError | None:
        if response.status == 429:  # more than 100 requests a second, or the daily quota is used up
            hint = "" if self.remote.key else "; a free key in OPENALEX_API_KEY allows far more"
            return AttemptError(
                f"openalex: the quota is used up (429){hint}. It said: {response.message}",
                retry=True,
                after_s=retry_after(response.headers),
            )
        return None


def abstract(index: Mapping[str, list[int]]) -> str:
    """Restore the text from an inverted index of words to their positions."""
    placed = sorted((place, word) for word, places in index.items() for place in places)
    return " ".join(word for _, word in placed[:_LONGEST])


def _passage(work: _Work) -> Passage | None:
    location, biblio = work.primary_location or _Location(), work.biblio or _Biblio()
    source = location.source or _Source()
    kind = _TYPES.get(work.type or "", "article")
    return web.passage(
        location.landing_page_url or work.doi or work.id,
        work.display_name,
        abstract(work.abstract_inverted_index or {}),
        type="paper-conference" if source.type == "conference" and kind == "article-journal" else kind,
        author=csl.names(
            (each.author.display_name if each.author else None) or each.raw_author_name
            for each in work.authorships or ()
        ),
        issued=csl.date(work.publication_date) or csl.date(str(work.publication_year or "")),
        container_title=web.line(source.display_name),
        volume=biblio.volume,
        issue=biblio.issue,
        page="-".join(dict.fromkeys(filter(None, (biblio.first_page, biblio.last_page)))),
        DOI=csl.doi(work.doi),
        custom={**(csl.cited(work.cited_by_count) or {}), **({"retracted": True} if work.is_retracted else {})},
    )


@searcher("OpenAlex", scholar=True)
def openalex(settings: Settings) -> OpenAlex:
    """Works of all fields; a free OPENALEX_API_KEY gives 1,000 searches a day."""
    return OpenAlex(web.remote(settings, "openalex", interval_s=0.2), web.result_cache(settings))
