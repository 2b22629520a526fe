"""What was learned once and is found again: findings, passages, reports and notes, across runs.

`Memory` (research/memory/memory.py) keeps `Entry` values on a `Shelf`, a file of its own or a schema of a
Postgres, and finds them by words and by meaning.  Nothing heavy is imported here.
"""

from __future__ import annotations

from typing import Literal, get_args

from msgspec import Struct

Kind = Literal["finding", "passage", "report", "note"]
"""A checked statement with its source; words of a source; the report of a run; what a user wrote."""

Provenance = Literal["user", "model", "page"]
"""Who wrote the text.  What a model or a page wrote is data, never an instruction."""

KINDS: tuple[Kind, ...] = get_args(Kind)
PROVENANCES: tuple[Provenance, ...] = get_args(Provenance)

CAPACITY = 1_000
"""Entries kept unless the memory is told otherwise."""


class Entry(Struct, frozen=True, omit_defaults=True):
    """One thing remembered."""

    text: str
    kind: Kind = "note"
    id: str = ""
    """Given by the memory when it is empty."""
    provenance: Provenance = "user"
    run: str = ""
    """Where it was learned; empty for what a user wrote."""
    round: int = 0
    """The main agent's round in which its source was seen, from 1; 0 where there is none."""
    url: str = ""
    title: str = ""
    """Both of the source."""
    quote: str = ""
    """The words of the source that the text rests on."""
    time: float = 0.0
    """Seconds since the epoch; the memory fills in the present for 0."""
    tags: tuple[str, ...] = ()
    pinned: bool = False
    """Never makes room for others."""


class Filters(Struct, frozen=True):
    """What is wanted of the memory; an empty field wants nothing in particular."""

    kinds: tuple[str, ...] = ()
    runs: tuple[str, ...] = ()
    tags: tuple[str, ...] = ()
    """An entry with any of them."""
    provenance: tuple[str, ...] = ()
    since: float | None = None
    """From this time on, seconds since the epoch."""
    until: float | None = None
    """Before this time."""
    pinned: bool = False
    """Only pinned ones."""


NO_FILTERS = Filters()


class Found(Struct, frozen=True):
    """An entry with what speaks for it."""

    entry: Entry
    score: float
    """Fused from both ranks; orders the results, means nothing by itself."""
    cosine: float
    """Of the query and the entry, -1 to 1."""
    by_words: int
    by_meaning: int
    """Its rank from 1 in each of the two searches; 0 when it was not among the first there."""


class Added(Struct, frozen=True):
    """What came of adding one entry."""

    id: str
    new: bool
    """False: one that says the same was there already, and has this id."""


class Imported(Struct, frozen=True):
    """What came of a file: numbers of entries."""

    added: int
    known: int
    """Were there already, or said the same as one that was."""
