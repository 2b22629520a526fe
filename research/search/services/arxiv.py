"""arXiv.  API: https://info.arxiv.org/help/api/user-manual.html; at most one request every three seconds.

Does not use the `arxiv` package, which limits neither time nor size and sleeps on its own.
"""

from __future__ import annotations

import re
from collections.abc import Iterable
from typing import TYPE_CHECKING

from research._util.said import say
from research.config.settings import Settings
from research.errors import ToolError
from research.plugins import searcher
from research.search import web
from research.text import STOP_WORDS, clip
from research.types import Passage
from research.web import csl

if TYPE_CHECKING:
    from lxml.etree import _Element

_ATOM = "{http://www.w3.org/2005/Atom}"
_ARXIV = "{http://arxiv.org/schemas/atom}"
_WORDS = 10


class Arxiv(web.Service):
    """Preprints."""

    def fetch(self, request: web.SearchRequest) -> Iterable[Passage | None]:
        words = re.findall(r"\w+", request.query)
        telling = [word for word in words if word.lower() not in STOP_WORDS] or words
        query = " AND ".join(f"all:{word.lower()}" for word in telling[:_WORDS])  # lower case: AND, OR are operators
        if request.days:
            first, last = (day.replace("-", "") for day in request.days)
            query += f" AND submittedDate:[{first}0000 TO {last}2359]"
        params: dict[str, str | int] = {
            "search_query": query,
            "start": 0,
            "max_results": min(request.limit, 100),
            "sortBy": "relevance",
        }
        return [_passage(entry) for entry in self.remote.xml(_entries, "/api/query", params)]


def _entries(root: _Element) -> Iterable[_Element]:
    """Return the entries of a feed.  Raises `ValueError` if it is not one, `ToolError` if it contains an error."""
    if root.getroottree().docinfo.internalDTD is not None:  # a DTD can define entities that expand without limit
        raise ValueError("it declares a document type")
    if root.tag != f"{_ATOM}feed":
        raise ValueError("it is not an Atom feed")
    entries = root.findall(f"{_ATOM}entry")
    for entry in entries:
        if "/api/errors" in _text(entry, f"{_ATOM}id"):
            said = clip(web.line(_text(entry, f"{_ATOM}summary")), 200)
            raise ToolError(say("arxiv rejected the query; simplify it. It said: {said}", said=said))
    return entries


def _passage(entry: _Element) -> Passage | None:
    url = _text(entry, f"{_ATOM}id").replace("http://", "https://", 1)
    journal = web.line(_text(entry, f"{_ARXIV}journal_ref"))
    number = csl.arxiv_id({"URL": url})
    return web.passage(
        url,
        _text(entry, f"{_ATOM}title"),
        _text(entry, f"{_ATOM}summary"),
        type="article",
        author=csl.names(_text(author, f"{_ATOM}name") for author in entry.iterfind(f"{_ATOM}author")),
        issued=csl.date(_text(entry, f"{_ATOM}published")),
        publisher="arXiv",
        number=f"arXiv:{number}" if number else None,
        DOI=csl.doi(_text(entry, f"{_ARXIV}doi")),
        note=f"Published in {journal}" if journal else None,
    )


def _text(element: _Element, tag: str) -> str:
    return element.findtext(tag) or ""


@searcher("arXiv", scholar=True)
def arxiv(settings: Settings) -> Arxiv:
    """Preprints in physics, mathematics, computing and more; no key."""
    return Arxiv(web.remote(settings, "arxiv", interval_s=3.0), web.result_cache(settings))
