"""Rankings: pages with one measure and a line for each name, such as `Japan (rank 3): 85.2 years`."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from typing import Literal

from msgspec import Struct

from research.citations.language import listed, pattern, says, unnamed, words
from research.quantities import quantities

_ROW = re.compile(r"[\s#>*+•-]*(.{1,200}?) \((?:rank (\d{1,9})(, [a-z]+)?|[^()\d]+)\): (.+)")
"""Name, rank, end and value; some names are without a rank."""
_OF_ALL = re.compile(r"(Mean|Median|Sum) of [\d,]{1,9} \w+ in ([^:]{1,100}?)(?:, unweighted)?: (.+)")
"""What all rows come to: `Sum of 54 countries in Africa: 1,525,041,845`."""
_HEAD = re.compile(r"([^:]{1,200}) in ([^:]{1,100}): ")
_STATED = re.compile(rf"(?:{pattern('rank').pattern})[^\d,，;；.。]{{0,80}}?(?<!\d)(\d{{1,4}})(?![\d.]|,\d)", re.I)
"""A rank that a claim states as a number: `Rank in Europe: 3`."""

_BEHIND_RANK = re.compile(r"[高低多少大小长短]")


Kind = Literal["mean", "median", "sum"]
_KINDS: tuple[Kind, ...] = ("mean", "median", "sum")  # the mean of a median age is a mean


class Rank(Struct, frozen=True):
    """A place in a ranking from its top, and from its end where the last is marked, and how many share it."""

    high: int
    low: int
    shared: int


class Row(Struct, frozen=True):
    """A line of a ranking: of one of those ranked, or of all of them."""

    line: str
    name: str
    measure: str
    value: str
    rank: Rank | None
    around: str
    """What a claim may say of the place, in all languages."""
    place: frozenset[str]
    """Words of the place that a claim of a rank must have; none for the world."""
    kind: Kind | None = None
    """What the figure is of all those ranked."""


def kind_said(text: str) -> Kind | None:
    """Return which figure of all those ranked a claim says it has; None if it says none, or a share of it."""
    return None if says("share", text) else next((kind for kind in _KINDS if says(kind, text)), None)


def rows(title: str, lines: Sequence[str]) -> Iterator[Row]:
    """Yield the rows of a ranking, whose measure is the end of its title; none if the lines are not of one."""
    found = {line: row for line in lines if (row := _ROW.fullmatch(line))}
    ranks = [int(row[2] or 0) for row in found.values()]
    measure, place = title.rpartition(" · ")[2], ""
    for head in filter(None, map(_HEAD.match, lines)):
        if measure in (head[1], f"{head[1]}, {head[2]}"):
            measure, place = head.groups()
    last = max((int(row[2]) for row in found.values() if row[3] and says("low", row[3])), default=0)
    everywhere = says("world", place)
    around = f"{title} {' '.join(listed('world')) if everywhere else place}"
    for line, row in found.items() if any(ranks) else ():
        high, shared = int(row[2] or 0), ranks.count(int(row[2] or 0))
        low = last + ranks.count(last) + 1 - high - shared if last and high else 0
        required = frozenset[str]() if everywhere else words(place) - unnamed()
        yield Row(line, row[1], measure, row[4], Rank(high, low, shared), around, required)
    for whole in filter(None, map(_OF_ALL.fullmatch, lines if any(ranks) else ())):
        kind = kind_said(whole[1])
        if kind is None or says(kind, measure):
            continue  # a claim of the median age says nothing of the median of these
        said = " ".join((around, whole[0], *listed(kind), *listed("ranked")))
        yield Row(whole[0], whole[2], measure, whole[3], None, said, frozenset(), kind)


def without_ranks(text: str) -> tuple[str, tuple[int, ...]]:
    """Return a claim with spaces for the ranks that it states, and these."""
    spans = {(each.start, each.end, int(each.value)) for each in quantities(text) if each.kind == "ordinal"}
    spans |= {(*each.span(1), int(each[1])) for each in _STATED.finditer(text)}
    for start, end, _ in spans:
        left = "最" if _BEHIND_RANK.match(text, end) else ""  # `第二高` is a superlative without its rank
        text = f"{text[:start]}{left.rjust(end - start)}{text[end:]}"
    return text, tuple(rank for *_, rank in sorted(spans))
