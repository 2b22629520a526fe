"""Text out of files: markdown, plain text, html, pdf, docx.

`read_file` and `read_bytes` read here and now.  `read_apart` reads the same in a process that can be killed, which is
what bytes from strangers deserve: parsers have been made to loop, to swell and to crash.
"""

from __future__ import annotations

import io
import sys
import zipfile
import zlib
from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING

import msgspec
from msgspec import Struct

from research.errors import ConfigError
from research.sandbox import confine, run_apart

if TYPE_CHECKING:
    from docx.table import Table

SUFFIXES = (".md", ".txt", ".html", ".htm", ".pdf", ".docx")
"""What can be read, in lower case."""

MAX_BYTES = 50 * 10**6
"""Largest file."""

MAX_UNPACKED = 200 * 10**6
"""Largest sum of the unpacked parts of a docx."""


class FileText(Struct, frozen=True):
    """What a file says."""

    title: str
    """The document's own title, or else the name it was read under."""
    text: str
    """Markdown where the format has a structure; never empty."""


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
            title, text = _html(data, name)
        case ".pdf":
            title, text = _pdf(data, name)
        case ".docx":
            title, text = _docx(data, name)
        case ".md":
            text = _decoded(data, name)
            title = next((line[2:].strip() for line in text.splitlines() if line.startswith("# ")), "")
        case _:
            title, text = "", _decoded(data, name)
    if not text.strip():
        raise UnreadableFile(name, "holds no text")
    return FileText(title or name, text.strip())


def read_apart(data: bytes, suffix: str, name: str, *, timeout_s: float = 30.0) -> FileText:
    """Like `read_bytes`, in a process of its own that is killed after `timeout_s` seconds.  Costs half a second."""
    _check(name, suffix, len(data))
    try:
        answer = run_apart("research.readers", data, suffix, str(timeout_s), timeout_s=timeout_s)
    except TimeoutError as error:
        raise UnreadableFile(name, f"takes more than {timeout_s:g} s to read") from error
    except ChildProcessError as error:
        raise UnreadableFile(name, f"crashes its reader ({error})") from error
    read = msgspec.json.decode(answer, type=FileText | str)
    if isinstance(read, str):
        raise UnreadableFile(name, read)
    return FileText(read.title or name, read.text)


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


def _html(data: bytes, name: str) -> tuple[str, str]:
    import trafilatura
    from bs4 import BeautifulSoup
    from bs4.dammit import EncodingDetector

    markup = _decoded(data, name, EncodingDetector.find_declared_encoding(data, is_html=True))
    soup = BeautifulSoup(markup, "lxml")
    title = " ".join(soup.title.get_text().split()) if soup.title else ""
    text = trafilatura.extract(markup, output_format="markdown", include_comments=False)
    if text is None:  # nothing that looks like an article: all the words there are
        for element in soup(["script", "style", "template", "noscript", "title"]):
            element.decompose()
        text = soup.get_text("\n", strip=True)
    return title, text


def _pdf(data: bytes, name: str) -> tuple[str, str]:
    from pypdf import PdfReader
    from pypdf.errors import DependencyError, FileNotDecryptedError, PyPdfError

    # pypdf's own warning ("broken PDF files might cause other Exceptions") names none: these are what reading the
    # wrong kind of object, or part of one, raises.
    broken = (PyPdfError, ArithmeticError, AssertionError, AttributeError, LookupError, NotImplementedError, OSError,
              RecursionError, TypeError, ValueError, zlib.error)  # fmt: skip
    try:
        reader = PdfReader(io.BytesIO(data))
        pages = [page.extract_text().strip() for page in reader.pages]
        title = (reader.metadata and reader.metadata.title) or ""
    except (DependencyError, FileNotDecryptedError) as error:
        raise UnreadableFile(name, "is encrypted; save it without a password") from error
    except broken as error:
        raise UnreadableFile(name, f"is not a whole pdf ({_told(error)}); save it again") from error
    if not any(pages):
        raise UnreadableFile(name, f"has no text on its {len(pages)} pages, as when scanned; run OCR on it first")
    return title.strip(), "\n\n".join(page for page in pages if page)


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
