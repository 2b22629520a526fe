"""Recognise a file's format by its first bytes and by the names of its parts: suffixes and servers are often wrong."""

from __future__ import annotations

from research.web import charsets

_TEXTS = frozenset(
    (".md", ".txt", ".html", ".htm", ".csv", ".tsv", ".eml", ".json", ".jsonl", ".ipynb", ".ris", ".bib")
)
"""Text formats, where the content decides nothing."""
_SHEETS = frozenset((".xls", ".xlsx", ".xlsm", ".xlsb", ".ods"))
_STARTS = {b"{\\rtf": ".rtf", b"PAR1": ".parquet", b"%PDF-": ".pdf"}
_ZIP, _OLE = b"PK\x03\x04", b"\xd0\xcf\x11\xe0"
_PARTS = {
    b"application/epub+zip": ".epub",
    b"application/vnd.oasis.opendocument.text": ".odt",
    b"application/vnd.oasis.opendocument.spreadsheet": ".ods",
    b"application/vnd.oasis.opendocument.presentation": ".odp",
    b"word/document": ".docx",
    b"xl/workbook.bin": ".xlsb",
    b"xl/workbook": ".xlsx",
    b"ppt/presentation": ".pptx",
}
"""Unpacked names, in the order of look-up."""
_STREAMS = {"EncryptedPackage": "", "WordDocument": ".doc", "Workbook": ".xls", "PowerPoint Document": ".ppt"}
_HEAD, _TAIL, _PAGE = 100, 2**16, 1_000


def kind(data: bytes, suffix: str) -> str:
    """Return the suffix of a file's format; its own unless the content shows another."""
    suffix = suffix.lower()
    if data.startswith(_ZIP):
        names = data[:_HEAD], data[-_TAIL:]
        found = next((each for part, each in _PARTS.items() if any(part in name for name in names)), "")
        return suffix if found == ".xlsx" and suffix == ".xlsm" else found or suffix
    if data.startswith(_OLE):
        streams = (each for name, each in _STREAMS.items() if name.encode("utf-16-le") in data)
        return next(streams, "") or suffix
    if found := next((each for start, each in _STARTS.items() if data.lstrip()[:5] == start[:5]), ""):
        return found
    if suffix in _TEXTS or (text := charsets.decoded(data[:_PAGE])) is None:
        return suffix
    if any(tag in text.lower() for tag in ("<!doctype html", "<html", "<table", "<body")):
        return ".html"
    if "<?xml" in text or text.startswith(("{\\", "PAR1", "%PDF")):
        return suffix
    if suffix in _SHEETS:
        return ".tsv" if "\t" in text else ".csv"
    return ".txt" if suffix == ".doc" else suffix
