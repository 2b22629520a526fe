"""Exports of a run.  Each sees only the view, and the events where it is about them.

`FORMATS` is the one table of what a run can be saved as; the command line and the pages offer what stands in it.
"""

from __future__ import annotations

import json as _json
from collections.abc import Callable, Sequence

from msgspec import Struct

from research.events import Event, encode
from research.view import RunView


class Format(Struct, frozen=True):
    """A kind of file."""

    title: str
    suffix: str
    """Without the dot."""
    mime: str
    make: Callable[[RunView, Sequence[Event]], bytes]
    """The file of a run, from its view and the events that this is the fold of."""
    binary: bool = False
    """Not for a terminal."""


def _markdown(view: RunView, events: Sequence[Event]) -> bytes:
    from research.exports.markdown import markdown

    return markdown(view).encode()


def _html(view: RunView, events: Sequence[Event]) -> bytes:
    from research.exports.html import html

    return html(view).encode()


def _pdf(view: RunView, events: Sequence[Event]) -> bytes:
    from research.exports.pdf import pdf

    return pdf(view)


def _docx(view: RunView, events: Sequence[Event]) -> bytes:
    from research.exports.docx import docx

    return docx(view)


def _bibtex(view: RunView, events: Sequence[Event]) -> bytes:
    from research.exports import bibtex

    return bibtex.render(view).encode()


def _csl(view: RunView, events: Sequence[Event]) -> bytes:
    from research.exports import csl

    return csl.render(view).encode()


def _json_object(view: RunView, events: Sequence[Event]) -> bytes:
    from research.exports.json import as_dict

    return (_json.dumps(as_dict(view), ensure_ascii=False, indent=2) + "\n").encode()


def _events(view: RunView, events: Sequence[Event]) -> bytes:
    return b"".join(encode(event) + b"\n" for event in events)


_WORD = "application/vnd.openxmlformats-officedocument.wordprocessingml.document"
FORMATS = {
    "md": Format("Markdown", "md", "text/markdown", _markdown),
    "html": Format("Web page", "html", "text/html", _html),
    "pdf": Format("PDF", "pdf", "application/pdf", _pdf, binary=True),
    "docx": Format("Word", "docx", _WORD, _docx, binary=True),
    "bib": Format("BibTeX", "bib", "application/x-bibtex", _bibtex),
    "csl": Format("CSL JSON", "csl.json", "application/json", _csl),
    "json": Format("JSON", "json", "application/json", _json_object),
    "jsonl": Format("All events", "jsonl", "application/x-ndjson", _events),
}
"""By the name that the command line takes."""
