"""Whether what an agent sees is new to it: counts the statements of an observation that no earlier one makes."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING

from research._util.sentences import sentences
from research.errors import ConfigError
from research.text import content_tokens, numbers
from research.types import Observation

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

    from research.search.embedders import Embedder

SIMILAR = 0.60
"""Least cosine of two equal statements; measured with `python -m bench.novelty`."""
SHARED = 0.25
"""Without an encoder: least share of a statement's words in one earlier statement that makes them equal."""
MOST = 200
"""Statements of one observation that are compared; the rest are neither compared nor remembered."""
REMEMBERED = 2_000
"""Statements of earlier observations that are compared, the latest ones."""


class Novelty:
    """The statements that one agent has seen.

    A statement is new if it contains a number that was not seen before, or if no earlier statement is similar to it.
    """

    def __init__(self, embedder: Callable[[], Embedder] | None = None) -> None:
        """`embedder` returns the encoder, which is used with the first comparison; None: words are compared."""
        self._embedder = embedder
        self._seen: dict[str, None] = {}
        self._numbers: set[str] = set()
        self._vectors: dict[str, NDArray[np.float32]] = {}

    def remember(self, seen: Observation) -> None:
        """Remember an observation's statements."""
        for statement in _statements(seen):
            self._seen.pop(statement, None)  # the latest ones are kept
            self._seen[statement] = None
            self._numbers.update(numbers(statement))
        for statement in list(self._seen)[:-REMEMBERED]:
            del self._seen[statement]
            self._vectors.pop(statement, None)

    def count(self, seen: Observation) -> int | None:
        """Return the least number of new statements in an observation; None if it makes none.

        If some have a new number, the others are not compared, which saves about a millisecond each.
        """
        statements = _statements(seen)
        unknown = [each for each in statements if each not in self._seen]
        fresh = [each for each in unknown if not set(numbers(each)) <= self._numbers]
        if not statements:
            return None
        return len(fresh) or (self._dissimilar(unknown) if unknown else 0)

    def _dissimilar(self, statements: list[str]) -> int:
        """Return how many of these statements resemble no earlier one."""
        if not self._seen:
            return len(statements)
        if self._embedder is not None:
            try:
                return self._unlike_by_meaning(self._embedder(), statements)
            except ConfigError:
                self._embedder = None  # no encoder; the citation check says so
        earlier = [set(content_tokens(each)) for each in self._seen]
        words = [set(content_tokens(each)) for each in statements]
        return sum(max(len(own & each) for each in earlier) < SHARED * len(own) for own in words)

    def _unlike_by_meaning(self, embedder: Embedder, statements: list[str]) -> int:
        import numpy as np

        missing = [each for each in (*self._seen, *statements) if each not in self._vectors]
        self._vectors.update(zip(missing, embedder.encode(missing), strict=True))
        earlier = np.stack([self._vectors[each] for each in self._seen])
        own = np.stack([self._vectors[each] for each in statements])
        return int(((own @ earlier.T).max(axis=1) < SIMILAR).sum())


def _statements(seen: Observation) -> list[str]:
    """Return the different statements of a successful observation: of its quotes, or of its text if it has no sources."""
    if not seen.ok:
        return []
    texts = [source.quote for source in seen.sources] or [seen.text]
    found = dict.fromkeys(statement for text in texts for statement in sentences(text) if content_tokens(statement))
    return list(found)[:MOST]
