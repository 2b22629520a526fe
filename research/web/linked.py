"""Read a report with its citations: html, docx and pdf as Markdown with links, footnotes and superscripts.

`readers` drops these, because a source is read for its words.  Runs in the sealed process of `research.web.isolated`.
"""

from __future__ import annotations

import io
import re
from collections.abc import Callable, Iterator, Mapping
from typing import TYPE_CHECKING

from msgspec.structs import replace

from research.text import one_line, table_lines
from research.web import linked_pdf, readers, spans
from research.web.packages import BROKEN
from research.web.readers import FileText, UnreadableFile
from research.web.word import markdown as docx_markdown

if TYPE_CHECKING:
    from lxml.html import HtmlElement

MARK = "+links"
"""Follows the suffix of a file read here."""
SUFFIXES = (".html", ".htm", ".docx", ".pdf")

_SKIPPED = frozenset("script style template noscript nav aside form button svg iframe head select".split())
_BLOCKS = frozenset(
    "p div section article main body header footer blockquote pre figure figcaption dl dt dd ul ol".split()
)
_DEEPEST = 200
"""Levels of elements read as Markdown; deeper ones are plain text."""
_LONGEST_URL = 2_000


def read_bytes(data: bytes, suffix: str, name: str, charset: str = "", host: str = "") -> FileText:
    """Read a report.  Raises `UnreadableFile` with `name` as its path."""
    readers.check(name, suffix, len(data))
    plain = readers.read_bytes(data, suffix, name, charset, host)
    kinds: Mapping[str, Callable[[bytes], str]] = {
        ".docx": docx_markdown,
        ".pdf": linked_pdf.markdown,
        ".html": lambda data: html_markdown(data, charset),
        ".htm": lambda data: html_markdown(data, charset),
    }
    try:
        text = kinds[suffix](data)
    except BROKEN as error:
        raise UnreadableFile(name, f"is damaged ({type(error).__name__}: {str(error)[:160]}); save it again") from error
    return readers.bounded(replace(plain, text=text.strip() or plain.text, tables=(), places=()), name)


def html_markdown(data: bytes, charset: str = "") -> str:
    """Return the main part of a page as Markdown."""
    tree, _ = readers.parsed(data, "", charset)
    spans.repeat(tree)
    body: HtmlElement = next(iter(tree.iter("body")), tree)
    size = _size(body)
    parts = [each for each in tree.iter("article", "main") if _size(each) * 2 > size]
    return tidy("".join(_markdown(parts[0] if parts else body)))


def _size(element: HtmlElement) -> int:
    return len(element.text_content())


def tidy(text: str) -> str:
    """Return Markdown without trailing spaces and without more than one empty line in a row."""
    lines = [re.sub(r"[ \t\u00a0]+", " ", line).strip() for line in text.splitlines()]
    return re.sub(r"\n{3,}", "\n\n", "\n".join(lines)).strip()


def _markdown(element: HtmlElement, depth: int = 0) -> Iterator[str]:
    """Yield the Markdown of an element's content."""
    if depth > _DEEPEST:
        yield _spaced(element.text_content())
        return
    yield _spaced(element.text or "")
    number = int(element.get("start") or 1) if str(element.get("start") or "1").isdigit() else 1
    for child in element:
        if isinstance(child.tag, str):
            yield from _element(child, depth + 1, f"{number}. " if element.tag == "ol" else "- ")
            number += child.tag == "li"
        yield _spaced(child.tail or "")


def _element(element: HtmlElement, depth: int, prefix: str) -> Iterator[str]:
    tag = element.tag
    if tag in _SKIPPED or "display:none" in (element.get("style") or "").replace(" ", ""):
        return
    inside = "".join(_markdown(element, depth)) if tag not in ("table", "tr") else ""
    if tag == "br":
        yield "\n"
    elif re.fullmatch(r"h[1-6]", tag):
        yield f"\n\n{'#' * int(tag[1])} {one_line(inside)}\n\n"
    elif tag == "li":
        yield f"\n{prefix}{inside.strip()}\n"
    elif tag == "table":
        yield f"\n\n{_table(element, depth)}\n\n"
    elif tag == "a":
        yield _link(element, inside)
    elif tag == "sup":
        words = one_line(inside)
        yield f"<sup>{words}</sup>" if re.fullmatch(r"[\[(]?\^?\d[\d,; \-–]*[\])]?", words) else words
    elif tag in ("b", "strong") and one_line(inside):
        yield f"**{one_line(inside)}**"
    elif tag in _BLOCKS:
        yield f"\n\n{inside}\n\n"
    else:
        yield inside


def _link(element: HtmlElement, inside: str) -> str:
    """Return a link as Markdown; one within the page keeps only its words, and one back to the text nothing."""
    target, words = (element.get("href") or "").strip(), one_line(inside)
    if words in ("↩", "↩︎", "^", "↑"):
        return ""
    if not target or target.startswith(("#", "javascript:", "mailto:")) or len(target) > _LONGEST_URL or not words:
        return inside
    target = target.replace(" ", "%20").replace(")", "%29") if "(" not in target else target.replace(" ", "%20")
    return f"[{words}]({target})" if "](" not in words else words


def _table(element: HtmlElement, depth: int) -> str:
    rows = [[one_line("".join(_markdown(cell, depth))) for cell in row.iter("td", "th")] for row in element.iter("tr")]
    return "\n".join(table_lines([row for row in rows if row]))


def _spaced(text: str) -> str:
    return re.sub(r"\s{1,9}", " ", text)


def page() -> bytes:
    """Return a small page that makes the parsers load everything they load lazily."""
    return b"<html><body><h1>A</h1><p>B<sup>1</sup> <a href='https://a.b/c'>c</a></p><table><tr><td>1</td></tr></table>"


def word() -> bytes:
    """Return a small Word document for the same purpose."""
    import docx

    document = docx.Document()
    document.add_heading("A", 1)
    document.add_paragraph("A", style="List Number")
    document.add_table(rows=1, cols=1)
    written = io.BytesIO()
    document.save(written)
    return written.getvalue()
