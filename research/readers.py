"""Text out of files: markdown, plain text, html, pdf, docx.

`read_file` and `read_bytes` read here and now.  `read_apart` reads the same in a process that can be killed, which is
what bytes from strangers deserve: parsers have been made to loop, to swell and to crash.
"""

from __future__ import annotations

import io
import re
import sys
import zipfile
import zlib
from collections.abc import Iterator
from copy import copy
from itertools import islice
from pathlib import Path
from typing import TYPE_CHECKING, Any

import msgspec
from msgspec import Struct
from msgspec.structs import replace

from research import decoding
from research.errors import ConfigError
from research.sandbox import confine, run_apart
from research.text import clip

if TYPE_CHECKING:
    from docx.table import Table
    from lxml.html import HtmlElement

SUFFIXES = (".md", ".txt", ".html", ".htm", ".pdf", ".docx")
"""What can be read, in lower case."""

MAX_BYTES = 50 * 10**6
"""Largest file."""

MAX_UNPACKED = 200 * 10**6
"""Largest sum of the unpacked parts of a docx."""

ARTICLE_CHARACTERS = 3_000_000
"""Longer html is not searched for its article, which would take too long: all its words are taken."""

MAX_LINKS = 300
"""Links that are kept of one page."""


class Link(Struct, frozen=True):
    """Where a page leads."""

    text: str
    """The words of the link, on one line."""
    url: str


class FileText(Struct, frozen=True, omit_defaults=True):
    """What a file says."""

    title: str
    """The document's own title, or else the name it was read under."""
    text: str
    """Markdown where the format has a structure; never empty."""
    links: tuple[Link, ...] = ()
    """As the document writes them, relative or absolute, at most `MAX_LINKS`; html only."""
    base: str = ""
    """What relative links start from, where the document says it."""
    csl: dict[str, Any] = {}
    """What it tells of itself, as CSL JSON names it; html and pdf only."""


class UnreadableFile(ConfigError):
    """A file cannot be read.  `reason` says why, and how to mend it where that is known."""

    def __init__(self, path: Path | str, reason: str) -> None:
        super().__init__(f"{path} {reason}")
        self.path = path
        self.reason = reason


def read_file(path: Path) -> FileText:
    """Read one file, titled by the document or by the file's name without suffix.  Raises `UnreadableFile`."""
    try:
        _check(path, path.suffix, path.stat().st_size)
        data = path.read_bytes()
    except OSError as error:
        raise UnreadableFile(path, f"cannot be opened: {error.strerror}") from error
    try:
        return read_bytes(data, path.suffix, path.stem)
    except UnreadableFile as error:
        raise UnreadableFile(path, error.reason) from error.__cause__


def read_bytes(data: bytes, suffix: str, name: str) -> FileText:
    """Read the content of a file whose kind is told by `suffix`.  `name` is its title if it has none of its own.

    Raises `UnreadableFile` with `name` as its path.
    """
    _check(name, suffix, len(data))
    match suffix.lower():
        case ".html" | ".htm":
            read = _html(data, name)
        case ".pdf":
            read = _pdf(data, name)
        case ".docx":
            read = FileText(*_docx(data, name))
        case ".md":
            text = _decoded(data, name)
            read = FileText(next((line[2:] for line in text.splitlines() if line.startswith("# ")), ""), text)
        case _:
            read = FileText("", _decoded(data, name))
    if not read.text.strip():
        raise UnreadableFile(name, "holds no text")
    return replace(read, title=_line(read.title) or name, text=read.text.strip())


def read_apart(data: bytes, suffix: str, name: str, *, timeout_s: float = 30.0) -> FileText:
    """Like `read_bytes`, in a process of its own that is killed after `timeout_s` seconds.  Costs half a second.

    Raises `Stopped` when nobody waits for it any more.
    """
    _check(name, suffix, len(data))
    try:
        answer = run_apart("research.readers", data, suffix, str(timeout_s), timeout_s=timeout_s)
    except TimeoutError as error:
        raise UnreadableFile(name, f"takes more than {timeout_s:g} s to read") from error
    except ChildProcessError as error:
        raise UnreadableFile(name, f"crashes its reader ({error})") from error
    read = decoding.decode(answer, FileText | str)
    if isinstance(read, str):
        raise UnreadableFile(name, read)
    return replace(read, title=read.title or name)


def _check(path: Path | str, suffix: str, size: int) -> None:
    if suffix.lower() not in SUFFIXES:
        raise UnreadableFile(path, f"is of an unknown kind {suffix!r}; known: {', '.join(SUFFIXES)}")
    if size > MAX_BYTES:
        raise UnreadableFile(
            path,
            f"is too big: {size / 1e6:.0f} MB, the limit is {MAX_BYTES / 1e6:.0f} MB; "
            "split it, or save it without its pictures",
        )
    if size == 0:
        raise UnreadableFile(path, "is empty")


def _decoded(data: bytes, name: str, declared: str | None = None) -> str:
    """Text in UTF-16 if it begins with that byte order mark, else UTF-8 with or without mark, else as the document
    declares, else GB 18030.
    """
    attempts = [("utf-8-sig", "strict"), ("gb18030", "strict")]
    if data.startswith((b"\xff\xfe", b"\xfe\xff")):
        attempts = [("utf-16", "strict")]
    elif declared:
        attempts.insert(1, (declared, "replace"))  # browsers do so too: pages have a few wrong bytes
    for encoding, errors in attempts:
        try:
            text = data.decode(encoding, errors)
        except (LookupError, UnicodeError):  # LookupError: no such encoding
            continue
        if "\0" not in text:
            return text
    raise UnreadableFile(name, "is not text in UTF-8, UTF-16 or GB 18030; save it as UTF-8")


def _html(data: bytes, name: str) -> FileText:
    import trafilatura
    from bs4 import BeautifulSoup
    from bs4.dammit import EncodingDetector
    from lxml import etree, html

    markup = _decoded(data, name, EncodingDetector.find_declared_encoding(data, is_html=True))
    try:
        tree = html.document_fromstring(markup.encode("utf-8", "replace"), html.HTMLParser(encoding="utf-8"))
    except etree.ParserError as error:  # not one element in it
        raise UnreadableFile(name, "holds no text") from error
    title = _line(tree.findtext(".//title") or "")
    links = tuple(islice(_links(tree), MAX_LINKS))
    base = next((str(element.get("href")) for element in tree.iter("base") if element.get("href")), "")
    csl = _described(tree, title)
    article = len(markup) <= ARTICLE_CHARACTERS
    text = trafilatura.extract(markup, output_format="markdown", include_comments=False) if article else None
    if text is None:  # nothing that looks like an article: all the words there are
        soup = BeautifulSoup(markup, "lxml")
        for element in soup(["script", "style", "template", "noscript", "title"]):
            element.decompose()
        text = soup.get_text("\n", strip=True)
    return FileText(title, text, links, base, csl)


def _links(tree: HtmlElement) -> Iterator[Link]:
    for element in tree.iter("a"):
        target, words = element.get("href") or "", _line(element.text_content())
        if words and 0 < len(target) <= 2000:
            yield Link(clip(words, 120), target)


_SCHOLARLY = {
    "citation_journal_title": "container-title",
    "citation_publisher": "publisher",
    "citation_doi": "DOI",
    "citation_volume": "volume",
    "citation_issue": "issue",
}
"""The tags that journals write for Google Scholar ("Inclusion Guidelines for Webmasters"), and CSL's names for them."""


def _described(tree: HtmlElement, title: str) -> dict[str, Any]:
    """What a page tells of itself: tags of journals first, then what trafilatura finds in other tags and JSON-LD."""
    from lxml import html
    from trafilatura import extract_metadata

    # Without its body: there, a guess at a date or an author would be one.
    head = html.document_fromstring("<html><head></head><body></body></html>")
    told: dict[str, list[str]] = {}
    for element in tree.iter("title", "meta", "script"):
        if element.tag == "script" and element.get("type") != "application/ld+json":
            continue
        head[0].append(copy(element))
        value = clip(_line(element.get("content") or ""), 300)
        if value and element.get("name"):
            told.setdefault(str(element.get("name")).lower(), []).append(value)
    found = extract_metadata(head, extensive=False)
    authors = told.get("citation_author") or [_line(each) for each in (found.author or "").split(";")]
    csl: dict[str, Any] = {
        "type": "article-journal" if "citation_journal_title" in told else "webpage",
        "title": told.get("citation_title", [title or _line(found.title or "")])[0],
        "author": [_person(each) for each in authors[:50] if each],
        "issued": _issued(told.get("citation_publication_date", told.get("citation_date", [found.date or ""]))[0]),
        "container-title": clip(_line(found.sitename or ""), 300),
    }
    csl |= {name: told[tag][0] for tag, name in _SCHOLARLY.items() if tag in told}
    return {name: value for name, value in csl.items() if value}


def _person(name: str) -> dict[str, str]:
    """`Curie, Marie` as CSL writes names; what has no comma is left whole, because cultures differ in the order."""
    family, comma, given = name.partition(",")
    return {"family": family.strip(), "given": given.strip()} if comma and given.strip() else {"literal": name}


def _issued(date: str) -> dict[str, Any]:
    """`2024-05-06`, `2024/5` or `2024` in CSL; empty for anything else."""
    match = re.match(r"(\d{4})(?:[-/.](\d{1,2})(?:[-/.](\d{1,2}))?)?(?!\d)", date)
    return {"date-parts": [[int(part) for part in match.groups() if part]]} if match else {}


def _line(text: str) -> str:
    """On one line, so that a title is a title."""
    return " ".join(text.split())


def _pdf(data: bytes, name: str) -> FileText:
    from pypdf import PdfReader
    from pypdf.errors import DependencyError, FileNotDecryptedError, PyPdfError

    # pypdf's own warning ("broken PDF files might cause other Exceptions") names none: these are what reading the
    # wrong kind of object, or part of one, raises.
    broken = (PyPdfError, ArithmeticError, AssertionError, AttributeError, LookupError, NotImplementedError, OSError,
              RecursionError, TypeError, ValueError, zlib.error)  # fmt: skip
    try:
        reader = PdfReader(io.BytesIO(data))
        pages = [page.extract_text().strip() for page in reader.pages]
        title = _line((reader.metadata and reader.metadata.title) or "")
        author = _line((reader.metadata and reader.metadata.author) or "")
    except (DependencyError, FileNotDecryptedError) as error:
        raise UnreadableFile(name, "is encrypted; save it without a password") from error
    except broken as error:
        raise UnreadableFile(name, f"is not a whole pdf ({_told(error)}); save it again") from error
    if not any(pages):
        raise UnreadableFile(name, f"has no text on its {len(pages)} pages, as when scanned; run OCR on it first")
    csl: dict[str, Any] = {"title": title, "author": [{"literal": clip(author, 300)}] if author else []}
    return FileText(title, "\n\n".join(filter(None, pages)), csl={key: value for key, value in csl.items() if value})


def _docx(data: bytes, name: str) -> tuple[str, str]:
    import docx
    from docx.opc.exceptions import OpcError
    from docx.table import Table

    if data.startswith(b"\xd0\xcf\x11\xe0"):  # an OLE container
        raise UnreadableFile(name, "is encrypted, or an old .doc; save it as .docx without a password")
    # python-docx looks parts, relations and attributes up as if they were there; lxml's errors are SyntaxErrors.
    broken = (OpcError, zipfile.BadZipFile, zlib.error, AttributeError, EOFError, LookupError, NotImplementedError,
              OSError, RuntimeError, SyntaxError, TypeError, ValueError)  # fmt: skip
    try:
        with zipfile.ZipFile(io.BytesIO(data)) as archive:
            unpacked = sum(part.file_size for part in archive.infolist())
        if unpacked > MAX_UNPACKED:
            raise UnreadableFile(name, f"unpacks to {unpacked / 1e6:.0f} MB, the limit is {MAX_UNPACKED / 1e6:.0f} MB")
        document = docx.Document(io.BytesIO(data))
        blocks = []
        for block in document.iter_inner_content():
            if isinstance(block, Table):
                blocks.append("\n".join(_rows(block)))
            elif block.text.strip():
                style = (block.style and block.style.name) or ""
                blocks.append(_heading(style) + block.text.strip())
        return document.core_properties.title.strip(), "\n\n".join(blocks)
    except broken as error:
        raise UnreadableFile(name, f"is not a whole docx ({_told(error)}); save it again") from error


def _heading(style: str) -> str:
    """The marks of a heading in markdown for Word's styles `Title` and `Heading 1` to `Heading 6`, else ""."""
    level = "1" if style == "Title" else style.removeprefix("Heading ")
    return "#" * int(level) + " " if level in tuple("123456") else ""


def _rows(table: Table) -> Iterator[str]:
    for number, row in enumerate(table.rows):
        cells = [" ".join(cell.text.split()) for cell in row.cells]
        yield f"| {' | '.join(cells)} |"
        if number == 0:
            yield "|" + " --- |" * len(cells)


def _told(error: Exception) -> str:
    return f"{type(error).__name__}: {error}"[:200]


def _main() -> None:
    suffix, timeout_s = sys.argv[1:]
    data = sys.stdin.buffer.read()
    confine(float(timeout_s))
    try:
        answer: FileText | str = read_bytes(data, suffix, "")
    except UnreadableFile as error:
        answer = error.reason
    sys.stdout.buffer.write(msgspec.json.encode(answer))


if __name__ == "__main__":
    _main()
