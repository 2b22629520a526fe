"""A search service: one book."""

from __future__ import annotations

from collections.abc import Sequence

from research.config.settings import Settings
from research.plugins import searcher
from research.types import Passage, Searcher


class Shelf:
    """Always finds the same book."""

    def search(self, query: str, limit: int = 10) -> Sequence[Passage]:
        return [Passage("https://example.org/book", "The book", f"The book says much about {query}.")]


@searcher("Shelf")
def shelf(settings: Settings) -> Searcher:
    """One book that says much about everything."""
    return Shelf()
