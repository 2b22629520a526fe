"""The place of each quote in its document: one citation number may refer to several pages or cells."""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence

from research.text import one_line
from research.types import Source

_STEP = re.compile(r" (?=[›(])")
"""Between the parts of a title such as `report.pdf › page 3`."""


def one_source(passages: Sequence[Source], quotes: Sequence[str]) -> Source:
    """Return a source with the first of its quotes, and the addresses, bibliographic data and notes of all its passages.

    `memory` is set only if no passage was seen in this run itself.
    """
    first = next((passage for passage in passages if not passage.memory), passages[0])
    quotes = quotes or (first.quote,)
    seen = [found for quote in quotes for _, found in placed(passages, quote)]
    cited = next(filter(None, seen), first)
    titles = [found.title for found in seen if found] if all(seen) else [each.title for each in passages]
    csl = {name: value for passage in reversed(passages) for name, value in passage.csl.items()}
    kind = next((each.kind for each in passages if each.kind), "")
    also = dict.fromkeys(each.url for each in passages if each.url != cited.url)
    notes = dict.fromkeys(note for each in passages for note in each.notes)
    return Source(first.n, cited.url, together(titles), quotes[0], csl, first.memory, kind, tuple(also), tuple(notes))


def placed(passages: Sequence[Source], quote: str) -> list[tuple[str, Source | None]]:
    """Return a quote with the smallest passage containing it; if none does, each of its lines separately."""
    known = sorted(((one_line(each.quote), each) for each in passages), key=lambda pair: len(pair[0]))

    def holder(text: str) -> Source | None:
        return next((each for seen, each in known if one_line(text) in seen), None)

    whole = holder(quote)
    return [(quote, whole)] if whole else [(line, holder(line)) for line in quote.splitlines()]


def together(titles: Iterable[str]) -> str:
    """Return the common part of these titles of one document: the document or sheet, without places.

    >>> together(["a.pdf › page 1", "a.pdf › page 12"]), together(["Report (a.pdf › page 1)", "Report (a.pdf › page 2)"])
    ('a.pdf', 'Report')
    """
    steps = sorted((_STEP.split(title) for title in dict.fromkeys(titles)), key=len)
    shared = [alike[0] for alike in zip(*steps, strict=False) if len(set(alike)) == 1]
    while len(steps) > 1 and shared and shared[-1].startswith("(") and not shared[-1].endswith(")"):
        shared.pop()
    return " ".join(shared or steps[0])


def unplaced(text: str, titles: Iterable[str]) -> str:
    """Return a text in which each of these titles stands for the whole document.

    >>> unplaced("What does report.pdf › page 3 cost?", ["report.pdf › page 3"])
    'What does report.pdf cost?'
    """
    for title in sorted(set(titles), key=len, reverse=True):
        if (name := _STEP.split(title)[0]) and name != title:
            text = text.replace(title, name)
    return text


def within(head: str, title: str) -> str:
    """Return the place in a title that is not in the document's own title: `page 3`; empty if none."""
    steps = _STEP.split(head)
    return " ".join(step for step in _STEP.split(title) if step.startswith("›") and step not in steps).strip("›) ")
