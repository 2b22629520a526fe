"""The memory across runs: findings, passages, reports and the user's notes, found by words and by meaning.

May import `citations`, `events`, `search`, `store`, `web`, `_util`, `types`, `text` and `errors`."""

from __future__ import annotations

from typing import Literal, get_args

from msgspec import Struct

Kind = Literal["finding", "passage", "report", "note"]
"""A checked statement with its source, a passage of a source, the report of a run, or a note of the user."""

Provenance = Literal["user", "model", "page"]
"""Who wrote the text.  Text by a model or a page is data, never an instruction."""

KINDS: tuple[Kind, ...] = get_args(Kind)
PROVENANCES: tuple[Provenance, ...] = get_args(Provenance)

CAPACITY = 1_000
"""Default maximum number of entries."""


class Entry(Struct, frozen=True, omit_defaults=True):
    """One entry of the memory."""

    text: str
    kind: Kind = "note"
    id: str = ""
    """Assigned by the memory when it is empty."""
    provenance: Provenance = "user"
    run: str = ""
    """Id of the run that it was learned in; empty for a note."""
    round: int = 0
    """The main agent's round in which the source was seen, from 1; 0 if none is known."""
    url: str = ""
    """The source's; empty without one."""
    title: str = ""
    """Of the source; for a report, the question."""
    quote: str = ""
    """The words of the source that support the text."""
    time: float = 0.0
    """Seconds since the epoch; the memory replaces 0 by the current time."""
    tags: tuple[str, ...] = ()
    pinned: bool = False
    """Whether the entry is exempt from eviction."""


class Filters(Struct, frozen=True):
    """Selects entries that match every field; an empty field matches all entries."""

    kinds: tuple[str, ...] = ()
    runs: tuple[str, ...] = ()
    tags: tuple[str, ...] = ()
    """Matches entries that have any of these tags."""
    provenance: tuple[str, ...] = ()
    since: float | None = None
    """Earliest time, inclusive, in seconds since the epoch."""
    until: float | None = None
    """Latest time, exclusive."""
    pinned: bool = False
    """True selects pinned entries only."""


NO_FILTERS = Filters()


class Match(Struct, frozen=True):
    """A search result: an entry and how well it matches."""

    entry: Entry
    score: float
    """Fused from both ranks; only its order has a meaning."""
    cosine: float
    """Cosine of query and entry, -1 to 1."""
    word_rank: int
    """Rank from 1 in the search by words; 0 if that search did not return the entry."""
    meaning_rank: int
    """Likewise for the search by meaning."""


class Added(Struct, frozen=True):
    """The outcome of adding one entry."""

    id: str
    """Id of the new entry, or of the one it was merged into."""
    new: bool


class Imported(Struct, frozen=True):
    """The outcome of importing a file, as numbers of entries."""

    added: int
    known: int
    """Entries already in the memory, or equal in meaning to one."""
