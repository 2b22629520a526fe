"""Places in a file, as named in citations: `report.pdf › page 3`, `sales.xlsx › Q3 › B7:D9`."""

from __future__ import annotations

import re
from bisect import bisect_right
from collections.abc import Iterable, Mapping, Sequence
from pathlib import PurePosixPath

from msgspec import Struct

from research.text import clip, one_line
from research.web.table import Table, letters

MAX_PLACES = 20_000
"""Most places kept of one file."""
MARGINS = "left out, as menus, forms and margins of the page: "
_NAME = 120
_ROW = re.compile(r"^[^\w\n]{0,20}\|? ?(\d{1,9}) \|", re.M)
"""The number of a table's row, in a line of `table_text.as_text`, perhaps with its start cut off."""


class Place(Struct, frozen=True, omit_defaults=True):
    """A part of a file's text: a page, a slide, a chapter, a sheet."""

    start: int
    """Where it begins in the text; it ends where the next one begins."""
    name: str
    """`page 3`, `slide 4`, `Q3`; empty for a file that is one table."""
    columns: str = ""
    """The first and last column of a table, `B:D`; its lines begin with the numbers of their rows."""

    def locator(self, quote: str) -> str:
        """Return the place, for a table with the range of the quoted rows."""
        rows = [int(number) for number in _ROW.findall(quote)]
        if not self.columns or not rows:
            return self.name
        first, _, last = self.columns.partition(":")
        one, other = f"{first}{min(rows)}", f"{last or first}{max(rows)}"
        return " › ".join(filter(None, [self.name, one if one == other else f"{one}:{other}"]))


class Part(Struct, frozen=True):
    """The text of one place, before it is joined with the others."""

    name: str
    text: str
    columns: str = ""


def joined(parts: Iterable[Part]) -> tuple[str, tuple[Place, ...]]:
    """Return the text of all nonempty parts, and where each begins."""
    texts, places, at = [], [], 0
    for part in parts:
        if text := part.text.strip():
            places.append(Place(at, part.name, part.columns))
            texts.append(text)
            at += len(text) + 2
    return "\n\n".join(texts), tuple(places)


def left_out(counted: Mapping[str, int]) -> tuple[str, ...]:
    """Return the note on how many comments, pictures and the like of a file were not read.

    >>> left_out({"picture": 2, "comment": 1})
    ('not read, because only the text that is shown is: 1 comment, 2 pictures',)
    """
    said = [f"{n:,} {what}{'s' if n > 1 else ''}" for what, n in sorted(counted.items()) if n]
    return (f"not read, because only the text that is shown is: {', '.join(said)}",) if said else ()


def told(notes: Iterable[str]) -> tuple[str, ...]:
    """Return a source's notes for its readers, without those on a page's menus."""
    return tuple(note for note in notes if not note.startswith(MARGINS))


def hidden(names: Sequence[str]) -> tuple[str, ...]:
    """Return the note that names the sheets or slides that the file hides."""
    return (f"hidden in the file, and read too: {', '.join(names)}",) if names else ()


def columns_of(table: Table) -> str:
    """Return the first and last column of a table: `B:D`."""
    across = [column.at for column in table.columns]
    first, last = letters(min(across)), letters(max(across))
    return first if first == last else f"{first}:{last}"


def limited(places: Sequence[Place]) -> tuple[Place, ...]:
    """Return the places within the limits, in order: parsers are not trusted."""
    kept = [
        Place(max(0, each.start), clip(one_line(each.name), _NAME), each.columns[:20]) for each in places[:MAX_PLACES]
    ]
    return tuple(sorted(kept, key=lambda each: each.start))


def at(places: Sequence[Place], position: int) -> Place | None:
    """Return the place at this position of the text; None before the first one."""
    found = bisect_right(places, position, key=lambda each: each.start)
    return places[found - 1] if found else None


def title(own: str, file: str, locator: str) -> str:
    """Return a document's title with the place: `report.pdf › page 3`, or `Annual report (report.pdf › page 3)`.

    >>> title("report", "report.pdf", "page 3"), title("Annual report", "report.pdf", "page 3")
    ('report.pdf › page 3', 'Annual report (report.pdf › page 3)')
    """
    if not locator:
        return own
    where = f"{file} › {locator}"
    return where if own.casefold() in (PurePosixPath(file).stem.casefold(), file.casefold()) else f"{own} ({where})"
