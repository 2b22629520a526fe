"""A sentence: its label, its figures, and the words around each figure."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from functools import cached_property, lru_cache

from msgspec import Struct

from research.citations.lexicon import WEAK, stem
from research.citations.marks import sentences_of
from research.citations.measures import Quantity
from research.citations.names import place_spans
from research.citations.quantities import quantities
from research.text import content_tokens, wrap
from research.types import Source

_HARD = re.compile(
    r"[;；。)）|]|[(（](?!\s{0,9}[$€£¥]?\d[^()（）]{0,12}[)）])|[，,、](?!\d)|[:：](?!\d)|\s[-–—]{1,300}\s|——|/(?=[a-z])|"
    r"\b(?:while|whereas|but|compared (?:with|to)|although|though|versus|vs|because|owing to|due to)\b|"
    r"而(?!且)|但|由于|因为|比(?=\S{0,300}\d)"
)
_SOFT = re.compile(
    r"\b(?:against|than)\b|(?:\band\b|\bor\b|和|与|及|以及)(?!.*(?:\band\b|\bor\b|和|与|及))|"
    r"(?:\bfrom|\bto|至|到|由|从)\s*(?:about |some |around |just |约)?$",
    re.I,
)
"""Separates two figures: the last `and` between them, or `from`, `to` and the like right before the second."""
_YEAR_ONLY = re.compile(
    r"[\s(（]{0,9}(?:in |by |as of |fy ?)?(?:[12]\d{3}(?:[-–/]\d{1,4})?)?年?\s{0,9}(?:est\.?|estimate|data|"
    r"估计)?[)）\s,，;；.]{0,9}$",
    re.I,
)


def label_of(line: str) -> str:
    """Return the text before the colon of a line such as `Median age, total: 42.7 years`; else empty."""
    match = _LABEL.match(line)
    return match[1] if match and len(match[1].split()) <= 16 else ""


_LABEL = re.compile(r"([^:：.!?。]{2,110}?)[:：]\s*\S")


class Figure(Struct, frozen=True):
    """A figure and the words around it."""

    quantity: Quantity
    own: str
    """The piece of the sentence that contains it."""
    near: str
    """That piece, with the preceding pieces that have no figure."""


class Sentence(Struct, frozen=True, dict=True):
    """A sentence or line, with its context."""

    text: str
    title: str = ""
    n: int = 0

    @cached_property
    def quantities(self) -> tuple[Quantity, ...]:
        return quantities(self.text)

    @cached_property
    def figures(self) -> tuple[Figure, ...]:
        """The figures, without years and dates."""
        wanted = [q for q in self.quantities if q.kind in ("number", "ordinal")]
        spans = list(_pieces(self.text, wanted))
        counts = [sum(start <= q.start < end for q in wanted) for start, end in spans]
        found = []
        for q in wanted:
            i = next((i for i, (start, end) in enumerate(spans) if start <= q.start < end), len(spans) - 1)
            start, end = spans[i]
            j = i + 1  # a year in brackets after a figure belongs to it
            while j < len(spans) and not counts[j] and _YEAR_ONLY.fullmatch(self.text[spans[j][0] : spans[j][1]]):
                end = spans[j][1]
                j += 1
            first = i
            while first and not counts[first - 1]:
                first -= 1
            found.append(Figure(q, self.text[start:end], self.text[spans[first][0] : end]))
        return tuple(found)

    @cached_property
    def label(self) -> str:
        """The text before the colon of a line such as `Median age, total: 42.7 years`; else empty."""
        return label_of(self.text)


def _pieces(text: str, wanted: Sequence[Quantity]) -> Iterator[tuple[int, int]]:
    """Yield start and end of the pieces of a sentence, cut at commas and the like, and between paired figures."""
    taken = [*((q.start, q.end) for q in quantities(text)), *place_spans(text)]  # 埃塞俄比亚 has 比 in it
    cuts = [m.start() for m in _HARD.finditer(text) if not any(a <= m.start() < b for a, b in taken)]
    for before, q in zip(wanted, wanted[1:], strict=False):
        if soft := _SOFT.search(text, before.end, q.start):
            cuts.append(soft.start())
    for q in wanted[:1]:
        if re.search(r"\b(?:from)\s*$|[由从]$", text[: q.start]):
            cuts.append(max(q.start - 5, 0))
    start = 0
    for cut in sorted(set(cuts)):
        if cut > start:
            yield start, cut
            start = cut
    yield start, len(text)


@lru_cache(maxsize=65_536)
def stems(text: str) -> frozenset[str]:
    """Return the stems of a text, without figures and reporting words (`WEAK`)."""
    pieces, at = [], 0
    for q in quantities(text):
        pieces.append(text[at : q.start])
        at = q.end
    words = content_tokens(" ".join([*pieces, text[at:]]))
    return frozenset(stem(token) for token in words if token not in WEAK and not token[0].isdigit())


@lru_cache(maxsize=65_536)
def years(text: str) -> frozenset[int]:
    """Return the years in a text, including those of dates."""
    found = {int(q.value) for q in quantities(text) if q.kind == "year"}
    return frozenset(found | {q.date[0] for q in quantities(text) if q.kind == "date" and q.date[0]})


def lines_of(source: Source) -> list[Sentence]:
    """Return the sentences of a source."""
    lines = (line.strip().lstrip("#>*- ") for line in source.quote.splitlines())
    pieces = (piece for line in lines for whole in sentences_of(line) for piece in wrap(whole))
    return [Sentence(piece, source.title, source.n) for piece in pieces]
