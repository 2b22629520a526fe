"""Charts of an answer that compares things or follows years, from figures that its sources state.

A figure is drawn only if the report states it in a citation that holds and whose quote states it too.
Figures share a chart only if they measure the same in the same unit.
"""

from __future__ import annotations

import csv
import io
import re
from collections.abc import Iterable, Iterator, Sequence
from typing import Final, Literal

from msgspec import Struct
from msgspec.structs import replace

from research._util.glossary import chinese_label, chinese_places, in_sentence
from research.citations import statements, without_marks
from research.citations.checking import rowed
from research.citations.labelled import Cell, cells_of, labelled_figures
from research.events.view import RunView
from research.exports.labels import words_of
from research.quantities import Quantity, quantities
from research.text import cell, clip, has_cjk
from research.types import HOLDS

MOST: Final = 3
"""Maximum number of charts of a report."""
SUBJECTS: Final = 30
"""Maximum number of things in a chart; more cannot be told apart."""
CITATIONS: Final = 300
"""Maximum number of citations that are read, the first ones."""
_NAME: Final = 40
_TITLE: Final = 120
_DIGITS = re.compile(r"\d[\d,\s\u00a0]*(?:\.\d+)?")
_YEAR = re.compile(r"[,\s(]{0,9}\b(?:1[5-9]|20)\d\d\b\)?\s{0,9}$")
_IN_BRACKETS = re.compile(r"\(([^()]{1,20})\)$")
_EMPHASIS = re.compile(r"[*_`]{1,3}")


class Point(Struct, frozen=True):
    """A figure that the report cites."""

    subject: str
    """Its subject, as the report words it: a country, a company."""
    year: int
    """The year; 0 if neither report nor source has it."""
    value: float
    """In the unit of the chart."""
    written: str
    """As the report writes it."""
    n: int
    """Number of its source."""


class Chart(Struct, frozen=True):
    """Figures of one measure in one unit."""

    title: str
    """What they measure, as the source words it (in Chinese if the question is)."""
    unit: str
    kind: Literal["bars", "lines"]
    points: tuple[Point, ...]
    """Bars from the largest to the smallest, or as the report's table has them from the smallest; lines by subject and year."""
    tabled: bool = False
    """Whether tables of the report have all these figures."""

    @property
    def name(self) -> str:
        """Return the title, with the unit if the figures lack it: on a line chart's axis."""
        return f"{self.title} ({self.unit})" if self.unit and self.kind == "lines" else self.title

    @property
    def dated(self) -> bool:
        """Return whether the year of any figure is known."""
        return any(point.year for point in self.points)

    def label(self, point: Point) -> str:
        """Return the subject, with the year if the chart mixes years."""
        same_year = len({each.year for each in self.points}) == 1
        return point.subject if same_year or not point.year else f"{point.subject} ({point.year})"


class Found(Struct):
    """A figure with what it measures."""

    subject: str
    year: int
    quantity: Quantity
    n: int
    label: str
    """The source's name for it, without a year."""
    unit: str
    """Has commas if it may be one of several."""
    tabled: bool
    held: bool
    """Whether the statement holds, says this figure, and has nothing else unreadable."""


def charts(view: RunView) -> tuple[Chart, ...]:
    """Return the charts of a report; empty unless it compares several things or follows one through three years.

    `view` has the numbers that readers see (`by_first_use`).
    """
    return _charts(view, _figures(view))


def _charts(view: RunView, figures: Iterable[Found]) -> tuple[Chart, ...]:
    groups: dict[tuple[str, str], list[Found]] = {}
    for found in (each for each in figures if "," not in each.unit):
        groups.setdefault((found.label.casefold(), found.unit), []).append(found)
    drawn = (_chart(group, has_cjk(view.question)) for group in groups.values())
    return tuple(sorted(filter(None, drawn), key=lambda each: -len(each.points)))[:MOST]


def headline(view: RunView) -> str:
    """Return the short answer; a bare name is followed by its figure in a chart of the report, or its only figure."""
    figures = list(_figures(view))
    points = [point for chart in _charts(view, figures)[:1] for point in chart.points if point.subject == view.short]
    only = {each.quantity.written for each in figures if each.held and each.subject == view.short}
    figure = max(points, key=lambda point: point.year).written if points else only.pop() if len(only) == 1 else ""
    return words_of(view)("{name}: {value}", name=view.short, value=figure) if figure else view.short


def as_csv(chart: Chart) -> bytes:
    """Return the figures for a spreadsheet; no cell is a formula."""
    file = io.StringIO()
    writer = csv.writer(file)
    writer.writerow(["subject", "year", "value", "unit", "as written", "source"])
    for point in chart.points:
        written = [cell(point.subject), point.year or "", point.value, cell(chart.unit), cell(point.written), point.n]
        writer.writerow(written)
    return ("\ufeff" + file.getvalue()).encode()


def _figures(view: RunView) -> Iterator[Found]:
    """Yield the figures of statements, from labelled lines, tables and query results.

    Those that do not hold only show what a chart lacks.
    """
    cells: dict[int, list[Cell]] = {}
    written: dict[int, list[Quantity]] = {}  # from the sentences before: the evidence has the source's words
    said = view.report or view.answer
    heads = {without_marks(each.text): each.context for each in statements(said) if each.row}
    for citation in view.citations[:CITATIONS]:
        if citation.n not in cells:
            cells[citation.n] = [each for source in view.sources.get(citation.n, ()) for each in cells_of(source)]
        claim = _EMPHASIS.sub("", rowed(citation.claim, heads.get(citation.claim, "")))
        own = written.setdefault(citation.n, [])
        own += quantities(claim) if citation.status in HOLDS else ()
        read = _stated(claim, cells[citation.n]) if citation.status in HOLDS else ()
        for figure, found in read or _named(claim, cells[citation.n]):
            if found.names and not (found.kind or figure.hedge):
                label = _YEAR.sub("", found.written).strip(" ,")
                places = chinese_places(found.names[0]) if has_cjk(view.question) else ()
                subject = next((name for name in places if name in said), [*places, found.names[0]][0])
                figure = _with_unit(figure, label)
                unit, tabled = figure.unit or _beside(found), citation.claim in heads
                first = next((each for each in own if (each.value, each.unit) == (figure.value, figure.unit)), figure)
                name = clip(subject, _NAME)
                yield Found(name, found.year, first, citation.n, label, unit, tabled, bool(read))


def _with_unit(figure: Quantity, label: str) -> Quantity:
    """Return a figure without a unit in the one that its column names, as in `Amount (EUR)`."""
    named = _IN_BRACKETS.search(label)
    one = quantities(f"1 {named[1]}") if named and not figure.unit else ()
    if not named or not one or one[0].written != f"1 {named[1]}":
        return figure
    value, half = figure.value * one[0].value, figure.half * one[0].value
    return replace(figure, written=f"{figure.written} {named[1]}", value=value, half=half, unit=one[0].unit)


def _stated(claim: str, cells: Sequence[Cell]) -> tuple[tuple[Quantity, Cell], ...]:
    """Return the figures that a claim states, or those of the lines that it quotes word for word."""
    return labelled_figures(claim, cells) or tuple((each.quantity, each) for each in cells if each.line in claim)


def _named(claim: str, cells: Sequence[Cell]) -> tuple[tuple[Quantity, Cell], ...]:
    """Return the figures of things that a claim names, if it writes the figure too."""
    figures = quantities(claim)
    own = (each for each in cells if any(name in claim for name in (*each.names[:1], *_places(each))))
    return tuple((figure, each) for each in own for figure in figures if each.states(figure))


def _places(cell: Cell) -> Sequence[str]:
    return chinese_places(cell.names[0]) if cell.names else ()


def _beside(cell: Cell) -> str:
    """Return the unit named in another column of a row; for a query, all units in the rows it used."""
    parts = [part.rpartition(": ")[2] for part in cell.line.split("; ")]
    texts = set(cell.around.split()) - set(cell.how.split()) if cell.how else parts
    read = (each for text in texts for each in quantities(f"1 {text}") if each.written == f"1 {text}")
    return ",".join(sorted({each.unit for each in read if each.unit}))


def _chart(group: Sequence[Found], chinese: bool) -> Chart | None:
    """Return the chart of figures that measure the same; None if nothing is comparable, they disagree, or one is missing."""
    kept: dict[tuple[str, int], Found] = {}
    for found in (each for each in group if each.held):
        before = kept.setdefault((found.subject, found.year), found)
        if not (before.quantity.states(found.quantity) or found.quantity.states(before.quantity)):
            return None
        before.tabled |= found.tabled
    for found in (each for each in group if not each.held):
        if (found.subject, found.year) not in kept:
            return None  # without it, the second largest would look like the largest
        kept[found.subject, found.year].tabled |= found.tabled
    by_subject: dict[str, list[Found]] = {}
    for found in kept.values():
        by_subject.setdefault(found.subject, []).append(found)
    label = group[0].label
    title = clip((chinese_label(label) if chinese else "") or in_sentence(label), _TITLE)
    series = [[each for each in own if each.year] for own in by_subject.values()]
    if any(len(own) >= 3 for own in series) and all(len(own) >= 2 for own in series) and len(series) <= SUBJECTS:
        points = [each for own in series for each in sorted(own, key=lambda each: each.year)]
        return _drawn(title, "lines", points)
    if 2 <= len(by_subject) <= SUBJECTS:
        latest = [max(own, key=lambda each: each.year) for own in by_subject.values()]
        values = [each.quantity.value for each in latest]
        rising = all(each.tabled for each in latest) and values == sorted(values)
        return _drawn(title, "bars", latest if rising else sorted(latest, key=lambda each: -each.quantity.value))
    return None


def _drawn(title: str, kind: Literal["bars", "lines"], group: Iterable[Found]) -> Chart:
    """Return the chart in the unit of its largest figure."""
    found = list(group)
    factor, unit = _unit(max(found, key=lambda each: abs(each.quantity.value)).quantity)
    title = title.replace("_", " ").removesuffix(f" ({unit})")  # from the column of a table
    title = title[:1].upper() + title[1:]
    points = (
        Point(each.subject, each.year, each.quantity.value / factor, each.quantity.written, each.n) for each in found
    )
    return Chart(title, unit, kind, tuple(points), all(each.tabled for each in found))


def _unit(quantity: Quantity) -> tuple[float, str]:
    """Return the base units in one unit of a figure as written, and that unit: `$ trillion`, `km`."""
    digits = _DIGITS.search(quantity.written)
    if digits is None:
        return 1.0, ""
    number = float(re.sub(r"[,\s\u00a0]", "", digits.group()))
    unit = " ".join(f"{quantity.written[: digits.start()]} {quantity.written[digits.end() :]}".split()).strip("-− ")
    return (abs(quantity.value) / number if number else 1.0), unit
