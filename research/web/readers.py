"""Extract text and tables from files: markdown, plain text, html, pdf, docx, csv, tsv, and those of `formats`.

Everything here runs in the process that calls it; `research.web.isolated` runs it in a sealed one.
"""

from __future__ import annotations

import io
import re
from collections.abc import Iterator
from copy import copy
from itertools import islice
from pathlib import Path
from typing import TYPE_CHECKING, Any

from msgspec import Struct
from msgspec.structs import replace

from research._util.bounds import FIELD, ITEMS, short
from research.errors import ConfigError
from research.text import clip, one_line, storable
from research.web import (
    charsets,
    file_types,
    flow,
    formats,
    front_matter,
    locators,
    pdf_pages,
    scans,
    spans,
    walls,
    word,
)
from research.web.locators import Part, Place
from research.web.packages import BROKEN, OLE, transitional
from research.web.pdf_tables import typed
from research.web.table import Table, limited
from research.web.table_text import as_text
from research.web.walls import Wall

if TYPE_CHECKING:
    from lxml.html import HtmlElement

SUFFIXES = (".md", ".txt", ".html", ".htm", ".pdf", ".docx", ".doc", ".csv", ".tsv", *formats.SUFFIXES)
"""Suffixes of the files that can be read, in lower case."""

MAX_BYTES = 50 * 10**6
"""Maximum size of a file."""

ARTICLE_CHARACTERS = 3_000_000
"""In longer html, finding the article takes too long: all of its text is used."""

MAX_TEXT = MAX_BYTES
"""Maximum length of a file's text, in characters."""

MAX_LINKS = 300
"""Maximum number of links kept from one page."""

LINE = FIELD
"""Maximum length of a title and of each value of the metadata, in characters: they are repeated in many places."""

_NO_TITLES = frozenset(
    ",untitled,(anonymous),anonymous,untitled document,unbenannt,sans titre,sin título,无标题,無標題,無題,document,document1,"
    "dokument1,presentation,presentation1,powerpoint presentation,doc1,slide 1".split(",")
)
"""Programs' default names for a new file, and its author."""
_LINK_LINE, _URL = 120, 2000
_POWERS = {"2": "²", "3": "³"}
_UNIT_BEFORE = re.compile(r"(?:m|mi|ft)\s?$")


class Link(Struct, frozen=True):
    """A link of a page."""

    text: str
    """The text of the link, on one line."""
    url: str


class FileText(Struct, frozen=True, omit_defaults=True):
    """The text and metadata of a file."""

    title: str
    """The document's own title, or else its file name."""
    text: str
    """Markdown where the format has a structure; never empty."""
    links: tuple[Link, ...] = ()
    """As written in the document, relative or absolute; at most `MAX_LINKS`; html only."""
    base: str = ""
    """The document's base url for relative links; empty when it declares none."""
    csl: dict[str, Any] = {}
    """The document's own metadata in CSL JSON; html and pdf only."""
    tables: tuple[Table, ...] = ()
    """Its tables with typed cells; their text is in `text` too, as far as it fits."""
    places: tuple[Place, ...] = ()
    """Its pages, slides, chapters or sheets, by where each begins in `text`."""
    wall: Wall = ""
    """What a page shows instead of its content; html only."""
    thin: bool = False
    """Whether a web page has so little text that its content may be missing."""
    refresh: str = ""
    """The address to which a page redirects, as written; html only."""
    notes: tuple[str, ...] = ()
    """What was left out or is uncertain, and why: `page 3 is not readable; run OCR on it`."""


class UnreadableFile(ConfigError):
    """A file cannot be read.  `reason` says why, and what to do if known."""

    def __init__(self, path: Path | str, reason: str) -> None:
        super().__init__(f"{path} {reason}")
        self.path = path
        self.reason = reason


def read_bytes(data: bytes, suffix: str, name: str, charset: str = "", host: str = "") -> FileText:
    """Read the content of a file whose format is given by `suffix`.  `name` is the title if the document has none.

    `charset` is the one declared by a server, for html and text; `host` is a web page's host.
    Raises `UnreadableFile` with `name` as its path.
    """
    check(name, suffix, len(data))
    match file_types.kind(data, suffix):
        case ".html" | ".htm":
            read = _html(data, name, charset, host)
        case ".pdf":
            read = pdf(read_pdf(data, name), name)
        case ".docx":
            read = _docx(data, name)
        case ".md":
            text, notes = _decoded(data, name, header=charset)
            title, text = front_matter.split(text)
            read = FileText(title, text, notes=notes)
        case ".csv" | ".tsv" as kind:
            read = _delimited(data, name, kind)
        case ".doc" | ".ppt" as kind:
            raise UnreadableFile(name, f"is an old {kind}, or damaged; save it as {kind}x")
        case other if other in formats.SUFFIXES:
            read = _other(data, other, name)
        case _:
            text, notes = _decoded(data, name, header=charset)
            read = FileText("", text, notes=notes)
    return completed(read, name)


def completed(read: FileText, name: str) -> FileText:
    """Return the reading with a title and within its limits. Raises `UnreadableFile` if it is empty."""
    text = read.text.strip() or (f"→ {read.refresh}" if read.refresh else "")
    if not text:
        raise UnreadableFile(name, "shows its text only with JavaScript" if read.wall else "contains no text")
    title = one_line(read.title)
    csl = {key: value for key, value in read.csl.items() if key != "title" or str(value).casefold() not in _NO_TITLES}
    title = name if title.casefold() in _NO_TITLES else title
    return bounded(replace(read, title=title, text=text, csl=csl), name)


def bounded(read: FileText, name: str) -> FileText:
    """Return the reading with every repeated field cut to its limit.

    Raises `UnreadableFile` if the text is too long.
    """
    if len(read.text) > MAX_TEXT:
        raise UnreadableFile(
            name, f"contains {len(read.text) / 1e6:.0f} million characters, the limit is {MAX_TEXT / 1e6:.0f}; split it"
        )
    links = (Link(clip(each.text, _LINK_LINE), each.url) for each in read.links if len(each.url) <= _URL)
    return FileText(
        clip(one_line(storable(read.title[: 4 * LINE])), LINE),
        storable(read.text),
        tuple(Link(storable(each.text), storable(each.url)) for each in islice(links, MAX_LINKS)),
        storable(read.base) if len(read.base) <= _URL else "",
        short(read.csl),
        limited(read.tables),
        locators.limited(read.places),
        read.wall,
        read.thin,
        storable(read.refresh) if len(read.refresh) <= _URL else "",
        tuple(clip(one_line(storable(note)), LINE) for note in read.notes[:ITEMS]),
    )


def _decoded(data: bytes, name: str, declared: str = "", header: str = "") -> tuple[str, tuple[str, ...]]:
    """Return the text, and a note if its encoding was guessed."""
    found = charsets.decode(data, declared, header)
    if found is None:
        raise UnreadableFile(name, "is not text; save it as text in UTF-8")
    if found.damaged:
        return found.text, (f"{found.damaged} damaged characters; if they matter, save it again as UTF-8",)
    note = f"its encoding is not declared and was read as {found.guessed}; if letters are wrong, save it as UTF-8"
    return found.text, (note,) if found.guessed else ()


def check(path: Path | str, suffix: str, size: int) -> None:
    """Raise `UnreadableFile` for an unknown format or too large a file."""
    if suffix.lower() not in SUFFIXES:
        raise UnreadableFile(path, f"is of an unknown format {suffix!r}; known: {', '.join(SUFFIXES)}")
    if size > MAX_BYTES:
        raise UnreadableFile(
            path,
            f"is too big: {size / 1e6:.0f} MB, the limit is {MAX_BYTES / 1e6:.0f} MB; "
            "split it, or save it without its pictures",
        )
    if size == 0:
        raise UnreadableFile(path, "is empty")


def _delimited(data: bytes, name: str, suffix: str) -> FileText:
    import csv

    from research.web import delimited

    text, notes = _decoded(data, name)
    try:
        read = delimited.read(text, suffix)
    except csv.Error as error:
        raise UnreadableFile(name, f"is a damaged {suffix[1:]} ({error}); save it again") from error
    tables = (read.table,) if read.table else ()
    parts = [Part("", as_text(each), locators.columns_of(each)) for each in tables]
    found, at = locators.joined([*parts, Part("", "\n".join(read.long))])
    return FileText("", found or text, tables=tables, places=at if tables else (), notes=(*notes, *read.notes))


def _other(data: bytes, suffix: str, name: str) -> FileText:
    """Read a format of `formats`; attachments of a message are read as files, unreadable ones are noted."""

    def refuse(reason: str) -> UnreadableFile:
        return UnreadableFile(name, reason)

    def attached(content: bytes, kind: str, file: str) -> tuple[list[Part], list[Table]]:
        try:
            if kind == ".eml":
                raise UnreadableFile(file, "is a message itself; save it as a file of its own")
            found = read_bytes(content, kind, file)
        except UnreadableFile as error:
            return [Part(file, f"Attachment not read: {error}")], []
        parts = [
            Part(" › ".join(filter(None, [file, at.name])), found.text[at.start : end], at.columns)
            for at, end in zip(found.places, [*(each.start for each in found.places[1:]), None], strict=False)
        ]
        return parts or [Part(file, found.text)], [
            replace(t, place=" › ".join(filter(None, [file, t.place]))) for t in found.tables
        ]

    def page_text(page: bytes, charset: str) -> str:
        root, _ = parsed(page, name, charset)
        return flow.markdown(flow.blocks(root))

    found = formats.read(data, suffix, refuse, page_text, attached)
    return FileText(found.title, found.text, csl=found.csl, tables=found.tables, places=found.places, notes=found.notes)


def parsed(data: bytes, name: str, charset: str) -> tuple[HtmlElement, tuple[str, ...]]:
    """Return the root of a page, and a note if its encoding was guessed."""
    from bs4.dammit import EncodingDetector
    from lxml import etree, html

    markup, notes = _decoded(data, name, EncodingDetector.find_declared_encoding(data, is_html=True) or "", charset)
    try:
        return html.document_fromstring(markup.encode("utf-8", "replace"), html.HTMLParser(encoding="utf-8")), notes
    except etree.ParserError as error:  # the document has no elements
        raise UnreadableFile(name, "contains no text") from error


def _html(data: bytes, name: str, charset: str, host: str) -> FileText:
    import trafilatura
    from lxml import html

    tree, notes = parsed(data, name, charset)
    title = one_line(tree.findtext(".//title") or "")
    links = tuple(islice(_links(tree), MAX_LINKS))
    base = next((str(element.get("href")) for element in tree.iter("base") if element.get("href")), "")
    csl, refresh = _metadata(tree, title), walls.refresh(tree)
    wall, thin = walls.wall(tree, title, host), bool(host) and walls.says_little(tree)
    for unseen in tree.xpath("//template[not(@shadowrootmode)] | //*[@hidden and @hidden!='until-found']"):
        unseen.drop_tree()
    spans.repeat(tree)
    _raise_powers(tree)
    markup = html.tostring(tree, encoding="unicode")
    short = len(markup) <= ARTICLE_CHARACTERS
    article = trafilatura.extract(markup, output_format="markdown", include_comments=False) if short else None
    shown = flow.blocks(tree)
    whole = flow.Completed(flow.markdown(shown), 0, sum(each.pictures for each in shown))
    found = flow.completed(article, shown) if article else whole
    notes = (*notes, *locators.left_out({"picture": found.pictures}))
    if found.beside:
        notes = (*notes, f"{locators.MARGINS}{found.beside:,} character{'s' if found.beside > 1 else ''}")
    return FileText(title, found.text, links, base, csl, wall=wall, thin=thin, refresh=refresh, notes=notes)


def _raise_powers(tree: HtmlElement) -> bool:
    """Write the raised 2 of `km²` as one character, so that it is not read as a number. Return whether there was one."""
    found = [each for each in tree.iter("sup") if each.text in _POWERS and len(each) == 0]
    for each in found:
        before = each.getprevious()
        text = each.getparent().text if before is None else before.tail
        if _UNIT_BEFORE.search(text or ""):
            each.text = _POWERS[each.text]
            each.drop_tag()
    return bool(found)


def _links(tree: HtmlElement) -> Iterator[Link]:
    for element in tree.iter("a"):
        target, words = element.get("href") or "", one_line(element.text_content())
        if words and 0 < len(target) <= _URL:
            yield Link(clip(words, _LINK_LINE), target)


_CITATION_TAGS = {
    "citation_journal_title": "container-title",
    "citation_publisher": "publisher",
    "citation_doi": "DOI",
    "citation_volume": "volume",
    "citation_issue": "issue",
}
"""CSL's names for the tags that journals write for Google Scholar ("Inclusion Guidelines for Webmasters")."""


def _metadata(tree: HtmlElement, title: str) -> dict[str, Any]:
    """Return a page's metadata as CSL JSON: from journals' tags first, then from other tags and JSON-LD."""
    from lxml import html
    from trafilatura import extract_metadata

    # Only from the head: from the body, trafilatura would guess dates and authors.
    head = html.document_fromstring("<html><head></head><body></body></html>")
    tags: dict[str, list[str]] = {}
    for element in tree.iter("title", "meta", "script"):
        if element.tag == "script" and element.get("type") != "application/ld+json":
            continue
        head[0].append(copy(element))
        value = clip(one_line(element.get("content") or ""), LINE)
        if value and element.get("name"):
            tags.setdefault(str(element.get("name")).lower(), []).append(value)
    found = extract_metadata(head, extensive=False)
    authors = tags.get("citation_author") or [one_line(each) for each in (found.author or "").split(";")]
    csl: dict[str, Any] = {
        "type": "article-journal" if "citation_journal_title" in tags else "webpage",
        "title": tags.get("citation_title", [title or one_line(found.title or "")])[0],
        "author": [_csl_name(each) for each in authors[:ITEMS] if each],
        "issued": _csl_date(tags.get("citation_publication_date", tags.get("citation_date", [found.date or ""]))[0]),
        "container-title": one_line(found.sitename or ""),
    }
    csl |= {name: tags[tag][0] for tag, name in _CITATION_TAGS.items() if tag in tags}
    return {name: value for name, value in csl.items() if value}


def _csl_name(name: str) -> dict[str, str]:
    """Return a CSL name; one without a comma is not split, because the order of the parts depends on the culture."""
    family, comma, given = name.partition(",")
    return {"family": family.strip(), "given": given.strip()} if comma and given.strip() else {"literal": name}


def _csl_date(date: str) -> dict[str, Any]:
    """Return `2024-05-06`, `2024/5` or `2024` as a CSL date; empty for any other text."""
    match = re.match(r"(\d{4})(?:[-/.](\d{1,2})(?:[-/.](\d{1,2}))?)?(?!\d)", date)
    return {"date-parts": [[int(part) for part in match.groups() if part]]} if match else {}


class PdfRead(Struct, frozen=True):
    """The content of a pdf, page by page."""

    title: str
    author: str
    pages: tuple[pdf_pages.Page, ...]
    left_out: tuple[str, ...] = ()
    pictures: tuple[scans.Picture, ...] = ()
    """Pictures of its pages without text, if requested."""


def read_pdf(data: bytes, name: str, *, pictures: bool = False) -> PdfRead:
    """Read the pages of a pdf.  Raises `UnreadableFile`."""
    from pypdf import PdfReader
    from pypdf.errors import DependencyError, FileNotDecryptedError

    from research.web import pdf_text

    try:
        reader = PdfReader(io.BytesIO(data))
        pages, left_out = pdf_text.pages(reader)
        title = one_line((reader.metadata and reader.metadata.title) or "")
        author = one_line((reader.metadata and reader.metadata.author) or "")
        author = "" if author.casefold() in _NO_TITLES else author
        shown = scans.pictures(reader, pages) if pictures else ()
    except DependencyError as error:
        raise UnreadableFile(
            name, "is encrypted, and the package cryptography is not installed; run pip install cryptography"
        ) from error
    except FileNotDecryptedError as error:
        raise UnreadableFile(name, "is encrypted; save it without a password") from error
    except pdf_text.BROKEN as error:
        raise UnreadableFile(name, f"is a damaged pdf ({_short(error)}); save it again") from error
    return PdfRead(title, author, tuple(pages), left_out, shown)


def pdf(found: PdfRead, name: str, advice: str = scans.INSTALL) -> FileText:
    """Return the text of a pdf whose pages have been read; `advice` is how pictures without text can be.

    Raises `UnreadableFile` if there is none.
    """
    pages = found.pages
    if not any(page.text for page in pages):
        if any(page.lost for page in pages):
            raise UnreadableFile(
                name,
                "has fonts that do not say which letters they show, or say it falsely; run OCR on it first, or add the "
                "document that it was made from",
            )
        advice = pdf_pages.FOUND_NOTHING if any(page.ocr for page in pages) else advice
        pictures = ", which are pictures" if any(page.scanned for page in pages) else ""
        raise UnreadableFile(
            name, f"has no text on its {len(pages)} pages{pictures}{f'; {advice}' if pictures else ''}"
        )
    author = [{"literal": found.author}] if found.author else []
    csl: dict[str, Any] = {"title": found.title, "author": author}
    text, at = locators.joined(
        Part(f"page {number}{' (OCR)' if page.ocr else ''}", page.text) for number, page in enumerate(pages, 1)
    )
    csl = {key: value for key, value in csl.items() if value}
    notes = (*pdf_pages.notes(pages, advice), *found.left_out)
    tables = (each for number, page in enumerate(pages, 1) for each in typed(page.text, f"page {number}"))
    return FileText(found.title, text, csl=csl, tables=tuple(tables), places=at, notes=notes)


def _docx(data: bytes, name: str) -> FileText:
    from docx.opc.exceptions import OpcError

    if data.startswith(OLE):
        raise UnreadableFile(name, "is encrypted, or an old .doc; save it as .docx without a password")
    try:
        found = word.read(transitional(data, lambda reason: UnreadableFile(name, reason)))
    except (OpcError, *BROKEN) as error:
        raise UnreadableFile(name, f"is a damaged docx ({_short(error)}); save it again") from error
    first = found.text.partition("\n")[0]
    title = first[2:] if first.startswith("# ") and found.title.casefold() in _NO_TITLES else found.title
    return FileText(title, found.text, tables=found.tables, notes=found.notes)


def _short(error: Exception) -> str:
    said = error.strerror if isinstance(error, OSError) else error  # without the path of a local file
    return f"{type(error).__name__}: {said}"[:200]
