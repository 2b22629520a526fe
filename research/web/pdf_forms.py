"""Parts of a pdf beside the text of its pages: the values of forms, notes on the page, and attached files."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from pypdf import PageObject, PdfReader

_PASSWORD = 1 << 13
_UNSEEN = 0b100010
"""Flags of an annotation that is hidden or not shown on screen."""
_COMMENTS = frozenset(("/Text", "/Highlight", "/Underline", "/StrikeOut", "/Squiggly", "/Caret", "/Ink", "/Stamp"))


def lines(page: PageObject, left_out: Counter[str]) -> Iterator[str]:
    """Yield the values of the form's fields on a page and the text boxes on it; count unread parts."""
    for each in page.get("/Annots", ()) or ():
        note: Any = each.get_object()
        if note is None or int(note.get("/F", 0)) & _UNSEEN:
            continue
        kind = str(note.get("/Subtype"))
        if kind == "/Widget":
            yield from _field(note)
        elif kind == "/FreeText" and note.get("/Contents"):
            yield _line(note["/Contents"])
        elif kind in _COMMENTS and note.get("/Contents"):
            left_out["comment"] += 1
        elif kind == "/FileAttachment":
            left_out["attached file"] += 1


def count_files(reader: PdfReader, left_out: Counter[str]) -> None:
    """Count the attached files, and a form that only some programs show."""
    root: Any = reader.trailer["/Root"]
    names: Any = root.get("/Names")
    if names is not None and "/EmbeddedFiles" in names.get_object():
        left_out["attached file"] += len(list(reader.attachment_list))
    form: Any = root.get("/AcroForm")
    if form is not None and "/XFA" in form.get_object() and not form.get_object().get("/Fields"):
        left_out["form of the format XFA, which must be printed to a new pdf to be read"] += 1


def _field(note: Any) -> Iterator[str]:
    kind, value, flags = _inherited(note, "/FT"), _inherited(note, "/V"), _inherited(note, "/Ff")
    label = _line(_inherited(note, "/TU") or _inherited(note, "/T") or "")
    if kind == "/Btn":
        shown = str(note.get("/AS", "/Off"))
        value = shown.removeprefix("/") if shown != "/Off" and value is not None else ""
    elif int(flags or 0) & _PASSWORD and kind == "/Tx":
        value = ""
    elif isinstance(value, list):
        value = ", ".join(map(str, value))
    said = _line(value.get_data().decode("utf-8", "replace") if hasattr(value, "get_data") else value or "")
    if said and kind in ("/Tx", "/Ch", "/Btn"):
        yield f"{label}: {said}" if label else said


def _inherited(note: Any, name: str) -> Any:
    """Return an entry of a field, perhaps inherited from its parent."""
    for _ in range(32):
        if name in note:
            return note[name]
        if "/Parent" not in note:
            return None
        note = note["/Parent"].get_object()
    return None


def _line(text: Any) -> str:
    return " ".join(str(text).split())
