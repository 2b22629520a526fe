"""A report while it is written, in parts: a complete part is neither parsed nor sent again."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import replace
from typing import Any, Final

import streamlit as st
from msgspec import Struct, field

from pages.parts.run import reading
from pages.parts.shared import component
from pages.parts.shared.language import current
from research.events.view import RunView
from research.exports.blocks import passages
from research.exports.numbering import renumbered, sources_of, used

PART: Final = 10_000
"""Characters of a part; Streamlit sends a message of this size to a browser once, and then only its hash."""


class _Part(Struct, frozen=True):
    text: str
    data: reading.Data
    numbers: dict[int, int]
    """The reader's number of each source cited so far, by first use, as in the finished report."""
    left: tuple[int, int]
    """Limits of the next part (`Reader.left`)."""


class _Drafted(Struct):
    """The parts that one session has drawn."""

    of: tuple[Any, ...]
    """The run, and all else that changes how a finished part looks."""
    parts: list[_Part] = field(default_factory=list)


def draw(view: RunView, text: str, caret: bool) -> bool:
    """Draw a draft; return whether all of it is drawn."""
    drafted = _drafted(view)
    numbers: dict[int, int] = {}
    left = reading.SPANS, reading.MARKS
    grouped = list(_grouped(list(passages(text))))
    for place, part in enumerate(grouped):
        written = "\n\n".join(part)
        if place >= len(drafted.parts) or drafted.parts[place].text != written:
            drafted.parts[place:] = [_part(view, part, written, numbers, left)]
        shown = drafted.parts[place]
        last = place == len(grouped) - 1 or shown.left[0] < 0
        component.draw(f"draft-{view.run}-{place}", {**shown.data, "caret": caret and last})
        if shown.left[0] < 0:
            return False
        left, numbers = shown.left, shown.numbers
    return True


def _part(view: RunView, part: Sequence[str], written: str, before: dict[int, int], left: tuple[int, int]) -> _Part:
    numbers = dict(before)
    for n in used(view, written):
        numbers.setdefault(n, len(numbers) + 1)
    reader = reading.Reader(replace(view, sources=sources_of(view, numbers)), left)
    return _Part(written, reader.draft([renumbered(each, numbers) for each in part]), numbers, reader.left)


def _drafted(view: RunView) -> _Drafted:
    of = (view.run, current(), len(view.reports), sum(map(len, view.sources.values())))
    drafted: _Drafted | None = st.session_state.get("drafted")
    if drafted is None or drafted.of != of:
        drafted = st.session_state["drafted"] = _Drafted(of)
    return drafted


def _grouped(found: Sequence[str]) -> Iterator[list[str]]:
    """Group passages into parts; appended text changes only the last part."""
    part: list[str] = []
    size = 0
    for each in found:
        part.append(each)
        size += len(each)
        if size >= PART:
            yield part
            part, size = [], 0
    if part:
        yield part
