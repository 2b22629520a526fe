"""arXiv.  API: https://info.arxiv.org/help/api/user-manual.html; at most one request in three seconds.

The answer is read here, not by the `arxiv` package: that one bounds neither time nor size and waits by itself.
"""

from __future__ import annotations

import re
from collections.abc import Iterable
from typing import TYPE_CHECKING

from research.errors import ToolError
from research.registry import searcher
from research.search import csl, web
from research.settings import Settings
from research.text import STOP_WORDS, clip
from research.types import Passage

if TYPE_CHECKING:
    from lxml.etree import _Element

_ATOM = "{http://www.w3.org/2005/Atom}"
_ARXIV = "{http://arxiv.org/schemas/atom}"
_WORDS = 10


class Arxiv(web.Service):
    """Preprints."""

    def fetch(self, ask: web.Ask) -> Iterable[Passage | None]:
        words = re.findall(r"\w+", ask.query)
        telling = [word for word in words if word.lower() not in STOP_WORDS] or words
        query = " AND ".join(f"all:{word.lower()}" for word in telling[:_WORDS])  # lower case: AND, OR are operators
        if ask.days:
            first, last = (day.replace("-", "") for day in ask.days)
            query += f" AND submittedDate:[{first}0000 TO {last}2359]"
        params: dict[str, str | int] = {
            "search_query": query, "start": 0, "max_results": min(ask.limit, 100), "sortBy": "relevance",
        }  # fmt: skip
        return [_passage(entry) for entry in self.remote.xml(_entries, "/api/query", params)]


def _entries(feed: bytes) -> Iterable[_Element]:
    """The entries of a feed.  Raises `ValueError` where it is none, and `ToolError` where it holds an error."""
    from lxml import etree

    parser = etree.XMLParser(resolve_entities=False, no_network=True, load_dtd=False, huge_tree=False)
    try:
        root = etree.fromstring(feed, parser)
    except etree.XMLSyntaxError as error:
        raise ValueError(str(error)) from error
    if root.getroottree().docinfo.internalDTD is not None:  # a feed has none; entities are bombs
        raise ValueError("it declares a document type")
    if root.tag != f"{_ATOM}feed":
        raise ValueError("it is no Atom feed")
    entries = root.findall(f"{_ATOM}entry")
    for entry in entries:
        if "/api/errors" in _text(entry, f"{_ATOM}id"):
            said = clip(web.line(_text(entry, f"{_ATOM}summary")), 200)
            raise ToolError(f"arxiv does not accept the query; write it simpler. It said: {said}")
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
    return Arxiv(web.remote(settings, "arxiv", interval_s=3.0), web.kept(settings))
