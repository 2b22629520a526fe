"""The pages read of a pdf, and notes on those that could not be read."""

from __future__ import annotations

from collections.abc import Sequence

from msgspec import Struct

FOUND_NOTHING = "OCR found no text in it"
_SHOWN = 10
"""Most pages that a note names."""


class Page(Struct, frozen=True):
    """The readable content of a page."""

    text: str
    lost: bool = False
    """Whether some of its text cannot be decoded."""
    scanned: bool = False
    """Whether it has no text but a picture."""
    unsure: bool = False
    """Whether it has a table with unknown columns."""
    mixed: bool = False
    """Whether columns of text may be read across each other."""
    ocr: bool = False
    """Whether OCR was run on its picture."""


def notes(found: Sequence[Page], advice: str) -> tuple[str, ...]:
    """Return notes on unread parts of the pages; `advice` says how to read a picture."""
    font = "text left out, because its font does not say, or says falsely, which letters it shows"
    columns = "a table with empty cells, of which the columns are uncertain; compare its figures with the file"
    told = {
        f"{font}; run OCR on the file to read it": [page.lost for page in found],
        f"a picture without text; {advice}": [page.scanned and not page.ocr for page in found],
        f"a picture without text; {FOUND_NOTHING}": [page.scanned and page.ocr for page in found],
        "read from a picture with OCR; compare names and figures with the file": [
            page.ocr and not page.scanned for page in found
        ],
        columns: [page.unsure for page in found],
        "columns of text that the file writes row by row, which may be mixed; compare with the file": [
            page.mixed for page in found
        ],
    }
    numbers = {why: [number for number, each in enumerate(flags, 1) if each] for why, flags in told.items()}
    return tuple(f"{_named(those)}: {why}" for why, those in numbers.items() if those)


def _named(numbers: Sequence[int]) -> str:
    shown = ", ".join(map(str, numbers[:_SHOWN])) + (f" and {len(numbers) - _SHOWN} more" if numbers[_SHOWN:] else "")
    return f"page{'s' if len(numbers) > 1 else ''} {shown}"
