"""What a run has taught: its supported citations become findings, what was read passages."""

from __future__ import annotations

import re

from research.citations import cited
from research.errors import ConfigError
from research.memory import Entry
from research.text import clip
from research.types import Citation, Source
from research.view import RunView

PASSAGES = 200
"""Passages that one run puts into the memory."""
LONGEST_REPORT = 20_000
"""Characters kept of a report."""
_EMPHASIS = re.compile(r"[*_`]{1,3}(?=\S)|(?<=\S)[*_`]{1,3}")
_REST = re.compile(r"[\s,;:，；、：)）]")
_WORD = re.compile(r"\w")


def remember(view: RunView) -> tuple[Entry, ...]:
    """A finding for each statement of the report that its source supports, in the order of the report.

    Each has the statement, the quote it rests on, its source, and the round in which that was seen; who wrote it is the
    model, or the page where the statement stands in it word for word.  Raises `ConfigError` while the run is at work.
    """
    if view.running:
        raise ConfigError(f"run {view.run!r} is still at work; what it learned can be kept when it has ended")
    return tuple(dict.fromkeys(_finding(view, citation) for citation in _supported(view)))


def findings(view: RunView) -> tuple[Entry, ...]:
    """As `remember`, without what rests on remembered words alone: told again in other words it would never end."""
    new = [each for each in _supported(view) if not _passage(view, each).memory]
    return tuple(dict.fromkeys(_finding(view, citation) for citation in new))


def _supported(view: RunView) -> list[Citation]:
    supported = [each for each in view.citations if each.status == "supported" and each.n in view.sources]
    # What begins with a comma is the rest of a sentence, which says nothing by itself.
    return [each for each in supported if not _REST.match(each.claim)]


def everything(view: RunView) -> tuple[Entry, ...]:
    """The findings, the passages that were read, and the report; what was itself remembered is not learned again.

    Of many passages those of cited sources come first; at most `PASSAGES`.
    """
    order = cited(view.report)
    numbers = sorted(view.sources, key=lambda n: order.index(n) if n in order else len(order))
    read = [source for n in numbers for source in view.sources[n] if source.quote.strip() and not source.memory]
    passages = [
        Entry(
            source.quote, kind="passage", provenance="page", run=view.run, round=_round(view, source.n, source.quote),
            url=source.url, title=source.title, quote=source.quote, time=view.updated,
        )
        for source in read[:PASSAGES]
    ]  # fmt: skip
    report = clip(view.report or view.answer, LONGEST_REPORT)
    told = Entry(report, kind="report", provenance="model", run=view.run, title=view.question, time=view.updated)
    return (*findings(view), *passages, *([told] if report.strip() and order else []))


def _finding(view: RunView, citation: Citation) -> Entry:
    source = _passage(view, citation)
    quote = citation.quote or source.quote
    text = _EMPHASIS.sub("", citation.claim)
    # A statement that gives the title and the quote and nothing else is the quote.
    if not _WORD.search(plain(text).replace(plain(source.title), "").replace(plain(quote), "")):
        text = quote
    return Entry(
        text,
        kind="finding",
        provenance="page" if plain(text) in plain(quote) else "model",
        run=view.run,
        round=_round(view, citation.n, citation.quote),
        url=source.url,
        title=source.title,
        quote=quote,
        time=view.updated,
    )


def _passage(view: RunView, citation: Citation) -> Source:
    """The passage that the citation rests on: one that was seen in the run rather than one that was remembered."""
    passages = sorted(view.sources[citation.n], key=lambda source: bool(source.memory))
    return next((each for each in passages if _holds(each, citation.quote)), passages[0])


def plain(text: str) -> str:
    """The words of a text, to see whether another says the same word for word."""
    return " ".join(text.split()).rstrip(".。").casefold()


def _round(view: RunView, n: int, quote: str) -> int:
    """The main agent's round in which the quote was first seen, or else the source; 0 where neither is on record."""
    number, first = 0, 0
    for current in view.rounds:
        if current.agent == "main":
            number = current.number
        for source in (s for call in current.calls if call.observation for s in call.observation.sources):
            if source.n == n:
                first = first or number
                if _holds(source, quote):
                    return number
    return first


def _holds(source: Source, quote: str) -> bool:
    """A quote may join lines of several passages: one of them is enough."""
    return any(line in source.quote for line in quote.splitlines() if line.strip())
