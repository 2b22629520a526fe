"""Export a run to a file.  `FORMATS` lists the formats that the command line and the pages offer.

Exports see only the view; "all events" also gets the events.  May import events, citations, compare, store and below."""

from __future__ import annotations

import json as _json
from collections.abc import Callable, Sequence
from importlib import import_module

from msgspec import Struct

from research.events.events import Event, encode
from research.events.view import RunView


class Format(Struct, frozen=True):
    """A file format that a run can be exported to."""

    title: str
    suffix: str
    """File name suffix, without the dot."""
    mime: str
    make: Callable[[RunView, Sequence[Event]], bytes]
    """Returns the content of the file, from the view of a run and the events it was folded from."""
    binary: bool = False
    """Whether the content must not be printed to a terminal."""
    extra: str = ""
    """The extra of the package that it needs, if any."""


def _by(module: str, function: str) -> Callable[[RunView, Sequence[Event]], bytes]:
    """Return the function of a module here that writes a format; the module is loaded when a file is made."""

    def make(view: RunView, events: Sequence[Event]) -> bytes:
        written: str | bytes = getattr(import_module(f"{__name__}.{module}"), function)(view)
        return written.encode() if isinstance(written, str) else written

    return make


def of_markdown(text: str, name: str) -> bytes:
    """Return a Markdown file of ours, such as a comparison, in the format `md`, `docx` or `pdf`."""
    if name == "md":
        return text.encode()
    from research.exports.document import paper

    module = import_module(f"{__name__}.{name}")
    made: bytes = module.written(paper(text, module.LONGEST))
    return made


def _json_object(view: RunView, events: Sequence[Event]) -> bytes:
    from research.exports.json import as_dict

    return (_json.dumps(as_dict(view), ensure_ascii=False, indent=2) + "\n").encode()


def _events(view: RunView, events: Sequence[Event]) -> bytes:
    return b"".join(encode(event) + b"\n" for event in events)


_WORD = "application/vnd.openxmlformats-officedocument.wordprocessingml.document"
FORMATS = {
    "md": Format("Markdown", "md", "text/markdown", _by("markdown", "markdown")),
    "html": Format("Web page", "html", "text/html", _by("html", "html")),
    "pdf": Format("PDF", "pdf", "application/pdf", _by("pdf", "pdf"), binary=True, extra="export"),
    "docx": Format("Word", "docx", _WORD, _by("docx", "docx"), binary=True),
    "bib": Format("BibTeX", "bib", "application/x-bibtex", _by("bibtex", "render")),
    "ris": Format("RIS", "ris", "application/x-research-info-systems", _by("ris", "render")),
    "csl": Format("CSL JSON", "csl.json", "application/json", _by("csl_json", "render")),
    "json": Format("JSON", "json", "application/json", _json_object),
    "jsonl": Format("All events", "jsonl", "application/x-ndjson", _events),
}
"""Formats by their name on the command line."""
