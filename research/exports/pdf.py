"""The cited report as a PDF: A4 with selectable text, links, page numbers and embedded Chinese fonts.

This module decides what to draw and in which order; `sheet` lays out the lines.
"""

from __future__ import annotations

import io
from collections.abc import Iterable, Sequence
from functools import partial
from typing import Final

from msgspec.structs import replace

from research.events.view import RunView
from research.exports.blocks import Block, Code, Heading, Items, Paragraph, Quote, Rule, Span, Table, is_task, words
from research.exports.document import Document, Reference, compose
from research.exports.sheet import LINE, SIZE, SMALL, Sheet
from research.text import clip

LONGEST = 150_000
"""Maximum characters of a report: about fifty pages, drawn in seconds."""
_ROWS, _COLUMNS = 1_000, 12
"""Maximum size of a table: more columns would be too narrow for a word."""
_MEASURED = 50
"""Rows used to measure a table's columns."""
_TABLE_SIZES: Final = (SMALL, 8.0, 7.0, 6.0)
"""Font sizes of a table: a smaller one if a word or a figure would be broken."""
_FEW, _CLOSER = 4, 9.3
"""Pages up to which a last one that is nearly empty is avoided, and the size of the letters that does so."""
_GAP = 3.0
"""Millimetres between columns."""
_INDENT: Final = 15.0
"""Most millimetres by which a reference's lines are narrower than the page."""
_SIZES: Final = {1: 15.0, 2: 13.0, 3: 11.5}
"""Font size of a heading in points, by level."""


def pdf(view: RunView) -> bytes:
    """Return the file, dated like the run."""
    return written(compose(view, LONGEST))


def written(document: Document) -> bytes:
    """Return the file."""
    writer = _Writer(document)
    writer.draw()
    if 1 < writer.paper.page <= _FEW and writer.paper.y < writer.paper.h / 3:
        closer = _Writer(document)
        closer.draw(_CLOSER)
        writer = closer if closer.paper.page < writer.paper.page else writer
    return bytes(writer.paper.output())


class _Writer(Sheet):
    """Draws the document on the sheet."""

    def draw(self, size: float = SIZE) -> None:
        self.size, self.gap = size, self.gap * size / SIZE
        document, say = self.document, self.document.say
        self.spans([Span(document.title, bold=True)], size=20.0)
        self.space(4)
        self.blocks(document.body)
        self.note(document.left)
        for note in document.checked:
            if not note.items:  # it explains the signs after the marks
                self.note(note.text)
        for each in document.charts:
            self.heading(each.title, 2, below=self._size(each.picture)[1])
            self.plot(each.picture)
            if each.table:
                self.table(each.table)
        if document.references:
            self.heading(say("References"), below=self._high(document.references[0]))
            for source in document.references:
                self.reference(source)
        if notes := [note for note in document.checked if note.items]:
            self.heading(say("Checked"))
            for note in notes:
                self.spans([Span(note.text)])
                self.items([[Span(item, code=note.addresses)] for item in note.items])
                self.space(2)
        if document.plots or document.plots_left:
            self.heading(say("Plots"), below=max((self._size(plot)[1] for plot in document.plots[:1]), default=0.0))
            for plot in document.plots:
                self.plot(plot)
            self.note(document.plots_left)
        if not document.facts:
            return
        self.heading(say("How it was made"))
        colon = say("{name}: {value}", name="", value="")  # in Chinese it has its own space
        facts = [
            (Span(f"{name}{colon} ".replace("： ", "："), bold=True), Span(value)) for name, value in document.facts
        ]
        self.spans([each for fact in facts for each in (*fact, Span("   "))], SMALL)

    def blocks(self, blocks: Iterable[Block]) -> None:
        for block in blocks:
            match block:
                case Heading(level=level, spans=spans):
                    self.heading(words(spans), level, spans)
                case Paragraph(spans=spans):
                    self.spans(spans)
                    self.space(self.gap)
                case Code(text=text):
                    self.code(text)
                case Rule():
                    self.space(2)
                    self.rule()
                    self.space(4)
                case Quote(blocks=inner):
                    self.quote(inner)
                case Items(items=items, start=start):
                    outer, self.gap = self.gap, 0.9
                    for number, item in enumerate(items, start or 0):
                        mark = "" if is_task(item) else "•" if start is None else f"{number}."
                        self.item(mark, partial(self.blocks, item))
                    self.gap = outer
                    self.space(outer - 0.9)
                case Table():
                    self.table(block)

    def heading(self, text: str, level: int = 1, spans: Sequence[Span] = (), below: float = 0.0) -> None:
        size = _SIZES.get(level, SIZE)
        self.space(4)
        self.need(size + below)  # room for the heading and some text, or an unbreakable part, below it
        self.paper.start_section(self.clean(clip(text, 120)) or "—", level=0 if level == 1 else 1, strict=False)
        self.spans([replace(span, bold=True) for span in spans or [Span(text)]], size=size)
        self.space(1.2)

    def note(self, text: str) -> None:
        if text:
            self.spans([Span(text, italic=True)], size=SMALL)

    def code(self, text: str) -> None:
        for line in text.expandtabs(4).split("\n"):
            self.spans([Span(line or " ", code=True)], size=8.5)
        self.space(2.2)

    def quote(self, blocks: Iterable[Block]) -> None:
        page, top = self.paper.page, self.paper.y
        with_bar = self.left
        self.indent(5)
        self.quiet = True
        self.blocks(blocks)
        self.quiet = False
        self.indent(-5)
        top = top if self.paper.page == page else self.paper.t_margin
        self.paper.set_draw_color(*LINE)
        self.paper.line(with_bar + 1, top, with_bar + 1, max(top, self.paper.y - 2.2))

    def item(self, mark: str, content: partial[None]) -> None:
        room = max(6.0, self.measure(Span(mark), self.size) + 2)
        self.need(self.size * 0.55)
        top = self.paper.y
        if mark:
            self.put([(Span(mark), 0.0)], self.left, self.size)
        self.paper.y = top
        self.indent(room)
        content()
        if self.paper.y == top:
            self.space(self.size * 0.55)
        self.indent(-room)

    def items(self, items: Iterable[Sequence[Span]]) -> None:
        for spans in items:
            self.item("•", partial(self.spans, spans))

    def reference(self, each: Reference) -> None:
        self.need(self._high(each))
        self.paper.set_link(self._targets[each.n], y=self.paper.y, page=self.paper.page)
        self.item(f"[{each.n}]", partial(self._source, each))
        self.space(2.2)

    def _high(self, each: Reference) -> float:
        """Return the height of the part of a reference kept on one page: all, or the start of a long one."""
        small = [line for line in (each.verdict, each.notes) if line]
        parts: list[tuple[Sequence[Span], float]] = [((Span(each.title, bold=True), *each.address_spans), self.size)]
        parts += [((Span("\n".join(each.quote)),), self.size), *(((Span(line),), SMALL) for line in small)]
        parts += [((Span(doubt),), self.size) for doubt in each.doubts]
        heights = (
            sum(self.line_height(size) for _ in self.lines(spans, self.width - _INDENT, size)) for spans, size in parts
        )
        return min(sum(heights) + 2 * self.gap, self.paper.h / 3)

    def _source(self, each: Reference) -> None:
        self.spans([Span(each.title, bold=True), *each.address_spans])
        if each.quote:
            self.space(0.8)
            self.quote([Paragraph((Span("\n".join(each.quote)),))])
        for line in filter(None, (each.verdict, each.notes)):
            self.spans([Span(line)], size=SMALL)
        self.items([[Span(doubt)] for doubt in each.doubts])

    def _size(self, plot: bytes) -> tuple[float, float]:
        """Return the width and the height that a plot is drawn with."""
        from PIL import Image

        with Image.open(io.BytesIO(plot)) as picture:
            across, down = picture.size
        high = self.paper.h - self.paper.t_margin - self.paper.b_margin - 25  # with a heading above it
        wide = min(self.width, across * 25.4 / 110, high * across / down)
        return wide, wide * down / across

    def plot(self, plot: bytes) -> None:
        wide, high = self._size(plot)
        self.need(high)
        self.paper.image(io.BytesIO(plot), x=self.left, w=wide)
        self.space(3)

    def table(self, table: Table) -> None:
        """Draw a table with columns as wide as their text allows; the head repeats on each page."""
        say, shown = self.document.say, min(len(table.head), _COLUMNS)
        if not shown:
            return
        rows = [row[:shown] for row in table.rows[:_ROWS]]
        head = [tuple(replace(span, bold=True) for span in cell) for cell in table.head[:shown]]
        size, widths = self._columns([head, *rows[:_MEASURED]])
        self.row(head, widths, size, table.align)
        for row in rows:
            page = self.paper.page
            self.need(self.line_height(size) * 2)
            if self.paper.page != page:
                self.row(head, widths, size, table.align)
            self.row(row, widths, size, table.align)
        self.space(2.2)
        if left := len(table.rows) - len(rows):
            self.note(say("The rest of the table is not drawn here: {count}.", count=say.count(left, "row")))
        if left := len(table.head) - shown:
            self.note(say("The rest of the table is not drawn here: {count}.", count=say.count(left, "column")))

    def _columns(self, rows: Sequence[Sequence[Sequence[Span]]]) -> tuple[float, list[float]]:
        """Return the size of a table's letters and the widths of its columns, so that no word or figure is broken."""
        shown = len(rows[0])
        for size in _TABLE_SIZES:
            cells = [[self.pieces(row[at]) for row in rows] for at in range(shown)]
            pieces = [[[(each.text, self.measure(each, size)) for each in cell] for cell in column] for column in cells]
            least = [max(wide for cell in column for _, wide in [("", 0.0), *cell]) + _GAP for column in pieces]
            whole = [max(_longest_line(cell) for cell in column) + 2 * _GAP for column in pieces]
            if sum(least) <= self.width:
                break
        room = self.width - sum(least)
        if room <= 0:  # some words must be broken
            return size, [each * self.width / sum(least) for each in least]
        if sum(whole) > self.width:
            whole = [max(low, min(each, 2 * self.width / shown)) for low, each in zip(least, whole, strict=True)]
        share = min(1.0, room / max(1e-9, sum(whole) - sum(least)))
        return size, [low + (each - low) * share for low, each in zip(least, whole, strict=True)]


def _longest_line(pieces: Sequence[tuple[str, float]]) -> float:
    longest = used = 0.0
    for text, wide in pieces:
        used = 0.0 if text == "\n" else used + wide
        longest = max(longest, used)
    return longest
