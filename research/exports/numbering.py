"""Sources numbered by first use: what a reader sees, on the page and in exported files.

A run numbers its sources as it meets them, so a report may cite [15], [1] and [11].  Readers get 1, 2 and 3.  Events, JSON
and the prompts keep the numbers of the run.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import replace

from msgspec.structs import replace as changed

from research.citations import MARK, cited, normalised
from research.citations.marks import LARGEST, around_code
from research.events.view import RunView
from research.types import Source


def numbering(view: RunView, report: str | None = None) -> dict[int, int]:
    """Map the run's number of each source, and each number without a source, to the reader's.

    Cited sources come first, in the order of the report, then cited numbers without a source, then the other sources.
    """
    found = used(view, view.report if report is None else report)
    order = sorted(found, key=lambda n: n not in view.sources)
    order += [n for n in sorted(view.sources) if n not in set(order)]
    return {n: place for place, n in enumerate(order, 1)}


def used(view: RunView, text: str) -> list[int]:
    """Return the numbers that a text cites, by first use; a large one without a source is taken for a year."""
    return [n for n in cited(text) if n in view.sources or n <= LARGEST]


def sources_of(view: RunView, numbers: Mapping[int, int]) -> dict[int, list[Source]]:
    """Return the sources with a reader's number, by that number."""
    return {
        numbers[n]: [changed(each, n=numbers[n]) for each in passages]
        for n, passages in view.sources.items()
        if n in numbers
    }


def renumbered(text: str, numbers: Mapping[int, int]) -> str:
    """Return the text with the marks of a report in the reader's numbers; code and formulas are unchanged."""

    def mark(match: re.Match[str]) -> str:
        return f"[{', '.join(str(numbers.get(int(n), int(n))) for n in re.findall(r'[0-9]+', match[1]))}]"

    return around_code(normalised(text), lambda part: MARK.sub(mark, part), formulas=True)


def by_first_use(view: RunView) -> RunView:
    """Return the view with its report, sources and citations in the reader's numbers."""
    numbers = numbering(view)
    if all(n == place for n, place in numbers.items()):
        return view
    return replace(
        view,
        report=renumbered(view.report, numbers),
        citations=tuple(changed(each, n=numbers.get(each.n, each.n)) for each in view.citations),
        sources=sources_of(view, numbers),
    )
