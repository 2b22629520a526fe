"""Where the entries of a memory lie, with their words and their vectors: a file, or a schema of a Postgres."""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import AbstractContextManager
from itertools import accumulate
from typing import Final, Protocol

from msgspec import Struct

from research.errors import ConfigError
from research.memory import NO_FILTERS, Entry, Filters

WEIGHTS: Final[Mapping[str, int]] = {"title": 4, "text": 4, "quote": 1, "tags": 4}
"""What an occurrence of a word counts, by where it stands."""
WEIGHED: Final = 8_000
"""Occurrences of words that a search goes through for what it scores, about."""
_SCORED: Final = 500
"""Entries that a search by words scores, about."""


class Kept(Struct, frozen=True):
    """An entry with everything that belongs to it."""

    number: int
    entry: Entry
    seen: float
    """When it was last learned or recalled, seconds since the epoch."""
    forgotten: float | None
    """When it was forgotten, if it was."""
    vectors: Mapping[str, bytes]
    """By encoder."""


class Shelf(Protocol):
    """Entries have a `number`, never used twice, which their words and vectors share.  Safe for threads and processes.

    Vectors belong to an encoder and are float32, little-endian; their ids only grow, in the order of the commits, so that
    a reader knows what it has not seen yet.  Any method raises `StoreUnavailable` when the disk is full or the database
    does not answer: nothing is lost then.  What changes entries, except `purge`, is called within `writing`.
    """

    def close(self) -> None: ...

    def writing(self) -> AbstractContextManager[None]:
        """One transaction: all of it or nothing; other writers wait.  When it ends it is on disk."""

    # Entries

    def insert(self, entries: Sequence[tuple[Entry, float]]) -> list[int]:
        """Keep entries, each with when it was seen, perhaps with the id of one that was forgotten; returns their numbers."""

    def update(self, number: int, entry: Entry) -> None:
        """Put other words, tags or another provenance into an entry."""

    def freshen(self, ids: Sequence[str], when: float) -> None:
        """They were learned again, or recalled."""

    def pin(self, ids: Sequence[str], pinned: bool) -> None: ...

    def forget(self, ids: Sequence[str], when: float) -> list[int]:
        """Take entries out of every list and search, until `restore` or `purge`; returns their numbers."""

    def restore(self, ids: Sequence[str]) -> None:
        """Take back a `forget`."""

    def purge(self, before: float) -> int:
        """Remove for good what was forgotten before that time, seconds since the epoch; returns how many."""

    def evict(self, capacity: int) -> list[int]:
        """Remove the unpinned entries that were seen longest ago until there is room; returns their numbers.

        Raises `ConfigError` when pinned ones take all of it.
        """

    def entries(self, numbers: Sequence[int]) -> dict[int, Entry]:
        """By number; those forgotten or gone are left out."""

    def by_id(self, ids: Sequence[str], *, forgotten: bool = False) -> dict[str, int]:
        """The numbers of those that are there; `forgotten`: of all that are kept."""

    def page(self, filters: Filters, limit: int, offset: int) -> list[tuple[int, Entry]]:
        """Newest first."""

    def numbers(self, filters: Filters = NO_FILTERS) -> list[int]: ...

    def of_sources(self, urls: Iterable[str]) -> list[int]:
        """Numbers of what comes from these sources; the empty url is what has none."""

    def count(self, filters: Filters = NO_FILTERS) -> int: ...

    def tags(self) -> list[str]:
        """Every tag there is, sorted."""

    def runs(self) -> list[str]:
        """Every run that something was learned in, the latest first."""

    def kept(self, after: int, limit: int) -> list[Kept]:
        """Some with a number above `after`, by number, forgotten ones too."""

    # Words

    def by_words(self, words: Sequence[str], limit: int, filters: Filters) -> list[int]:
        """Numbers by BM25, best first.

        Where many entries hold one of the words, only those with one of the rarest are scored, and by few more words:
        what common words would decide is not worth the time.
        """

    # Vectors

    def encoders(self) -> list[str]:
        """The encoders that there are vectors of."""

    def keep_encoder(self, name: str) -> None:
        """Drop the vectors of all others."""

    def put_vectors(self, encoder: str, vectors: Mapping[int, bytes]) -> None:
        """By number, in the place of earlier ones of that encoder."""

    def vectors(self, encoder: str, after: int) -> Iterator[list[tuple[int, int, bytes]]]:
        """Id, number and vector of those with an id above `after`, by id, some thousand at a time."""

    def without_vector(self, encoder: str, limit: int) -> dict[int, Entry]:
        """By number, some that this encoder has not encoded yet."""


def rarest(counts: Iterable[tuple[int, str]]) -> tuple[list[str], list[str]]:
    """Of words, each with how many entries hold it: those to find entries by, and with them those to score these by."""
    held = sorted((count, word) for count, word in counts if count)
    sums = list(accumulate(count for count, _ in held))
    rare, scored = (max(1, bisect_right(sums, most)) for most in (_SCORED, WEIGHED))
    ordered = [word for _, word in held]
    return ordered[:rare], ordered[:scored]


def full(capacity: int) -> ConfigError:
    return ConfigError(
        f"the memory is full: it holds {capacity:,} entries and all are pinned; unpin or forget some, "
        "or let it hold more"
    )


def conditions(
    filters: Filters, among: Callable[[Iterable[str]], object], *, mark: str, listed: str, tagged: str
) -> tuple[str, tuple[object, ...]]:
    """What SQL asks of an entry that fits and was not forgotten, with its parameters.

    `mark` stands for one value; `listed`, after a column, says that it has one of several; `tagged` that the entry has one
    of several tags.  `among` makes a parameter of several.
    """
    found, parameters = ["forgotten IS NULL"], list[object]()
    for column, values in {"kind": filters.kinds, "run": filters.runs, "provenance": filters.provenance}.items():
        if values:
            found.append(f"{column} {listed}")
            parameters.append(among(values))
    if filters.tags:
        found.append(tagged)
        parameters.append(among(filters.tags))
    for sign, bound in ((">=", filters.since), ("<", filters.until)):
        if bound is not None:
            found.append(f"time {sign} {mark}")
            parameters.append(bound)
    if filters.pinned:
        found.append("pinned")
    return " AND ".join(found), tuple(parameters)
