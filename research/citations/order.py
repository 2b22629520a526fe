"""Which way round a claim has two figures: which is the share and which the whole, which is larger, which is compared.

Each function answers with None if the claim does not tell.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import Protocol

from research.citations.lexicon import stem
from research.citations.measures import Quantity
from research.citations.quantities import quantities
from research.citations.reading import Sentence, stems

_OF = re.compile(r"\s{0,3}(?:of|as much as)\b")
_SHARE = re.compile(r"\b(?:share|percentage|proportion|fraction|part|ratio) of\b", re.I)
_AS_SHARE = re.compile(r"\b(?:as|is|are|was|were) (?:a|the) (?:share|percentage|proportion|fraction|part) of\b", re.I)
_TAKES = re.compile("占")
_COMPARED = re.compile(
    r"\s{0,3}(?:\w{1,12} )?(?:more|less|higher|lower|greater|larger|bigger|smaller|fewer|above|below)\b", re.I
)
_MOVED = re.compile(
    r"(?:\b(?:by|up|down|rose|risen|fell|fallen|grew|grown|climbed|dropped|increased|decreased|declined|jumped)|"
    r"增长|增加|上升|提高|下降|减少|降低|[高低多少])了?\s{0,3}(?:(?:about|around|nearly|almost|约) ?)?$",
    re.I,
)
_MINUS = re.compile(r"\bminus\b|减去", re.I)
_EXCEEDS = re.compile(r"\b(?:exceed(?:s|ed)?|surpass(?:es|ed)?|outnumber(?:s|ed)?)\b|超过|多于|高于|大于", re.I)
_THAN = re.compile(r"\bthan\b", re.I)
_RATIO = re.compile(r"\bratio of\b", re.I)
_TIMES = re.compile(r"\s{0,3}(?:times|-?fold)\b(?!\s{0,3}[,;])(?P<as>\s{1,3}as\s{1,3}\w{1,20}\b)?", re.I)
_AS = re.compile(r"\bas\b", re.I)
_TIMES_ZH = re.compile(r"[^，。；]{1,60}的\s{0,3}$")


class Figure(Protocol):
    """A figure of a source and its line."""

    @property
    def quantity(self) -> Quantity: ...

    @property
    def line(self) -> Sentence: ...


_SERIES = re.compile(r",? (?:1[5-9]|20)\d\d$")


def stated(text: str, figure: Figure) -> list[int]:
    """Return where a claim has the label of a line and right behind it its figure, word for word."""
    label = _SERIES.sub("", figure.line.label)
    if not label:
        return []
    between = figure.line.text[len(figure.line.label) : figure.quantity.start].strip(" :：")
    said = rf"[ :：(（]{{0,3}}(?:{re.escape(between)} ?)?" if between else "[ :：(（]{0,3}"
    written = rf"{re.escape(label)}(?: (?:1[5-9]|20)\d\d)?{said}(?<![\d.,]){re.escape(figure.quantity.written)}(?!\d)"
    return [match.start() for match in re.finditer(written, text, re.I)]


class Order:
    """Where a claim speaks of two figures: by the figures themselves, and by the words that only one label has."""

    def __init__(self, text: str, q: Quantity, one: Figure, two: Figure) -> None:
        self.text = text
        self.q = q
        words = [stems(_SERIES.sub("", each.line.label)) for each in (one, two)]
        own = [words[0] - words[1], words[1] - words[0]] if all(words) else [frozenset[str]()] * 2
        own = own if all(own) else [frozenset()] * 2
        self.places = [
            (each.start, n)
            for each in quantities(text)
            for n, figure in enumerate((one, two))
            if each.start != q.start and each.unit == figure.quantity.unit and each.states(figure.quantity)
        ]
        self.places += [
            (match.start(), n)
            for match in re.finditer(r"\w+", text)
            for n in (0, 1)
            if stem(match[0].lower()) in own[n]
        ]
        self.places.sort()

    def _after(self, place: int) -> int | None:
        return next((n for at, n in self.places if at >= place), None)

    def _before(self, place: int) -> int | None:
        return next((n for at, n in reversed(self.places) if at < place), None)

    def share(self) -> bool | None:
        """Return whether the first figure is the share and the second the whole."""
        if _COMPARED.match(self.text, self.q.end) or _MOVED.search(self.text[: self.q.start]):
            return False
        if match := _OF.match(self.text, self.q.end):
            return _is(self._after(match.end()), 1)
        if match := _AS_SHARE.search(self.text):
            return _is(self._after(match.end()), 1)
        if match := _SHARE.search(self.text):
            return _is(self._after(match.end()), 0)
        if match := _TAKES.search(self.text):
            return _is(self._after(match.end()), 1)
        return None

    def ratio(self) -> bool | None:
        """Return whether the first figure is so many times the second."""
        if match := _RATIO.search(self.text):
            return _is(self._after(match.end()), 0)
        if match := _TIMES.match(self.text, self.q.end):
            base = _AS.search(self.text, match.end()) if match["as"] else match
            return _is(self._after(base.end()), 1) if base else None
        if _TIMES_ZH.search(self.text[: self.q.start]) and self.text[self.q.end :].lstrip().startswith("倍"):
            return _is(self._before(self.q.start), 1)
        return None

    def larger(self, *, less: bool) -> bool | None:
        """Return whether the claim takes the second figure from the first, or calls the first one larger; smaller if `less`."""
        if match := _MINUS.search(self.text):
            return _is(self._before(match.start()), 1 if self.q.value < 0 else 0)
        if match := _EXCEEDS.search(self.text):
            return _is(self._before(match.start()), 0)
        if match := _THAN.search(self.text):
            return _is(self._after(match.end()), 0 if less else 1)
        return None

    def compared(self) -> bool | None:
        """Return whether a change is from the second figure to the first."""
        match = _THAN.search(self.text)
        return _is(self._after(match.end()), 1) if match else None


def _is(found: int | None, wanted: int) -> bool | None:
    return None if found is None else found == wanted


def portion(text: str, figures: Sequence[Figure]) -> tuple[list[int], list[int]] | None:
    """Return which figures are the share and which the whole, by their numbers, where one of both is a sum.

    Each must be stated with its label: `the share of A 3 t in the sum of A 3 t and B 5 t`.
    """
    found = sorted((place, n) for n, figure in enumerate(figures) for place in stated(text, figure))
    match = _SHARE.search(text)
    if match is None:
        left, takes, right = text.partition("占")
        parts = [[n for at, n in found if at < len(left)], [n for at, n in found if at > len(left)]]
        sums = ["之和" in left, "之和" in right]
        if not takes:
            return None
    else:
        found = [each for each in found if each[0] >= match.end()]
        middle = re.search(r"\b(?:in|to|and) the sum of\b", text[match.end() :])
        if middle:
            place = match.end() + middle.start()
        elif len(found) > 1 and (before := re.search(r"\b(?:in|to|and)(?: the)? $", text[: found[-1][0]])):
            place = before.start()
        else:
            return None
        parts = [[n for at, n in found if at < place], [n for at, n in found if at > place]]
        sums = [text[match.end() :].lstrip().startswith("the sum of"), middle is not None]
    top, whole = parts
    fits = all(
        len(each) == len(set(each)) and (len(each) > 1) == added for each, added in zip(parts, sums, strict=True)
    )
    return (top, whole) if top and whole and fits and any(sums) else None
