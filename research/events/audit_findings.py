"""What an audit knows: the given report, its statements with verdicts, its sources with the state of their links."""

from __future__ import annotations

from typing import Literal

from msgspec import Struct

LinkState = Literal[
    "reachable",
    "redirected",
    "gone",
    "blocked",
    "paywalled",
    "unreachable",
    "unreadable",
    "other_work",
    "refused",
    "not_found",
    "not_listed",
    "not_asked",
]
"""What became of a source, apart from any verdict.

`other_work`: the address leads to a work other than the cited one.  `refused`: the workbench does not open such
an address.  `not_found`: it has no address, and no document of the user's has its title.  `not_listed`: the report cites a
number or name that its reference list lacks.  `not_asked`: the budget ended first.
"""
READ: tuple[LinkState, ...] = ("reachable", "redirected")
"""States of sources usable for comparison."""

TrialVerdict = Literal[
    "supported", "calculated", "partial", "contradicted", "unsupported", "unverified", "not_checkable", "no_source"
]
"""As in `types.Verdict`; `not_checkable`: a source that the statement cites could not be read."""
HOLDS: tuple[TrialVerdict, ...] = ("supported", "calculated")
FAILS: tuple[TrialVerdict, ...] = ("contradicted", "unsupported", "partial")
OPEN: tuple[TrialVerdict, ...] = ("unverified", "not_checkable", "no_source")


Nearness = Literal["", "alike", "figure", "name"]
"""A passage says nearly the same as a statement, or that with another figure or name."""


class Given(Struct, frozen=True, omit_defaults=True):
    """A report that the user wants checked."""

    text: str
    """Markdown, with its links and footnotes."""
    title: str = ""
    address: str = ""
    """Where it was read: a web address or the name of a file; empty if it was pasted."""
    chosen: dict[int, str] = {}
    """Addresses of the documents that the user says are meant, by source number."""
    again: tuple[int, ...] = ()
    """Numbers of the statements looked for in any source; empty: all are checked against what they cite."""
    known: tuple[AuditedStatement, ...] = ()
    """What the check before found, which stays unless a statement looked for again is confirmed or refuted."""


class AuditedSource(Struct, frozen=True, omit_defaults=True):
    """A source that the report names, and what became of it."""

    n: int
    """Its number in the report as it was read, from 1 in order of first use."""
    name: str
    """The title, or else the words by which the report names it."""
    url: str = ""
    state: LinkState = "not_asked"
    reason: str = ""
    found_url: str = ""
    """The address read, if another one."""
    found_title: str = ""
    cited: int = 0
    """Number of statements that cite it."""
    ledger: int = 0
    """Its number `[n]` in the run's report; 0 if it was not read."""
    candidates: dict[str, str] = {}
    """Titles of the documents that may be meant, by address; empty if one was read."""


class Opinion(Struct, frozen=True, omit_defaults=True):
    """What one source says of a statement."""

    source: int
    verdict: TrialVerdict
    quote: str = ""


class AuditedStatement(Struct, frozen=True, omit_defaults=True):
    """A statement of the report and its verdict."""

    n: int
    """Its place in the report, from 1."""
    text: str
    """Without marks."""
    verdict: TrialVerdict
    section: str = ""
    sources: tuple[int, ...] = ()
    quote: str = ""
    reason: str = ""
    correction: str = ""
    """What would make it true, if a source says so."""
    by: str = ""
    opinions: tuple[Opinion, ...] = ()
    """What each source says, if they differ."""
    found: int = 0
    """The source found for it in the run's report, if it cites none; else 0."""
    near: Nearness = ""
    """How the passage in the reason of an open statement compares."""


class Miscount(Struct, frozen=True):
    """Numbers inside the report that do not add up."""

    text: str
    reason: str


class Score(Struct, frozen=True):
    """The share of judged statements that hold, with its 95% interval (Wilson)."""

    holds: int
    judged: int
    share: float | None
    low: float
    high: float
