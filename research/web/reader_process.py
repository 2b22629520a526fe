"""The process behind `research.web.isolated`: `python -m research.web.reader_process`."""

from __future__ import annotations

import encodings
import importlib
import io
import os
import pkgutil
import socket
import time
from collections.abc import Callable
from contextlib import suppress
from functools import cache
from pathlib import Path
from types import ModuleType

import msgspec

from research.sandbox import serve
from research.web import charsets, isolated, linked, readers, scans, spreadsheets, word
from research.web.readers import FileText, UnreadableFile

_PAGE = b"""<html lang="en"><head><title>A</title><meta name="author" content="B"><meta name="date" content="2024-05-06">
<script type="application/ld+json">{"@type": "Article", "datePublished": "2024-05-06"}</script></head><body><article>
<h1>A</h1><p>%s</p><table><tr><td>1</td></tr></table><a href="/b">c</a></article></body></html>""" % (b"A text. " * 99)
"""A page that makes the html parsers load everything they load lazily."""

_MESSAGE = b"""From: =?utf-8?q?A?= <a@b.c>\nSubject: A\nDate: Mon, 6 May 2024 10:00:00 +0000\nMIME-Version: 1.0
Content-Type: multipart/mixed; boundary=x\n\n--x\nContent-Type: text/html; charset=utf-8\nContent-Transfer-Encoding: base64

PHA+QQ==\n--x\nContent-Disposition: attachment; filename="a.txt"\nContent-Transfer-Encoding: quoted-printable\n\nA=20b\n--x--
"""

_TABLE = b"day;a (kg)\n1 May 2024;1,5 %\n2 May 2024;2\n"

_FONT_TABLES = (
    "C_F_F_ O_S_2f_2 _c_m_a_p _g_l_y_f _h_e_a_d _h_h_e_a _h_m_t_x _l_o_c_a _m_a_x_p _n_a_m_e _p_o_s_t".split()
)
"""A font's tables for decoding text."""


def _prepare(suffix: str, *_of_one_file: str) -> None:
    _prepare_for(suffix)


@cache
def _prepare_for(suffix: str) -> None:
    """Import and load all that reading such a file needs, by reading one of ours."""
    _import_all(encodings)
    charsets.preload()
    time.localtime()  # reads the time zone
    readers.read_bytes(_TABLE, ".csv", "a")  # most formats have tables
    if suffix.endswith(linked.MARK):
        kind = suffix.removesuffix(linked.MARK)
        _prepare_for(kind)
        linked.read_bytes({".pdf": _pdf, ".docx": linked.word}.get(kind, linked.page)(), kind, "a")
    elif suffix in (".html", ".htm"):
        from trafilatura.external import jt_stoplist_init

        importlib.import_module("xml.sax.xmlreader")  # lxml imports it to convert a tree
        jt_stoplist_init()
        readers.read_bytes(_PAGE, ".html", "a")
        readers.read_bytes(b"<p>a", ".html", "a")
    elif suffix == f".pdf{scans.MARK}":
        _prepare_for(".pdf")
        scans.prepare()
        readers.read_pdf(_pdf(), "a", pictures=True)
    elif suffix == ".pdf":
        import pypdf

        _import_all(pypdf)
        importlib.import_module("fontTools.agl")
        for table in _FONT_TABLES:
            importlib.import_module(f"fontTools.ttLib.tables.{table}")
        readers.read_bytes(_pdf(), ".pdf", "a")
    elif suffix == ".md":
        readers.read_bytes(b"---\nday: 1\n---\n# A", ".md", "a")
    elif suffix == ".docx":
        readers.read_bytes(linked.word(), ".docx", "a")
        word.load_styles()
    elif suffix in spreadsheets.SUFFIXES:
        importlib.import_module("python_calamine")
        importlib.import_module("lxml.etree")
    elif suffix == ".parquet":
        readers.read_bytes(_parquet(), suffix, "a")
    elif suffix in (".json", ".jsonl"):
        readers.read_bytes(b'[{"a": 1, "day": "1 May 2024"}]', ".json", "a")
    elif suffix == ".ipynb":
        readers.read_bytes(b'{"cells": [{"cell_type": "markdown", "source": "# A"}]}', suffix, "a")
    elif suffix in (".pptx", ".epub", ".odt", ".odp"):
        importlib.import_module("lxml.etree")
    elif suffix == ".eml":
        import email

        _import_all(email)
        for attached in (".html", ".md", ".pdf", ".docx", ".xlsx", ".pptx", ".parquet", ".json", ".ipynb"):
            _prepare_for(attached)
        readers.read_bytes(_MESSAGE, ".eml", "a")


def _import_all(package: ModuleType) -> None:
    """Import every module of a package, except those for libraries that are not installed."""
    for module in pkgutil.walk_packages(package.__path__, f"{package.__name__}."):
        with suppress(ImportError):
            importlib.import_module(module.name)


def _pdf() -> bytes:
    """Return a page of text with a font, as a pdf."""
    import pypdf
    from pypdf.generic import DecodedStreamObject, DictionaryObject, NameObject

    writer = pypdf.PdfWriter()
    page = writer.add_blank_page(99, 99)
    text = DecodedStreamObject()
    text.set_data(b"BT /F1 12 Tf 9 9 Td (A text) Tj ET")
    font = {"/Type": "/Font", "/Subtype": "/Type1", "/BaseFont": "/Helvetica"}
    fonts = DictionaryObject(
        {NameObject("/F1"): DictionaryObject({NameObject(key): NameObject(value) for key, value in font.items()})}
    )
    page[NameObject("/Resources")] = DictionaryObject({NameObject("/Font"): fonts})
    page[NameObject("/Contents")] = writer._add_object(text)
    writer.add_metadata({"/Title": "A"})
    written = io.BytesIO()
    writer.write(written)
    return written.getvalue()


def _parquet() -> bytes:
    """Return a small file with a column of each kind."""
    import datetime

    import pyarrow as pa
    from pyarrow import parquet as pq

    day = datetime.datetime(2024, 5, 6, 10)
    columns = {
        "a": [1, 2],
        "b": ["x", None],
        "c": [0.5, 1.5],
        "d": [day, day],
        "e": [day.date(), None],
        "f": [True, False],
    }
    written = io.BytesIO()
    pq.write_table(pa.table(columns), written)
    return written.getvalue()


def _work(data: bytes, suffix: str, charset: str, host: str = "") -> bytes:
    if suffix == isolated.PROBE:
        return msgspec.json.encode(_problem())
    try:
        if suffix == f".pdf{scans.MARK}":
            return msgspec.json.encode(readers.read_pdf(data, "", pictures=True))
        kind = suffix.removesuffix(linked.MARK)
        read = readers.read_bytes if kind == suffix else linked.read_bytes
        answer: FileText | str = read(data, kind, "", charset, host)
    except UnreadableFile as error:
        answer = error.reason
    return msgspec.json.encode(answer)


_FORBIDDEN: dict[str, Callable[[], object]] = {
    "read a file": lambda: Path(__file__).read_bytes(),
    "see a file": lambda: Path("/").stat(),
    "open an internet socket": socket.socket,
    "open a Unix socket": lambda: socket.socket(socket.AF_UNIX),
    "start a process": os.fork,
    "signal the workbench": lambda: os.kill(os.getppid(), 0),
}
"""What the process must not be able to do once sealed."""


def _problem() -> str:
    """Return forbidden things that this process can do; empty if it is sealed."""
    done = []
    for what, attempt in _FORBIDDEN.items():
        try:
            attempt()
        except PermissionError:
            continue
        done.append(what)
    return f"can {', '.join(done)}" if done else ""


if __name__ == "__main__":
    serve(_prepare, _work)
