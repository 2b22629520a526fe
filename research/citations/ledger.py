"""The numbered sources of a run, and their text in prompts."""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterable
from contextlib import suppress

from msgspec.structs import asdict

from research.citations.urls import plain
from research.text import content_tokens
from research.types import Passage, Source


class Ledger:
    """The numbered sources of one run, shared by its agents.  Safe for threads."""

    def __init__(self, sources: Iterable[Source] = (), kind: Callable[[Passage], str] = lambda passage: "") -> None:
        """`kind` returns the class of a source."""
        self._kind = kind
        self._lock = threading.Lock()
        self._numbers: dict[str, int] = {}
        self._titled: dict[str, list[tuple[int, _Edition]]] = {}
        self._seen: dict[int, list[Source]] = {}
        for source in sources:
            self._keep(source)

    def add(self, passage: Passage) -> Source:
        """Number a passage and keep its quote.

        Passages with the same DOI share a number, as do those with the same url.  Of a paper that has a DOI, one without
        shares it if it has the same title, and the same first author or year.
        """
        with self._lock:
            known = [self._numbers[key] for key in _identities(passage) if key in self._numbers]
            known += [] if known else self._alike(passage)
            n = next(iter(known), max(self._seen, default=0) + 1)
            source = Source(n, **asdict(passage), kind=self._kind(passage))
            self._keep(source)
            return source

    def _keep(self, source: Source) -> None:
        for key in _identities(source):
            self._numbers[key] = source.n
        quotes = self._seen.setdefault(source.n, [])
        if source not in quotes:
            quotes.append(source)
            self._titled.setdefault(_title(source), []).append((source.n, _edition(source)))

    def _alike(self, passage: Passage) -> list[int]:
        title, own = _title(passage), _edition(passage)
        return [n for n, other in self._titled.get(title, ()) if title and _same(own, other, title)]

    @property
    def sources(self) -> list[Source]:
        """All sources in order of number, with one entry for each passage seen."""
        with self._lock:
            return [source for n in sorted(self._seen) for source in self._seen[n]]


_Edition = tuple[bool, str, str]
"""What tells papers of one title apart: whether it has a DOI, the family name of the first author, and the year."""
_WORDS = 3
"""Words of a title that a year is enough to recognise a paper by."""


def _title(seen: Passage | Source) -> str:
    return " ".join(content_tokens(str(seen.csl.get("title") or seen.title)))


def _edition(seen: Passage | Source) -> _Edition:
    author = year = ""
    with suppress(LookupError, TypeError, AttributeError):  # an imported run may contain anything
        first = seen.csl["author"][0]
        author = str(first.get("family") or first["literal"].rpartition(" ")[2])
    with suppress(LookupError, TypeError):
        year = str(seen.csl["issued"]["date-parts"][0][0])
    return len(_identities(seen)) > 1, author.casefold(), year


def _same(one: _Edition, other: _Edition, title: str) -> bool:
    """Return whether two are the same; an editorial has the same title and author each year, but then other DOIs."""
    (doi, author, year), (its_doi, its_author, its_year) = one, other
    if doi == its_doi or (year and its_year and year != its_year):
        return False
    if author and its_author:
        return author == its_author
    return bool(year) and year == its_year and title.count(" ") >= _WORDS - 1


def _identities(seen: Passage | Source) -> list[str]:
    """Return what tells a work from others: its DOI if it has one, then its url."""
    doi = plain(str(seen.csl.get("DOI", "")))
    return [*([doi] if doi.startswith("doi:") else []), seen.url]


def tool_result_text(text: str, sources: Iterable[Source]) -> str:
    """Return the result of a tool as the model reads it: its text, then each source once."""
    return "\n\n".join([*([text] if text else []), *dict.fromkeys(map(source_text, sources))])


def source_text(source: Source) -> str:
    """Return a source as the model reads it: number, title, url, and its quote marked as a quotation."""
    # One line each: a title with a line break could pass for a second source.
    title, url = (" ".join(text.split()) for text in (source.title, source.url))
    quoted = "\n".join(f"> {line}" for line in source.quote.splitlines())
    return f"[{source.n}] {title}\n<{url}>\n{quoted}"
