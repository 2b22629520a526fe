"""The numbered sources of a run, and their text in prompts."""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterable

from research.citations.urls import plain
from research.types import Passage, Source


class Ledger:
    """The numbered sources of one run, shared by its agents.  Safe for threads."""

    def __init__(self, sources: Iterable[Source] = (), kind: Callable[[Passage], str] = lambda passage: "") -> None:
        """`kind` returns the class of a source."""
        self._kind = kind
        self._lock = threading.Lock()
        self._numbers: dict[str, int] = {}
        self._seen: dict[int, list[Source]] = {}
        for source in sources:
            self._keep(source)

    def add(self, passage: Passage) -> Source:
        """Number a passage and keep its quote.  Passages with the same DOI share a number, as do those with the same url."""
        with self._lock:
            known = (self._numbers[key] for key in _identities(passage) if key in self._numbers)
            n = next(known, max(self._seen, default=0) + 1)
            source = Source(
                n,
                passage.url,
                passage.title,
                passage.quote,
                passage.csl,
                passage.memory,
                self._kind(passage),
                notes=passage.notes,
            )
            self._keep(source)
            return source

    def _keep(self, source: Source) -> None:
        for key in _identities(source):
            self._numbers[key] = source.n
        quotes = self._seen.setdefault(source.n, [])
        if source not in quotes:
            quotes.append(source)

    @property
    def sources(self) -> list[Source]:
        """All sources in order of number, with one entry for each passage seen."""
        with self._lock:
            return [source for n in sorted(self._seen) for source in self._seen[n]]


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
