"""The numbered sources of a run, and how a model is shown one."""

from __future__ import annotations

import threading
from collections.abc import Iterable

from research.types import Passage, Source


class Ledger:
    """The numbered sources of one run, shared by its agents.  Safe for threads."""

    def __init__(self, sources: Iterable[Source] = ()) -> None:
        self._lock = threading.Lock()
        self._numbers: dict[str, int] = {}
        self._seen: dict[int, list[Source]] = {}
        for source in sources:
            self._keep(source)

    def add(self, passage: Passage) -> Source:
        """The passage with the number of its url; the same url keeps its number, each quote is kept."""
        with self._lock:
            n = self._numbers.get(passage.url, max(self._seen, default=0) + 1)
            source = Source(n, passage.url, passage.title, passage.quote, passage.csl, passage.memory)
            self._keep(source)
            return source

    def _keep(self, source: Source) -> None:
        self._numbers[source.url] = source.n
        quotes = self._seen.setdefault(source.n, [])
        if source not in quotes:
            quotes.append(source)

    @property
    def sources(self) -> list[Source]:
        """All that was seen, by number; several entries of one number where several passages were seen."""
        with self._lock:
            return [source for n in sorted(self._seen) for source in self._seen[n]]


def told(text: str, sources: Iterable[Source]) -> str:
    """What a tool gave, as a model reads it: its words, and each source once."""
    return "\n\n".join([*([text] if text else []), *dict.fromkeys(map(shown, sources))])


def shown(source: Source) -> str:
    """A source as a model reads it: its number and title, its url, and the quoted lines, marked as a quotation."""
    # On one line each: a title with a line break could pass for a second source.
    title, url = (" ".join(text.split()) for text in (source.title, source.url))
    quoted = "\n".join(f"> {line}" for line in source.quote.splitlines())
    return f"[{source.n}] {title}\n<{url}>\n{quoted}"
