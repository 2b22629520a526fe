"""A report while it is written, in parts: a complete part is neither parsed nor sent again."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Any, Final

import streamlit as st
from msgspec import Struct, field

from pages.parts.run import reading
from pages.parts.shared import component
from pages.parts.shared.language import current
from research.events.view import RunView
from research.exports.blocks import passages
from research.exports.numbering import numbering, renumbered

PART: Final = 10_000
"""Characters of a part; Streamlit sends a message of this size to a browser once, and then only its hash."""

BESIDE: Final = 2
"""Maximum number of parts that are drawn again with each new word; more make the page keep those that are complete."""


class _Part(Struct, frozen=True):
    text: str
    data: reading.Data
    left: tuple[int, int]
    """What the next part may have (`Reader.left`)."""


class _Drafted(Struct):
    """The parts that one session has drawn."""

    of: tuple[Any, ...]
    """The run, and all else that changes the look of a finished part."""
    numbers: Mapping[int, int]
    parts: list[_Part] = field(default_factory=list)
    renumbered: dict[str, str] = field(default_factory=dict)
    """The passages of the last part with the numbers of the reader."""


class Drawn(Struct, frozen=True):
    """What was drawn of a draft."""

    whole: bool
    """Whether all of it is on the page."""
    outdated: bool
    """Whether the complete parts on the page are no longer those of the draft, or too few of them."""


def complete(view: RunView, text: str, key: str) -> tuple[str, ...]:
    """Draw the complete parts of a draft, which stay on the page while more is written; return their texts.

    `key` is that of the container around them.
    """
    parts = _parts(view, text)[:-1]
    if parts:
        with st.container(key=key, gap=None):
            for place, part in enumerate(parts):
                _draw(view, place, part, caret=False)
    return tuple(part.text for part in parts)


def draw(view: RunView, text: str, caret: bool, after: Sequence[str] = ()) -> Drawn:
    """Draw the parts of a draft after those that `complete` has drawn."""
    parts = _parts(view, text)
    for place, part in enumerate(parts[len(after) :], len(after)):
        _draw(view, place, part, caret and place == len(parts) - 1)
    kept = len(parts) >= len(after) and all(part.text == each for part, each in zip(parts, after, strict=False))
    return Drawn(parts[-1].left[0] >= 0, not kept or len(parts) - len(after) > BESIDE)


def _draw(view: RunView, place: int, part: _Part, caret: bool) -> None:
    component.draw(f"draft-{view.run}-{place}", {**part.data, "caret": caret})


def _parts(view: RunView, text: str) -> list[_Part]:
    """Return the parts of a draft, up to the first that exceeds the limits of a page."""
    drafted = _drafted(view)
    left = reading.SPANS, reading.MARKS
    for place, part in enumerate(_grouped(list(passages(text)))):
        written = "\n\n".join(part)
        if place >= len(drafted.parts) or drafted.parts[place].text != written:
            known = drafted.renumbered
            drafted.renumbered = {each: known.get(each) or renumbered(each, drafted.numbers) for each in part}
            reader = reading.Reader(view, left)
            data = reader.draft([drafted.renumbered[each] for each in part])
            drafted.parts[place:] = [_Part(written, data, reader.left)]
        left = drafted.parts[place].left
        if left[0] < 0:
            return drafted.parts[: place + 1]
    return drafted.parts[: place + 1]


def _drafted(view: RunView) -> _Drafted:
    of = (view.run, current(), len(view.reports), sum(map(len, view.sources.values())))
    drafted: _Drafted | None = st.session_state.get("drafted")
    if drafted is None or drafted.of != of:
        drafted = st.session_state["drafted"] = _Drafted(of, numbering(view))
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
