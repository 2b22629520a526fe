"""Charts of an answer that compares things or follows years, from figures that its sources state.

A figure is drawn only if the report states it in a citation that holds and the quote of that citation states it too.
Figures share a chart only if they measure the same in the same unit.
"""

from __future__ import annotations

import csv
import io
import re
from collections.abc import Iterable, Iterator, Sequence
from typing import Final, Literal

from msgspec import Struct

from research._util.glossary import chinese_label
from research.citations.measures import Quantity
from research.citations.names import Names, is_country, names
from research.citations.names import key as key_of
from research.citations.reading import Figure, Sentence, lines_of, stems, years
from research.events.view import RunView
from research.text import cell, clip, has_cjk
from research.types import HOLDS, Citation, Source

MOST: Final = 3
"""Maximum number of charts of a report."""
SUBJECTS: Final = 30
"""Maximum number of things in a chart; more cannot be told apart."""
CITATIONS: Final = 300
"""Maximum number of citations that are read, the first ones."""
_LONG: Final = 1_000
"""Maximum characters of a statement and of a quote."""
_NAME: Final = 40
_TITLE: Final = 120
_ALIKE: Final = 0.5
"""Share of common words from which two sentences without a label measure the same."""
_YEAR = re.compile(r"[,\s(]{0,9}\b(?:1[5-9]|20)\d\d\b\)?\s{0,9}$")
_PART = re.compile(r"\s{1,9}[·|–—-]\s{1,9}|[:：]\s")
_DIGITS = re.compile(r"\d[\d,\s\u00a0]*(?:\.\d+)?")
_EMPHASIS = re.compile(r"[*_`]{1,3}")


class Point(Struct, frozen=True):
    """A figure that the report cites."""

    subject: str
    """What it is of: a country, a company."""
    year: int
    """0 if neither report nor source says it."""
    value: float
    """In the unit of the chart."""
    written: str
    """As the report writes it."""
    n: int
    """Number of its source."""


class Chart(Struct, frozen=True):
    """Figures of one measure in one unit."""

    title: str
    """What they measure, in the words of the source (in Chinese if the question is); the question if it has no word."""
    unit: str
    kind: Literal["bars", "lines"]
    points: tuple[Point, ...]
    """Bars from the largest to the smallest; lines by subject and year."""

    @property
    def name(self) -> str:
        """Return title and unit as one line."""
        return f"{self.title} ({self.unit})" if self.unit else self.title

    @property
    def same_year(self) -> bool:
        """Return whether all figures are of one year."""
        return len({point.year for point in self.points}) == 1

    def label(self, point: Point) -> str:
        """Return the subject, with the year if the chart mixes years."""
        return point.subject if self.same_year or not point.year else f"{point.subject} ({point.year})"


class _Found(Struct):
    """A figure with what it measures."""

    subject: str
    year: int
    quantity: Quantity
    n: int
    label: str
    """The source's label, without a year; empty in prose."""
    words: frozenset[str]
    """Words of the source's sentence without names, if it has no label."""


def charts(view: RunView) -> tuple[Chart, ...]:
    """Return the charts of a report; empty unless it compares several things or follows one through three years.

    `view` has the numbers that readers see (`by_first_use`).
    """
    checked = [each for each in view.citations[:CITATIONS] if each.status in HOLDS and each.quote]
    if len(checked) < 2:
        return ()
    known = Names([clip(text, _LONG) for each in checked for text in (each.claim, each.quote)])
    groups: list[list[_Found]] = []
    for citation in checked:
        for found in _figures(view, citation, known):
            group = next((each for each in groups if _same(each[0], found)), None)
            if group is None:
                groups.append(group := [])
            group.append(found)
    drawn = (_chart(group, " ".join(view.question.split())) for group in groups)
    return tuple(sorted(filter(None, drawn), key=lambda each: -len(each.points)))[:MOST]


def as_csv(chart: Chart) -> bytes:
    """Return the figures for a spreadsheet; no cell is a formula."""
    file = io.StringIO()
    writer = csv.writer(file)
    writer.writerow(["subject", "year", "value", "unit", "as written", "source"])
    for point in chart.points:
        written = [cell(point.subject), point.year or "", point.value, cell(chart.unit), cell(point.written), point.n]
        writer.writerow(written)
    return ("\ufeff" + file.getvalue()).encode()


def _figures(view: RunView, citation: Citation, known: Names) -> Iterator[_Found]:
    """Yield the figures of a statement that the quote of its citation states, too."""
    passages = view.sources.get(citation.n)
    if not passages:
        return
    title = passages[0].title
    claim = Sentence(clip(_EMPHASIS.sub("", citation.claim), _LONG))
    lines = lines_of(Source(citation.n, "", title, clip(citation.quote, _LONG)))
    for figure in claim.figures:
        mine = figure.quantity
        if mine.weak or mine.kind != "number" or mine.hedge:
            continue
        for line, seen in [(each, seen) for each in lines for seen in each.figures]:
            if seen.quantity.unit != mine.unit or not mine.states(seen.quantity):
                continue
            year = _year(line, seen, figure, claim)
            subject = _subject(title, line, figure, known)
            if subject and year is not None:
                label = _YEAR.sub("", line.label).strip(" ,")
                words = frozenset() if label else stems(line.text) - known.words(line.text)
                yield _Found(subject, year, mine, citation.n, label, words)
            break


def _year(line: Sentence, seen: Figure, figure: Figure, claim: Sentence) -> int | None:
    """Return the year of a figure, 0 if none is given; None if it cannot be told from several."""
    for text in (line.label, seen.own, line.text, figure.own, claim.text):
        found = years(text)
        if len(found) == 1:
            return next(iter(found))
        if found and text is not line.text:
            return None
    return 0


def _subject(title: str, line: Sentence, figure: Figure, known: Names) -> str:
    """Return what a figure is of: the subject of its source if its line has a label, else the name beside it."""
    head = clip(_PART.split(title.strip(), 1)[0].strip(), _NAME)
    beside = [(written, key) for _, written, key in known.of(figure.near)]
    places = [written for written, key in beside if is_country(key)]
    titled = {key for _, _, key in names(title)}
    if line.label:
        return next((written for written, key in beside if is_country(key) and key in titled), head)
    before = places or [written for written, _ in beside]
    return clip(before[-1], _NAME) if before else head


def _same(one: _Found, other: _Found) -> bool:
    """Return whether two figures measure the same in the same unit."""
    if one.quantity.unit != other.quantity.unit or bool(one.label) != bool(other.label):
        return False
    if one.label:
        return one.label.casefold() == other.label.casefold()
    common = one.words & other.words
    return bool(common) and len(common) >= _ALIKE * max(len(one.words), len(other.words))


def _chart(group: Sequence[_Found], question: str) -> Chart | None:
    """Return the chart of figures that measure the same; None if there is nothing to compare, or they disagree."""
    kept: dict[tuple[str, int], _Found] = {}
    for found in group:
        before = kept.setdefault((key_of(found.subject), found.year), found)
        if not (before.quantity.states(found.quantity) or found.quantity.states(before.quantity)):
            return None
    by_subject: dict[str, list[_Found]] = {}
    for found in kept.values():
        by_subject.setdefault(key_of(found.subject), []).append(found)
    label = group[0].label
    title = clip((chinese_label(label) if has_cjk(question) else "") or label or question, _TITLE)
    series = [[each for each in own if each.year] for own in by_subject.values()]
    if any(len(own) >= 3 for own in series) and all(len(own) >= 2 for own in series) and len(series) <= SUBJECTS:
        points = [each for own in series for each in sorted(own, key=lambda each: each.year)]
        return _drawn(title, "lines", points)
    if 2 <= len(by_subject) <= SUBJECTS:
        latest = [max(own, key=lambda each: each.year) for own in by_subject.values()]
        return _drawn(title, "bars", sorted(latest, key=lambda each: -each.quantity.value))
    return None


def _drawn(title: str, kind: Literal["bars", "lines"], group: Iterable[_Found]) -> Chart:
    """Return the chart, in the unit that its largest figure is written in."""
    found = list(group)
    factor, unit = _unit(max(found, key=lambda each: abs(each.quantity.value)).quantity)
    points = (
        Point(each.subject, each.year, each.quantity.value / factor, each.quantity.written, each.n) for each in found
    )
    return Chart(title, unit, kind, tuple(points))


def _unit(quantity: Quantity) -> tuple[float, str]:
    """Return how many base units one unit of a figure has as it is written, and the unit: `$ trillion`, `km`."""
    digits = _DIGITS.search(quantity.written)
    if digits is None:
        return 1.0, ""
    number = float(re.sub(r"[,\s\u00a0]", "", digits.group()))
    unit = " ".join(f"{quantity.written[: digits.start()]} {quantity.written[digits.end() :]}".split()).strip("-− ")
    return (abs(quantity.value) / number if number else 1.0), unit
